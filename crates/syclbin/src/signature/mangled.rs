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
/// Substitutions repeat text, so a short hostile symbol can mean very long types. This is the limit of bytes
/// for one symbol.
const MAX_TEXT: usize = 64 * 1024;

/// What a symbol says of its kernel or variable.
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
    /// Returns the name with all its qualifiers: `fill::iota`, `scale<int>`.
    #[must_use]
    pub fn qualified(&self) -> String {
        let name = join(&self.path, &self.base);
        match &self.template_arguments[..] {
            [] => name,
            arguments => instance(&name, arguments),
        }
    }

    /// Returns whether all parts of it are identifiers.
    fn is_plain(&self) -> bool {
        let identifier = |part: &String| {
            !part.is_empty() && part.chars().all(|c| c == '_' || c.is_alphanumeric())
        };
        let nested = self.path.len() <= MAX_DEPTH;
        nested && self.path.iter().all(identifier) && identifier(&self.base)
    }
}

/// Reads a kernel's symbol. Returns `None` where it has parts that this module does not know, such as an
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
        let parameters = parser.function_type(!name.template_arguments.is_empty());
        // Types of the kernel's own namespace repeat its name, with the prefix that does not belong to it.
        let plain = |ty: String| ty.replace(KERNEL_PREFIX, "");
        name.parameters = parameters.map(|types| types.into_iter().map(plain).collect());
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
    name.is_plain().then_some(name)
}

/// Returns the identifier of a variable without the part that distinguishes sources. DPC++ puts `uid`, a
/// number and three underscores before the symbol of a variable that only one source sees.
#[must_use]
pub fn without_source(symbol: &str) -> &str {
    match symbol.split_once("____Z") {
        Some((uid, _)) if uid.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            &symbol[uid.len() + 3..]
        }
        _ => symbol,
    }
}

/// Reads the identifier of a variable: `_ZN2ns6radiusE` is `ns::radius`. Unnamed namespaces are left out.
/// Returns `None` for an identifier that cannot be read.
#[must_use]
pub fn variable(symbol: &str) -> Option<KernelName> {
    let symbol = without_source(symbol);
    let mut name = match symbol.strip_prefix("_Z") {
        Some(rest) => {
            let mut parser = Parser::new(rest);
            let name = parser.name(0)?;
            parser.rest.is_empty().then_some(name)?
        }
        None => KernelName {
            base: symbol.into(),
            ..KernelName::default()
        },
    };
    name.path.retain(|part| part != "_GLOBAL__N_1");
    name.is_plain().then_some(name)
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
    fn name(&mut self, depth: usize) -> Option<KernelName> {
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

/// Returns an array of `count` elements (empty: as many as there are) of what `element` spells: `int[2][8]`
/// is two arrays of eight.
pub(super) fn array(element: &str, count: &str) -> String {
    // The brackets at the end are the inner dimensions; brackets of a template argument are not.
    let mut base = element;
    while let Some((rest, _)) = base
        .strip_suffix(']')
        .and_then(|inner| inner.rsplit_once('['))
    {
        base = rest;
    }
    format!("{base}[{count}]{}", &element[base.len()..])
}

/// A path of C++. SYCL's types stand in an inline namespace, which sources never write.
fn join(path: &[String], base: &str) -> String {
    let mut text = String::new();
    for part in path.iter().map(String::as_str).chain([base]) {
        if part == "_V1" && text == "sycl" {
            continue;
        }
        if !text.is_empty() {
            text.push_str("::");
        }
        text.push_str(part);
    }
    match text.as_str() {
        "sycl::detail::half_impl::half" => "sycl::half".into(),
        _ => text,
    }
}

/// Returns an instance of a template, as people write it: arguments that are always the same are left out.
fn instance(name: &str, arguments: &[String]) -> String {
    const EXPERIMENTAL: &str = "sycl::ext::oneapi::experimental::";
    let arguments = match (name.strip_prefix(EXPERIMENTAL), arguments) {
        (Some("work_group_memory" | "dynamic_work_group_memory"), [data, properties])
            if properties.ends_with("properties_type_list>") =>
        {
            data.clone()
        }
        (None, [data, dimensions, mode, target, _, ..])
            if name == "sycl::accessor" && target == TARGET_DEVICE =>
        {
            match MODES.iter().find(|(number, _)| number == mode) {
                Some((_, mode)) => format!("{data}, {dimensions}, sycl::access_mode::{mode}"),
                None => arguments.join(", "),
            }
        }
        _ => arguments.join(", "),
    };
    format!("{name}<{arguments}>")
}

/// `sycl::target::device` and the modes of access, by their numbers.
const TARGET_DEVICE: &str = "2014";
const MODES: [(&str, &str); 6] = [
    ("1024", "read"),
    ("1025", "write"),
    ("1026", "read_write"),
    ("1027", "discard_write"),
    ("1028", "discard_read_write"),
    ("1029", "atomic"),
];

/// Returns the type whose type-info name is `symbol` (`_ZTSN2ns4PairIiEE`), as C++ spells it.
pub(super) fn type_info(symbol: &str) -> Option<String> {
    let mut parser = Parser::new(symbol.strip_prefix("_ZTS")?);
    let text = parser.ty(0)?;
    parser.rest.is_empty().then_some(text)
}

/// Returns the symbol that `kernel`, a free function, would have as a plain function: for `extern "C"` its
/// name.
pub(super) fn plain_function(kernel: &str) -> Option<String> {
    if let Some(name) = kernel.strip_prefix(KERNEL_PREFIX) {
        return Some(name.into());
    }
    let rest = kernel.strip_prefix("_Z")?;
    let (nested, rest) = match rest.strip_prefix('N') {
        Some(rest) => ("N", rest),
        None => ("", rest),
    };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (length, name) = rest.split_at(digits);
    let name = name.strip_prefix(KERNEL_PREFIX)?;
    let length = length
        .parse::<usize>()
        .ok()?
        .checked_sub(KERNEL_PREFIX.len())?;
    Some(format!("_Z{nested}{length}{name}"))
}

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
                "_ZN16__sycl_kernel_ns4overEN4sycl3_V16detail9half_impl4halfENS1_3ext6oneapi8bfloat16EPS4_PvPKvNS1_3vecIfLi4EEENS6_12experimental17work_group_memoryIA64_iNSE_10propertiesINSE_6detail20properties_type_listIJEEEEEEENS1_14local_accessorIfLi1EEE",
                "ns::over",
                Some(
                    "sycl::half; sycl::ext::oneapi::bfloat16; sycl::half *; void *; const void *; sycl::vec<float, 4>; sycl::ext::oneapi::experimental::work_group_memory<int[64]>; sycl::local_accessor<float, 1>",
                ),
            ),
            (
                "_ZN17__sycl_kernel_geo1fENS_4ModeE",
                "geo::f",
                Some("geo::Mode"),
            ),
            (
                "_ZN16__sycl_kernel_ns4tmplIiEEvPT_4PairIS1_Li2EE4Mode",
                "ns::tmpl<int>",
                Some("int *; Pair<int, 2>; Mode"),
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
    fn the_reference_compilers_variables_are_read() {
        for (symbol, name) in [
            ("_Z5table", Some("table")),
            ("_ZN2ns4modeE", Some("ns::mode")),
            ("____ZL3loc", Some("loc")),
            ("____ZN12_GLOBAL__N_14anonE", Some("anon")),
            ("____ZN2ns12_GLOBAL__N_14flagE", Some("ns::flag")),
            ("uid0f9c8a7b6d5e4f32____ZL6radius", Some("radius")),
            ("_Z2tgIiE", Some("tg<int>")),
            ("radius", Some("radius")),
            ("_Z5tablev", None),
            ("_Z", None),
            ("", None),
            ("a-b____ZL3loc", None),
        ] {
            let found = variable(symbol).map(|name| name.qualified());
            assert_eq!(found.as_deref(), name, "{symbol}");
        }
    }

    #[test]
    fn accessors_arrays_and_members_of_instances_are_types() {
        for (symbol, text) in [
            (
                "_ZTSN4sycl3_V18accessorIKiLi2ELNS0_6access4modeE1024ELNS3_6targetE2014ELNS3_11placeholderE0ENS0_3ext6oneapi22accessor_property_listIJEEEEE",
                "sycl::accessor<const int, 2, sycl::access_mode::read>",
            ),
            ("_ZTSA2_A8_i", "int[2][8]"),
            ("_ZTSA_f", "float[]"),
            ("_ZTSKi", "const int"),
            ("_ZTSPKi", "const int *"),
            ("_ZTSKPi", "int *const"),
            // Only an accessor of the device is spelled by its mode.
            ("_ZTS1fIiiLi1024ELi2014ELi0EE", "f<int, int, 1024, 2014, 0>"),
            (
                "_ZTSN4sycl3_V18accessorIiLi1ELNS0_6access4modeE1024ELNS3_6targetE2018ELNS3_11placeholderE0EEE",
                "sycl::accessor<int, 1, 1024, 2018, 0>",
            ),
            ("_ZTSN1aIiE1bE", "a<int>::b"),
            (
                "_ZTSSt4pairIiS_IffEE",
                "std::pair<int, std::pair<float, float>>",
            ),
        ] {
            assert_eq!(type_info(symbol).as_deref(), Some(text), "{symbol}");
        }
    }

    #[test]
    fn a_kernel_is_told_its_plain_function() {
        for (kernel, function) in [
            ("__sycl_kernel_saxpy", Some("saxpy")),
            (
                "_ZN18__sycl_kernel_fill4iotaEfPfi",
                Some("_ZN4fill4iotaEfPfi"),
            ),
            (
                "_Z19__sycl_kernel_scaleIiEvPT_S0_",
                Some("_Z5scaleIiEvPT_S0_"),
            ),
            ("_ZTS6AddOne", None),
            ("_Z3__sycl_kernel_f", None),
        ] {
            assert_eq!(plain_function(kernel).as_deref(), function);
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
            "_Z5evil\x1bv",
            "_Z7a\u{202e}bcdv",
            "a-b",
            "",
        ] {
            assert_eq!(parse(symbol), None, "{symbol}");
        }
    }

    #[test]
    fn what_is_unknown_in_the_parameters_leaves_the_name() {
        let parsed = parse("_Z15__sycl_kernel_fDn").unwrap();
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
