// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates the code of `include_syclbin!`: the kernels of a SYCLBIN file as a Rust module.
//!
//! The macro is a thin wrapper around [`include()`], because a proc-macro crate can only export macros. Tools get the
//! same code as text from `source`, which requires the feature `source`.
//!
//! The steps, in order:
//!
//! | module | contents |
//! |---|---|
//! | `input` | the input between the braces: the module and the items, with limits on both |
//! | `file` | the input file: lookup, parsing and signatures |
//! | `plan` | the names and types of the kernels, and the mistakes in the items |
//! | `module` | the generated module, from the plan |
//!
//! The parts of the generated module, and output for tools:
//!
//! | module | contents |
//! |---|---|
//! | `names` | C++ names as Rust identifiers, and as users write them in items |
//! | `types` | C++ structs and elements in memory, as Rust types |
//! | `stub` | the method of a kernel, its parameters, and the method that reports why a kernel was left out |
//! | `contract` | the conditions of a kernel: parsed, bounded, checked |
//! | `variables` | specialization constants and device globals |
//! | `info` | the constant `KERNELS` |
//! | `draft` | a program's launches with placeholders, for tools |
//! | `outline` | signatures and structs alone, for tools |
//! | `doc` | documentation of generated items |
#![forbid(unsafe_code)]

mod contract;
mod doc;
#[cfg(any(test, feature = "source"))]
mod draft;
mod file;
mod info;
mod input;
mod module;
mod names;
#[cfg(any(test, feature = "source"))]
mod outline;
mod plan;
mod stub;
mod types;
mod variables;

use proc_macro2::TokenStream;
use quote::quote;

use crate::file::File;
use crate::input::Input;

/// Returns the module for `tokens`, the input of `include_syclbin!`.
///
/// Every mistake in the input or the file becomes a `compile_error!`. As much as possible of the module is still
/// generated, to avoid follow-up errors.
#[must_use]
pub fn include(tokens: TokenStream) -> TokenStream {
    let (input, mut errors) = match Input::parse(tokens) {
        Ok(read) => read,
        Err(error) => return error.into_compile_error(),
    };
    let file = File::find(&input.file).unwrap_or_else(|error| {
        errors.push(error);
        File::default()
    });
    let module = module::expand(&input, &file, &mut errors);
    let errors = errors.iter().map(syn::Error::to_compile_error);
    quote!(#(#errors)* #module)
}

/// Returns the generated code as text, for the bytes of a file. It equals the expansion of the macro for
/// `pub mod kernels = "PATH";` followed by `items`.
///
/// # Errors
///
/// Returns all errors. They occur if
///
/// - `bytes` are not a SYCLBIN file, or an image in it is damaged,
/// - `items` contain a mistake.
#[cfg(any(test, feature = "source"))]
pub fn source(bytes: &[u8], path: &str, items: &str) -> Result<String, Vec<String>> {
    Ok(prettyplease::unparse(&parsed(bytes, path, items)?))
}

/// Returns a summary of the generated code: one line for each launch function and each struct.
///
/// # Errors
///
/// Fails for the same reasons as [`source`].
#[cfg(any(test, feature = "source"))]
pub fn outline(bytes: &[u8], path: &str, items: &str) -> Result<Vec<String>, Vec<String>> {
    let file = parsed(bytes, path, items)?;
    let modules = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) => Some(outline::lines(module, "")),
        _ => None,
    });
    Ok(modules.flatten().collect())
}

#[cfg(any(test, feature = "source"))]
fn parsed(bytes: &[u8], path: &str, items: &str) -> Result<syn::File, Vec<String>> {
    let items = items.parse::<TokenStream>();
    let items = items.map_err(|error| vec![format!("the items cannot be read: {error}")])?;
    let file = File::parse(quote!(#path), file::file_name(path.as_ref()), bytes);
    let file = file.map_err(|error| vec![format!("{path}: {error}")])?;
    let head = quote!(pub mod kernels = #path; #items);
    let (input, mut errors) = Input::parse(head).map_err(|error| vec![error.to_string()])?;
    let code = module::expand(&input, &file, &mut errors);
    if !errors.is_empty() {
        let each = errors.into_iter().flatten();
        return Err(each.map(|error| error.to_string()).collect());
    }
    syn::parse2(code).map_err(|error| vec![error.to_string()])
}

/// A kernel of a file, and the function that the macro generates for it.
#[cfg(any(test, feature = "source"))]
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
#[cfg(any(test, feature = "source"))]
pub fn stubs(bytes: &[u8]) -> Result<Vec<KernelStub>, syclbin::Error> {
    planned(bytes, |file, plan| {
        let stubs = plan.root.all_stubs().into_iter();
        let functions = stubs.map(|(path, stub)| (&stub.kernel.symbol, path));
        let mut functions: std::collections::BTreeMap<_, _> = functions.collect();
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
#[cfg(any(test, feature = "source"))]
pub fn launches(bytes: &[u8]) -> Result<Vec<String>, syclbin::Error> {
    planned(bytes, |_, plan| draft::launches(plan))
}

#[cfg(any(test, feature = "source"))]
fn planned<T>(
    bytes: &[u8],
    look: impl FnOnce(&File, plan::Plan<'_>) -> Vec<T>,
) -> Result<Vec<T>, syclbin::Error> {
    let file = File::parse(quote!("kernels"), "kernels".into(), bytes)?;
    let Ok((input, mut errors)) = Input::parse(quote!(mod kernels = "kernels";)) else {
        return Ok(Vec::new()); // unreachable: this input is valid
    };
    let plan = plan::Plan::new(&input, &file, &mut errors);
    Ok(look(&file, plan))
}

#[cfg(test)]
mod tests;
