// SPDX-License-Identifier: MIT OR Apache-2.0
//! The input between the braces: `mod name = "file";`, and the items after it.

pub(crate) mod items;
pub(crate) mod limits;

use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Ident, LitStr, Token, Visibility};

use crate::input::items::Items;

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
    /// Parses the input. Returns it with the errors of single items.
    ///
    /// # Errors
    ///
    /// Fails if the input does not begin with a valid module.
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<(Self, Vec<syn::Error>)> {
        limits::check(&tokens)?;
        let (mut input, rest) = parse_head.parse2(tokens)?;
        let (items, errors) = Items::parse(rest);
        input.items = items;
        Ok((input, errors))
    }
}

/// Parses the module, and returns the tokens after it.
fn parse_head(input: ParseStream<'_>) -> syn::Result<(Input, TokenStream)> {
    let form = |error: syn::Error| syn::Error::new(error.span(), FORM);
    let attributes = input.call(Attribute::parse_outer)?;
    let visibility = Visibility::parse(input)?;
    input.parse::<Token![mod]>().map_err(form)?;
    let name = input.parse()?;
    input.parse::<Token![=]>().map_err(form)?;
    let file: LitStr = input.parse().map_err(form)?;
    if input.is_empty() {
        // No token follows, so the error points at the last one.
        return Err(syn::Error::new(file.span(), FORM));
    }
    input.parse::<Token![;]>().map_err(form)?;
    let head = Input {
        attributes,
        visibility,
        name,
        file,
        items: Items::default(),
    };
    Ok((head, input.parse()?))
}
