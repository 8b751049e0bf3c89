// SPDX-License-Identifier: MIT OR Apache-2.0
//! The default names of all kernels of a file. Two kernels have the same name only if their functions have one in
//! C++.
//!
//! The name of a kernel depends on that kernel, its overloads, and the other lambdas of its function. So code
//! elsewhere, or on other lines, never renames a kernel.

use std::collections::{BTreeMap, BTreeSet};

use syclbin::signature::{KernelName, KernelSignature, Lambda};

use crate::names::{identifier, words};

/// Where a kernel's function stands, and its name. Either may not be a Rust identifier.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DefaultName {
    /// The modules: namespaces and classes.
    pub(crate) path: Vec<String>,
    pub(crate) name: String,
}

impl DefaultName {
    /// Returns it as items write it.
    pub(crate) fn spelled(&self) -> String {
        let parts = self.path.iter().chain([&self.name]);
        parts.map(String::as_str).collect::<Vec<_>>().join("::")
    }

    fn append(&mut self, text: &str) {
        self.name.push('_');
        self.name.push_str(text);
    }
}

/// Returns the default name of each kernel.
pub(crate) fn default_names(kernels: &[KernelSignature]) -> Vec<Option<DefaultName>> {
    let mut names: Vec<Option<DefaultName>> = kernels.iter().map(own).collect();
    distinguish_overloads(kernels, &mut names);
    let repeated = |names: &[Option<DefaultName>]| {
        let mut counts: BTreeMap<DefaultName, usize> = BTreeMap::new();
        for (kernel, name) in kernels.iter().zip(names) {
            if !is_lambda(kernel)
                && let Some(name) = name
            {
                *counts.entry(name.clone()).or_default() += 1;
            }
        }
        counts.retain(|_, count| *count > 1);
        counts
    };
    // Classes of the same name in several functions.
    let counts = repeated(&names);
    for (kernel, name) in kernels.iter().zip(&mut names) {
        let function = kernel.name.as_ref().and_then(|name| name.function.as_ref());
        if let (Some(name), Some(function)) = (name, function)
            && !is_lambda(kernel)
            && counts.contains_key(name)
        {
            name.name = format!("{}_{}", instance(function), name.name);
        }
    }
    number_lambdas(kernels, &mut names);
    names
}

/// Returns the path that Rust has for a path of C++. It begins with the source, if several sources have the name.
pub(crate) fn path(name: &KernelName) -> Vec<String> {
    let parts = name.source.iter().chain(&name.path);
    let worded = parts.map(|part| match identifier(part) {
        Some(_) => part.clone(),
        None => words(part),
    });
    worded.collect()
}

fn own(kernel: &KernelSignature) -> Option<DefaultName> {
    let name = kernel.name.as_ref()?;
    Some(DefaultName {
        path: path(name),
        name: instance(name),
    })
}

/// `scale<int>` is `scale_int`.
fn instance(name: &KernelName) -> String {
    let mut text = match name.base.strip_prefix("operator") {
        Some(symbol) if identifier(&name.base).is_none() => operator(symbol),
        _ => name.base.replace('~', "drop_"),
    };
    for argument in &name.template_arguments {
        text.push('_');
        text.push_str(&words(argument));
    }
    text
}

/// A lambda in an operator has the name that Rust has for the operator.
fn operator(symbol: &str) -> String {
    let known = [
        ("()", "call"),
        ("[]", "index"),
        ("=", "assign"),
        ("+", "add"),
        ("-", "sub"),
        ("*", "mul"),
        ("/", "div"),
        ("%", "rem"),
        ("+=", "add_assign"),
        ("-=", "sub_assign"),
        ("*=", "mul_assign"),
        ("/=", "div_assign"),
        ("<<", "shl"),
        (">>", "shr"),
        ("==", "eq"),
        ("!=", "ne"),
    ];
    let found = known.iter().find(|(own, _)| *own == symbol);
    found.map_or("operator", |(_, name)| name).into()
}

fn is_lambda(kernel: &KernelSignature) -> bool {
    kernel
        .name
        .as_ref()
        .is_some_and(|name| !name.lambdas.is_empty())
}

/// Returns what distinguishes a kernel from all others, but for its parameters.
fn without_parameters(name: &KernelName) -> (Option<&str>, String) {
    (name.source.as_deref(), name.qualified())
}

/// `f(float *, int)` is `f_float_ptr_int`, if there is another `f`.
fn distinguish_overloads(kernels: &[KernelSignature], names: &mut [Option<DefaultName>]) {
    let mut overloads: BTreeMap<(Option<&str>, String), BTreeSet<&str>> = BTreeMap::new();
    let mut around: BTreeMap<DefaultName, BTreeSet<Vec<String>>> = BTreeMap::new();
    for (kernel, own) in kernels.iter().zip(names.iter()) {
        let (Some(name), Some(own)) = (&kernel.name, own) else {
            continue;
        };
        if is_lambda(kernel) {
            around
                .entry(own.clone())
                .or_default()
                .insert(parameters(name));
        } else if name.function.is_none() {
            overloads
                .entry(without_parameters(name))
                .or_default()
                .insert(&kernel.symbol);
        }
    }
    for (kernel, own) in kernels.iter().zip(names) {
        let (Some(name), Some(own)) = (&kernel.name, own) else {
            continue;
        };
        if is_lambda(kernel) {
            if around.get(own).is_some_and(|all| all.len() > 1) {
                parameters(name)
                    .iter()
                    .for_each(|ty| own.append(&words(ty)));
            }
        } else if overloads
            .get(&without_parameters(name))
            .is_some_and(|all| all.len() > 1)
        {
            let declared = kernel.declaration.iter().flat_map(|d| &d.parameters);
            declared.for_each(|parameter| own.append(&words(&parameter.ty)));
        }
    }
}

/// The types that distinguish a function from its overloads. Every function that launches kernels takes a queue or a
/// handler.
fn parameters(function: &KernelName) -> Vec<String> {
    let of_sycl = |ty: &str| {
        ["queue", "handler"]
            .iter()
            .any(|name| ty.contains(&format!("sycl::{name}")))
    };
    let types = function.parameters.iter().flatten();
    types.filter(|ty| !of_sycl(ty)).cloned().collect()
}

/// Numbers the lambdas of a function that has several, as the source has them.
fn number_lambdas(kernels: &[KernelSignature], names: &mut [Option<DefaultName>]) {
    let mut taken: BTreeSet<DefaultName> = BTreeSet::new();
    let mut groups: BTreeMap<DefaultName, Vec<usize>> = BTreeMap::new();
    for (index, kernel) in kernels.iter().enumerate() {
        if let Some(name) = &names[index] {
            if is_lambda(kernel) {
                groups.entry(name.clone()).or_default().push(index);
            } else {
                taken.insert(name.clone());
            }
        }
    }
    for (name, mut group) in groups {
        if group.len() == 1 && taken.insert(name.clone()) {
            continue;
        }
        group.sort_by_key(|index| place(&kernels[*index]));
        let mut numbers = 0..;
        for index in group {
            let free = numbers.by_ref().map(|number: usize| {
                let mut numbered = name.clone();
                numbered.append(&number.to_string());
                numbered
            });
            names[index] = free.into_iter().find(|name| taken.insert(name.clone()));
        }
    }
}

/// The order of the lambdas of a function: by line, as far as lines are known.
fn place(kernel: &KernelSignature) -> (&str, u32, &[Lambda], &str) {
    let location = kernel.location.as_deref().unwrap_or_default();
    let (file, line) = location.rsplit_once(':').unwrap_or_default();
    let lambdas = kernel.name.as_ref().map_or(&[][..], |name| &name.lambdas);
    (file, line.parse().unwrap_or(0), lambdas, &kernel.symbol)
}
