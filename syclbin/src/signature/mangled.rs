//! Kernel symbols: the subset of the Itanium C++ name mangling that kernels have.
//!
//! DPC++ puts `__sycl_kernel_` before the outermost part of a free function's name: `saxpy` in
//! `extern "C"` becomes `__sycl_kernel_saxpy`, and `fill::iota(float, float *, int)` becomes
//! `_ZN18__sycl_kernel_fill4iotaEfPfi`. A functor or named lambda is `_ZTS` and its type.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// What DPC++ puts before the name of a free-function kernel.
pub const KERNEL_PREFIX: &str = "__sycl_kernel_";
/// Types and names nest; a symbol that goes deeper is not read.
const MAX_DEPTH: usize = 64;
/// Substitutions repeat text, so a short hostile symbol can mean very long types: this many bytes
/// are made of one symbol at most.
const MAX_TEXT: usize = 64 * 1024;

/// What a symbol says of its kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelName {
    /// The namespaces (and classes) around it, outermost first.
    pub path: Vec<String>,
    /// The name itself.
    pub base: String,
    /// The arguments, if it is an instance of a template, as C++ spells them.
    pub template_arguments: Vec<String>,
    /// The types of the parameters, where the symbol has them: free functions that are not
    /// `extern "C"`.
    pub parameters: Option<Vec<String>>,
}

impl KernelName {
    /// The name with all that qualifies it: `fill::iota`, `scale<int>`.
    #[must_use]
    pub fn qualified(&self) -> String {
        let mut text = String::new();
        for part in &self.path {
            text.push_str(part);
            text.push_str("::");
        }
        text.push_str(&self.base);
        if !self.template_arguments.is_empty() {
            text.push_str(&format!("<{}>", self.template_arguments.join(", ")));
        }
        text
    }
}

/// Reads a kernel's symbol; `None` where it has parts that this module does not know, such as an
/// unnamed lambda.
#[must_use]
pub fn parse(symbol: &str) -> Option<KernelName> {
    let mut name = if let Some(rest) = symbol.strip_prefix("_ZTS") {
        let mut parser = Parser::new(rest);
        let name = parser.type_name()?;
        parser.rest.is_empty().then_some(name)?
    } else if let Some(rest) = symbol.strip_prefix("_Z") {
        let mut parser = Parser::new(rest);
        let mut name = parser.name(0)?;
        parser.template_arguments = name.template_arguments.clone();
        // What is unknown from here on leaves the name readable.
        name.parameters = parser.function_type(!name.template_arguments.is_empty());
        name
    } else {
        KernelName {
            base: symbol.into(),
            ..KernelName::default()
        }
    };
    let first = name.path.first_mut().unwrap_or(&mut name.base);
    if let Some(rest) = first.strip_prefix(KERNEL_PREFIX) {
        *first = rest.into();
    }
    let identifier =
        |part: &String| !part.is_empty() && part.chars().all(|c| c == '_' || c.is_alphanumeric());
    let nested = name.path.len() <= MAX_DEPTH;
    (nested && name.path.iter().all(identifier) && identifier(&name.base)).then_some(name)
}

struct Parser<'s> {
    rest: &'s str,
    substitutions: Vec<String>,
    template_arguments: Vec<String>,
    /// Bytes of text that may still be made.
    budget: usize,
}

impl<'s> Parser<'s> {
    fn new(rest: &'s str) -> Self {
        Self {
            rest,
            substitutions: Vec::new(),
            template_arguments: Vec::new(),
            budget: MAX_TEXT,
        }
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Counts `text` against what may be made of one symbol.
    fn spend(&mut self, text: String) -> Option<String> {
        self.budget = self.budget.checked_sub(text.len())?;
        Some(text)
    }

    /// Makes `text` a candidate for later substitution.
    fn substitute(&mut self, text: String) -> Option<String> {
        let text = self.spend(text)?;
        self.substitutions.push(text.clone());
        Some(text)
    }

    /// `<source-name>`: a length and that many bytes.
    fn source_name(&mut self) -> Option<&'s str> {
        let digits = self.rest.len()
            - self
                .rest
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .len();
        let length: usize = self.rest.get(..digits)?.parse().ok()?;
        let name = self.rest.get(digits..digits.checked_add(length)?)?;
        self.rest = self.rest.get(digits + length..)?;
        Some(name)
    }

    /// `<name>`: plain or nested, with template arguments.
    fn name(&mut self, depth: usize) -> Option<KernelName> {
        let mut name = KernelName::default();
        if !self.eat("N") {
            name.base = self.source_name()?.into();
            if self.rest.starts_with('I') {
                self.substitute(name.base.clone())?;
                name.template_arguments = self.arguments(depth + 1)?;
            }
            return Some(name);
        }
        let mut parts = Vec::new();
        while !self.eat("E") {
            if self.rest.starts_with('I') {
                name.template_arguments = self.arguments(depth + 1)?;
                if !self.rest.starts_with('E') {
                    return None; // a member of a template instance: not a name for Rust
                }
                continue;
            }
            parts.push(String::from(self.source_name()?));
            // Every prefix is a candidate, but not the whole: that of a function never is one, and
            // that of a type is made one by `ty`.
            if !self.rest.starts_with('E') {
                self.substitute(parts.join("::"))?;
            }
        }
        name.base = parts.pop()?;
        name.path = parts;
        Some(name)
    }

    /// The name of a class, after `_ZTS`: `6AddOne`, `N2ns6AddOneE`, `Z4hostvE3MyK` (in a function).
    fn type_name(&mut self) -> Option<KernelName> {
        if !self.eat("Z") {
            return self.name(0);
        }
        let _function = self.name(0)?;
        self.function_type(false)?;
        if !self.eat("E") {
            return None;
        }
        self.name(0)
    }

    /// `<template-args>`: `I` arguments `E`.
    fn arguments(&mut self, depth: usize) -> Option<Vec<String>> {
        if !self.eat("I") {
            return None;
        }
        let mut arguments = Vec::new();
        while !self.eat("E") {
            arguments.push(if self.eat("L") {
                self.literal(depth + 1)?
            } else {
                self.ty(depth + 1)?
            });
        }
        Some(arguments)
    }

    /// A literal argument: `Li4E` is `4`, `Lb1E` is `true`.
    fn literal(&mut self, depth: usize) -> Option<String> {
        let ty = self.ty(depth)?;
        let (value, rest) = self.rest.split_once('E')?;
        self.rest = rest;
        let (sign, digits) = match value.strip_prefix('n') {
            Some(digits) => ("-", digits),
            None => ("", value),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(match (ty.as_str(), digits) {
            ("bool", "0") => "false".into(),
            ("bool", "1") => "true".into(),
            _ => format!("{sign}{digits}"),
        })
    }

    /// The types after a function's name. An instance of a template has its result first.
    fn function_type(&mut self, template: bool) -> Option<Vec<String>> {
        if template && self.ty(0)? != "void" {
            return None;
        }
        if self.eat("v") {
            return Some(Vec::new());
        }
        let mut types = Vec::new();
        while !self.rest.is_empty() && !self.rest.starts_with('E') {
            types.push(self.ty(0)?);
        }
        Some(types)
    }

    fn ty(&mut self, depth: usize) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        for (code, text) in BUILT_IN {
            if self.eat(code) {
                return self.spend((*text).into());
            }
        }
        if self.eat("P") {
            let base = self.ty(depth + 1)?;
            let space = if base.ends_with('*') { "" } else { " " };
            return self.substitute(format!("{base}{space}*"));
        }
        if self.eat("K") {
            let base = self.ty(depth + 1)?;
            return self.substitute(match base.ends_with('*') {
                true => format!("{base}const"),
                false => format!("const {base}"),
            });
        }
        if self.eat("T") {
            let index = self.sequence()?;
            let argument = self.template_arguments.get(index)?.clone();
            return self.substitute(argument);
        }
        if self.eat("S") {
            let index = self.sequence()?;
            let text = self.substitutions.get(index)?.clone();
            return self.spend(text);
        }
        if self
            .rest
            .starts_with(|c: char| c == 'N' || c.is_ascii_digit())
        {
            let name = self.name(depth + 1)?;
            return self.substitute(name.qualified());
        }
        None
    }

    /// `_` is 0, `0_` is 1, `A_` is 11, in base 36.
    fn sequence(&mut self) -> Option<usize> {
        let (digits, rest) = self.rest.split_once('_')?;
        self.rest = rest;
        if digits.is_empty() {
            return Some(0);
        }
        // `from_str_radix` would take a sign and lower case.
        let plain = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase();
        if !digits.chars().all(plain) {
            return None;
        }
        usize::from_str_radix(digits, 36).ok()?.checked_add(1)
    }
}

const BUILT_IN: &[(&str, &str)] = &[
    ("v", "void"),
    ("b", "bool"),
    ("c", "char"),
    ("a", "signed char"),
    ("h", "unsigned char"),
    ("s", "short"),
    ("t", "unsigned short"),
    ("i", "int"),
    ("j", "unsigned int"),
    ("l", "long"),
    ("m", "unsigned long"),
    ("x", "long long"),
    ("y", "unsigned long long"),
    ("f", "float"),
    ("d", "double"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_compilers_symbols_are_read() {
        for (symbol, name, parameters) in [
            ("__sycl_kernel_saxpy", "saxpy", None),
            (
                "_Z18__sycl_kernel_ff_2Piii",
                "ff_2",
                Some("int *; int; int"),
            ),
            (
                "_ZN18__sycl_kernel_fill4iotaEfPfi",
                "fill::iota",
                Some("float; float *; int"),
            ),
            (
                "_Z19__sycl_kernel_scaleIiEvPT_S0_",
                "scale<int>",
                Some("int *; int"),
            ),
            (
                "_Z18__sycl_kernel_tmplIiEvT_PS0_",
                "tmpl<int>",
                Some("int; int *"),
            ),
            (
                "_Z15__sycl_kernel_fPKhS0_m",
                "f",
                Some("const unsigned char *; const unsigned char *; unsigned long"),
            ),
            (
                "_Z15__sycl_kernel_fIiLi4ELb1EEvPT_",
                "f<int, 4, true>",
                Some("int *"),
            ),
            ("_Z15__sycl_kernel_fv", "f", Some("")),
            (
                "_ZN18__sycl_kernel_fill5scaleIiEEvPT_S1_",
                "fill::scale<int>",
                Some("int *; int"),
            ),
            (
                "_Z15__sycl_kernel_fN2ns4PairIiEEPfS2_",
                "f",
                Some("ns::Pair<int>; float *; float *"),
            ),
            (
                "_Z15__sycl_kernel_f8ParticlePS_",
                "f",
                Some("Particle; Particle *"),
            ),
            ("_ZTS6AddOne", "AddOne", None),
            ("_ZTSN2zz3NK2E", "zz::NK2", None),
            ("_ZTSZ4hostvE3MyK", "MyK", None),
        ] {
            let parsed = parse(symbol).unwrap_or_else(|| panic!("{symbol}"));
            assert_eq!(parsed.qualified(), name, "{symbol}");
            let types = parsed.parameters.map(|types| types.join("; "));
            assert_eq!(types.as_deref(), parameters, "{symbol}");
        }
    }

    #[test]
    fn an_unnamed_lambda_and_a_damaged_symbol_have_no_name() {
        for symbol in [
            "_ZTSZ4hostvEUlvE0_",
            "_Z",
            "_Z99f",
            "_ZN4fill",
            "_ZTS",
            "_Z0v",
            "a-b",
            "",
        ] {
            assert_eq!(parse(symbol), None, "{symbol}");
        }
    }

    #[test]
    fn what_is_unknown_in_the_parameters_leaves_the_name() {
        let parsed = parse("_Z15__sycl_kernel_fDh").unwrap();
        assert_eq!((parsed.base.as_str(), parsed.parameters), ("f", None));
    }

    #[test]
    fn a_symbol_that_doubles_its_own_text_is_not_followed() {
        // Each parameter names the one before twice: a<int>, a<a<int>, a<int>>, ... The candidates
        // for substitution are a name and a whole type in turn, so the last whole is number 2n - 1.
        let digit = |n: u32| char::from_digit(n, 36).unwrap().to_ascii_uppercase();
        let doubling = |count: u32| {
            let mut symbol = String::from("_Z1f1aIiE");
            for n in 1..count {
                let last = digit(2 * (n - 1));
                symbol.push_str(&format!("1aIS{last}_S{last}_E"));
            }
            parse(&symbol).unwrap().parameters
        };
        assert_eq!(doubling(3).unwrap()[2].matches("int").count(), 4);
        assert_eq!(doubling(18), None);
        let copies = format!("_Z1f{}i{}", "P".repeat(60), "S1_".repeat(100_000));
        assert_eq!(parse(&copies).unwrap().parameters, None);
        // One character means eighteen, and a whole parameter.
        let built_in = format!("_Z1f{}", "y".repeat(100_000));
        assert_eq!(parse(&built_in).unwrap().parameters, None);
    }

    #[test]
    fn nothing_nests_deeper_than_a_stack() {
        let deep = format!("_Z1f{}i", "P".repeat(100_000));
        assert_eq!(parse(&deep).unwrap().parameters, None);
        let nested = format!("_ZN{}Ev", "1a".repeat(2_000));
        assert_eq!(parse(&nested), None);
        let literals = format!("_Z1fI{}", "L1aI".repeat(100_000));
        assert_eq!(parse(&literals), None);
    }
}
