//! The file that is meant: found, read, its kernels.

use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::quote;
use syclbin::signature::{self, KernelSignature};
use syn::LitStr;

/// A file, and what the generated code needs of it.
pub(crate) struct File {
    /// An expression of its path, for `include_bytes!`. It names no folder of this machine.
    pub(crate) path: TokenStream,
    /// What people call it.
    pub(crate) name: String,
    pub(crate) kernels: Vec<KernelSignature>,
}

impl File {
    /// Finds and reads the file that `literal` means.
    pub(crate) fn read(literal: &LitStr) -> syn::Result<Self> {
        let text = literal.value();
        let (path, expression) = if text.ends_with(".syclbin") {
            let relative = format!("/{text}");
            let folder = variable("CARGO_MANIFEST_DIR").unwrap_or_default();
            if Path::new(&text).is_absolute() {
                (PathBuf::from(&text), quote!(#text))
            } else {
                let expression =
                    quote!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), #relative));
                (folder.join(&text), expression)
            }
        } else {
            let Some(folder) = variable("OUT_DIR") else {
                return fail(literal, NO_BUILD_SCRIPT);
            };
            let relative = format!("/syclbin/{text}.syclbin");
            let expression = quote!(::core::concat!(::core::env!("OUT_DIR"), #relative));
            (folder.join(&relative[1..]), expression)
        };
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => return fail(literal, &missing(&text, &path, &error)),
        };
        let kernels = syclbin::read::parse(&bytes).and_then(|file| signature::kernels(&file));
        match kernels {
            Ok(kernels) => Ok(Self {
                path: expression,
                name: file_name(&path),
                kernels,
            }),
            Err(error) => fail(literal, &format!("{}: {error}", path.display())),
        }
    }
}

const NO_BUILD_SCRIPT: &str = "this crate has no build script, so no SYCLBIN file was built. \
    Add a build.rs with `syclbin_build::Build::new().source(\"kernels/NAME.cpp\").compile(\"NAME\")`, \
    or give the path of a file that ends in .syclbin";

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

fn fail<T>(literal: &LitStr, message: &str) -> syn::Result<T> {
    Err(syn::Error::new(literal.span(), message))
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Says which files there are, when the one that is meant is not.
fn missing(text: &str, path: &Path, error: &std::io::Error) -> String {
    if text.ends_with(".syclbin") {
        return format!("{} cannot be read: {error}", path.display());
    }
    let mut built: Vec<String> = path
        .parent()
        .and_then(|folder| std::fs::read_dir(folder).ok())
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            name.strip_suffix(".syclbin")
                .map(|name| format!("`{name}`"))
        })
        .collect();
    built.sort();
    let hint = match built.is_empty() {
        true => "it built none".to_owned(),
        false => format!("it built {}", built.join(", ")),
    };
    format!("build.rs built no SYCLBIN file `{text}`: {hint}. Have it call `.compile(\"{text}\")`")
}
