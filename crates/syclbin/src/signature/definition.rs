// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structs and enumerations of C++, by their names. Types are spelled as in [declarations](super::declaration);
//! `bytes[N]` are bytes without known content.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// What a name of C++ means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition {
    /// `enum ns::Mode : unsigned char;`
    Enum {
        /// Its qualified name.
        name: String,
        /// The integer under it, as C++ spells it.
        of: String,
    },
    /// A struct or class.
    Struct {
        /// Its qualified name, with template arguments.
        name: String,
        /// Bytes, with the padding at the end.
        size: u64,
        /// Alignment in bytes: as its members make it, or more where a kernel says so (`alignas`).
        align: u64,
        /// What it has, by offset.
        members: Vec<Member>,
    },
}

/// A member of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The type, an array with its counts: `double[3]`.
    pub ty: String,
    /// The name. A base class has the name of its type, and bytes without a name have `_`.
    pub name: String,
    /// Bytes from the beginning of the struct.
    pub offset: u64,
}

impl Definition {
    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Enum { name, .. } | Self::Struct { name, .. } => name,
        }
    }
}

/// `double[3]` as `double` and `[3]`: the brackets at the end.
pub(super) fn split_array(text: &str) -> (String, String) {
    let mut base = text;
    while let Some((rest, _)) = base
        .strip_suffix(']')
        .and_then(|inner| inner.rsplit_once('['))
    {
        base = rest;
    }
    (base.to_owned(), text[base.len()..].to_owned())
}
