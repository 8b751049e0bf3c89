// SPDX-License-Identifier: MIT OR Apache-2.0
//! Determines the parameters of a kernel from its declaration and its code, which must agree.

mod declared;
mod undeclared;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::code::{Code, Meanings};
use super::cpp::{Missing, access, innermost};
use super::debug_info::Described;
use super::memory_map::MemoryMap;
use super::names::{Definitions, Names};
use super::spell::DeclaredParameter;
use super::spirv::{ParameterType, TypeId};
use super::types::{Access, Element, Enum, Scalar, Type};
use super::{Argument, Parameter, Unsupported, mangled, spirv, unsupported};
use crate::model::AbstractModule;
use crate::ptx;

/// Arguments that an accessor becomes: its pointer, two ranges, an id.
pub(super) const OF_ACCESSOR: usize = 4;

/// The sources of information about a module's kernels and variables.
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
            None => return Some(unsupported("cannot determine its type")),
        };
        Some(match names.layouts.size(&element) {
            Some(own) if own == size => Ok((element, text)),
            Some(own) => unsupported(format!(
                "`{text}` is declared with {own} bytes, but its size is {size}"
            )),
            None => unsupported(format!("`{text}` is larger than the address space")),
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

/// The arguments that a kernel's code takes.
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
    Unsupported::new(format!("a {bits}-bit number is not supported"))
}

/// An integer of the code, and whether its sign is known.
fn integer(bits: u32, signed: Option<bool>) -> Result<(Scalar, bool), Unsupported> {
    let scalar = Scalar::integer(bits, signed.unwrap_or(true));
    Ok((scalar.ok_or_else(|| of_size(bits))?, signed.is_some()))
}

/// Limit for the steps of comparing memory in one file, because a hostile file repeats large structs. Beyond
/// it, only sizes are compared.
const MAX_STEPS: usize = 1 << 20;

impl Sources<'_> {
    /// Checks whether the code has the same in memory, as far as it says: sizes, and the content at each
    /// place.
    pub(in crate::signature) fn agree(
        &self,
        ty: TypeId,
        element: &Element,
        text: &str,
        names: &Names,
    ) -> Result<(), Unsupported> {
        let Some(code) = &self.meanings else {
            return Ok(());
        };
        let layouts = &names.layouts;
        if let Some(bits) = code.wide_integer(ty) {
            return unsupported(format!(
                "bit-fields in `{text}` form a {bits}-bit integer in the code, which drivers lay out differently from \
                 C++; separate them with another member"
            ));
        }
        match (layouts.size(element), code.size(ty)) {
            (Some(size), Some(in_code)) if size != in_code => {
                return unsupported(format!(
                    "it is declared `{text}`, {size} bytes, but the code has {in_code}"
                ));
            }
            (None, _) => return unsupported(format!("`{text}` is larger than the address space")),
            _ => {}
        }
        if names.steps.get() >= MAX_STEPS {
            return Ok(());
        }
        let declared = MemoryMap::of_element(element, layouts);
        let in_code = code.memory(ty);
        let steps = declared.steps() + in_code.steps();
        names.steps.set(names.steps.get() + steps);
        match declared.difference(&in_code) {
            None => Ok(()),
            Some(at) => unsupported(format!(
                "it is declared `{text}`, but the code differs at byte {at}"
            )),
        }
    }

    /// Checks whether the code takes arguments `slots` for a declared parameter, and completes its type by what only
    /// the code has: the size of memory, and that nothing is written. `is_unbounded` says that a launch gives the size.
    fn agree_on_parameter(
        &self,
        ty: &mut Type,
        is_unbounded: bool,
        slots: &[Slot<'_>],
        text: &str,
        names: &Names,
    ) -> Result<(), Unsupported> {
        let is_number = |ty: &Type, bits, is_float| {
            let number = match ty {
                Type::Scalar(of) | Type::Enum(Enum { of, .. }) => of,
                _ => return false,
            };
            number.bits() == bits && number.is_float() == is_float
        };
        let first = slots.first().copied().unwrap_or(Slot::Unknown);
        let agrees = match (&mut *ty, first.ty()) {
            (_, None) | (Type::Unused, _) | (Type::Sampler, Some(ParameterType::Sampler)) => true,
            // The pointee is not compared, because a pointer is typed by its use. `float *` may arrive as
            // a pointer to bytes, and opaque pointers may lose it altogether.
            (
                Type::Pointer { access, .. } | Type::Accessor { access, .. },
                Some(ParameterType::GlobalPointer { no_write, .. }),
            ) => {
                if no_write {
                    *access = Access::Read;
                }
                true
            }
            (Type::LocalAccessor { .. }, Some(ParameterType::LocalPointer { .. })) => true,
            (Type::LocalMemory { size, .. }, Some(ParameterType::LocalPointer { pointee })) => {
                let in_code = self.array(pointee);
                match (&size, in_code) {
                    // The code may see less: an array that the first element begins with.
                    (Some(size), Some(in_code)) if *size < in_code => {
                        return unsupported(format!(
                            "it is declared `{text}`, {size} bytes, but the code has {in_code}"
                        ));
                    }
                    // The array of a functor is recorded without a size where debug information has none. Its
                    // argument has the name of the member; the argument of a function has another name.
                    (None, _) if !is_unbounded || first.name().is_some() => *size = in_code,
                    _ => {}
                }
                true
            }
            // A function takes a struct that has the pointer, a functor the pointer itself.
            (Type::KernelHandler, Some(ParameterType::GlobalPointer { .. })) => true,
            (Type::KernelHandler, Some(ParameterType::ByValue { ty })) => self.size(ty) == Some(8),
            (
                Type::Image {
                    dimensions, access, ..
                },
                Some(ParameterType::Image {
                    dimensions: in_code,
                    written,
                }),
            ) => *dimensions == in_code && (*access == Access::ReadWrite) == written,
            (ty, Some(ParameterType::Int { bits, .. })) => is_number(ty, bits, false),
            (ty, Some(ParameterType::Float { bits })) => is_number(ty, bits, true),
            (ty, Some(ParameterType::ByValue { ty: in_code })) => match ty.value() {
                Some(element) => {
                    self.agree(in_code, &element, text, names)?;
                    true
                }
                None => false,
            },
            _ => false,
        };
        if !agrees {
            return unsupported(format!(
                "it is declared `{text}`, but the code takes something else"
            ));
        }
        // Ranges and the id of an accessor: 8 bytes a dimension, each.
        let expected = ty.dimensions().map(|dimensions| u64::from(dimensions) * 8);
        let ranges = slots.iter().skip(1).filter_map(|slot| slot.ty());
        let agrees = |passed| match passed {
            ParameterType::ByValue { ty } => self.size(ty) == expected,
            _ => false,
        };
        if !{ ranges }.all(agrees) {
            return unsupported(format!(
                "it is declared `{text}`, but the code takes other ranges"
            ));
        }
        Ok(())
    }
}
