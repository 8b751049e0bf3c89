// SPDX-License-Identifier: MIT OR Apache-2.0
//! Drafts a launch of each kernel, with placeholders for its data, sizes and range.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use syclbin::signature::{Access, Element, Enum, Parameter, Pointee, Scalar, Type};

use crate::names::{self, Scope};
use crate::plan::Plan;
use crate::stub::{Stub, written_name};
use crate::types::{TypePath, Types, number, structs};

/// Returns a launch of each kernel, in a comment. The code assumes a variable `queue`, and a variable `kernels` that
/// holds the module `kernels`, loaded for that queue.
pub(crate) fn launches(mut plan: Plan<'_>) -> Vec<String> {
    for path in plan.types.paths.values_mut() {
        if let TypePath::Generated(path) = path {
            path.insert(0, format_ident!("kernels"));
        }
    }
    let stubs = plan.root.all_stubs().into_iter();
    let launches = stubs.map(|(path, stub)| launch(&path, stub, &plan.types));
    let omitted = plan.omitted.iter();
    let omitted =
        omitted.map(|(kernel, reason)| format!("// No function for `{kernel}`: {reason}\n"));
    launches.chain(omitted).collect()
}

fn launch(path: &str, stub: &Stub<'_>, types: &Types<'_>) -> String {
    let (mut statements, mut arguments) = (TokenStream::new(), Vec::new());
    let cpp = stub.kernel.cpp().unwrap_or_default();
    let mut is_in_groups = cpp.contains("nd_item");
    let mut scope = Scope::of_variables();
    for own in ["queue", "kernels"] {
        scope.claim(own);
    }
    let names = scope.claim_each(stub.parameters.iter().map(written_name), "arg");
    for (name, Parameter { ty, .. }) in names.into_iter().zip(stub.parameters) {
        let Some(value) = placeholder(ty, types) else {
            continue;
        };
        is_in_groups |= matches!(ty, Type::LocalMemory { .. } | Type::LocalAccessor { .. });
        let mutable = (ty.access() == Some(Access::ReadWrite)).then(|| quote!(mut));
        statements.extend(quote!(let #mutable #name = #value;));
        let borrowed = quote!(&#mutable #name);
        arguments.push(match ty {
            Type::Accessor {
                dimensions: 2.., ..
            } => {
                let extent = extent(ty.dimensions(), false);
                quote!((#borrowed, #extent))
            }
            _ if ty.access().is_some() || *ty == Type::Sampler => borrowed,
            _ => quote!(#name),
        });
    }
    let kernel = stub.kernel;
    let compiled = kernel.required_local_size.as_ref();
    let compiled = compiled.and_then(|size| u8::try_from(size.len()).ok());
    let dimensions = kernel.dimensions.or(compiled);
    let [mut range, group] = [false, true].map(|in_group| extent(dimensions, in_group));
    if is_in_groups && compiled.is_none() && dimensions != Some(0) {
        range = quote!(::syclbin_rt::NdRange::new(#range).local(#group));
    }
    let path = path.split("::").map(names::identifier);
    let function = quote! {
        fn main() {
            #statements
            unsafe { kernels #(.#path)* (#(#arguments),*).launch(#range)? };
        }
    };
    let code = syn::parse2(function).map(|file| prettyplease::unparse(&file));
    let code = code.unwrap_or_default();
    let code = code.replace("::syclbin_rt::", "syclbin_rt::");
    let place = kernel.location.as_deref().unwrap_or("C++");
    let signature = cpp.lines().filter(|line| !line.starts_with("//"));
    let signature = signature.map(|line| format!("// {place}: {line}\n"));
    let mut text = signature.collect::<String>() + "/*\n";
    for line in code.lines().filter_map(|line| line.strip_prefix("    ")) {
        text += &format!("{line}\n");
    }
    text + "*/\n"
}

/// Returns an expression for a placeholder of this type, or `None` if the function has no such parameter.
fn placeholder(ty: &Type, types: &Types<'_>) -> Option<TokenStream> {
    let element = match ty.pointee() {
        Some(Pointee::Element(element)) => types.of(element, 0),
        _ => quote!(u8),
    };
    Some(match ty {
        Type::LocalMemory { size: Some(_), .. } | Type::KernelHandler | Type::Unused => {
            return None;
        }
        Type::LocalMemory { .. } => quote!(::syclbin_rt::LocalMemory::<#element>::of(64)),
        Type::LocalAccessor { dimensions, .. } if *dimensions == Some(0) => return None,
        Type::LocalAccessor { dimensions, .. } => extent(*dimensions, true),
        Type::Pointer { .. } | Type::Accessor { .. } => quote!(queue.zeroed::<#element>(1024)?),
        Type::Image { .. } | Type::Sampler => quote!(todo!()),
        Type::Value(Element::Scalar(Scalar::Bool)) => quote!(false),
        Type::Value(element) => value(element, types),
    })
}

/// Returns a range of 1024 work-items, or of 64 work-items for a work-group.
fn extent(dimensions: Option<u8>, in_group: bool) -> TokenStream {
    let texts = if in_group {
        ["()", "64", "[8, 8]", "[4, 4, 4]"]
    } else {
        ["()", "1024", "[32, 32]", "[16, 8, 8]"]
    };
    let text = texts.get(usize::from(dimensions.unwrap_or(1)));
    text.unwrap_or(&texts[1]).parse().unwrap_or_default()
}

/// Returns an expression for the zero value of a type. Struct literals list every member.
fn value(element: &Element, types: &Types<'_>) -> TokenStream {
    match element {
        Element::Scalar(of) | Element::Enum(Enum { of, .. })
            if !matches!(of, Scalar::F16 | Scalar::BF16) =>
        {
            let point = if of.is_float() { ".0" } else { "" };
            let text = format!("0{point}{}", number(*of));
            text.parse().unwrap_or_default()
        }
        Element::Array { of, count } => {
            let (of, count) = (value(of, types), Literal::u64_unsuffixed(*count));
            quote!([#of; #count])
        }
        Element::Struct(id) => {
            let path = types.structure(*id, 0);
            let layout = types.layouts.get(*id).into_iter();
            let fields = layout.flat_map(structs::members).map(|(name, field)| {
                let value = value(&field.ty, types);
                quote!(#name: #value,)
            });
            quote!(#path { #(#fields)* ..Default::default() })
        }
        _ => quote!(::syclbin_rt::bytemuck::Zeroable::zeroed()),
    }
}
