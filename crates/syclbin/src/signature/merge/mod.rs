// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parameters of a kernel, from what is declared and what the code takes, which must agree.

mod agree;
mod declared;
mod undeclared;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::code::Code;
use super::code::Meanings;
use super::cpp::{Missing, access, innermost};
use super::debug_info::Described;
use super::names::Definitions;
use super::names::Names;
use super::spell::DeclaredParameter;
use super::spirv::{self, ParameterType, TypeId};
use super::types::{Element, Scalar};
use super::{Argument, Parameter, Unsupported, mangled, unsupported};
use crate::model::AbstractModule;
use crate::ptx;

/// Arguments that an accessor becomes: its pointer, two ranges, an id.
pub(super) const OF_ACCESSOR: usize = 4;

/// What tells of the kernels and variables of a module.
pub(super) struct Sources<'m> {
    pub(super) module: &'m AbstractModule<'m>,
    pub(super) code: &'m Code,
    pub(super) described: &'m Described,
    pub(super) definitions: Definitions,
    pub(super) meanings: Option<Meanings<'m>>,
}

impl<'m> Sources<'m> {
    pub(super) fn new(
        module: &'m AbstractModule<'m>,
        code: &'m Code,
        described: &'m Described,
        names: &mut Names,
    ) -> Self {
        Self {
            module,
            code,
            described,
            definitions: described.definitions.within(names),
            meanings: code.spirv().map(Meanings::new),
        }
    }

    /// The parameters of a kernel. `removed` says which arguments the compiler removed.
    pub(super) fn parameters(
        &mut self,
        declared: Option<&[DeclaredParameter]>,
        passed: Passed<'_>,
        removed: &[bool],
        names: &mut Names,
    ) -> Result<Vec<Parameter>, Unsupported> {
        match (declared, passed) {
            (Some(declared), passed) => self.declared(declared, passed, removed, names),
            (None, Passed::Unknown) => {
                unsupported("the file has neither a declaration nor SPIR-V of this kernel")
            }
            (None, passed) => self.undeclared(passed, removed, &mut names.layouts),
        }
    }

    /// Returns the type that debug information has of a variable of `size` bytes, and its spelling.
    pub(super) fn described_variable(
        &mut self,
        name: &str,
        size: u64,
        names: &mut Names,
    ) -> Option<Result<(Element, &'m str), Unsupported>> {
        let text = self
            .described
            .variables
            .get(mangled::without_source(name))?;
        let within = |reason: Unsupported| reason.within(format_args!("`{text}`: "));
        let element = match self.definitions.element_of(text) {
            Some(Ok(element)) => element,
            // The code may describe a type that no definition describes.
            Some(Err(Missing::Named(_))) => return None,
            Some(Err(missing)) => return Some(Err(within(missing.into()))),
            None => return Some(unsupported("its type cannot be read")),
        };
        Some(match names.layouts.size(&element) {
            Some(own) if own == size => Ok((element, text)),
            Some(own) => unsupported(format!(
                "`{text}` is declared with {own} bytes, and its size is {size}"
            )),
            None => unsupported(format!("`{text}` is beyond all memory")),
        })
    }

    fn size(&self, ty: TypeId) -> Option<u64> {
        self.meanings.as_ref().and_then(|code| code.size(ty))
    }

    /// Bytes of `ty` if it is an array.
    fn array(&self, ty: TypeId) -> Option<u64> {
        self.meanings.as_ref().and_then(|code| code.array(ty))
    }
}

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
pub(super) fn own_name(passed: &spirv::Parameter) -> Option<String> {
    Slot::Passed(passed).name()
}

/// What the code of a kernel takes.
#[derive(Clone, Copy)]
pub(super) enum Passed<'p> {
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

fn of_size(bits: u32) -> Unsupported {
    Unsupported::new(format!("a number of {bits} bits is not supported"))
}

/// An integer of the code, and whether its sign is known.
fn integer(bits: u32, signed: Option<bool>) -> Result<(Scalar, bool), Unsupported> {
    let scalar = Scalar::integer(bits, signed.unwrap_or(true));
    Ok((scalar.ok_or_else(|| of_size(bits))?, signed.is_some()))
}
