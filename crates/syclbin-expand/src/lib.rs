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
//! | `contract` | the conditions of a kernel, and the code that checks them |
//! | `variables` | specialization constants and device globals |
//! | `info` | the constant `KERNELS` |
//! | `tools` | for tools: the code as text, a summary of it, and launches with placeholders |
//! | `doc` | documentation of generated items |
#![forbid(unsafe_code)]

mod contract;
mod doc;
mod file;
mod info;
mod input;
mod module;
mod names;
mod plan;
mod stub;
#[cfg(any(test, feature = "source"))]
mod tools;
mod types;
mod variables;

use proc_macro2::TokenStream;
use quote::quote;

use crate::file::File;
use crate::input::Input;
#[cfg(any(test, feature = "source"))]
pub use crate::tools::{KernelStub, launches, outline, source, stubs};

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
    // A disabled module reports no errors.
    let attributes = input.attributes.iter();
    let conditions: Vec<_> = attributes
        .filter(|one| one.path().is_ident("cfg"))
        .collect();
    let errors = errors.iter().map(|error| {
        let error = error.to_compile_error();
        quote!(#(#conditions)* #error)
    });
    quote!(#(#errors)* #module)
}

#[cfg(test)]
mod tests;
