// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++ types as structured data, from symbols and debug information.

use core::{fmt, slice};

use super::types::{Access, Scalar};
use crate::prelude::*;

/// A C++ type, or a non-type template argument.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CppType {
    /// A scalar type, class or enumeration, identified by its qualified name, or a non-type template argument.
    Named {
        /// The name without the template arguments: `float`, `ns::Pair`, `42`.
        name: String,
        /// The template arguments.
        arguments: Vec<Self>,
    },
    /// A `const` type.
    Const(Box<Self>),
    /// A pointer.
    Pointer(Box<Self>),
    /// An lvalue or rvalue reference.
    Reference {
        /// The referenced type.
        to: Box<Self>,
        /// Whether this is an rvalue reference.
        is_rvalue: bool,
    },
    /// An array.
    Array {
        /// The element type.
        of: Box<Self>,
        /// The number of elements. `None` for an array of unknown bound.
        count: Option<u64>,
    },
}

/// The SYCL class templates for work-group memory.
pub(super) const WORK_GROUP_MEMORY: &str = "sycl::ext::oneapi::experimental::work_group_memory";
pub(super) const DYNAMIC_MEMORY: &str =
    "sycl::ext::oneapi::experimental::dynamic_work_group_memory";
/// The spelling of the type of an object without members.
pub(super) const EMPTY: &str = "struct {}";
/// The element type of an array of bytes with unknown content.
pub(super) const BYTES: &str = "bytes";
/// The pixel type of an image whose actual pixel type is unknown.
pub(super) const UNKNOWN_PIXEL: &str = "pixel";

impl CppType {
    /// Returns the type with this name.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self::Named {
            name: name.into(),
            arguments: Vec::new(),
        }
    }

    /// Returns a template instance, without redundant arguments.
    #[must_use]
    pub fn instance(name: impl Into<String>, mut arguments: Vec<Self>) -> Self {
        let name = name.into();
        match (&*name, &arguments[..]) {
            (WORK_GROUP_MEMORY | DYNAMIC_MEMORY, [_, properties])
                if properties.to_string().ends_with("properties_type_list>") =>
            {
                arguments.truncate(1);
            }
            (ACCESSOR, [_, _, mode, target, _, ..]) => {
                let mode = MODES.iter().find(|(number, _)| mode.is(number));
                let target = TARGETS.iter().find(|(number, _)| target.is(number));
                if let (Some((_, mode)), Some((_, target))) = (mode, target) {
                    arguments.truncate(2);
                    arguments.push(Self::named(*mode));
                    arguments.extend(target.map(Self::named));
                }
            }
            _ => {}
        }
        Self::Named { name, arguments }
    }

    /// Returns a pointer to this type.
    #[must_use]
    pub fn pointer(self) -> Self {
        Self::Pointer(Box::new(self))
    }

    /// Returns this type with `const`.
    #[must_use]
    pub fn constant(self) -> Self {
        Self::Const(Box::new(self))
    }

    /// Returns an array of this type.
    #[must_use]
    pub fn array(self, count: Option<u64>) -> Self {
        let of = Box::new(self);
        Self::Array { of, count }
    }

    /// Returns the SYCL accessor type for a buffer or for work-group memory.
    pub(super) fn accessor(of: Self, dimensions: Self, is_local: bool) -> Self {
        if is_local {
            return Self::instance("sycl::local_accessor", vec![of, dimensions]);
        }
        let mode = if of.is_const() { READ } else { READ_WRITE };
        Self::instance(ACCESSOR, vec![of, dimensions, Self::named(mode)])
    }

    /// Returns the SYCL accessor type for an image.
    pub(super) fn image(of: Option<Scalar>, dimensions: u8, access: Access) -> Self {
        let of = match of {
            Some(of) => {
                let of = Self::named(of.cpp());
                Self::instance("sycl::vec", vec![of, Self::named("4")])
            }
            None => Self::named(UNKNOWN_PIXEL),
        };
        let mode = match access {
            Access::Read => READ,
            Access::ReadWrite => WRITE,
        };
        let dimensions = Self::named(dimensions.to_string());
        let arguments = vec![of, dimensions, Self::named(mode), Self::named(IMAGE)];
        Self::instance(ACCESSOR, arguments)
    }

    /// Returns the name, or an empty string for a template instance or an unnamed type.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Named { name, arguments } if arguments.is_empty() => name,
            _ => "",
        }
    }

    /// Returns whether the type has this name, and is not a template instance.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name() == name
    }

    /// Returns the template name and arguments of a template instance.
    pub(super) fn template(&self) -> Option<(&str, &[Self])> {
        match self {
            Self::Named { name, arguments } if !arguments.is_empty() => Some((name, arguments)),
            _ => None,
        }
    }

    /// Returns the type without `const`.
    pub(super) fn unqualified(&self) -> &Self {
        match self {
            Self::Const(of) => of.unqualified(),
            ty => ty,
        }
    }

    /// Returns whether the type, or the element type of an array, is `const`.
    pub(super) fn is_const(&self) -> bool {
        match self {
            Self::Const(_) => true,
            Self::Array { of, .. } => of.is_const(),
            _ => false,
        }
    }

    /// Interprets a template argument as a number of dimensions.
    pub(super) fn dimensions(&self) -> Option<u8> {
        let count = self.name().parse().ok();
        count.filter(|count| (1..=3).contains(count))
    }

    /// Returns the corresponding scalar type, ignoring `const`.
    pub(super) fn scalar(&self) -> Option<Scalar> {
        Some(match self.unqualified().name() {
            "bool" => Scalar::Bool,
            "char" | "signed char" => Scalar::I8,
            "unsigned char" | "char8_t" | "std::byte" => Scalar::U8,
            "short" => Scalar::I16,
            "unsigned short" | "char16_t" => Scalar::U16,
            "int" | "wchar_t" => Scalar::I32,
            "unsigned int" | "char32_t" => Scalar::U32,
            "long" | "long long" => Scalar::I64,
            "unsigned long" | "unsigned long long" => Scalar::U64,
            "_Float16" | "sycl::half" => Scalar::F16,
            "__bf16" | "sycl::ext::oneapi::bfloat16" => Scalar::BF16,
            "float" => Scalar::F32,
            "double" => Scalar::F64,
            _ => return None,
        })
    }

    /// Returns the approximate length of the spelled-out type, in bytes. Limiting this length prevents a small file
    /// from expanding to huge types.
    pub(super) fn weight(&self) -> usize {
        let own = match self {
            Self::Named { name, .. } => name.len(),
            _ => 0,
        };
        let parts = self.parts().iter().map(|part| part.weight() + 2);
        own + parts.sum::<usize>()
    }

    pub(super) fn depth(&self) -> usize {
        1 + self.parts().iter().map(Self::depth).max().unwrap_or(0)
    }

    /// Returns the template arguments, or the type behind a qualifier, pointer, reference or array.
    fn parts(&self) -> &[Self] {
        match self {
            Self::Named { arguments, .. } => arguments,
            Self::Const(of)
            | Self::Pointer(of)
            | Self::Reference { to: of, .. }
            | Self::Array { of, .. } => slice::from_ref(of),
        }
    }
}

impl fmt::Display for CppType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named { name, arguments } if arguments.is_empty() => f.write_str(name),
            Self::Named { name, arguments } => write!(f, "{name}<{}>", list(arguments)),
            // A pointer's qualifier follows the `*`. Other qualifiers precede the type.
            Self::Const(of) if matches!(**of, Self::Pointer(_)) => write!(f, "{of}const"),
            Self::Const(of) => write!(f, "const {of}"),
            Self::Pointer(to) if matches!(**to, Self::Pointer(_)) => write!(f, "{to}*"),
            Self::Pointer(to) => write!(f, "{to} *"),
            Self::Reference { to, is_rvalue } => {
                write!(f, "{to} {}", if *is_rvalue { "&&" } else { "&" })
            }
            Self::Array { .. } => {
                let (mut of, mut counts) = (self, String::new());
                while let Self::Array { of: inner, count } = of {
                    let count = count.map_or_else(String::new, |count| count.to_string());
                    counts += &format!("[{count}]");
                    of = inner;
                }
                write!(f, "{of}{counts}")
            }
        }
    }
}

pub(super) fn list(items: &[impl ToString]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

const ACCESSOR: &str = "sycl::accessor";
const READ: &str = "sycl::access_mode::read";
const WRITE: &str = "sycl::access_mode::write";
const READ_WRITE: &str = "sycl::access_mode::read_write";
const IMAGE: &str = "sycl::target::image";

/// Accessor targets by number. The first target is the default, so spellings omit it.
const TARGETS: [(&str, Option<&str>); 3] = [
    ("2014", None),
    ("2017", Some(IMAGE)),
    ("2020", Some("sycl::target::image_array")),
];
/// Access modes by number.
const MODES: [(&str, &str); 6] = [
    ("1024", READ),
    ("1025", WRITE),
    ("1026", READ_WRITE),
    ("1027", "sycl::access_mode::discard_write"),
    ("1028", "sycl::access_mode::discard_read_write"),
    ("1029", "sycl::access_mode::atomic"),
];

/// A kernel parameter as declared in C++, or a lambda capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CppParameter {
    /// The type.
    pub ty: CppType,
    /// The name, or empty for an unnamed parameter.
    pub name: String,
}
