// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates the constant `KERNELS`, which lists the kernels with stubs.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syclbin::signature::{Access, Layouts, Parameter, Type};

use crate::file::File;
use crate::plan::Plan;
use crate::stub::Stub;
use crate::types::{element_of, option};

pub(crate) fn kernels(plan: &Plan<'_>, file: &File) -> TokenStream {
    let all = plan.root.all_stubs().into_iter();
    let all = all.map(|(path, stub)| kernel(&path, stub, file));
    let doc = crate::doc::comment("Describes each kernel that has a function.");
    quote! {
        #doc
        pub const KERNELS: &[::syclbin_rt::KernelInfo] = &[#(#all),*];
    }
}

fn kernel(path: &str, stub: &Stub<'_>, file: &File) -> TokenStream {
    let kernel = stub.kernel;
    let symbol = &kernel.symbol;
    let declaration = kernel.cpp().unwrap_or_default();
    let layouts = &file.signatures.layouts;
    let declared = kernel.declaration.iter().flat_map(|of| &of.parameters);
    let mut types = declared.map(|parameter| parameter.ty.as_str());
    let parameters = stub.parameters.iter();
    let parameters = parameters.filter_map(|own| parameter(own, types.next(), layouts));
    let size = kernel.required_local_size.iter().flatten();
    let size = size.map(|size| Literal::u32_unsuffixed(*size));
    let dimensions = option(kernel.dimensions.map(Literal::u8_unsuffixed));
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
    let size = element_of(&parameter.ty).and_then(|element| layouts.size(element));
    let is_read = parameter.ty.access() == Some(Access::Read);
    let kind = match parameter.ty {
        Type::Pointer { .. } if is_read => quote!(ReadPointer),
        Type::Pointer { .. } => quote!(WritePointer),
        Type::Accessor { .. } if is_read => quote!(ReadAccessor),
        Type::Accessor { .. } => quote!(WriteAccessor),
        Type::LocalMemory { .. } | Type::LocalAccessor { .. } => quote!(LocalMemory),
        Type::Image { .. } if is_read => quote!(ReadImage),
        Type::Image { .. } => quote!(WriteImage),
        Type::Sampler => quote!(Sampler),
        Type::KernelHandler => quote!(KernelHandler),
        Type::Unused => return None,
        _ => quote!(Value),
    };
    let ty = declared.unwrap_or_default();
    let size = option(size.map(Literal::u64_unsuffixed));
    Some(quote! {
        ::syclbin_rt::ParameterInfo {
            name: #name,
            kind: ::syclbin_rt::ParameterKind::#kind,
            ty: #ty,
            size: #size,
        }
    })
}
