// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates a parameter: its Rust type, and the expression that passes it.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
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
        let given = |ty: TokenStream, value: TokenStream| Self {
            ty: Some(ty),
            value,
            borrows: false,
        };
        let borrowed = |ty, value| Self {
            borrows: true,
            ..given(ty, value)
        };
        let hidden = |value| Self {
            ty: None,
            value,
            borrows: false,
        };
        let by_value = quote!(#rt::Arg::value(#name));
        match ty {
            Type::Value(Element::Scalar(Scalar::Bool)) => {
                given(quote!(bool), quote!(#rt::Arg::bool(#name)))
            }
            Type::Value(element) => {
                let value = match element {
                    Element::Scalar(Scalar::F16 | Scalar::BF16) => by_value,
                    // An enumeration is passed as a number, because the file does not record its enumerators.
                    Element::Scalar(_) | Element::Enum(_) => quote!(#rt::Arg::scalar(#name)),
                    _ => by_value,
                };
                given(types.of(element, depth), value)
            }
            Type::Pointer { pointee, access } => {
                let pointee = types.pointee(pointee, depth);
                let slice = quote!(#rt::DeviceSlice<#pointee>);
                let (slice, read) = match access {
                    Access::Read => (quote!(&'a #slice), true),
                    Access::ReadWrite => (quote!(&'a mut #slice), false),
                };
                let method = match (read, optional) {
                    (true, false) => quote!(read),
                    (false, false) => quote!(write),
                    (true, true) => quote!(read_or_null),
                    (false, true) => quote!(write_or_null),
                };
                let ty = if optional {
                    quote!(::core::option::Option<#slice>)
                } else {
                    slice
                };
                borrowed(ty, quote!(#rt::Arg::#method(#name)))
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
                access,
            } => {
                let element = types.pointee(element, depth);
                let (buffer, constructor) = match access {
                    Access::Read => (
                        quote!(&'a #rt::DeviceSlice<#element>),
                        quote!(#rt::Arg::read_accessor),
                    ),
                    Access::ReadWrite => (
                        quote!(&'a mut #rt::DeviceSlice<#element>),
                        quote!(#rt::Arg::write_accessor),
                    ),
                };
                match (dimensions, access) {
                    // Passes the entire buffer, like a C++ accessor without a range.
                    (1, Access::Read) => borrowed(buffer, quote!(#constructor(#name, #name.len()))),
                    (1, Access::ReadWrite) => borrowed(
                        buffer,
                        quote!({
                            let all = #name.len();
                            #constructor(#name, all)
                        }),
                    ),
                    _ => {
                        let extent = extent(*dimensions);
                        borrowed(
                            quote!((#buffer, #extent)),
                            quote!(#constructor(#name.0, #name.1)),
                        )
                    }
                }
            }
            Type::Image {
                element,
                dimensions,
                access,
            } => {
                let dimensions = Literal::u8_unsuffixed(*dimensions);
                let of = element.map(|element| {
                    let element = number(element);
                    quote!(<Element = #element>)
                });
                let image = quote!(#rt::Image<#dimensions, impl #rt::format::Format #of>);
                match access {
                    Access::Read => {
                        borrowed(quote!(&'a #image), quote!(#rt::Arg::read_image(#name)))
                    }
                    Access::ReadWrite => {
                        borrowed(quote!(&'a mut #image), quote!(#rt::Arg::write_image(#name)))
                    }
                }
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
