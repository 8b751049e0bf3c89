// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implied conditions, which the user did not write, and the check of a condition in generated code.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use crate::contract::condition::Relation;

/// A condition that the user did not write, on a number in an argument.
pub(crate) struct Implied {
    argument: Option<usize>,
    /// The number, as conditions spell it.
    pub(super) text: String,
    number: TokenStream,
    /// The operator, and its relation.
    relation: (&'static str, Relation),
    /// The right side, as conditions would spell it, and the code that reads it.
    bound: (String, TokenStream),
}

impl Implied {
    /// Requires a number of at least 0. Such a signed number keeps its value when it is converted to
    /// unsigned.
    pub(crate) fn natural(argument: Option<usize>, text: String, number: TokenStream) -> Self {
        Self {
            argument,
            text,
            number,
            relation: (">=", Relation::GreaterOrEqual),
            bound: ("0".into(), quote!(0i128)),
        }
    }

    /// Requires a `bool` to be 0 or 1. Rust has a byte for a `bool` in memory, and other values are undefined
    /// in C++.
    pub(crate) fn bool(argument: usize, text: String, number: TokenStream) -> Self {
        Self {
            argument: Some(argument),
            text,
            number,
            relation: ("<=", Relation::LessOrEqual),
            bound: ("1".into(), quote!(1i128)),
        }
    }

    /// Requires the memory of `argument`, called `name`, to be aligned to `bytes`. If `bytes` is unknown, it
    /// must have the alignment that the device gives to all memory.
    pub(crate) fn aligned(argument: usize, name: &str, bytes: Option<u64>) -> Self {
        let position = Literal::usize_unsuffixed(argument);
        let bound = match bytes {
            Some(bytes) => {
                let value = Literal::i128_suffixed(bytes.into());
                (bytes.to_string(), quote!(#value))
            }
            None => (
                "device.align()".into(),
                quote!(given.device_align(#position)),
            ),
        };
        Self {
            argument: Some(argument),
            text: format!("{name}.align()"),
            number: quote!(given.align(#position)),
            relation: (">=", Relation::Aligned),
            bound,
        }
    }

    /// Returns the condition as a user would write it, and its check.
    pub(super) fn check(&self) -> (String, TokenStream) {
        let (sign, relation) = self.relation;
        let (bound, value) = &self.bound;
        let text = format!("{} {sign} {bound}", self.text);
        let check = holds(
            &text,
            self.argument,
            relation,
            [&self.text, bound],
            [self.number.clone(), value.clone()],
        );
        (text, check)
    }
}

/// Returns the check of one condition.
pub(super) fn holds(
    text: &str,
    argument: Option<usize>,
    relation: Relation,
    [left, right]: [&str; 2],
    [left_value, right_value]: [TokenStream; 2],
) -> TokenStream {
    let argument = match argument.map(Literal::usize_unsuffixed) {
        Some(index) => quote!(::core::option::Option::Some(#index)),
        None => quote!(::core::option::Option::None),
    };
    let relation = format_ident!("{relation:?}");
    quote! {
        given.holds(
            &::syclbin_rt::__private::Condition {
                text: #text,
                argument: #argument,
                left: #left,
                relation: ::syclbin_rt::__private::Relation::#relation,
                right: #right,
            },
            #left_value,
            #right_value,
        )?;
    }
}
