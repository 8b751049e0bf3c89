// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contracts: conditions over the arguments of a kernel, checked at launch.
//!
//! A condition is a Rust expression. The names of parameters in it, and of their members, become reads of the
//! launch; all else stays as the user wrote it, and rustc checks it.
//!
//! | module | contents |
//! |---|---|
//! | `condition` | a condition with its names replaced |
//! | `subobject` | the bytes of a member in an argument |
//! | `safety` | the requirements of every safe launch, whatever the conditions are |
//! | `spelling` | a condition as users write it |

mod condition;
mod safety;
mod spelling;
mod subobject;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syclbin::signature::KernelSignature;

use crate::contract::condition::{Condition, Reader};
use crate::contract::spelling::spelled;
use crate::names::cpp_name::CppName;
use crate::types::Types;

/// The checks of a launch.
pub(crate) struct Checked {
    /// All conditions, including the implied ones.
    pub(crate) texts: Vec<String>,
    /// A module with the function that checks them. It stands outside of every `unsafe` block.
    pub(crate) module: TokenStream,
}

/// Returns the number of dimensions that a contract states: `range.dimensions() == 2`, and 0 for a single task.
pub(crate) fn stated_dimensions(conditions: &[TokenStream]) -> Option<u8> {
    (0..=3).find(|dimensions| conditions.iter().any(|tokens| states(tokens, *dimensions)))
}

fn states(condition: &TokenStream, dimensions: u8) -> bool {
    spelled(condition) == format!("range.dimensions() == {dimensions}")
}

/// Returns the checks of a launch of `kernel` over `dimensions`, for a method `depth` modules deep.
///
/// # Errors
///
/// Returns all mistakes: a condition that names no member or no number, or a buffer that no condition bounds.
pub(crate) fn check(
    conditions: &[TokenStream],
    kernel: &KernelSignature,
    item: &CppName,
    dimensions: Option<u8>,
    types: &Types<'_>,
    depth: usize,
) -> Result<Checked, Vec<syn::Error>> {
    let parameters = kernel.parameters.as_deref().unwrap_or_default();
    let mut reader = Reader::new(parameters, types, dimensions);
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    match safety::bools(parameters, types) {
        Ok(bools) => all.extend(bools),
        Err(message) => errors.push(item.error(message)),
    }
    // The type of the launch keeps the dimensions.
    let stated = |tokens: &&TokenStream| dimensions.is_some_and(|count| states(tokens, count));
    for tokens in conditions.iter().filter(|tokens| !stated(tokens)) {
        match reader.condition(tokens) {
            Ok(condition) => all.push(condition),
            Err(error) => errors.push(error),
        }
    }
    let missing = safety::missing(parameters, types, &reader.bounded);
    errors.extend(missing.into_iter().map(|message| item.error(message)));
    if !errors.is_empty() {
        return Err(errors);
    }
    let aligned = safety::alignments(parameters, types, &reader.aligned);
    let (mut texts, mut checks) = (Vec::new(), Vec::new());
    for (text, check) in all.iter().map(Condition::check).chain(aligned) {
        texts.push(text);
        checks.push(check);
    }
    let view = if checks.is_empty() {
        quote!(_)
    } else {
        let given = given();
        quote!(#given)
    };
    // The user's constants. Nothing else of the generated module is in scope.
    let imports = reader.foreign.then(|| {
        let up = std::iter::repeat_n(quote!(super::), depth + 2);
        quote!(#[allow(unused_imports)] use #(#up)* *;)
    });
    let module = module(imports, &view, &checks);
    Ok(Checked { texts, module })
}

impl Checked {
    /// Returns the checks of a contract with mistakes, whose errors are already reported.
    pub(crate) fn nothing() -> Self {
        Self {
            texts: Vec::new(),
            module: module(None, &quote!(_), &[]),
        }
    }
}

fn module(imports: Option<TokenStream>, view: &TokenStream, checks: &[TokenStream]) -> TokenStream {
    quote! {
        mod __contract {
            #imports

            pub(super) fn check(
                #view: &::syclbin_rt::__private::LaunchView<'_>,
            ) -> ::core::result::Result<(), ::syclbin_rt::__private::Broken> {
                #(#checks)*
                ::core::result::Result::Ok(())
            }
        }
    }
}

/// Returns the variable with the view of the launch. Names of users never mean it.
fn given() -> Ident {
    Ident::new("given", Span::mixed_site())
}
