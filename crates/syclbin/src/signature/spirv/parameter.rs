// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parameters of kernels.

use alloc::string::String;

use super::types::TypeId;

/// The prefixes that DPC++ puts before the names of a kernel's parameters: for a function and for a functor.
const PARAMETER_PREFIXES: [&str; 2] = ["__arg_", "_arg_"];

/// One parameter of a kernel, as the module declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name, where the compiler kept it; DPC++'s prefixes are taken off.
    pub name: Option<String>,
    /// Its type.
    pub ty: ParameterType,
    /// What the address of a pointer, or of a value passed by address, must be a multiple of. This is the
    /// alignment of the C++ type, where the compiler gives it and it is more than 1.
    pub align: Option<u32>,
}

/// The type of a kernel's parameter. SPIR-V for kernels has no signed and unsigned integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    /// An integer of this many bits; whether it is signed is known where it is extended.
    Int {
        /// 8, 16, 32 or 64.
        bits: u32,
        /// `Some(true)` where it is sign-extended, `Some(false)` where it is zero-extended.
        signed: Option<bool>,
    },
    /// A floating-point number of this many bits.
    Float {
        /// 16, 32 or 64.
        bits: u32,
    },
    /// A pointer to global memory.
    GlobalPointer {
        /// What it points to, as far as the kernel uses it: bytes where it never does.
        pointee: TypeId,
        /// The kernel never writes through it.
        no_write: bool,
    },
    /// A pointer to memory of the work-group. A pointer to an array tells how much there is.
    LocalPointer {
        /// What it points to.
        pointee: TypeId,
    },
    /// A struct, passed by value.
    ByValue {
        /// What is passed.
        ty: TypeId,
    },
    /// A sampler.
    Sampler,
    /// An image.
    Image {
        /// One to three.
        dimensions: u8,
        /// Whether the kernel writes it, and does not read it.
        written: bool,
    },
    /// Something else.
    Other,
}

/// Returns what a parameter is called in C++, from its name in the code. The prefix comes from the compiler.
/// So does the suffix of a `bool`, which is passed as a byte.
pub(in crate::signature) fn parameter_name(name: &str) -> String {
    let name = PARAMETER_PREFIXES
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name);
    name.strip_suffix(".coerce").unwrap_or(name).into()
}
