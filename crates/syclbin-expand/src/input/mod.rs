// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses the macro input: `mod name = "file";` and the items after it. Limits the nesting depth and the length,
//! because `syn` parses expressions recursively.

pub(crate) mod items;

use crate::input::items::{Items, is_punct};
use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Error, Ident, LitStr, Token, Visibility};

pub(crate) struct Input {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) name: Ident,
    pub(crate) file: LitStr,
    pub(crate) items: Items,
}

const FORM: &str = "expected the form `pub mod kernels = \"NAME\";`, \
    where NAME is what build.rs passes to `compile`, or the path of a .syclbin file";

impl Input {
    /// Parses the input. Also returns the errors in individual items.
    ///
    /// # Errors
    ///
    /// Fails if the input does not start with a valid module.
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<(Self, Vec<syn::Error>)> {
        check(&tokens)?;
        parse_all.parse2(tokens)
    }
}

fn parse_all(input: ParseStream<'_>) -> syn::Result<(Input, Vec<Error>)> {
    let form = |error: syn::Error| syn::Error::new(error.span(), FORM);
    let attributes = input.call(Attribute::parse_outer)?;
    let visibility = Visibility::parse(input)?;
    input.parse::<Token![mod]>().map_err(form)?;
    let name = input.parse()?;
    input.parse::<Token![=]>().map_err(form)?;
    let file: LitStr = input.parse().map_err(form)?;
    if input.is_empty() {
        // No token follows, so the error points at the last token.
        return Err(syn::Error::new(file.span(), FORM));
    }
    input.parse::<Token![;]>().map_err(form)?;
    let (items, errors) = Items::parse(input.parse()?);
    let parsed = Input {
        attributes,
        visibility,
        name,
        file,
        items,
    };
    Ok((parsed, errors))
}

const MOST_DEPTH: usize = 64;

/// The maximum number of tokens in an expression or attribute. It limits the recursion of `syn`, because each token may
/// add a nesting level, as in `1 + 1 + 1` or `- - 1`.
const MOST_TOKENS: usize = 300;

/// Checks the limits that the rest of the crate relies on: the depth of brackets, and the length of attributes.
///
/// # Errors
///
/// Fails at the first token beyond a limit.
pub(crate) fn check(input: &TokenStream) -> syn::Result<()> {
    check_depth(input)?;
    let tokens = Vec::from_iter(input.clone());
    for pair in tokens.windows(2) {
        if let [hash, TokenTree::Group(group)] = pair
            && is_punct(hash, '#')
        {
            check_length(group.stream(), "attribute")?;
        }
    }
    Ok(())
}

/// Checks the depth without recursion, because the input may be nested too deeply for the stack.
fn check_depth(input: &TokenStream) -> syn::Result<()> {
    let mut open = vec![input.clone().into_iter()];
    while let Some(tokens) = open.last_mut() {
        match tokens.next() {
            Some(TokenTree::Group(group)) if open.len() > MOST_DEPTH => {
                let message = format!(
                    "brackets are nested more than {MOST_DEPTH} levels deep; simplify this"
                );
                return Err(Error::new(group.span_open(), message));
            }
            Some(TokenTree::Group(group)) => open.push(group.stream().into_iter()),
            Some(_) => {}
            None => _ = open.pop(),
        }
    }
    Ok(())
}

/// Checks that `tokens` are short enough for `syn` to parse as an expression. [`check`] must have accepted them.
///
/// # Errors
///
/// Fails at the first token beyond the limit.
pub(crate) fn check_length(tokens: TokenStream, what: &str) -> syn::Result<()> {
    let mut left = MOST_TOKENS;
    count(tokens, &mut left).map_err(|token| {
        let message = format!(
            "this {what} is too long: at most {MOST_TOKENS} tokens are allowed; shorten it or split it"
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
