//! Implied conditions, which nobody wrote, and the check of a condition in generated code.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use crate::contract::condition::Relation;

/// A condition that nobody wrote, on a number in an argument.
pub(crate) struct Implied {
    argument: Option<usize>,
    /// The number, as conditions write it and as it is read.
    pub(super) text: String,
    number: TokenStream,
    /// How it is spelled and what it is called.
    relation: (&'static str, Relation),
    /// What it is compared with, as conditions would write it and as it is read.
    bound: (String, TokenStream),
}

impl Implied {
    /// From 0 on a signed number is the same when it is taken for an unsigned one.
    pub(crate) fn natural(argument: Option<usize>, text: String, number: TokenStream) -> Self {
        Self {
            argument,
            text,
            number,
            relation: (">=", Relation::GreaterOrEqual),
            bound: ("0".into(), quote!(0i128)),
        }
    }

    /// Rust has a byte for a `bool` in memory, and one that is neither 0 nor 1 is undefined in C++.
    pub(crate) fn bool(argument: usize, text: String, number: TokenStream) -> Self {
        Self {
            argument: Some(argument),
            text,
            number,
            relation: ("<=", Relation::LessOrEqual),
            bound: ("1".into(), quote!(1i128)),
        }
    }

    /// What `argument`, called `name`, points to is aligned to so many bytes; to as many as the device
    /// aligns all memory to, where they are not known.
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

    /// The condition as it would be written, and the check.
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

/// The check of one condition.
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
            &::syclbin_rt::contract::Condition {
                text: #text,
                argument: #argument,
                left: #left,
                relation: ::syclbin_rt::contract::Relation::#relation,
                right: #right,
            },
            #left_value,
            #right_value,
        )?;
    }
}
