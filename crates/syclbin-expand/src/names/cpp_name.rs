// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel names in items: as in C++ (`fill::iota`, `scale<int>`, `f(float *, int)`), as in Rust (`scale_int`), or as a
//! quoted symbol.

use proc_macro2::{TokenStream, TokenTree};
use syclbin::__private::mangled::KERNEL_PREFIX;
use syclbin::signature::KernelName;
use syclbin::signature::KernelSignature;

use crate::names::default_names::{RustName, around};

/// A C++ name in an item.
#[derive(Clone)]
pub(crate) struct CppName {
    /// The tokens, for locating errors.
    pub(crate) tokens: TokenStream,
    /// The name without whitespace.
    text: String,
}

impl CppName {
    /// Parses a name.
    ///
    /// # Errors
    ///
    /// Fails if `tokens` is empty. The error points at `at`, where a name is expected.
    pub(crate) fn parse(tokens: &[TokenTree], at: &TokenTree, what: &str) -> syn::Result<Self> {
        let tokens: TokenStream = tokens.iter().cloned().collect();
        if tokens.is_empty() {
            let message = format!("expected the C++ name of a {what}, such as `fill::iota`");
            return Err(syn::Error::new(at.span(), message));
        }
        let text = match syn::parse2::<syn::LitStr>(tokens.clone()) {
            Ok(literal) => literal.value(),
            // Users may write Rust keywords as raw identifiers.
            Err(_) => tokens.to_string().replace("r#", ""),
        };
        let text = without_whitespace(&text);
        Ok(Self { tokens, text })
    }

    pub(crate) fn error(&self, message: impl std::fmt::Display) -> syn::Error {
        syn::Error::new_spanned(&self.tokens, message)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether this name matches the C++ name `name`.
    pub(crate) fn is(&self, name: &str) -> bool {
        without_whitespace(name) == self.text
    }

    /// Returns the indices of the kernels that the name matches. `names` are the kernels' Rust names. `fill::*` matches
    /// all kernels in a namespace. Otherwise, more specific spellings take precedence: `scale` matches a kernel of
    /// exactly that name, or else all instances of the template.
    pub(crate) fn among(
        &self,
        kernels: &[KernelSignature],
        names: &[Option<RustName>],
    ) -> Vec<usize> {
        let all = kernels.iter().zip(names).enumerate();
        if let Some(namespace) = self.text.strip_suffix("::*") {
            let is_in = |path: &[String]| {
                let path = without_whitespace(&path.join("::"));
                path == namespace || path.starts_with(&format!("{namespace}::"))
            };
            let inside = all.filter(|(_, (kernel, name))| {
                kernel.name.as_ref().is_some_and(|cpp| is_in(&cpp.path))
                    || name.as_ref().is_some_and(|name| is_in(&name.path))
            });
            return inside.map(|(index, _)| index).collect();
        }
        let ranked = all.filter_map(|(index, (kernel, name))| {
            let mut spellings = spellings(kernel, name.as_ref()).into_iter();
            let rank = spellings.position(|text| text.is_some_and(|text| self.is(&text)));
            Some((rank?, index))
        });
        let ranked: Vec<(usize, usize)> = ranked.collect();
        let best = ranked.iter().map(|(rank, _)| *rank).min();
        let found = ranked.into_iter().filter(|(rank, _)| Some(*rank) == best);
        found.map(|(_, index)| index).collect()
    }
}

/// Returns the spellings by which items can refer to a kernel, most specific first.
fn spellings(kernel: &KernelSignature, rust: Option<&RustName>) -> [Option<String>; 7] {
    let name = kernel.name.as_ref();
    let with_parameters = name.and_then(|name| {
        if name.parameters.is_some() {
            return Some(name.declared());
        }
        let declared = kernel.declaration.as_ref()?.parameters.iter();
        let types: Vec<&str> = declared.map(|parameter| &*parameter.ty).collect();
        Some(format!("{}({})", name.qualified(), types.join(", ")))
    });
    [
        Some(kernel.symbol.clone()),
        kernel.symbol.strip_prefix(KERNEL_PREFIX).map(str::to_owned),
        rust.map(RustName::spelled),
        with_parameters,
        name.map(|name| {
            let mut names: Vec<String> = around(name).map(KernelName::qualified).collect();
            names.reverse();
            names.join("::")
        }),
        name.map(KernelName::qualified),
        name.map(|name| {
            [&name.path[..], std::slice::from_ref(&name.base)]
                .concat()
                .join("::")
        }),
    ]
}

/// Returns whether the SYCL runtime's headers define the kernel.
pub(crate) fn is_of_runtime(kernel: &KernelSignature) -> bool {
    let name = kernel.name.as_ref();
    name.is_some_and(|name| name.path.first().is_some_and(|part| part == "sycl"))
}

/// Returns the name of a kernel for messages. This is its Rust path, or else its quoted symbol; both match only this
/// kernel in an item. For a runtime kernel, it is the C++ name without template arguments.
pub(crate) fn called(kernel: &KernelSignature, name: Option<&RustName>) -> String {
    match (&kernel.name, name) {
        // The template arguments of runtime kernels are too long to display.
        (Some(cpp), _) if is_of_runtime(kernel) => {
            let text = cpp.qualified();
            text.split('<').next().unwrap_or(&text).to_owned()
        }
        (_, Some(name)) => name.spelled(),
        (_, None) => format!("\"{}\"", kernel.symbol),
    }
}

fn without_whitespace(text: &str) -> String {
    text.split_whitespace().collect()
}
