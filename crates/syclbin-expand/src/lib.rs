//! What `include_syclbin!` writes: the kernels of a SYCLBIN file as a Rust module.
//!
//! The macro is a shell around [`include()`], because a crate of macros exports nothing else. Tools
//! show the same code with `source`, behind the feature of that name.
//!
//! The way through, each step once:
//!
//! | module | what it has |
//! |---|---|
//! | `input` | what is written between the braces: the module, then items; limits on both |
//! | `file` | the file that is meant: found, read, its signatures |
//! | `plan` | which kernel gets which name, which types, and what is wrong with the items |
//! | `module` | the generated module, from the plan |
//!
//! The parts of the generated module:
//!
//! | module | what it has |
//! |---|---|
//! | `names` | C++ names as Rust identifiers, and as people write them in items |
//! | `types` | structs of C++ and elements in memory, as Rust types |
//! | `stub` | the method of a kernel, its parameters, and the method of one that cannot be called |
//! | `contract` | the conditions of a kernel: read, bounded, checked |
//! | `variables` | specialization constants and device globals |
//! | `doc` | documentation of generated items |
#![forbid(unsafe_code)]

mod contract;
mod doc;
mod file;
mod input;
mod module;
mod names;
mod plan;
mod stub;
mod types;
mod variables;

use proc_macro2::TokenStream;
use quote::quote;

use crate::file::File;
use crate::input::Input;

/// The module that `tokens`, the input of `include_syclbin!`, asks for.
///
/// What is wrong with the input or the file becomes `compile_error!`s, all of them; as much of the
/// module as there can be comes with them, so that they are not buried under others.
#[must_use]
pub fn include(tokens: TokenStream) -> TokenStream {
    let (input, mut errors) = match Input::parse(tokens) {
        Ok(read) => read,
        Err(error) => return error.into_compile_error(),
    };
    let file = File::find(&input.file).unwrap_or_else(|error| {
        errors.push(error);
        File::missing()
    });
    let module = module::expand(&input, &file, &mut errors);
    let errors = errors.iter().map(syn::Error::to_compile_error);
    quote!(#(#errors)* #module)
}

/// The same for the bytes of a file, as text: what the macro makes of `pub mod MODULE = "PATH";` and
/// `items`.
///
/// # Errors
///
/// When `bytes` are no SYCLBIN file or an image of it is damaged, when `module` is no name of Rust,
/// when something is wrong with `items`, and when two kernels would have one name; with all that is
/// wrong.
#[cfg(any(test, feature = "source"))]
pub fn source(bytes: &[u8], path: &str, module: &str, items: &str) -> Result<String, Vec<String>> {
    let name = syn::parse_str::<syn::Ident>(module);
    let name = name.map_err(|_| vec![format!("`{module}` is no name for a module of Rust")])?;
    let items = items.parse::<TokenStream>();
    let items = items.map_err(|error| vec![format!("the items cannot be read: {error}")])?;
    let file = File::parse(quote!(#path), file::file_name(path.as_ref()), bytes);
    let file = file.map_err(|error| vec![format!("{path}: {error}")])?;
    let head = quote!(pub mod #name = #path; #items);
    let (input, mut errors) = Input::parse(head).map_err(|error| vec![error.to_string()])?;
    let code = module::expand(&input, &file, &mut errors);
    if !errors.is_empty() {
        let each = errors.into_iter().flatten();
        return Err(each.map(|error| error.to_string()).collect());
    }
    let parsed = syn::parse2(code).map_err(|error| vec![error.to_string()])?;
    Ok(prettyplease::unparse(&parsed))
}

#[cfg(test)]
mod tests;
