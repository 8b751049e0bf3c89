// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types of C++ that kernels take, and what they are in Rust.

/// A number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scalar {
    /// As clang prints it.
    pub(crate) cpp: &'static str,
    /// Another way to write it, or the same.
    pub(crate) alias: &'static str,
    /// In memory.
    pub(crate) rust: &'static str,
    pub(crate) size: usize,
}

const fn scalar(cpp: &'static str, alias: &'static str, rust: &'static str, size: usize) -> Scalar {
    Scalar {
        cpp,
        alias,
        rust,
        size,
    }
}

/// Numbers that `<syclbin/kernel.hpp>` has. Integers come first, see [`INTEGERS`].
pub(crate) const SCALARS: [Scalar; 20] = [
    scalar("signed char", "int8_t", "i8", 1),
    scalar("unsigned char", "std::uint8_t", "u8", 1),
    scalar("short", "int16_t", "i16", 2),
    scalar("unsigned short", "uint16_t", "u16", 2),
    scalar("int", "int32_t", "i32", 4),
    scalar("unsigned int", "unsigned", "u32", 4),
    scalar("long", "std::int64_t", "i64", 8),
    scalar("unsigned long", "size_t", "u64", 8),
    scalar("long long", "signed long long int", "i64", 8),
    scalar("unsigned long long", "unsigned long long", "u64", 8),
    scalar("char", "char", "i8", 1),
    scalar("bool", "bool", "u8", 1),
    scalar("float", "float", "f32", 4),
    scalar("double", "double", "f64", 8),
    scalar("sycl::half", "sycl::half", "syclbin_rt::half::f16", 2),
    scalar("_Float16", "_Float16", "syclbin_rt::half::f16", 2),
    scalar("char16_t", "char16_t", "u16", 2),
    scalar("char32_t", "char32_t", "u32", 4),
    scalar("wchar_t", "wchar_t", "i32", 4),
    scalar("std::byte", "std::byte", "u8", 1),
];

/// How many of [`SCALARS`] are integers with a sign of their own.
pub(crate) const INTEGERS: usize = 10;

/// How many of [`SCALARS`], from the beginning, work-items exchange as elements of a `sycl::vec`.
pub(crate) const IN_VECTORS: [usize; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14];

/// A number that only `<sycl/sycl.hpp>` has.
pub(crate) const BFLOAT16: Scalar = scalar(
    "sycl::ext::oneapi::bfloat16",
    "sycl::ext::oneapi::bfloat16",
    "syclbin_rt::half::bf16",
    2,
);

impl Scalar {
    pub(crate) fn is_bool(&self) -> bool {
        self.cpp == "bool"
    }
}

/// A type; structs, enumerations and unions are numbers in the lists of the kernel.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    Scalar {
        of: &'static Scalar,
        alias: bool,
    },
    Enum(usize),
    Struct(usize),
    /// A union whose members are all of this size.
    Union(usize),
    /// `sycl::vec`.
    Vector {
        of: &'static Scalar,
        count: usize,
    },
    /// `sycl::marray`.
    Marray {
        of: &'static Scalar,
        count: usize,
    },
    /// `sycl::id` or `sycl::range`.
    Index {
        name: &'static str,
        dimensions: usize,
    },
    /// As a member.
    Array {
        of: Box<Type>,
        count: usize,
    },
    /// As a member: nothing follows it.
    Pointer {
        to: &'static str,
        rust: &'static str,
    },
}

/// An enumeration with a fixed underlying type.
#[derive(Clone, Debug)]
pub(crate) struct Enum {
    pub(crate) path: Vec<String>,
    pub(crate) name: String,
    pub(crate) of: &'static Scalar,
    pub(crate) scoped: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Union {
    pub(crate) name: String,
    pub(crate) size: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Struct {
    /// Namespaces.
    pub(crate) path: Vec<String>,
    /// The struct that it is defined in.
    pub(crate) outer: Option<usize>,
    pub(crate) name: String,
    /// Whether it is `template <class T, int N>`, and what for.
    pub(crate) template: Option<(&'static Scalar, usize)>,
    pub(crate) base: Option<usize>,
    pub(crate) packed: bool,
    pub(crate) align: Option<usize>,
    pub(crate) members: Vec<Member>,
}

#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) align: Option<usize>,
    pub(crate) bits: Option<Bits>,
}

/// A bit-field.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    pub(crate) width: usize,
    /// Where it begins in its struct, in bits.
    pub(crate) offset: usize,
    pub(crate) signed: bool,
}
