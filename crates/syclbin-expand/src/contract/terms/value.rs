// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values of expressions, and the numbers that are literals or limits of a type.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::{Expr, Lit};

use crate::contract::condition::ungrouped;
use crate::contract::spelling::spelled;
use crate::contract::sum::Sum;

/// The value of an expression in a contract.
pub(crate) struct Value {
    /// Code for a `__private::Number`, or for a value that converts to it.
    pub(crate) code: TokenStream,
    /// The sum of the expression.
    pub(crate) sum: Sum,
}

impl Value {
    pub(super) fn constant(number: i128) -> Self {
        let value = Literal::i128_suffixed(number);
        Self {
            code: quote!(#value),
            sum: Sum::constant(number),
        }
    }

    /// Creates a number of the launch that is never negative.
    pub(super) fn natural(code: TokenStream, at: &Expr) -> Self {
        let sum = Sum::natural(spelled(ungrouped(at)));
        Self { code, sum }
    }
}

/// Returns the value of limits such as `i32::MIN`.
pub(super) fn limit(path: &syn::Path) -> Option<i128> {
    let mut words = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string());
    let (ty, end) = (words.next()?, words.next()?);
    let (signed, bits) = ty.split_at_checked(1)?;
    let bits: u32 = bits
        .parse()
        .ok()
        .filter(|bits| [8, 16, 32, 64].contains(bits))?;
    let half = 1i128 << (bits - 1);
    match (signed, &*end) {
        ("i", "MIN") => Some(-half),
        ("i", "MAX") => Some(half - 1),
        ("u", "MIN") => Some(0),
        ("u", "MAX") => Some(2 * half - 1),
        _ => None,
    }
}

/// Returns the number, if the expression is an integer literal.
pub(super) fn literal(expression: &Expr) -> syn::Result<Option<u64>> {
    match ungrouped(expression) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().map(Some),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}
