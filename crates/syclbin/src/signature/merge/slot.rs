// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of the code.

use alloc::string::String;

use crate::ptx;
use crate::signature::Argument;
use crate::signature::spirv::{self, ParameterType};

/// An argument of the code before any was removed.
#[derive(Clone, Copy)]
pub(super) enum Slot<'p> {
    Passed(&'p spirv::Parameter),
    Ptx(&'p ptx::Parameter),
    Removed,
    /// No code is available.
    Unknown,
}

impl Slot<'_> {
    pub(super) const fn ty(self) -> Option<ParameterType> {
        match self {
            Slot::Passed(parameter) => Some(parameter.ty),
            Slot::Ptx(_) | Slot::Removed | Slot::Unknown => None,
        }
    }

    /// The alignment of what a pointer to device memory points to.
    pub(super) fn align(self) -> Option<u64> {
        match self {
            Slot::Passed(parameter)
                if matches!(parameter.ty, ParameterType::GlobalPointer { .. }) =>
            {
                parameter.align.map(u64::from)
            }
            Slot::Ptx(parameter) => parameter.global_align(),
            _ => None,
        }
    }

    pub(super) const fn ptx(self) -> Option<ptx::Passed> {
        match self {
            Slot::Ptx(parameter) => Some(parameter.ty),
            Slot::Passed(_) | Slot::Removed | Slot::Unknown => None,
        }
    }

    pub(super) const fn argument(self) -> Argument {
        match self {
            Slot::Removed => Argument::Removed,
            Slot::Passed(_) | Slot::Ptx(_) | Slot::Unknown => Argument::Passed,
        }
    }

    /// Returns the name in the code, where C++ has the same name.
    pub(super) fn name(self) -> Option<String> {
        let name = match self {
            Slot::Passed(parameter) => parameter.name.as_deref()?,
            Slot::Ptx(parameter) => parameter.name.as_deref()?,
            Slot::Removed | Slot::Unknown => return None,
        };
        // The names of members of SYCL's own types, when a function takes them.
        let of_sycl = ["ptr", "Ptr", "Sampler", "Image"];
        let own = !of_sycl.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit()));
        own.then(|| name.into())
    }
}

/// Returns the name that the code has for a parameter, where C++ has the same name.
pub(in crate::signature) fn own_name(passed: &spirv::Parameter) -> Option<String> {
    Slot::Passed(passed).name()
}

/// What the code of a kernel takes.
#[derive(Clone, Copy)]
pub(in crate::signature) enum Passed<'p> {
    SpirV(&'p [spirv::Parameter]),
    Ptx {
        parameters: &'p [ptx::Parameter],
        /// Whether numbers may be places in memory of the work-group.
        shared: bool,
    },
    /// No code is available.
    Unknown,
}

impl<'p> Passed<'p> {
    pub(super) const fn len(self) -> Option<usize> {
        match self {
            Self::SpirV(parameters) => Some(parameters.len()),
            Self::Ptx { parameters, .. } => Some(parameters.len()),
            Self::Unknown => None,
        }
    }

    pub(super) fn slot(self, index: usize) -> Slot<'p> {
        let found = match self {
            Self::SpirV(parameters) => parameters.get(index).map(Slot::Passed),
            Self::Ptx { parameters, .. } => parameters.get(index).map(Slot::Ptx),
            Self::Unknown => None,
        };
        found.unwrap_or(Slot::Unknown)
    }
}
