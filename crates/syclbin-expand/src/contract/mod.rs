// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contracts: conditions on a kernel's arguments, checked at launch.
//!
//! A condition is a Rust expression. Names of parameters and their members become reads of the launch arguments.
//! `self::` and `super::` start from the module that contains `include_syclbin!`. Everything else is left unchanged for
//! rustc to check.
//!
//! | module | contents |
//! |---|---|
//! | `condition` | a condition with its names replaced |
//! | `subobject` | the bytes of a member in an argument |
//! | `safety` | the requirements of every safe launch, regardless of the conditions |

mod condition;
mod safety;
mod subobject;

pub(crate) use crate::contract::condition::memory;
use crate::contract::condition::{Condition, Reader};
use crate::names::cpp_name::CppName;
use crate::types::Types;
use proc_macro2::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syclbin::signature::KernelSignature;

/// All conditions, including the implied ones, and a module with the function that checks them. The module is outside
/// every `unsafe` block.
pub(crate) type Checked = (Vec<String>, TokenStream);

/// Returns the number of dimensions that a contract states, such as 2 for `range.dimensions() == 2`. The number is 0
/// for a single task.
pub(crate) fn stated_dimensions(conditions: &[TokenStream]) -> Option<u8> {
    (0..=3).find(|dimensions| conditions.iter().any(|tokens| states(tokens, *dimensions)))
}

fn states(condition: &TokenStream, dimensions: u8) -> bool {
    spelled(condition) == format!("range.dimensions() == {dimensions}")
}

/// Returns the checks for launches of `kernel` over `dimensions` dimensions. The generated method is `depth` modules
/// deep. If the contract contains mistakes, such as conditions on unknown members or buffers without a bound, reports
/// all of them and returns no checks.
pub(crate) fn check(
    conditions: &[TokenStream],
    kernel: &KernelSignature,
    item: &CppName,
    (dimensions, depth): (Option<u8>, usize),
    types: &Types<'_>,
    errors: &mut Vec<syn::Error>,
) -> Checked {
    let parameters = kernel.parameters.as_deref().unwrap_or_default();
    let up = std::iter::repeat_n(quote!(super::), depth + 2);
    let around = quote!(#(#up)*);
    let mut reader = Reader::new(kernel, types, dimensions, around.clone());
    let (mut all, before) = (Vec::new(), errors.len());
    match safety::bools(parameters, types) {
        Ok(bools) => all.extend(bools),
        Err(message) => errors.push(item.error(message)),
    }
    // Skip the condition that states the dimensions, because the type of the launch already enforces them.
    let stated = |tokens: &&TokenStream| dimensions.is_some_and(|count| states(tokens, count));
    for tokens in conditions.iter().filter(|tokens| !stated(tokens)) {
        match reader.condition(tokens) {
            Ok(condition) => all.push(condition),
            Err(error) => errors.push(error),
        }
    }
    let missing = safety::missing(parameters, types, &reader.bounded);
    errors.extend(missing.into_iter().map(|message| item.error(message)));
    let aligned = safety::alignments(parameters, types, &reader.aligned);
    let checks = all.iter().map(Condition::check).chain(aligned);
    let is_valid = errors.len() == before;
    let (texts, checks): (Vec<_>, Vec<_>) = checks.filter(|_| is_valid).unzip();
    let view = if checks.is_empty() {
        quote!(_)
    } else {
        given().to_token_stream()
    };
    // Imports the module that contains `include_syclbin!`, because the conditions use its items. Nothing from the
    // generated module is in scope.
    let imports =
        (reader.foreign && is_valid).then(|| quote!(#[allow(unused_imports)] use #around *;));
    let module = quote! {
        mod __contract {
            #imports

            pub(super) fn __check(
                #view: &::syclbin_rt::__private::LaunchView<'_>,
            ) -> ::core::result::Result<(), ::syclbin_rt::__private::Broken> {
                #(#checks)*
                ::core::result::Result::Ok(())
            }
        }
    };
    (texts, module)
}

/// Returns the variable that contains the launch view. User-written names never resolve to it.
fn given() -> Ident {
    Ident::new("given", Span::mixed_site())
}

/// Formats an expression as a user would write it.
pub(crate) fn spelled(tokens: &impl ToTokens) -> String {
    let mut text = String::new();
    spell(tokens.to_token_stream(), &mut text);
    text
}

/// Writes tokens with spaces only around operators. `TokenStream::to_string` writes a space between any two tokens.
fn spell(tokens: TokenStream, text: &mut String) {
    let (mut after, mut joint) = (Token::Start, false);
    for token in tokens {
        let kind = match &token {
            TokenTree::Punct(punct) if !['.', ':'].contains(&punct.as_char()) => match after {
                Token::Start | Token::Operator if !joint => Token::Sign,
                _ => Token::Operator,
            },
            _ => Token::Operand,
        };
        let spaced = match (after, kind) {
            (Token::Start | Token::Sign, _) | (Token::Operand, Token::Operand) => false,
            _ => !joint,
        };
        if spaced {
            text.push(' ');
        }
        match &token {
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    Delimiter::Parenthesis => ["(", ")"],
                    Delimiter::Bracket => ["[", "]"],
                    Delimiter::Brace => ["{", "}"],
                    // The contents of a `macro_rules!` variable.
                    Delimiter::None if has_operator(group) => ["(", ")"],
                    Delimiter::None => ["", ""],
                };
                text.push_str(open);
                spell(group.stream(), text);
                text.push_str(close);
            }
            token => text.push_str(&token.to_string()),
        }
        joint = matches!(&token, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint);
        after = kind;
    }
}

fn has_operator(group: &Group) -> bool {
    let mut tokens = group.stream().into_iter();
    tokens.any(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() != '.'))
}

#[derive(Clone, Copy)]
enum Token {
    Start,
    Operator,
    /// A unary operator, such as a minus before a number.
    Sign,
    Operand,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_stand_around_operators_only() {
        for text in [
            "x.len() >= n",
            "-1",
            "n - -1",
            "-n * (m + 2) <= -x.len()",
            "w.grids[1].sizes[2] == range[0]",
            "a && b",
            "!a",
            "n % 8 != 0",
        ] {
            let tokens: TokenStream = text.parse().unwrap();
            assert_eq!(spelled(&tokens), text);
        }
        let without_whitespace: TokenStream = "-n*2>=x.len()".parse().unwrap();
        assert_eq!(spelled(&without_whitespace), "-n * 2 >= x.len()");
    }

    #[test]
    fn an_invisible_group_shows_around_operators() {
        for (inner, expected) in [
            ("n", "2 * n"),
            ("x.len()", "2 * x.len()"),
            ("a - b", "2 * (a - b)"),
        ] {
            let group = Group::new(Delimiter::None, inner.parse().unwrap());
            assert_eq!(spelled(&quote::quote!(2 * #group)), expected);
        }
    }
}
