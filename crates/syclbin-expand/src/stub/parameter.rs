// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates a parameter: its Rust type, and the expression that passes it.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};
use syclbin::signature::{Access, Element, Scalar, Type};

use crate::types::{Types, number};

pub(crate) struct Passing {
    /// The Rust type, or `None` if the method has no such parameter.
    pub(crate) ty: Option<TokenStream>,
    pub(crate) value: TokenStream,
    /// Whether the argument borrows something that must outlive the launch.
    pub(crate) borrows: bool,
}

impl Passing {
    /// Returns how a method `depth` modules deep passes parameter `name` of type `ty`. Removed parameters are passed
    /// too; the runtime skips them.
    pub(crate) fn new(
        name: &Ident,
        ty: &Type,
        optional: bool,
        types: &Types<'_>,
        depth: usize,
    ) -> Self {
        let rt = quote!(::syclbin_rt);
        let passing = |ty, value, borrows| Self { ty, value, borrows };
        let given = |ty, value| passing(Some(ty), value, false);
        let borrowed = |ty, value| passing(Some(ty), value, true);
        let hidden = |value| passing(None, value, false);
        let by_value = quote!(#rt::Arg::value(#name));
        // How the method borrows memory, and the prefix of the names of `Arg`'s constructors.
        let (reference, verb) = match ty.access() {
            Some(Access::Read) => (quote!(&'a), "read"),
            _ => (quote!(&'a mut), "write"),
        };
        match ty {
            Type::Value(Element::Scalar(Scalar::Bool)) => {
                given(quote!(bool), quote!(#rt::Arg::bool(#name)))
            }
            Type::Value(element) => given(types.of(element, depth), by_value),
            Type::Pointer { pointee, .. } => {
                let pointee = types.pointee(pointee, depth);
                let slice = quote!(#reference #rt::DeviceSlice<#pointee>);
                let (ty, constructor) = if optional {
                    let ty = quote!(::core::option::Option<#slice>);
                    (ty, format_ident!("{verb}_or_null"))
                } else {
                    (slice, format_ident!("{verb}"))
                };
                borrowed(ty, quote!(#rt::Arg::#constructor(#name)))
            }
            Type::LocalMemory {
                size: Some(bytes), ..
            } => {
                let bytes = Literal::u64_unsuffixed(*bytes);
                hidden(quote!(#rt::Arg::local(#bytes)))
            }
            Type::LocalMemory {
                element,
                size: None,
            } => {
                let element = types.pointee(element, depth);
                given(
                    quote!(#rt::LocalMemory<#element>),
                    quote!(<#rt::Arg<'_> as ::core::convert::From<_>>::from(#name)),
                )
            }
            Type::LocalAccessor {
                element,
                dimensions,
            } => {
                let element = types.pointee(element, depth);
                let accessor = |range| quote!(#rt::Arg::local_accessor::<#element>(#range));
                let ty = match dimensions {
                    Some(0) => return hidden(accessor(quote!(1))),
                    Some(1) => quote!(usize),
                    Some(dimensions) => extent(*dimensions),
                    None => quote!(impl ::core::convert::Into<#rt::Extent>),
                };
                given(ty, accessor(quote!(#name)))
            }
            Type::Accessor {
                element,
                dimensions,
                ..
            } => {
                let element = types.pointee(element, depth);
                let buffer = quote!(#reference #rt::DeviceSlice<#element>);
                let constructor = format_ident!("{verb}_accessor");
                let constructor = quote!(#rt::Arg::#constructor);
                if *dimensions == 1 {
                    // Passes the entire buffer, like a C++ accessor without a range.
                    let all = Ident::new("__all", Span::mixed_site());
                    let value = quote!({
                        let #all = #name.len();
                        #constructor(#name, #all)
                    });
                    borrowed(buffer, value)
                } else {
                    let extent = extent(*dimensions);
                    borrowed(
                        quote!((#buffer, #extent)),
                        quote!(#constructor(#name.0, #name.1)),
                    )
                }
            }
            Type::Image {
                element,
                dimensions,
                ..
            } => {
                let dimensions = Literal::u8_unsuffixed(*dimensions);
                let of = element.map(|element| {
                    let element = number(element);
                    quote!(<Element = #element>)
                });
                let constructor = format_ident!("{verb}_image");
                borrowed(
                    quote!(#reference #rt::Image<#dimensions, impl #rt::format::Format #of>),
                    quote!(#rt::Arg::#constructor(#name)),
                )
            }
            Type::Sampler => borrowed(quote!(&'a #rt::Sampler), quote!(#rt::Arg::sampler(#name))),
            Type::KernelHandler => hidden(quote!(#rt::Arg::kernel_handler())),
            Type::Unused => hidden(quote!(#rt::Arg::scalar(0u8))),
        }
    }
}

fn extent(dimensions: u8) -> TokenStream {
    let dimensions = Literal::u8_unsuffixed(dimensions);
    quote!([usize; #dimensions])
}
