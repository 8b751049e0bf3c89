// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of arguments: the kinds that a parameter takes, determined once for a kernel and not at each launch.

use syclbin::__private::spirv::{Module, ParameterType};
use syclbin::ptx::{Kind, Passed, Space};

use crate::backend::kernel::Argument;
use crate::error::launch_problem::LaunchProblem;

/// The kinds of arguments that a parameter takes.
#[derive(Clone, Copy)]
pub(crate) struct Kinds {
    /// A bit for each kind.
    bits: u8,
    /// The size of a value in bytes; 0 where the code does not contain it. Of an image, the dimensions, and
    /// [`WRITTEN`] if the kernel writes it.
    bytes: u32,
}

const BYTES: u8 = 1;
const MEMORY: u8 = 2;
const LOCAL: u8 = 4;
const SAMPLER: u8 = 8;
const POINTER: u8 = 16;
const NULL: u8 = 32;
const IMAGE: u8 = 64;

/// Added to the dimensions of an image.
const WRITTEN: u32 = 8;

/// The size of a null pointer.
const NULL_BYTES: usize = 8;

/// The type of a kernel's parameter, as far as the code contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// A number of this many bytes, where the code contains that.
    Number(Option<u32>),
    /// A struct of this many bytes, where the code contains that.
    Struct(Option<u32>),
    Buffer,
    LocalMemory,
    Sampler,
    Image {
        /// One to three.
        dimensions: u8,
        /// Whether the kernel writes it.
        written: bool,
    },
    /// A type that the code does not contain; drivers still know its size.
    Unknown,
    /// As `Unknown`, and also work-group memory: for CUDA both are numbers.
    Anything,
}

impl Takes {
    /// Returns the type of a SPIR-V parameter of `module`.
    pub(crate) fn of_spirv(module: &Module, parameter: ParameterType) -> Self {
        let bytes = || u32::try_from(module.value_size(parameter)?).ok();
        match parameter {
            ParameterType::Int { .. } | ParameterType::Float { .. } => Self::Number(bytes()),
            ParameterType::ByValue { .. } => Self::Struct(bytes()),
            ParameterType::GlobalPointer { .. } => Self::Buffer,
            ParameterType::LocalPointer { .. } => Self::LocalMemory,
            ParameterType::Sampler => Self::Sampler,
            ParameterType::Image {
                dimensions,
                written,
            } => Self::Image {
                dimensions,
                written,
            },
            ParameterType::Other => Self::Unknown,
        }
    }

    /// Returns whether the code contains the type.
    pub(crate) fn is_known(self) -> bool {
        !matches!(self, Self::Unknown | Self::Anything)
    }
}

impl Takes {
    /// Returns the type of a PTX parameter. With `shared`, numbers may be addresses of work-group memory.
    pub(crate) fn of_ptx(parameter: Passed, shared: bool) -> Self {
        match parameter {
            Passed::Number {
                kind: Kind::Float,
                bits,
            } => Self::Number(Some(bits / 8)),
            Passed::Number { bits: 64, .. } => Self::Anything,
            Passed::Number { bits: 32, .. } if shared => Self::Anything,
            Passed::Number { bits, .. } => Self::Number(Some(bits / 8)),
            Passed::Pointer {
                space: None | Some(Space::Global),
                ..
            } => Self::Buffer,
            Passed::Pointer {
                space: Some(Space::Shared),
                ..
            } => Self::LocalMemory,
            Passed::Bytes { size, .. } => Self::Struct(u32::try_from(size).ok()),
            Passed::Pointer { .. } | Passed::Other => Self::Anything,
        }
    }
}

impl Kinds {
    /// Returns the kinds that a parameter takes.
    pub(crate) fn of(takes: Takes) -> Self {
        // Free functions take a handler as a struct; lambdas and functors take the pointer in it.
        let (bits, bytes) = match takes {
            Takes::Number(bytes) => (BYTES, bytes),
            Takes::Struct(bytes) => (BYTES | NULL, bytes),
            Takes::Buffer => (MEMORY | POINTER | NULL, None),
            Takes::LocalMemory => (LOCAL, None),
            Takes::Sampler => (SAMPLER, None),
            Takes::Image {
                dimensions,
                written,
            } => (IMAGE, Some(image(dimensions, written))),
            Takes::Unknown => (BYTES | MEMORY | POINTER | NULL, None),
            Takes::Anything => (BYTES | MEMORY | POINTER | NULL | LOCAL, None),
        };
        let bytes = bytes.unwrap_or(0);
        Self { bits, bytes }
    }

    /// Returns whether the kind of `value` is among them, and a value has the right size. The check is needed
    /// because a driver reads the bytes of a number as a handle where it expects a handle. PoCL (6.0) also takes
    /// values of any size, and reads what the parameter needs.
    #[inline]
    pub(crate) fn take(self, value: Argument<'_>) -> bool {
        let fits = |size| self.bytes == 0 || size == self.bytes as usize;
        let kind = match value {
            Argument::Bytes(value) => return fits(value.len()) && self.bits & BYTES != 0,
            Argument::Null => return fits(NULL_BYTES) && self.bits & NULL != 0,
            Argument::Memory(..) => MEMORY,
            Argument::Local(_) => LOCAL,
            // A kernel that only reads also takes an image that it may write.
            Argument::Image(given, written) => {
                let dimensions = given.shape().dimensions;
                let fits = |written| self.bytes == image(dimensions, written);
                return self.bits & IMAGE != 0 && (fits(false) || written && fits(true));
            }
            Argument::Sampler(_) => SAMPLER,
            Argument::Pointer(_) => POINTER,
        };
        self.bits & kind != 0
    }
}

fn image(dimensions: u8, written: bool) -> u32 {
    u32::from(dimensions) + if written { WRITTEN } else { 0 }
}

/// Describes the problem of `value`, argument `index`, where the kernel takes `takes`.
#[cold]
pub(crate) fn problem(
    index: usize,
    name: &'static str,
    value: Argument<'_>,
    takes: Option<Takes>,
) -> LaunchProblem {
    let sizes = match (value, takes) {
        (Argument::Bytes(value), Some(Takes::Number(bytes) | Takes::Struct(bytes))) => {
            Some(value.len()).zip(bytes)
        }
        (Argument::Null, Some(Takes::Struct(bytes))) => Some(NULL_BYTES).zip(bytes),
        _ => None,
    };
    if let Some((given, takes)) = sizes {
        let takes = takes as usize;
        return LaunchProblem::ArgumentSize {
            index,
            name,
            given,
            takes,
        };
    }
    LaunchProblem::ArgumentKind {
        index,
        name,
        given: match value {
            Argument::Local(_) => "work-group memory",
            Argument::Memory(..) => "a buffer",
            Argument::Bytes(_) => "a value",
            Argument::Sampler(_) => "a sampler",
            Argument::Image(image, written) => described(image.shape().dimensions, written),
            Argument::Pointer(_) => "a pointer",
            Argument::Null => "a kernel handler",
        },
        takes: match takes {
            Some(Takes::Number(_)) => "a number",
            Some(Takes::Buffer) => "a buffer",
            Some(Takes::LocalMemory) => "work-group memory",
            Some(Takes::Struct(_)) => "a struct by value",
            Some(Takes::Sampler) => "a sampler",
            Some(Takes::Image {
                dimensions,
                written,
            }) => described(dimensions, written),
            _ => "something else",
        },
    }
}

fn described(dimensions: u8, written: bool) -> &'static str {
    match (dimensions, written) {
        (1, false) => "an image of one dimension to read",
        (2, false) => "an image of two dimensions to read",
        (_, false) => "an image of three dimensions to read",
        (1, true) => "an image of one dimension to write",
        (2, true) => "an image of two dimensions to write",
        (_, true) => "an image of three dimensions to write",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_take_only_their_kinds() {
        let taken = |takes| {
            let kinds = Kinds::of(takes);
            let pointer = Argument::Pointer(0);
            [
                Argument::Bytes(&[]),
                Argument::Local(4),
                pointer,
                Argument::Null,
            ]
            .map(|argument| kinds.take(argument))
        };
        assert_eq!(taken(Takes::Number(None)), [true, false, false, false]);
        assert_eq!(taken(Takes::Struct(None)), [true, false, false, true]);
        assert_eq!(taken(Takes::Struct(Some(1))), [false; 4]);
        assert_eq!(taken(Takes::Struct(Some(8))), [false, false, false, true]);
        assert_eq!(taken(Takes::Buffer), [false, false, true, true]);
        assert_eq!(taken(Takes::LocalMemory), [false, true, false, false]);
        assert_eq!(taken(Takes::Sampler), [false; 4]);
        let image = Takes::Image {
            dimensions: 2,
            written: true,
        };
        assert_eq!(taken(image), [false; 4]);
        assert_eq!(taken(Takes::Unknown), [true, false, true, true]);
        assert_eq!(taken(Takes::Anything), [true; 4]);
    }
}
