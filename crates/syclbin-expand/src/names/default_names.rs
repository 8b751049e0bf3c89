// SPDX-License-Identifier: MIT OR Apache-2.0
//! Computes unique Rust names for all kernels in a file.
//!
//! 1. The namespaces and classes around a kernel become modules. A kernel is named after its function or class, and an
//!    unnamed lambda after the function around it.
//! 2. All template arguments follow: those of the kernel, and those of functions and generic lambdas around it. So
//!    adding another instance of a template never renames a kernel.
//! 3. Kernels that share a name get more parts of their C++ names, where these parts differ: first the functions
//!    around a class, then the function's parameters, one by one.
//! 4. Kernels that still share a name are numbered in source order.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Ident;
use syclbin::signature::{KernelName, KernelSignature, Lambda};

use crate::names::{candidates, identifier, plain, rust, words};

/// The names of the functions and the constant in every generated module struct.
pub(crate) const OWN_METHODS: [&str; 7] = [
    "FILE",
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
    let drafts = kernels.iter();
    let drafts = drafts.map(|kernel| Some(Draft::new(kernel, kernel.name.as_ref()?)));
    let mut names: Vec<Option<Draft<'_>>> = drafts.collect();
    for detail in 0..FUNCTIONS + PARAMETERS {
        for group in same(&names) {
            let text = |index: &usize| names[*index].as_ref()?.detail(detail);
            let texts: Vec<Option<String>> = group.iter().map(text).collect();
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
        if OWN_METHODS.contains(&&*draft.name) {
            draft.name.push('_');
        }
    }
    let taken = names.iter().flatten();
    let taken = taken.map(|draft| (draft.path.clone(), draft.name.clone()));
    let mut taken: BTreeSet<(Vec<String>, String)> = taken.collect();
    for mut group in same(&names) {
        group.sort_by_key(|index| place(&kernels[*index]));
        let mut numbers = 0usize..;
        for index in group {
            let Some(draft) = &mut names[index] else {
                continue;
            };
            let mut numbered = numbers.by_ref().map(|n| format!("{}_{n}", draft.name));
            let free = numbered.find(|name| taken.insert((draft.path.clone(), name.clone())));
            draft.name = free.unwrap_or_default();
        }
    }
    let named = names.into_iter().map(|draft| {
        let Draft { path, name, .. } = draft?;
        let ident = identifier(&name)?;
        Some(RustName { path, ident })
    });
    named.collect()
}

/// Returns the name of a variable, which is not in `taken`. `last` contains the last number that was tried for each name.
pub(crate) fn of_variable<T>(
    name: &KernelName,
    taken: &BTreeMap<RustName, T>,
    last: &mut BTreeMap<(Vec<String>, String), usize>,
) -> Option<RustName> {
    let (path, base) = (path(name), rust(&name.base));
    let last = last.entry((path.clone(), base.clone())).or_default();
    let texts = candidates(&base, last);
    let own = texts.filter(|text| !OWN_METHODS.contains(&&**text));
    let mut names = own.map_while(|text| {
        let (path, ident) = (path.clone(), identifier(&text)?);
        Some(RustName { path, ident })
    });
    names.find(|name| !taken.contains_key(name))
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
        for function in around(cpp) {
            let lambdas = function.lambdas.iter();
            let of_lambdas = lambdas.flat_map(|lambda| &lambda.template_arguments);
            for argument in function.template_arguments.iter().chain(of_lambdas) {
                let argument = argument.to_string();
                let text = short(&argument, cpp);
                if !is_of_launch(&argument) && !text.is_empty() {
                    draft.name += &format!("_{text}");
                }
            }
        }
        draft.name = rust(&draft.name);
        draft
    }

    /// Returns the `index`th detail that can distinguish this kernel from others with the same name: first the
    /// enclosing functions, innermost first, then the parameter types. Returns `None` if there is no such detail.
    fn detail(&self, index: usize) -> Option<String> {
        let mut around = around(self.cpp).skip(1);
        let Some(parameter) = index.checked_sub(FUNCTIONS) else {
            return around.nth(index).map(base);
        };
        let function = if self.cpp.lambdas.is_empty() {
            around.next().unwrap_or(self.cpp)
        } else {
            self.cpp
        };
        let declared = self.kernel.declaration.iter().flat_map(|of| &of.parameters);
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
            let group = groups.entry((&draft.path, &draft.name)).or_default();
            group.push(index);
        }
    }
    let groups = groups.into_values();
    groups.filter(|group| group.len() > 1).collect()
}

/// Returns a name, and the names of the functions around it, innermost first.
pub(crate) fn around(name: &KernelName) -> impl Iterator<Item = &KernelName> {
    std::iter::successors(Some(name), |name| name.function.as_deref())
}

/// Returns the modules for a C++ name, outermost first: the source file, if several files define the name, then the
/// modules of the enclosing function, then the namespaces and classes of the name itself.
pub(crate) fn path(name: &KernelName) -> Vec<String> {
    let mut path: Vec<String> = name.function.as_deref().map_or_else(Vec::new, path);
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

/// Returns a Rust name for an operator. The names of lambdas inside the operator derive from it.
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

/// Returns whether `ty` is a queue or handler. Functions that launch kernels take one as a parameter, so it does not
/// distinguish these functions.
fn is_of_launch(ty: &str) -> bool {
    // The name of a class inside a lambda may contain the lambda's parameter type, such as a handler, but the class
    // is not a handler.
    let own = ty.rsplit('}').next().filter(|own| !own.is_empty());
    let own = own.unwrap_or(ty);
    own.contains("sycl::queue") || own.contains("sycl::handler")
}

/// Returns a template argument or a type in short form: `sycl::half` becomes `half`, and
/// `std::integral_constant<int, 32>` becomes `32`. A type in the namespace of `kernel` keeps only its own name.
fn short(text: &str, kernel: &KernelName) -> String {
    const CONSTANT: &str = "std::integral_constant<";
    let mut text = text.to_owned();
    while let Some(start) = text.find(CONSTANT)
        && let Some(length) = text[start..].find('>')
    {
        let value = text[start..start + length].rsplit(", ").next();
        let value = value.unwrap_or_default().to_owned();
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
        parts.push(if kind {
            unqualified(&text, kernel)
        } else {
            text
        });
        text = rest;
    }
    words(&parts.concat())
}

fn unqualified(name: &str, kernel: &KernelName) -> String {
    let parts: Vec<&str> = name.split("::").collect();
    let own = match parts[..] {
        ["std" | "sycl", ..] => parts.len() - 1,
        _ => {
            let pairs = parts.iter().zip(&kernel.path);
            pairs.take_while(|(part, own)| *part == own).count()
        }
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
