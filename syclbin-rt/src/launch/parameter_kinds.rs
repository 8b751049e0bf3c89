// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of arguments: the kinds that a parameter takes, determined once for a kernel and not at each launch.

use syclbin::__private::spirv::ParameterType;
use syclbin::ptx::{Kind, Passed, Space};

use crate::backend::argument::Argument;
use crate::error::launch_problem::LaunchProblem;

/// The kinds of arguments that a parameter takes, a bit for each.
#[derive(Clone, Copy)]
pub(crate) struct Kinds(u8);

const BYTES: u8 = 1;
const MEMORY: u8 = 2;
const LOCAL: u8 = 4;
const SAMPLER: u8 = 8;
const POINTER: u8 = 16;
const NULL: u8 = 32;

/// The type of a kernel's parameter, as far as the code contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Number,
    Struct,
    Buffer,
    LocalMemory,
    Sampler,
    /// A type that the code does not contain; drivers still know its size.
    Unknown,
    /// As `Unknown`, and also work-group memory: for CUDA both are numbers.
    Anything,
}

impl From<&ParameterType> for Takes {
    fn from(parameter: &ParameterType) -> Self {
        match parameter {
            ParameterType::Int { .. } | ParameterType::Float { .. } => Self::Number,
            ParameterType::ByValue { .. } => Self::Struct,
            ParameterType::GlobalPointer { .. } => Self::Buffer,
            ParameterType::LocalPointer { .. } => Self::LocalMemory,
            ParameterType::Sampler => Self::Sampler,
            ParameterType::Other => Self::Unknown,
        }
    }
}

impl Takes {
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
                kind: Kind::Float, ..
            } => Self::Number,
            Passed::Number { bits: 64, .. } => Self::Anything,
            Passed::Number { bits: 32, .. } if shared => Self::Anything,
            Passed::Number { .. } => Self::Number,
            Passed::Pointer {
                space: None | Some(Space::Global),
                ..
            } => Self::Buffer,
            Passed::Pointer {
                space: Some(Space::Shared),
                ..
            } => Self::LocalMemory,
            Passed::Bytes { .. } => Self::Struct,
            Passed::Pointer { .. } | Passed::Other => Self::Anything,
        }
    }
}

impl Kinds {
    /// Returns the kinds that a parameter takes.
    pub(crate) fn of(takes: Takes) -> Self {
        // Free functions take a handler as a struct; lambdas and functors take the pointer in it.
        Self(match takes {
            Takes::Number => BYTES,
            Takes::Struct => BYTES | NULL,
            Takes::Buffer => MEMORY | POINTER | NULL,
            Takes::LocalMemory => LOCAL,
            Takes::Sampler => SAMPLER,
            Takes::Unknown => BYTES | MEMORY | POINTER | NULL,
            Takes::Anything => BYTES | MEMORY | POINTER | NULL | LOCAL,
        })
    }

    /// Returns whether the kind of `value` is among them. The check is needed because a driver reads the bytes
    /// of a number as a handle where it expects a handle. The driver itself checks the size of a value.
    #[inline]
    pub(crate) fn take(self, value: Argument<'_>) -> bool {
        let kind = match value {
            Argument::Bytes(_) => BYTES,
            Argument::Memory(..) => MEMORY,
            Argument::Local(_) => LOCAL,
            Argument::Sampler(_) => SAMPLER,
            Argument::Pointer(_) => POINTER,
            Argument::Null => NULL,
        };
        self.0 & kind != 0
    }
}

/// Describes the problem of `value`, argument `index`, where the kernel takes `takes`.
#[cold]
pub(crate) fn problem(
    index: usize,
    name: &'static str,
    value: Argument<'_>,
    takes: Option<Takes>,
) -> LaunchProblem {
    LaunchProblem::ArgumentKind {
        index,
        name,
        given: match value {
            Argument::Local(_) => "work-group memory",
            Argument::Memory(..) => "a buffer",
            Argument::Bytes(_) => "a value",
            Argument::Sampler(_) => "a sampler",
            Argument::Pointer(_) => "a pointer",
            Argument::Null => "a kernel handler",
        },
        takes: match takes {
            Some(Takes::Number) => "a number",
            Some(Takes::Buffer) => "a buffer",
            Some(Takes::LocalMemory) => "work-group memory",
            Some(Takes::Struct) => "a struct by value",
            Some(Takes::Sampler) => "a sampler",
            _ => "something else",
        },
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
        assert_eq!(taken(Takes::Number), [true, false, false, false]);
        assert_eq!(taken(Takes::Struct), [true, false, false, true]);
        assert_eq!(taken(Takes::Buffer), [false, false, true, true]);
        assert_eq!(taken(Takes::LocalMemory), [false, true, false, false]);
        assert_eq!(taken(Takes::Sampler), [false; 4]);
        assert_eq!(taken(Takes::Unknown), [true, false, true, true]);
        assert_eq!(taken(Takes::Anything), [true; 4]);
    }
}
