// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits on input: parsing it, and dropping the result, takes stack for each level.

use proc_macro2::{TokenStream, TokenTree};
use syn::Error;

/// The maximum depth of brackets in the input of a macro.
const MOST_DEPTH: usize = 64;

/// The maximum number of tokens in an expression. Each may be a level of it: `1 + 1 + 1`, `- - 1`.
const MOST_TOKENS: usize = 300;

/// Checks the limits that all other code relies on: the depth of brackets, and the length of attributes.
///
/// # Errors
///
/// Fails at the first token beyond a limit.
pub(crate) fn check(input: &TokenStream) -> syn::Result<()> {
    check_depth(input)?;
    let mut before: Option<TokenTree> = None;
    for token in input.clone() {
        let hash = matches!(&before, Some(TokenTree::Punct(punct)) if punct.as_char() == '#');
        if let TokenTree::Group(group) = &token
            && hash
        {
            check_length(group.stream(), "attribute")?;
        }
        before = Some(token);
    }
    Ok(())
}

/// Checks the depth without recursion: the input may be deeper than the stack.
fn check_depth(input: &TokenStream) -> syn::Result<()> {
    let mut open = vec![input.clone().into_iter()];
    while let Some(tokens) = open.last_mut() {
        match tokens.next() {
            Some(TokenTree::Group(group)) if open.len() > MOST_DEPTH => {
                let message = format!(
                    "brackets nest more than {MOST_DEPTH} deep here: write this with fewer"
                );
                return Err(Error::new(group.span_open(), message));
            }
            Some(TokenTree::Group(group)) => open.push(group.stream().into_iter()),
            Some(_) => {}
            None => {
                open.pop();
            }
        }
    }
    Ok(())
}

/// Checks that `syn` can parse `tokens` as an expression. [`check`] must have accepted them.
///
/// # Errors
///
/// Fails at the first token beyond the limit.
pub(crate) fn check_length(tokens: TokenStream, what: &str) -> syn::Result<()> {
    let mut left = MOST_TOKENS;
    count(tokens, &mut left).map_err(|token| {
        let message = format!(
            "this {what} is too long: it may have {MOST_TOKENS} words and signs, and this is one more; \
             write it shorter, or as several"
        );
        Error::new(token.span(), message)
    })
}

fn count(tokens: TokenStream, left: &mut usize) -> Result<(), TokenTree> {
    for token in tokens {
        match left.checked_sub(1) {
            Some(fewer) => *left = fewer,
            None => return Err(token),
        }
        if let TokenTree::Group(group) = token {
            count(group.stream(), left)?;
        }
    }
    Ok(())
}
