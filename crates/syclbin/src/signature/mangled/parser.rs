// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parser of mangled types.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::MAX_DEPTH;
use super::{array, instance};

/// Substitutions repeat text, so a short hostile symbol can mean very long types. This is the limit of bytes
/// for one symbol.
const MAX_TEXT: usize = 64 * 1024;

pub(super) struct Parser<'s> {
    pub(super) rest: &'s str,
    substitutions: Vec<String>,
    pub(super) template_arguments: Vec<String>,
    /// Whether the parameters of a lambda are being read.
    pub(super) in_lambda: bool,
    /// Whether the function whose name was read last has its result before its parameters.
    pub(super) has_result: bool,
    /// Bytes of text that may still be made.
    budget: usize,
}

impl<'s> Parser<'s> {
    pub(super) fn new(rest: &'s str) -> Self {
        Self {
            rest,
            substitutions: Vec::new(),
            template_arguments: Vec::new(),
            in_lambda: false,
            has_result: false,
            budget: MAX_TEXT,
        }
    }

    pub(super) fn eat(&mut self, prefix: &str) -> bool {
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
    pub(super) fn substitute(&mut self, text: String) -> Option<String> {
        let text = self.spend(text)?;
        self.substitutions.push(text.clone());
        Some(text)
    }

    /// `<source-name>`: a length and that many bytes.
    pub(super) fn source_name(&mut self) -> Option<&'s str> {
        // A symbol that only one source sees.
        if let Some(rest) = self.rest.strip_prefix('L')
            && rest.starts_with(|c: char| c.is_ascii_digit())
        {
            self.rest = rest;
        }
        let digits = self.rest.len()
            - self
                .rest
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .len();
        let length: usize = self.rest.get(..digits)?.parse().ok()?;
        let name = self.rest.get(digits..digits.checked_add(length)?)?;
        self.rest = self.rest.get(digits + length..)?;
        // Otherwise text that compilers reject as a name would be shown to people as a name.
        let letters = name
            .chars()
            .all(|c| c.is_alphanumeric() || "_$.".contains(c));
        letters.then_some(name)
    }

    /// A candidate for substitution, after its `S`.
    pub(super) fn substitution(&mut self) -> Option<String> {
        let index = self.sequence()?;
        let text = self.substitutions.get(index)?.clone();
        self.spend(text)
    }

    /// `<template-args>`: `I` arguments `E`.
    pub(super) fn arguments(&mut self, depth: usize) -> Option<Vec<String>> {
        if !self.eat("I") {
            return None;
        }
        let mut arguments = Vec::new();
        while !self.eat("E") {
            self.argument(&mut arguments, depth)?;
        }
        Some(arguments)
    }

    /// `<template-arg>`: a type, a value, or a pack of them, which stand where it stands.
    fn argument(&mut self, arguments: &mut Vec<String>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.eat("J") {
            while !self.eat("E") {
                self.argument(arguments, depth + 1)?;
            }
            return Some(());
        }
        // The type of an `auto` stands before the value.
        if self.eat("Tn") {
            self.ty(depth + 1)?;
        }
        let (text, is_expression) = if self.eat("L") {
            (self.literal(depth + 1)?, false)
        } else if self.eat("XadL") {
            (format!("&{}", self.literal(depth + 1)?), true)
        } else if self.eat("XT") {
            // A number that a template of a function has as a parameter.
            (self.template_parameter()?, true)
        } else {
            (self.ty(depth + 1)?, false)
        };
        arguments.push(text);
        (!is_expression || self.eat("E")).then_some(())
    }

    /// A literal argument: `Li4E` is `4`, `Lb1E` is `true`, `L_Z3addiiE` is `add`.
    fn literal(&mut self, depth: usize) -> Option<String> {
        if self.eat("_Z") {
            return self.function_or_variable(depth);
        }
        let ty = self.ty(depth)?;
        let (value, rest) = self.rest.split_once('E')?;
        self.rest = rest;
        let (sign, digits) = match value.strip_prefix('n') {
            Some(digits) => ("-", digits),
            None => ("", value),
        };
        if let "float" | "double" = ty.as_str() {
            return match digits.len() {
                8 => Some(f32::from_bits(u32::from_str_radix(digits, 16).ok()?).to_string()),
                16 => Some(f64::from_bits(u64::from_str_radix(digits, 16).ok()?).to_string()),
                _ => None,
            };
        }
        if ty == "std::nullptr_t" {
            return Some("nullptr".into());
        }
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(match (ty.as_str(), digits) {
            ("bool", "0") => "false".into(),
            ("bool", "1") => "true".into(),
            _ => format!("{sign}{digits}"),
        })
    }

    /// The function or variable that a template has as an argument, after its `_Z`, by its name.
    fn function_or_variable(&mut self, depth: usize) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        // Its own template arguments and lambdas are not those around it.
        let arguments = core::mem::take(&mut self.template_arguments);
        let in_lambda = core::mem::replace(&mut self.in_lambda, false);
        let name = self.function_name(depth + 1)?;
        (self.template_arguments, self.in_lambda) = (arguments, in_lambda);
        let text = self.spend(name.spelled())?;
        self.eat("E").then_some(text)
    }

    pub(super) fn ty(&mut self, depth: usize) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        for (code, text) in BUILT_IN {
            if self.eat(code) {
                return self.spend((*text).into());
            }
        }
        if let Some(text) = self.rare_type(depth) {
            return text;
        }
        if self.eat("P") {
            let base = self.ty(depth + 1)?;
            let space = if base.ends_with('*') { "" } else { " " };
            return self.substitute(format!("{base}{space}*"));
        }
        if self.eat("K") {
            let base = self.ty(depth + 1)?;
            return self.substitute(if base.ends_with('*') {
                format!("{base}const")
            } else {
                format!("const {base}")
            });
        }
        if self.eat("T") {
            let text = self.template_parameter()?;
            return self.substitute(text);
        }
        for (code, mark) in [("R", "&"), ("O", "&&")] {
            if self.eat(code) {
                let base = self.ty(depth + 1)?;
                return self.substitute(format!("{base} {mark}"));
            }
        }
        if self.eat("A") {
            let (count, rest) = self.rest.split_once('_')?;
            if !count.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            self.rest = rest;
            let element = self.ty(depth + 1)?;
            return self.substitute(array(&element, count));
        }
        if let Some(text) = self.of_standard_library() {
            return self.with_arguments(text, depth);
        }
        if self.rest.starts_with('S') && !self.rest.starts_with("St") {
            self.rest = &self.rest[1..];
            let text = self.substitution()?;
            return self.with_arguments(text, depth);
        }
        if self
            .rest
            .starts_with(|c: char| "NSZU".contains(c) || c.is_ascii_digit())
        {
            let name = self.name(depth + 1)?;
            return self.substitute(name.spelled());
        }
        None
    }

    /// The type `text`, or an instance of that template.
    fn with_arguments(&mut self, text: String, depth: usize) -> Option<String> {
        if !self.rest.starts_with('I') {
            return Some(text);
        }
        let arguments = self.arguments(depth + 1)?;
        self.substitute(instance(&text, &arguments))
    }

    /// What a template's parameter is, after its `T`. A lambda's own parameters are `auto`.
    pub(super) fn template_parameter(&mut self) -> Option<String> {
        let index = self.sequence()?;
        if self.in_lambda {
            return Some("auto".into());
        }
        self.template_arguments.get(index).cloned()
    }

    /// Types that only functions of hosts take. Returns `None` if it is another type, and `Some(None)` if it
    /// is damaged.
    fn rare_type(&mut self, depth: usize) -> Option<Option<String>> {
        if self.eat("V") || self.eat("r") {
            return Some(self.ty(depth + 1)); // how memory is accessed
        }
        if self.eat("Dp") {
            return Some(self.ty(depth + 1).map(|ty| format!("{ty}...")));
        }
        if self.eat("F") {
            return Some(self.function(depth + 1));
        }
        None
    }

    /// `<function-type>`, after its `F`: the result, then the parameters.
    fn function(&mut self, depth: usize) -> Option<String> {
        let result = self.ty(depth)?;
        let parameters = self.types(depth)?;
        if !self.eat("E") {
            return None;
        }
        self.substitute(format!("{result} ({})", parameters.join(", ")))
    }

    /// The short forms of the standard library: `Ss` is `std::string`.
    pub(super) fn of_standard_library(&mut self) -> Option<String> {
        const SHORT: [(&str, &str); 6] = [
            ("Sa", "std::allocator"),
            ("Sb", "std::basic_string"),
            ("Ss", "std::string"),
            ("Si", "std::istream"),
            ("So", "std::ostream"),
            ("Sd", "std::iostream"),
        ];
        let found = SHORT.iter().find(|(code, _)| self.eat(code));
        found.map(|(_, text)| (*text).into())
    }

    /// `_` is 0, `0_` is 1, `A_` is 11, in base 36.
    pub(super) fn sequence(&mut self) -> Option<usize> {
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
    ("w", "wchar_t"),
    ("n", "__int128"),
    ("o", "unsigned __int128"),
    ("e", "long double"),
    ("z", "..."),
    ("Da", "auto"),
    ("Dn", "std::nullptr_t"),
    ("Du", "char8_t"),
    ("Ds", "char16_t"),
    ("Di", "char32_t"),
    ("DF16_", "_Float16"),
    ("DF16b", "__bf16"),
];
