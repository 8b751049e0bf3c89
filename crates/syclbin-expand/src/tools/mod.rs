// SPDX-License-Identifier: MIT OR Apache-2.0
//! Output for tools: the generated code as text, summaries of it, and drafts of launches.

pub(crate) mod draft;
mod outline;

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::quote;

use crate::file::{self, File};
use crate::input::Input;
use crate::module;
use crate::plan::Plan;

/// Returns the generated code as text, for the bytes of a file. It equals the expansion of the macro for
/// `pub mod kernels = "PATH";` followed by `items`.
///
/// # Errors
///
/// Returns all errors. They occur if
///
/// - `bytes` are not a SYCLBIN file, or an image in it is damaged,
/// - `items` contain a mistake.
pub fn source(bytes: &[u8], path: &str, items: &str) -> Result<String, Vec<String>> {
    Ok(prettyplease::unparse(&parsed(bytes, path, items)?))
}

/// Returns a summary of the generated code: one line for each launch function and each struct.
///
/// # Errors
///
/// Fails for the same reasons as [`source`].
pub fn outline(bytes: &[u8], path: &str, items: &str) -> Result<Vec<String>, Vec<String>> {
    let file = parsed(bytes, path, items)?;
    let modules = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) => Some(outline::lines(module, "")),
        _ => None,
    });
    Ok(modules.flatten().collect())
}

fn parsed(bytes: &[u8], path: &str, items: &str) -> Result<syn::File, Vec<String>> {
    let items = items.parse::<TokenStream>();
    let items = items.map_err(|error| vec![format!("cannot parse the items: {error}")])?;
    let file = File::parse(quote!(#path), file::file_name(path.as_ref()), bytes);
    let file = file.map_err(|error| vec![format!("{path}: {error}")])?;
    let head = quote!(pub mod kernels = #path; #items);
    let (input, mut errors) = Input::parse(head).map_err(|error| vec![error.to_string()])?;
    let code = module::expand(&input, &file, &mut errors);
    if !errors.is_empty() {
        let each = errors.into_iter().flatten();
        return Err(each.map(|error| error.to_string()).collect());
    }
    syn::parse2(code).map_err(|error| {
        vec![format!(
            "internal error: the generated code is invalid: {error}; please report this"
        )]
    })
}

/// A kernel of a file, and the function that the macro generates for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelStub {
    /// The symbol in the file.
    pub symbol: String,
    /// The path of the function in the module, such as `fill::iota`, or the reason why there is none.
    pub function: Result<String, String>,
}

/// Returns the kernels in the file `bytes`, without the variants that the SYCL runtime generates.
///
/// # Errors
///
/// Fails if `bytes` are not a SYCLBIN file, or if an image in it is damaged.
pub fn stubs(bytes: &[u8]) -> Result<Vec<KernelStub>, syclbin::Error> {
    planned(bytes, |file, plan| {
        let stubs = plan.root.all_stubs().into_iter();
        let functions = stubs.map(|(path, stub)| (&stub.kernel.symbol, path));
        let mut functions: BTreeMap<_, _> = functions.collect();
        let kernels = file.signatures.kernels.iter();
        let kernels = kernels.filter(|kernel| !kernel.is_rounded_range());
        let described = kernels.map(|kernel| {
            let reason = plan.reasons.get(&*kernel.symbol).cloned();
            KernelStub {
                symbol: kernel.symbol.clone(),
                function: functions
                    .remove(&kernel.symbol)
                    .ok_or(reason.unwrap_or_default()),
            }
        });
        described.collect()
    })
}

/// Drafts a launch of each kernel in the file `bytes`, as a Rust block comment after the C++ signature. Arguments and
/// ranges are placeholders. The code expects the loaded module `kernels` and its queue `queue`. A kernel without a
/// function gets a comment with the reason.
///
/// # Errors
///
/// Fails for the same reasons as [`stubs`].
pub fn launches(bytes: &[u8]) -> Result<Vec<String>, syclbin::Error> {
    planned(bytes, |_, plan| draft::launches(plan))
}

fn planned<T>(
    bytes: &[u8],
    look: impl FnOnce(&File, Plan<'_>) -> Vec<T>,
) -> Result<Vec<T>, syclbin::Error> {
    let file = File::parse(quote!("kernels"), "kernels".into(), bytes)?;
    let Ok((input, mut errors)) = Input::parse(quote!(mod kernels = "kernels";)) else {
        return Ok(Vec::new()); // unreachable: this input is valid
    };
    let plan = Plan::new(&input, &file, &mut errors);
    Ok(look(&file, plan))
}
