// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++ names as users write them in items: `fill::iota`, `scale<int>`, `f(float *, int)`, or a symbol in
//! quotes.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syclbin::__private::mangled::KERNEL_PREFIX;
use syclbin::signature::KernelName;
use syclbin::signature::KernelSignature;

use crate::names::default_names::{self, default_names};

/// Returns the names of one kind of each kernel.
type Names = fn(&[KernelSignature]) -> Vec<Vec<String>>;

/// The C++ name in an item.
#[derive(Clone)]
pub(crate) struct CppName {
    /// The tokens, for errors.
    pub(crate) tokens: TokenStream,
    /// The name without white space.
    text: String,
}

impl CppName {
    /// Parses a name.
    ///
    /// # Errors
    ///
    /// Fails if there are no tokens; `at` is where they should be.
    pub(crate) fn parse(tokens: TokenStream, at: &TokenTree, what: &str) -> syn::Result<Self> {
        if tokens.is_empty() {
            let message = format!("expected the name of a {what} in C++, such as `fill::iota`");
            return Err(syn::Error::new(at.span(), message));
        }
        let text = match syn::parse2::<syn::LitStr>(tokens.clone()) {
            Ok(literal) => literal.value(),
            // A Rust keyword may be raw here too.
            Err(_) => tokens.to_string().replace("r#", ""),
        };
        let text = squeezed(&text);
        Ok(Self { tokens, text })
    }

    pub(crate) fn error(&self, message: impl std::fmt::Display) -> syn::Error {
        syn::Error::new_spanned(&self.tokens, message)
    }

    /// Returns the name for messages.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether it is this C++ name.
    pub(crate) fn is(&self, name: &str) -> bool {
        squeezed(name) == self.text
    }

    /// Returns the indices of the kernels that the name means. A more detailed name takes precedence. `scale`
    /// means the kernel of that name, if there is one, and otherwise all instances of a template.
    pub(crate) fn among(&self, kernels: &[KernelSignature]) -> Vec<usize> {
        let ranks: [Names; 5] = [
            |all| all.iter().map(symbols).collect(),
            |all| all.iter().map(with_parameters).collect(),
            of_stubs,
            |all| all.iter().map(qualified).collect(),
            |all| all.iter().map(without_arguments).collect(),
        ];
        let of_rank = |names: Names| {
            let numbered = names(kernels).into_iter().enumerate();
            numbered
                .filter(|(_, names)| names.iter().any(|name| self.is(name)))
                .map(|(index, _)| index)
                .collect::<Vec<usize>>()
        };
        if let Some(namespace) = self.text.strip_suffix("::*") {
            let inside = |kernel: &KernelSignature| {
                let is_in =
                    |path: &str| path == namespace || path.starts_with(&format!("{namespace}::"));
                kernel.name.as_ref().is_some_and(|name| {
                    is_in(&name.path.join("::")) || is_in(&default_names::path(name).join("::"))
                })
            };
            let numbered = kernels.iter().enumerate();
            return numbered
                .filter(|(_, kernel)| inside(kernel))
                .map(|(index, _)| index)
                .collect();
        }
        let ranked = ranks.into_iter().map(of_rank);
        ranked
            .into_iter()
            .find(|found| !found.is_empty())
            .unwrap_or_default()
    }
}

fn symbols(kernel: &KernelSignature) -> Vec<String> {
    let plain = kernel.symbol.strip_prefix(KERNEL_PREFIX);
    let plain = plain.map(str::to_owned);
    [Some(kernel.symbol.clone()), plain]
        .into_iter()
        .flatten()
        .collect()
}

fn with_parameters(kernel: &KernelSignature) -> Vec<String> {
    let Some(name) = &kernel.name else {
        return Vec::new();
    };
    let declared = kernel.declaration.as_ref().map(|declaration| {
        let types = declaration.parameters.iter().map(|p| p.ty.clone());
        types.collect::<Vec<String>>()
    });
    let parameters = name.parameters.clone().or(declared);
    let spelled = parameters.map(|types| format!("{}({})", name.qualified(), types.join(", ")));
    spelled.into_iter().collect()
}

/// The names of their stubs, for those that C++ does not name, or several sources name alike.
fn of_stubs(kernels: &[KernelSignature]) -> Vec<Vec<String>> {
    let names = default_names(kernels).into_iter().zip(kernels);
    let unnamed = names.map(|(name, kernel)| {
        let is_own = |name: &KernelName| name.lambdas.is_empty() && name.source.is_none();
        let name = name.filter(|_| !kernel.name.as_ref().is_none_or(is_own));
        name.map(|name| name.spelled()).into_iter().collect()
    });
    unnamed.collect()
}

fn qualified(kernel: &KernelSignature) -> Vec<String> {
    kernel.name.iter().map(KernelName::qualified).collect()
}

fn without_arguments(kernel: &KernelSignature) -> Vec<String> {
    let name = kernel.name.as_ref().map(|name| {
        let mut parts = name.path.clone();
        parts.push(name.base.clone());
        parts.join("::")
    });
    name.into_iter().collect()
}

/// Returns whether the runtime's own headers have the kernel.
pub(crate) fn is_of_runtime(kernel: &KernelSignature) -> bool {
    let name = kernel.name.as_ref();
    name.is_some_and(|name| name.path.first().is_some_and(|part| part == "sycl"))
}

/// Returns the name of a kernel for messages: its C++ name, or else its symbol.
pub(crate) fn of(kernel: &KernelSignature) -> String {
    let Some(name) = &kernel.name else {
        return kernel.symbol.clone();
    };
    if is_of_runtime(kernel) {
        // The arguments of the runtime's own templates fill a screen.
        let text = name.qualified();
        return text.split('<').next().unwrap_or(&text).to_owned();
    }
    match &kernel.location {
        Some(location) if !name.lambdas.is_empty() => format!("{} ({location})", name.qualified()),
        _ => name.qualified(),
    }
}

/// Returns a name for each kernel, with which an item means only this kernel.
pub(crate) fn unique(kernels: &[KernelSignature]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for kernel in kernels {
        *counts.entry(of(kernel)).or_default() += 1;
    }
    let stubs = of_stubs(kernels).into_iter().zip(kernels);
    let named = stubs.map(|(mut stub, kernel)| {
        if let Some(stub) = stub.pop() {
            return stub;
        }
        let name = of(kernel);
        let overloaded = counts.get(&name).is_some_and(|count| *count > 1);
        match with_parameters(kernel).pop() {
            Some(spelled) if overloaded => spelled,
            _ if kernel.name.is_none() => format!("\"{name}\""),
            _ => name,
        }
    });
    named.collect()
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}
