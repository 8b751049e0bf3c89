// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses mangled types and template arguments.

use super::{KERNEL_PREFIX, PACK, check_depth, split_number};
use crate::prelude::*;
use crate::signature::cpp_type::{CppType, list};
use crate::text::is_decimal;

/// The maximum total length of the types spelled out from one symbol, in bytes. Substitutions repeat types, so a short
/// hostile symbol could expand to enormous types.
const MAX_TEXT: usize = 64 * 1024;
/// The maximum ratio of that length to the length of the symbol.
const EXPANSION: usize = 64;

#[derive(Default)]
pub(super) struct Parser<'s> {
    pub(super) rest: &'s str,
    substitutions: Vec<CppType>,
    pub(super) template_arguments: Vec<CppType>,
    /// Whether the parser is inside the parameters of a lambda.
    pub(super) in_lambda: bool,
    /// Whether a result type follows the most recently parsed function name, before the parameter types.
    pub(super) has_result: bool,
    /// The remaining length of types that may be spelled out, in bytes.
    budget: usize,
}

impl<'s> Parser<'s> {
    pub(super) fn new(rest: &'s str) -> Self {
        Self {
            rest,
            budget: MAX_TEXT.min(rest.len().saturating_mul(EXPANSION)),
            ..Self::default()
        }
    }

    pub(super) fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    pub(super) fn expect(&mut self, prefix: &str) -> Option<()> {
        self.eat(prefix).then_some(())
    }

    /// Consumes and returns the text before `end`. Also skips `end`.
    pub(super) fn until(&mut self, end: char) -> Option<&'s str> {
        let (text, rest) = self.rest.split_once(end)?;
        self.rest = rest;
        Some(text)
    }

    fn spend(&mut self, ty: CppType) -> Option<CppType> {
        self.budget = self.budget.checked_sub(ty.weight())?;
        Some(ty)
    }

    /// Makes `ty` a candidate for later substitution.
    pub(super) fn substitute(&mut self, ty: CppType) -> Option<CppType> {
        let ty = self.spend(ty)?;
        self.substitutions.push(ty.clone());
        Some(ty)
    }

    /// Parses `<source-name>`: a length and that many bytes.
    pub(super) fn source_name(&mut self) -> Option<&'s str> {
        // `L` marks a symbol with internal linkage.
        if let Some(rest) = self.rest.strip_prefix('L')
            && rest.starts_with(|c: char| c.is_ascii_digit())
        {
            self.rest = rest;
        }
        let (length, rest) = split_number(self.rest);
        let (name, rest) = rest.split_at_checked(length.parse().ok()?)?;
        self.rest = rest;
        // Rejects text that is not an identifier, because messages show it as a name.
        let letters = !name.contains(|c: char| !c.is_alphanumeric() && !"_$.".contains(c));
        // DPC++ may add the kernel prefix to a namespace, so types in that namespace contain the prefix too. The prefix
        // is not part of the C++ name.
        letters.then(|| name.strip_prefix(KERNEL_PREFIX).unwrap_or(name))
    }

    /// Resolves a substitution, after its `S`.
    pub(super) fn substitution(&mut self) -> Option<CppType> {
        let index = self.sequence()?;
        let ty = self.substitutions.get(index)?.clone();
        self.spend(ty)
    }

    /// Parses `<template-args>`: `I`, the arguments, `E`.
    pub(super) fn arguments(&mut self, depth: usize) -> Option<Vec<CppType>> {
        self.expect("I")?;
        let mut arguments = Vec::new();
        while !self.eat("E") {
            self.argument(&mut arguments, depth)?;
        }
        Some(arguments)
    }

    /// Parses `<template-arg>`: a type, a value, or a pack, whose elements are added individually.
    fn argument(&mut self, arguments: &mut Vec<CppType>, depth: usize) -> Option<()> {
        check_depth(depth)?;
        if self.eat("J") {
            while !self.eat("E") {
                self.argument(arguments, depth + 1)?;
            }
            return Some(());
        }
        // The type of an `auto` template parameter, or the constraint of a type, precedes the argument.
        if self.eat("Tn") {
            self.ty(depth + 1)?;
        } else if self.eat("Tk") {
            self.name(depth + 1)?;
        }
        let (argument, is_expression) = if self.eat("L") {
            (self.literal(depth + 1)?, false)
        } else if self.eat("XadL") {
            let of = self.literal(depth + 1)?;
            (CppType::named(format!("&{of}")), true)
        } else if self.eat("XT") {
            // A value that is a template parameter of the function.
            let of = self.template_parameter()?;
            (self.spend(of)?, true)
        } else {
            (self.ty(depth + 1)?, false)
        };
        arguments.push(argument);
        (!is_expression || self.eat("E")).then_some(())
    }

    /// Parses a literal argument: `Li4E` is `4`, `Lb1E` is `true`, `L_Z3addiiE` is `add`.
    fn literal(&mut self, depth: usize) -> Option<CppType> {
        if self.eat("_Z") {
            return self.function_or_variable(depth);
        }
        let ty = self.ty(depth)?;
        let value = self.until('E')?;
        let digits = value.strip_prefix('n').unwrap_or(value);
        let sign = if digits == value { "" } else { "-" };
        Some(CppType::named(match (ty.name(), digits) {
            ("float", _) => f32::from_bits(u32::from_str_radix(digits, 16).ok()?).to_string(),
            ("double", _) => f64::from_bits(u64::from_str_radix(digits, 16).ok()?).to_string(),
            ("std::nullptr_t", _) => "nullptr".into(),
            ("bool", "0") => "false".into(),
            ("bool", "1") => "true".into(),
            _ if is_decimal(digits) => format!("{sign}{digits}"),
            _ => return None,
        }))
    }

    /// Parses the name of a function or variable as a template argument, after its `_Z`.
    fn function_or_variable(&mut self, depth: usize) -> Option<CppType> {
        check_depth(depth)?;
        // Template parameters in the argument do not refer to the enclosing function or lambda.
        let arguments = core::mem::take(&mut self.template_arguments);
        let in_lambda = core::mem::replace(&mut self.in_lambda, false);
        let name = self.function_name(depth + 1)?;
        (self.template_arguments, self.in_lambda) = (arguments, in_lambda);
        let name = self.spend(name.as_type())?;
        self.eat("E").then_some(name)
    }

    pub(super) fn ty(&mut self, depth: usize) -> Option<CppType> {
        check_depth(depth)?;
        if let Some((_, name)) = BUILT_IN.iter().find(|(code, _)| self.eat(code)) {
            return self.spend(CppType::named(*name));
        }
        // Ignores `volatile` and `__restrict`. All qualifiers of a type together make one substitution.
        if self.eat("V") || self.eat("r") {
            let is_last = !self.rest.starts_with(['V', 'K']);
            let ty = self.ty(depth + 1)?;
            return if is_last {
                self.substitute(ty)
            } else {
                Some(ty)
            };
        }
        if let Some(name) = self.of_standard_library() {
            return self.with_arguments(CppType::named(name), depth);
        }
        if self.rest.starts_with('S') && !self.rest.starts_with("St") {
            self.rest = &self.rest[1..];
            let ty = self.substitution()?;
            return self.with_arguments(ty, depth);
        }
        let ty = if self.eat("F") {
            self.function(depth + 1)?
        } else if self.eat("P") {
            self.ty(depth + 1)?.pointer()
        } else if self.eat("K") {
            self.ty(depth + 1)?.constant()
        } else if self.eat("Dp") {
            CppType::named(format!("{}{PACK}", self.ty(depth + 1)?))
        } else if self.eat("T") {
            self.template_parameter()?
        } else if self.rest.starts_with(['R', 'O']) {
            let is_rvalue = self.rest.starts_with('O');
            self.rest = &self.rest[1..];
            let to = Box::new(self.ty(depth + 1)?);
            CppType::Reference { to, is_rvalue }
        } else if self.eat("A") {
            let count = match self.until('_')? {
                "" => None,
                count => Some(count.parse().ok()?),
            };
            self.ty(depth + 1)?.array(count)
        } else if self.rest.starts_with(['N', 'S', 'Z', 'U'])
            || self.rest.starts_with(|c: char| c.is_ascii_digit())
        {
            self.name(depth + 1)?.as_type()
        } else {
            return None;
        };
        self.substitute(ty)
    }

    /// Parses the template arguments of `ty`, if any follow.
    fn with_arguments(&mut self, ty: CppType, depth: usize) -> Option<CppType> {
        if !self.rest.starts_with('I') {
            return Some(ty);
        }
        let arguments = self.arguments(depth + 1)?;
        self.substitute(CppType::instance(ty.to_string(), arguments))
    }

    /// Resolves a template parameter, after its `T`. A lambda's own parameters are `auto`.
    pub(super) fn template_parameter(&mut self) -> Option<CppType> {
        let index = self.sequence()?;
        if self.in_lambda {
            return Some(CppType::named("auto"));
        }
        self.template_arguments.get(index).cloned()
    }

    /// Parses `<function-type>`, after its `F`: the result, then the parameters.
    fn function(&mut self, depth: usize) -> Option<CppType> {
        let result = self.ty(depth)?;
        let parameters = self.types(depth)?;
        let ty = CppType::named(format!("{result} ({})", list(&parameters)));
        self.eat("E").then_some(ty)
    }

    /// Parses an abbreviation of a standard library type: `Ss` is `std::string`.
    pub(super) fn of_standard_library(&mut self) -> Option<&'static str> {
        const SHORT: [(&str, &str); 6] = [
            ("Sa", "std::allocator"),
            ("Sb", "std::basic_string"),
            ("Ss", "std::string"),
            ("Si", "std::istream"),
            ("So", "std::ostream"),
            ("Sd", "std::iostream"),
        ];
        let found = SHORT.iter().find(|(code, _)| self.eat(code));
        found.map(|(_, name)| *name)
    }

    /// Parses a base-36 sequence number: `_` is 0, `0_` is 1, `A_` is 11.
    pub(super) fn sequence(&mut self) -> Option<usize> {
        let digits = self.until('_')?;
        if digits.is_empty() {
            return Some(0);
        }
        // `from_str_radix` would also accept a sign and lowercase letters.
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
