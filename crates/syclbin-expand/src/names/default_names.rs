// SPDX-License-Identifier: MIT OR Apache-2.0
//! Computes unique Rust names for all kernels in a file.
//!
//! 1. The namespaces and classes around a kernel become modules. A kernel is named after its function or class, and an
//!    unnamed lambda after the function around it.
//! 2. All template arguments follow: those of the kernel, and those of functions and generic lambdas around it. So
//!    another instance of a template never renames a kernel.
//! 3. Kernels that share a name get more parts of their C++ names, where these parts differ: first the functions
//!    around a class, then the function's parameters, one by one.
//! 4. Kernels that still share a name are numbered in source order.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Ident;
use syclbin::signature::{KernelName, KernelSignature, Lambda};

use crate::names::{identifier, plain, rust, words};

/// The names of the functions in every generated module struct.
pub(crate) const OWN_METHODS: [&str; 6] = [
    "best_device",
    "build",
    "build_kernels",
    "load",
    "builder",
    "new",
];

/// The maximum number of enclosing functions that distinguish a class.
const FUNCTIONS: usize = 2;

/// The maximum number of function parameters that distinguish a kernel.
const PARAMETERS: usize = 32;

/// The path and name of the function for a kernel or variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RustName {
    /// The modules, which stand for namespaces and classes.
    pub(crate) path: Vec<String>,
    pub(crate) ident: Ident,
}

impl RustName {
    /// Returns the name as written in items.
    pub(crate) fn spelled(&self) -> String {
        let mut text = self.path.join("::");
        if !text.is_empty() {
            text.push_str("::");
        }
        text + &plain(&self.ident)
    }
}

/// Returns the Rust name of each kernel, or `None` if its symbol contains no valid name.
pub(crate) fn default_names(kernels: &[KernelSignature]) -> Vec<Option<RustName>> {
    let mut names: Vec<Option<Draft<'_>>> = kernels
        .iter()
        .map(|kernel| Some(Draft::new(kernel, kernel.name.as_ref()?)))
        .collect();
    for detail in 0..FUNCTIONS + PARAMETERS {
        for group in same(&names) {
            let texts: Vec<Option<String>> = group
                .iter()
                .map(|index| names[*index].as_ref()?.detail(detail))
                .collect();
            if texts.iter().all(|text| *text == texts[0]) {
                continue;
            }
            for (index, text) in group.into_iter().zip(texts) {
                if let (Some(draft), Some(text)) = (&mut names[index], text) {
                    draft.name = if detail < FUNCTIONS {
                        format!("{text}_{}", draft.name)
                    } else {
                        format!("{}_{text}", draft.name)
                    };
                }
            }
        }
    }
    for draft in names.iter_mut().flatten() {
        draft.name = rust(&draft.name);
    }
    let mut taken: BTreeSet<(Vec<String>, String)> = names
        .iter()
        .flatten()
        .map(|draft| (draft.path.clone(), draft.name.clone()))
        .collect();
    for mut group in same(&names) {
        group.sort_by_key(|index| place(&kernels[*index]));
        let mut numbers = 0usize..;
        for index in group {
            let Some(draft) = &mut names[index] else {
                continue;
            };
            let numbered = numbers.by_ref().map(|n| format!("{}_{n}", draft.name));
            let free = numbered
                .into_iter()
                .find(|name| taken.insert((draft.path.clone(), name.clone())));
            draft.name = free.unwrap_or_default();
        }
    }
    names
        .into_iter()
        .map(|draft| {
            draft.and_then(|Draft { path, name, .. }| {
                Some(RustName {
                    path,
                    ident: identifier(&name)?,
                })
            })
        })
        .collect()
}

/// Returns the name of a variable, with underscores appended until it is unique.
pub(crate) fn of_variable(
    name: &KernelName,
    is_taken: impl Fn(&RustName) -> bool,
) -> Option<RustName> {
    let (path, mut text) = (path(name), rust(&name.base));
    loop {
        let ident = identifier(&text)?;
        let name = RustName {
            path: path.clone(),
            ident,
        };
        if !OWN_METHODS.contains(&&*text) && !is_taken(&name) {
            return Some(name);
        }
        text.push('_');
    }
}

struct Draft<'k> {
    kernel: &'k KernelSignature,
    cpp: &'k KernelName,
    path: Vec<String>,
    name: String,
}

impl<'k> Draft<'k> {
    fn new(kernel: &'k KernelSignature, cpp: &'k KernelName) -> Self {
        let mut draft = Self {
            kernel,
            cpp,
            path: path(cpp),
            name: base(cpp),
        };
        for function in std::iter::successors(Some(cpp), |name| name.function.as_deref()) {
            let of_lambdas = function
                .lambdas
                .iter()
                .flat_map(|lambda| &lambda.template_arguments);
            for argument in function.template_arguments.iter().chain(of_lambdas) {
                let argument = argument.to_string();
                let text = short(&argument, cpp);
                if !is_of_launch(&argument) && !text.is_empty() {
                    draft.name.push('_');
                    draft.name.push_str(&text);
                }
            }
        }
        draft.name = rust(&draft.name);
        if OWN_METHODS.contains(&&*draft.name) {
            draft.name.push('_');
        }
        draft
    }

    /// Returns the `index`th detail that can distinguish this kernel from others with the same name: first the
    /// enclosing functions, innermost first, then the parameter types. Returns `None` if there is no such detail.
    fn detail(&self, index: usize) -> Option<String> {
        let mut around = std::iter::successors(self.cpp.function.as_deref(), |name| {
            name.function.as_deref()
        });
        let Some(parameter) = index.checked_sub(FUNCTIONS) else {
            return around.nth(index).map(base);
        };
        let function = if self.cpp.lambdas.is_empty() {
            around.next().unwrap_or(self.cpp)
        } else {
            self.cpp
        };
        let declared = self
            .kernel
            .declaration
            .iter()
            .flat_map(|declaration| &declaration.parameters);
        let declared: Vec<String> = match &function.parameters {
            Some(types) => types.iter().map(ToString::to_string).collect(),
            None if self.cpp.lambdas.is_empty() => {
                declared.map(|parameter| parameter.ty.clone()).collect()
            }
            None => Vec::new(),
        };
        let mut types = declared.into_iter().filter(|ty| !is_of_launch(ty));
        types.nth(parameter).map(|ty| short(&ty, self.cpp))
    }
}

fn same(names: &[Option<Draft<'_>>]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<(&[String], &str), Vec<usize>> = BTreeMap::new();
    for (index, draft) in names.iter().enumerate() {
        if let Some(draft) = draft {
            groups
                .entry((&draft.path, &draft.name))
                .or_default()
                .push(index);
        }
    }
    groups
        .into_values()
        .filter(|group| group.len() > 1)
        .collect()
}

/// Returns the modules for a C++ name. If several source files define the name, the first module is named after the
/// source file. The modules of the enclosing function follow.
pub(crate) fn path(name: &KernelName) -> Vec<String> {
    let mut path: Vec<String> = match &name.function {
        Some(function) => path(function),
        None => Vec::new(),
    };
    path.extend(name.path.iter().map(|part| rust(part)));
    if let Some(source) = &name.source {
        path.insert(0, source.clone());
    }
    path
}

/// Returns the name of a function or class without template arguments.
fn base(name: &KernelName) -> String {
    match name.base.strip_prefix("operator") {
        Some(symbol) if identifier(&name.base).is_none() => operator(symbol),
        _ => name.base.replace('~', "drop_"),
    }
}

/// Returns the Rust name of an operator, for lambdas inside it.
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

/// Returns whether this is the type of a queue or handler, which functions that launch kernels take as a parameter.
fn is_of_launch(ty: &str) -> bool {
    // The name of a class inside a lambda may contain the lambda's parameter type, such as a handler, but the class
    // is not a handler.
    let own = ty.rsplit('}').next().filter(|own| !own.is_empty());
    let own = own.unwrap_or(ty);
    ["sycl::queue", "sycl::handler"]
        .iter()
        .any(|name| own.contains(name))
}

/// Returns a template argument or a type in short form: `sycl::half` becomes `half`, and
/// `std::integral_constant<int, 32>` becomes `32`. A type in the namespace of `kernel` keeps only its own name.
fn short(text: &str, kernel: &KernelName) -> String {
    const CONSTANT: &str = "std::integral_constant<";
    let mut text = text.to_owned();
    while let Some(start) = text.find(CONSTANT)
        && let Some(length) = text[start..].find('>')
    {
        let value = text[start..start + length]
            .rsplit(", ")
            .next()
            .unwrap_or_default()
            .to_owned();
        text.replace_range(start..=start + length, &value);
    }
    // A lambda as an argument: `scale(float *)::{lambda(int)#2}` becomes `scale_lambda_2`.
    while let Some(start) = text.find("{lambda(")
        && let Some(length) = text[start..].find('}')
    {
        let (lambda, rest) = text[start..].split_at(length);
        let name = match lambda.rsplit('#').next().unwrap_or_default() {
            // A class inside a lambda: the function around the lambda is specific enough.
            "1" if rest.starts_with("}::") => String::new(),
            "1" => "lambda".to_owned(),
            number => format!("lambda_{number}"),
        };
        text.replace_range(start..=start + length, &name);
    }
    let is_name = |c: char| c == '_' || c == ':' || c.is_alphanumeric();
    let mut parts = Vec::new();
    while let Some(first) = text.chars().next() {
        let kind = is_name(first);
        let end = text.find(|c| is_name(c) != kind).unwrap_or(text.len());
        let rest = text.split_off(end);
        if kind {
            parts.push(unqualified(&text, kernel));
        } else {
            parts.push(text);
        }
        text = rest;
    }
    words(&parts.concat())
}

fn unqualified(name: &str, kernel: &KernelName) -> String {
    let parts: Vec<&str> = name.split("::").collect();
    let own = match parts[..] {
        ["std" | "sycl", ..] => parts.len() - 1,
        _ => parts
            .iter()
            .zip(&kernel.path)
            .take_while(|(part, own)| **part == own.as_str())
            .count(),
    };
    parts[own.min(parts.len() - 1)..].join("::")
}

/// Returns the sort key for kernels that share a name: the source line if known, then the lambdas and the symbol.
fn place(kernel: &KernelSignature) -> (&str, u32, &[Lambda], &str) {
    let location = kernel.location.as_deref().unwrap_or_default();
    let (file, line) = location.rsplit_once(':').unwrap_or_default();
    let lambdas = kernel.name.as_ref().map_or(&[][..], |name| &name.lambdas);
    (file, line.parse().unwrap_or(0), lambdas, &kernel.symbol)
}
