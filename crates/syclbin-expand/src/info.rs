// SPDX-License-Identifier: MIT OR Apache-2.0
//! The constant `KERNELS`: the kernels with stubs, as data.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syclbin::signature::{Access, Element, Layouts, Parameter, Pointee, Type};

use crate::file::File;
use crate::names::plain;
use crate::plan::Plan;
use crate::plan::namespace::Namespace;
use crate::stub::Stub;

/// Returns the constant.
pub(crate) fn kernels(plan: &Plan<'_>, file: &File) -> TokenStream {
    let mut all = Vec::new();
    each(&plan.root, &mut Vec::new(), &mut |path, stub| {
        all.push(kernel(&path, stub, file));
    });
    let doc = crate::doc::comment("The kernels with functions, as data.");
    quote! {
        #doc
        pub const KERNELS: &[::syclbin_rt::KernelInfo] = &[#(#all),*];
    }
}

/// Calls `look` with the path of each stub.
pub(crate) fn each<'p, 'f>(
    namespace: &'p Namespace<'f>,
    path: &mut Vec<String>,
    look: &mut impl FnMut(String, &'p Stub<'f>),
) {
    for stub in &namespace.stubs {
        let own = plain(&stub.ident);
        let parts = path.iter().chain([&own]);
        look(
            parts.map(String::as_str).collect::<Vec<_>>().join("::"),
            stub,
        );
    }
    for (name, inner) in &namespace.inner {
        path.push(name.clone());
        each(&inner.namespace, path, look);
        path.pop();
    }
}

fn kernel(path: &str, stub: &Stub<'_>, file: &File) -> TokenStream {
    let kernel = stub.kernel;
    let symbol = &kernel.symbol;
    let declaration = kernel.cpp().unwrap_or_default();
    let layouts = &file.signatures.layouts;
    let declared = kernel.declaration.iter().flat_map(|of| &of.parameters);
    let mut types = declared.map(|parameter| parameter.ty.as_str());
    let parameters = stub
        .parameters
        .iter()
        .filter_map(|own| parameter(own, types.next(), layouts));
    let size = kernel.required_local_size.iter().flatten();
    let size = size.map(|size| Literal::u32_unsuffixed(*size));
    let dimensions = match kernel.dimensions.map(Literal::u8_unsuffixed) {
        Some(dimensions) => quote!(::core::option::Option::Some(#dimensions)),
        None => quote!(::core::option::Option::None),
    };
    let aspects = file.aspects.get(symbol).into_iter().flatten();
    quote! {
        ::syclbin_rt::KernelInfo {
            name: #path,
            symbol: #symbol,
            declaration: #declaration,
            parameters: &[#(#parameters),*],
            dimensions: #dimensions,
            work_group_size: &[#(#size),*],
            aspects: &[#(#aspects),*],
        }
    }
}

fn parameter(
    parameter: &Parameter,
    declared: Option<&str>,
    layouts: &Layouts,
) -> Option<TokenStream> {
    let name = parameter.name.as_deref().unwrap_or_default();
    let value = |element: &Element| (quote!(Value), layouts.size(element));
    let memory = |pointee: &Pointee| match pointee {
        Pointee::Element(element) => layouts.size(element),
        Pointee::Void | Pointee::Unknown(_) => None,
    };
    let (kind, size) = match &parameter.ty {
        Type::Scalar(of) => value(&Element::Scalar(*of)),
        Type::Enum(of) => value(&Element::Enum(of.clone())),
        Type::Vector { of, count } => value(&Element::Vector {
            of: *of,
            count: *count,
        }),
        Type::Array { of, count } => value(&Element::Array {
            of: Box::new(of.clone()),
            count: *count,
        }),
        Type::Struct(id) => value(&Element::Struct(*id)),
        Type::Pointer {
            pointee,
            access: Access::Read,
        } => (quote!(ReadPointer), memory(pointee)),
        Type::Pointer { pointee, .. } => (quote!(WritePointer), memory(pointee)),
        Type::Accessor {
            element,
            access: Access::Read,
            ..
        } => (quote!(ReadAccessor), memory(element)),
        Type::Accessor { element, .. } => (quote!(WriteAccessor), memory(element)),
        Type::LocalMemory { element, .. } | Type::LocalAccessor { element, .. } => {
            (quote!(LocalMemory), memory(element))
        }
        Type::Image {
            access: Access::Read,
            ..
        } => (quote!(ReadImage), None),
        Type::Image { .. } => (quote!(WriteImage), None),
        Type::Sampler => (quote!(Sampler), None),
        Type::KernelHandler => (quote!(KernelHandler), None),
        Type::Unused => return None,
    };
    let ty = declared.unwrap_or_default();
    let size = match size {
        Some(size) => {
            let size = Literal::u64_unsuffixed(size);
            quote!(::core::option::Option::Some(#size))
        }
        None => quote!(::core::option::Option::None),
    };
    Some(quote! {
        ::syclbin_rt::ParameterInfo {
            name: #name,
            kind: ::syclbin_rt::ParameterKind::#kind,
            ty: #ty,
            size: #size,
        }
    })
}
