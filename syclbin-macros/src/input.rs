//! What is written between the braces: one `mod name = "file";`.

use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Ident, LitStr, Token, Visibility};

pub(crate) struct Input {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) name: Ident,
    pub(crate) file: LitStr,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const FORM: &str = "expected the form `pub mod kernels = \"NAME\";`, \
            where NAME is what build.rs passes to `compile`, or the path of a .syclbin file";
        let form = |error: syn::Error| syn::Error::new(error.span(), FORM);
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        input.parse::<Token![mod]>().map_err(form)?;
        let name = input.parse()?;
        input.parse::<Token![=]>().map_err(form)?;
        let file: LitStr = input.parse().map_err(form)?;
        if input.is_empty() {
            // There is no token to point at but the last one.
            return Err(syn::Error::new(file.span(), FORM));
        }
        input.parse::<Token![;]>().map_err(form)?;
        if !input.is_empty() {
            return Err(form(input.error("")));
        }
        Ok(Self {
            attributes,
            visibility,
            name,
            file,
        })
    }
}
