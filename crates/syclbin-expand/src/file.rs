// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds and reads the file to embed, and parses its kernels.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::quote;
use syclbin::__private::{OFFLOAD_BINARY_MAGIC, SYCLBIN_MAGIC};
use syclbin::metadata::DeviceRequirements;
use syclbin::property::set;
use syclbin::signature::{self, Signatures};
use syclbin::{Aspect, Syclbin};
use syclbin_toolchain::file;
use syn::LitStr;

#[derive(Default)]
pub(crate) struct File {
    /// An expression for the file's path, to pass to `include_bytes!`. It contains no machine-specific directory.
    /// `None` if the file is missing, or if it is a placeholder whose kernels were not compiled. The kernels are then
    /// unknown, so items may use any names.
    pub(crate) path: Option<TokenStream>,
    /// The name of the file, for messages.
    pub(crate) name: String,
    /// The size in bytes.
    pub(crate) size: usize,
    pub(crate) signatures: Signatures,
    /// The aspects that each kernel requires, by symbol.
    pub(crate) aspects: BTreeMap<String, Vec<&'static str>>,
}

impl File {
    pub(crate) fn find(literal: &LitStr) -> syn::Result<Self> {
        let text = literal.value();
        let is_path = text.ends_with(".syclbin");
        let (variable, relative) = if is_path {
            ("CARGO_MANIFEST_DIR", text.clone())
        } else {
            ("OUT_DIR", format!("syclbin/{text}.syclbin"))
        };
        let folder = std::env::var_os(variable);
        if folder.is_none() && !is_path {
            return fail(literal, NO_BUILD_SCRIPT);
        }
        let path = PathBuf::from(folder.unwrap_or_default()).join(&relative);
        let expression = if Path::new(&relative).is_absolute() {
            quote!(#relative)
        } else {
            let relative = format!("/{relative}");
            quote!(::core::concat!(::core::env!(#variable), #relative))
        };
        let bytes = file::read_if(&path, is_syclbin)
            .or_else(|error| fail(literal, &missing(&text, &path, &error)))?;
        Self::parse(expression, file_name(&path), &bytes).or_else(|error| {
            // Uses the file name that the user wrote, so that the message is the same on every machine.
            let message = if is_path {
                format!("{text}: {error}")
            } else {
                format!("cannot read the file that build.rs built as `{text}`: {error}")
            };
            fail(literal, &message)
        })
    }

    /// Parses the bytes of a file.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a SYCLBIN file, or if one of its images is damaged.
    pub(crate) fn parse(
        path: TokenStream,
        name: String,
        bytes: &[u8],
    ) -> Result<Self, syclbin::Error> {
        let file = syclbin::read::parse(bytes)?;
        let signatures = signature::kernels(&file)?;
        let stands_for_another = file.global.set(set::PLACEHOLDER).is_some();
        Ok(Self {
            path: (!stands_for_another).then_some(path),
            name,
            size: bytes.len(),
            signatures,
            aspects: aspects(&file),
        })
    }
}

/// Returns the aspects that each kernel requires. Malformed requirements count as none, because a launch reports the
/// error.
fn aspects(file: &Syclbin<'_>) -> BTreeMap<String, Vec<&'static str>> {
    let mut aspects = BTreeMap::new();
    for module in &file.modules {
        let needs = DeviceRequirements::read(&module.metadata).unwrap_or_default();
        let names: Vec<&str> = needs.aspects.into_iter().filter_map(Aspect::name).collect();
        for symbol in module.kernel_names() {
            let aspects = aspects.entry(symbol.to_owned());
            aspects.or_insert_with(|| names.clone());
        }
    }
    aspects
}

/// Returns whether a file that starts with these bytes may be a SYCLBIN file. If not, the rest need not be read.
fn is_syclbin(start: &[u8]) -> bool {
    start.starts_with(&SYCLBIN_MAGIC) || start.starts_with(&OFFLOAD_BINARY_MAGIC)
}

const NO_BUILD_SCRIPT: &str = "this crate has no build script, so no SYCLBIN file was built. \
    Add a build.rs with `syclbin_build::Build::new().source(\"kernels/NAME.cpp\").compile(\"NAME\")`, \
    or give a path that ends in .syclbin";

fn fail<T>(literal: &LitStr, message: &str) -> syn::Result<T> {
    Err(syn::Error::new(literal.span(), message))
}

pub(crate) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Returns the message for a file that cannot be read. If build.rs should have built the file, the message lists the
/// files that it did build.
fn missing(text: &str, path: &Path, error: &std::io::Error) -> String {
    if text.ends_with(".syclbin") {
        return format!(
            "cannot read {text}: {error}; the path is relative to the directory of Cargo.toml"
        );
    }
    // A name that contains a `/` refers to a subdirectory.
    let folder = path.ancestors().nth(text.split('/').count());
    let entries = folder.into_iter().flat_map(std::fs::read_dir).flatten();
    let names = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some(format!("`{}`", name.strip_suffix(".syclbin")?))
    });
    let mut built: Vec<String> = names.collect();
    built.sort();
    let hint = if built.is_empty() {
        "it built no files at all".to_owned()
    } else {
        format!("it built {}", built.join(", "))
    };
    let remedy = if Path::new(text).file_stem() == Some(text.as_ref()) {
        format!("In build.rs, call `.compile(\"{text}\")`")
    } else {
        // The user wrote the name of the source file, or an empty string.
        "Write the name that build.rs passes to `compile`, or the path of a .syclbin file".into()
    };
    format!("build.rs built no SYCLBIN file `{text}`: {hint}. {remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, path: &Path) -> String {
        missing(text, path, &std::io::ErrorKind::NotFound.into())
    }

    #[test]
    fn files_begin_with_a_magic_number() {
        assert!(is_syclbin(&[&SYCLBIN_MAGIC[..], &[0; 8]].concat()));
        assert!(is_syclbin(&OFFLOAD_BINARY_MAGIC));
        assert!(!is_syclbin(&[0; 16]));
        assert!(!is_syclbin(&[]));
    }

    #[test]
    fn unbuilt_name_error_lists_built_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("saxpy.syclbin");
        assert_eq!(
            message("saxpy", &path),
            "build.rs built no SYCLBIN file `saxpy`: it built no files at all. In build.rs, call `.compile(\"saxpy\")`"
        );
        for name in ["sum.syclbin", "axpy.syclbin", ".compile-1"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert!(message("saxpy", &path).contains(": it built `axpy`, `sum`. "));
        let empty = message("", &path);
        assert!(
            empty.contains("Write the name that build.rs passes"),
            "{empty}"
        );
    }

    #[test]
    fn source_path_as_name_gets_a_hint() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("saxpy.syclbin"), "").unwrap();
        let path = folder.path().join("kernels/saxpy.cpp.syclbin");
        assert_eq!(
            message("kernels/saxpy.cpp", &path),
            "build.rs built no SYCLBIN file `kernels/saxpy.cpp`: it built `saxpy`. Write the name \
             that build.rs passes to `compile`, or the path of a .syclbin file"
        );
    }

    #[test]
    fn missing_output_directory_means_nothing_was_built() {
        let message = message("saxpy", Path::new("nowhere/syclbin/saxpy.syclbin"));
        assert!(message.contains("it built no files at all"), "{message}");
    }
}
