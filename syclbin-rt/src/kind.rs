//! Kinds of arguments: which ones a parameter takes, decided once for a kernel and not at each launch.

use syclbin::signature::spirv::ParameterType;

use crate::backend::Argument;
use crate::error::LaunchProblem;

/// The kinds of arguments that a parameter takes, a bit for each.
#[derive(Clone, Copy)]
pub(crate) struct Kinds(u8);

const BYTES: u8 = 1;
const MEMORY: u8 = 2;
const LOCAL: u8 = 4;
const SAMPLER: u8 = 8;
const POINTER: u8 = 16;
const NULL: u8 = 32;

impl Kinds {
    /// What a parameter of this type takes.
    pub(crate) fn of(parameter: &ParameterType) -> Self {
        // Free functions take a handler as a struct; lambdas and functors take the pointer in it.
        Self(match parameter {
            ParameterType::Int { .. } | ParameterType::Float { .. } => BYTES,
            ParameterType::ByValue { .. } => BYTES | NULL,
            ParameterType::GlobalPointer { .. } => MEMORY | POINTER | NULL,
            ParameterType::LocalPointer { .. } => LOCAL,
            ParameterType::Sampler => SAMPLER,
            // What is not known may be anything that a driver has the size of.
            ParameterType::Other => BYTES | MEMORY | POINTER | NULL,
        })
    }

    /// Whether `value` is one of them: a driver reads the bytes of a number as a handle where it
    /// expects one. The size of a value is checked by the driver.
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

/// What is wrong with `value`, argument `index`, where the kernel takes `parameter`.
#[cold]
pub(crate) fn problem(
    index: usize,
    name: &'static str,
    value: Argument<'_>,
    parameter: Option<&ParameterType>,
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
        takes: match parameter {
            Some(ParameterType::Int { .. } | ParameterType::Float { .. }) => "a number",
            Some(ParameterType::GlobalPointer { .. }) => "a buffer",
            Some(ParameterType::LocalPointer { .. }) => "work-group memory",
            Some(ParameterType::ByValue { .. }) => "a struct by value",
            Some(ParameterType::Sampler) => "a sampler",
            Some(ParameterType::Other) | None => "something else",
        },
    }
}
