// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structs and enumerations of C++, as text with offsets:
//! `struct Particle { float mass; /* 0 */ double position[3]; /* 8 */ } /* size 32, align 8 */`.
//!
//! Files store them in this form (set [`LAYOUTS`](crate::property::set::LAYOUTS)), so that people can read
//! them. Types are spelled as in [declarations](super::declaration); `bytes[N]` are bytes without known
//! content.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

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

    /// Takes the alignment of `other` if that is stricter and all else is the same.
    pub(super) fn align_as(&mut self, other: &Self) {
        if let Self::Struct {
            name,
            size,
            align,
            members,
        } = self
            && let Self::Struct {
                name: other_name,
                size: other_size,
                align: stricter,
                members: others,
            } = other
            && *name == *other_name
            && *size == *other_size
            && *members == *others
        {
            *align = (*align).max(*stricter);
        }
    }

    /// Reads what [`Display`](fmt::Display) writes. Returns `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix("enum ") {
            let (name, of) = rest.strip_suffix(';')?.rsplit_once(" : ")?;
            return Some(Self::Enum {
                name: name.to_owned(),
                of: of.to_owned(),
            });
        }
        let (name, rest) = text.strip_prefix("struct ")?.split_once(" {")?;
        let (mut rest, sizes) = rest.strip_suffix(" */")?.rsplit_once(" } /* size ")?;
        let (size, align) = sizes.split_once(", align ")?;
        let mut members = Vec::new();
        while !rest.is_empty() {
            let (member, after) = rest.strip_prefix(' ')?.split_once("; /* ")?;
            let (offset, after) = after.split_once(" */")?;
            members.push(Member::parse(member, number(offset)?)?);
            rest = after;
        }
        Some(Self::Struct {
            name: name.to_owned(),
            size: number(size)?,
            align: number(align)?,
            members,
        })
    }
}

/// A number as it is written, so that text and meaning are one to one.
fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

impl Member {
    fn parse(text: &str, offset: u64) -> Option<Self> {
        // `double position[3]`: the counts stand behind the name.
        let (rest, dimensions) = split_array(text);
        let word = |c: char| c == '_' || c.is_alphanumeric();
        let (ty, name) = rest.split_at(rest.trim_end_matches(word).len());
        let ty = ty.strip_suffix(' ').unwrap_or(ty);
        if ty.is_empty() || name.is_empty() {
            return None;
        }
        Some(Self {
            ty: [ty, &dimensions].concat(),
            name: name.to_owned(),
            offset,
        })
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

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Enum { name, of } => write!(f, "enum {name} : {of};"),
            Self::Struct {
                name,
                size,
                align,
                members,
            } => {
                write!(f, "struct {name} {{")?;
                for member in members {
                    let (ty, dimensions) = split_array(&member.ty);
                    let space = if ty.ends_with('*') { "" } else { " " };
                    let (name, offset) = (&member.name, member.offset);
                    write!(f, " {ty}{space}{name}{dimensions}; /* {offset} */")?;
                }
                write!(f, " }} /* size {size}, align {align} */")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn definitions_survive_a_round_trip() {
        for text in [
            "enum ns::Mode : unsigned char;",
            "struct Empty { } /* size 1, align 1 */",
            "struct Particle { float mass; /* 0 */ double position[3]; /* 8 */ sycl::vec<float, 4> velocity; /* 32 */ } /* size 48, align 16 */",
            "struct ns::Pair<int, 2> { int a[2][3]; /* 0 */ const float *p; /* 24 */ bytes _[4]; /* 32 */ } /* size 40, align 8 */",
        ] {
            let definition = Definition::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(definition.to_string(), text);
        }
    }

    #[test]
    fn array_counts_belong_to_the_type() {
        let text = "struct S { int a[2][3]; /* 0 */ } /* size 24, align 4 */";
        let Some(Definition::Struct { members, .. }) = Definition::parse(text) else {
            panic!("no struct")
        };
        assert_eq!((&*members[0].ty, &*members[0].name), ("int[2][3]", "a"));
    }

    #[test]
    fn other_text_is_no_definition() {
        for text in [
            "",
            "enum E;",
            "struct S { int; /* 0 */ } /* size 4, align 4 */",
            "struct S { int a; } /* size 4, align 4 */",
            "struct S { int a; /* +0 */ } /* size 4, align 4 */",
            "struct S { int a; /* 0 */ } /* size 4 */",
            "struct S",
        ] {
            assert_eq!(Definition::parse(text), None, "{text}");
        }
    }
}
