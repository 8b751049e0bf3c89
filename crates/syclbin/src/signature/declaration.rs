// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++ declarations of kernels, for people: `void fill::iota(float start, float *out, int count)`.
//!
//! The documentation of a stub shows them. Types are in canonical spelling: no typedefs, and `unsigned int` instead of
//! `unsigned`.

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

impl fmt::Display for DeclaredParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tight = self.ty.ends_with('*') || self.name.is_empty();
        let space = if tight { "" } else { " " };
        write!(f, "{}{space}{}", self.ty, self.name)
    }
}

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
