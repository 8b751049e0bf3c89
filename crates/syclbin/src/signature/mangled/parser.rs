// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parser of mangled names.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::spelling::{array, instance, join};
use super::{KernelName, MAX_DEPTH};

/// Substitutions repeat text, so a short hostile symbol can mean very long types. This is the limit of bytes
/// for one symbol.
const MAX_TEXT: usize = 64 * 1024;

pub(super) struct Parser<'s> {
    pub(super) rest: &'s str,
    substitutions: Vec<String>,
    pub(super) template_arguments: Vec<String>,
    /// Bytes of text that may still be made.
    budget: usize,
}

impl<'s> Parser<'s> {
    pub(super) fn new(rest: &'s str) -> Self {
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

    /// `<name>`: plain or nested, with template arguments.
    pub(super) fn name(&mut self, depth: usize) -> Option<KernelName> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut name = KernelName::default();
        if !self.eat("N") {
            if self.eat("St") {
                name.path.push("std".into());
            }
            name.base = self.source_name()?.into();
            if self.rest.starts_with('I') {
                self.substitute(name.qualified())?;
                name.template_arguments = self.arguments(depth + 1)?;
            }
            return Some(name);
        }
        let mut parts = Vec::new();
        while !self.eat("E") {
            if self.rest.starts_with('I') {
                name.template_arguments = self.arguments(depth + 1)?;
                if self.rest.starts_with('E') {
                    continue;
                }
                // What is inside of an instance: the instance is one part of the path, which no
                // kernel of Rust can have, but a type can.
                let base: String = parts.pop()?;
                let arguments = core::mem::take(&mut name.template_arguments);
                parts = Vec::from([instance(&join(&parts, &base), &arguments)]);
                self.substitute(parts.concat())?;
                continue;
            }
            if parts.is_empty() && self.eat("St") {
                parts.push("std".into());
                continue;
            }
            if parts.is_empty() && self.eat("S") {
                let text = self.substitution()?;
                parts.push(text);
                continue;
            }
            parts.push(String::from(self.source_name()?));
            // Every prefix is a candidate, but not the whole name. The name of a function never is a
            // candidate, and `ty` makes the name of a type one.
            if !self.rest.starts_with('E') {
                let base = parts.pop()?;
                self.substitute(join(&parts, &base))?;
                parts.push(base);
            }
        }
        name.base = parts.pop()?;
        name.path = parts;
        Some(name)
    }

    /// A candidate for substitution, after its `S`.
    fn substitution(&mut self) -> Option<String> {
        let index = self.sequence()?;
        let text = self.substitutions.get(index)?.clone();
        self.spend(text)
    }

    /// The name of a class, after `_ZTS`: `6AddOne`, `N2ns6AddOneE`, `Z4hostvE3MyK` (in a function).
    pub(super) fn type_name(&mut self) -> Option<KernelName> {
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
            if self.eat("L") {
                arguments.push(self.literal(depth + 1)?);
            } else if self.rest.starts_with('J') && depth < MAX_DEPTH {
                // A pack: its types stand where it stands.
                self.rest = &self.rest[1..];
                while !self.eat("E") {
                    arguments.push(self.ty(depth + 1)?);
                }
            } else {
                arguments.push(self.ty(depth + 1)?);
            }
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
    pub(super) fn function_type(&mut self, template: bool) -> Option<Vec<String>> {
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

    pub(super) fn ty(&mut self, depth: usize) -> Option<String> {
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
            return self.substitute(if base.ends_with('*') {
                format!("{base}const")
            } else {
                format!("const {base}")
            });
        }
        if self.eat("T") {
            let index = self.sequence()?;
            let argument = self.template_arguments.get(index)?.clone();
            return self.substitute(argument);
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
        if self.rest.starts_with('S') && !self.rest.starts_with("St") {
            self.rest = &self.rest[1..];
            let text = self.substitution()?;
            if !self.rest.starts_with('I') {
                return Some(text);
            }
            let arguments = self.arguments(depth + 1)?;
            return self.substitute(instance(&text, &arguments));
        }
        if self
            .rest
            .starts_with(|c: char| c == 'N' || c == 'S' || c.is_ascii_digit())
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
    ("w", "wchar_t"),
    ("Du", "char8_t"),
    ("Ds", "char16_t"),
    ("Di", "char32_t"),
    ("DF16_", "_Float16"),
    ("DF16b", "__bf16"),
];
