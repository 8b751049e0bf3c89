// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++ declarations of kernels, as text: `void fill::iota(float start, float *out, int count)`.
//!
//! Files store signatures in this form (set [`DECLARATIONS`](crate::property::set::DECLARATIONS)). People can
//! read it, and the documentation of a stub shows it unchanged. Types are in canonical spelling: no typedefs,
//! and `unsigned int` instead of `unsigned`.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// What a kernel is called and takes, in C++.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The qualified name, with template arguments: `fill::iota`, `scale<int>`.
    pub name: String,
    /// The parameters, in order.
    pub parameters: Vec<DeclaredParameter>,
}

/// A parameter as C++ declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredParameter {
    /// The type: `const float *`.
    pub ty: String,
    /// The name; empty where there is none.
    pub name: String,
}

impl Declaration {
    /// Reads what [`Display`](fmt::Display) writes. Returns `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("void ")?.strip_suffix(')')?;
        // From the end: a template argument in the name may have parentheses of its own.
        let mut depth = 0usize;
        let open = rest.char_indices().rev().find_map(|(index, c)| match c {
            ')' => {
                depth += 1;
                None
            }
            '(' if depth == 0 => Some(index),
            '(' => {
                depth -= 1;
                None
            }
            _ => None,
        })?;
        let (name, parameters) = (&rest[..open], &rest[open + 1..]);
        let parameters = match parameters.trim() {
            "" => Vec::new(),
            list => split_list(list)
                .into_iter()
                .map(DeclaredParameter::parse)
                .collect(),
        };
        Some(Self {
            name: name.to_owned(),
            parameters,
        })
    }
}

impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "void {}(", self.name)?;
        for (index, parameter) in self.parameters.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{parameter}")?;
        }
        write!(f, ")")
    }
}

impl DeclaredParameter {
    fn parse(text: &str) -> Self {
        let text = text.trim();
        let word = |c: char| c == '_' || c.is_alphanumeric();
        let start = text.trim_end_matches(word).len();
        let (ty, name) = text.split_at(start);
        // `unsigned int` has no name: its last word is one of the type.
        if ty.trim().is_empty() || ty.ends_with("::") || TYPE_WORDS.contains(&name) {
            return Self {
                ty: text.to_owned(),
                name: String::new(),
            };
        }
        Self {
            ty: ty.trim_end().to_owned(),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for DeclaredParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tight = self.ty.ends_with('*') || self.name.is_empty();
        let space = if tight { "" } else { " " };
        write!(f, "{}{space}{}", self.ty, self.name)
    }
}

const TYPE_WORDS: [&str; 12] = [
    "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "const",
    "void", "__bf16",
];

/// Returns the parts between the commas that are outside of all brackets.
pub(super) fn split_list(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (index, c) in list.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&list[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn declarations_survive_a_round_trip() {
        for text in [
            "void empty()",
            "void saxpy(float a, const float *x, float *y, unsigned int n)",
            "void fill::iota(float start, float *out, int count)",
            "void scale<std::pair<int, long> >(std::pair<int, long> *data, int factor)",
            "void f<(Mode)1>(const char *const *p, unsigned long long n)",
            "void f<int (float)>(P<(Mode)1> *p, Q<(Mode)0> q)",
        ] {
            let declaration = Declaration::parse(text).unwrap();
            assert_eq!(declaration.to_string(), text);
        }
    }

    #[test]
    fn a_parameter_without_name_keeps_its_whole_type() {
        let declaration = Declaration::parse("void f(unsigned int, ns::T, float *)").unwrap();
        let types: Vec<_> = declaration
            .parameters
            .iter()
            .map(|p| (p.ty.as_str(), p.name.as_str()))
            .collect();
        assert_eq!(
            types,
            [("unsigned int", ""), ("ns::T", ""), ("float *", "")]
        );
    }

    #[test]
    fn other_text_is_no_declaration() {
        for text in ["", "int f()", "void f", "void f(", "void )"] {
            assert_eq!(Declaration::parse(text), None, "{text}");
        }
    }
}
