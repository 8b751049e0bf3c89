// SPDX-License-Identifier: MIT OR Apache-2.0
//! Determines the parameters of a kernel from its declaration and its code, which must agree.

mod declared;
mod undeclared;

use super::code::{Code, CodeArgument, CodeKernel, Meanings, Passed};
use super::cpp_type::{CppParameter, CppType};
use super::debug_info::Described;
use super::declared::{Missing, access};
use super::memory_map::MemoryMap;
use super::names::Names;
use super::types::{Access, Element, Enum, Layouts, Scalar, Type};
use super::{Argument, Parameter, Unsupported, mangled, unsupported};
use crate::metadata::DeviceRequirements;
use crate::model::AbstractModule;
use crate::prelude::*;
use crate::ptx;
use crate::spirv::module::{ParameterType, TypeId};
use crate::text::counted;

/// The sources of information about a module's kernels and variables.
pub(super) struct Sources<'m> {
    pub(super) module: &'m AbstractModule<'m>,
    pub(super) code: &'m Code,
    pub(super) described: &'m Described,
    pub(super) requirements: DeviceRequirements,
    pub(super) meanings: Option<Meanings<'m>>,
    /// The elements that types in the code represent, and their structs. Used only to check declarations.
    compared: Option<(Meanings<'m>, Layouts)>,
}

impl<'m> Sources<'m> {
    pub(super) fn new(
        module: &'m AbstractModule<'m>,
        code: &'m Code,
        described: &'m Described,
    ) -> Self {
        let meanings = || code.spirv().map(Meanings::new);
        Self {
            module,
            code,
            described,
            // Malformed requirements are reported when a program loads the file.
            requirements: DeviceRequirements::read(&module.metadata).unwrap_or_default(),
            meanings: meanings(),
            compared: meanings().map(|code| (code, Layouts::default())),
        }
    }

    /// Returns the parameters of a kernel. `removed` marks the arguments that the compiler removed.
    pub(super) fn parameters(
        &mut self,
        declared: Option<&[CppParameter]>,
        code: Option<&CodeKernel>,
        removed: &[bool],
        names: &mut Names,
    ) -> Result<Vec<Parameter>, Unsupported> {
        match (declared, code) {
            (Some(declared), code) => self.declared(declared, code, removed, names),
            (None, None) => {
                unsupported("the file contains neither a declaration nor SPIR-V for this kernel")
            }
            (None, Some(code)) => self.undeclared(code, removed, &mut names.layouts),
        }
    }

    /// Returns the type that the debug information records for the variable `name`, and its C++ spelling. Returns
    /// `None` if the debug information does not describe the type. Fails if the size of the type is not among `sizes`.
    pub(super) fn described_variable(
        &mut self,
        name: &str,
        sizes: [u64; 2],
        names: &mut Names,
    ) -> Option<Result<(Element, &'m CppType), Unsupported>> {
        let variables = &self.described.variables;
        let text = variables.get(mangled::without_source(name))?;
        let within = |reason: Unsupported| reason.within(format_args!("`{text}`: "));
        let element = match self.described.definitions.element(text) {
            Ok(element) => element,
            // The code may describe a type that has no definition.
            Err(Missing::Named(_)) => return None,
            Err(missing) => return Some(Err(within(missing.into()))),
        };
        Some(match names.layouts.size(&element) {
            Some(own) if sizes.contains(&own) => Ok((element, text)),
            Some(own) => unsupported(format!(
                "the size of `{text}` is {}, but the file records {}",
                counted(own, "byte"),
                sizes[0]
            )),
            None => unsupported(format!("`{text}` is larger than the address space")),
        })
    }

    fn size(&self, ty: TypeId) -> Option<u64> {
        self.meanings.as_ref().and_then(|code| code.size(ty))
    }
}

/// An argument of a kernel, possibly one that the compiler removed.
#[derive(Clone, Copy)]
pub(super) struct Slot<'p> {
    argument: Argument,
    /// The argument in the code, unless it was removed or no code is available.
    code: Option<&'p CodeArgument>,
}

impl<'p> Slot<'p> {
    const REMOVED: Self = Self {
        argument: Argument::Removed,
        code: None,
    };

    const fn passed(code: Option<&'p CodeArgument>) -> Self {
        let argument = Argument::Passed;
        Self { argument, code }
    }

    fn spirv(self) -> Option<ParameterType> {
        match self.code?.ty {
            Passed::SpirV(ty) => Some(ty),
            Passed::Ptx(_) => None,
        }
    }

    fn ptx(self) -> Option<ptx::Passed> {
        match self.code?.ty {
            Passed::Ptx(ty) => Some(ty),
            Passed::SpirV(_) => None,
        }
    }
}

fn wrong_size<T>(text: &CppType, declared: u64, in_code: u64) -> Result<T, Unsupported> {
    let [declared, in_code] = [declared, in_code].map(|size| counted(size, "byte"));
    unsupported(format!(
        "it is declared as `{text}` ({declared}), but the code expects {in_code}"
    ))
}

fn of_size(bits: u32) -> Unsupported {
    Unsupported::new(format!("{bits}-bit numbers are not supported"))
}

/// Returns the scalar type for an integer in the code, and whether its signedness is known.
fn integer(bits: u32, signed: Option<bool>) -> Result<(Scalar, bool), Unsupported> {
    let scalar = Scalar::integer(bits, signed.unwrap_or(true));
    Ok((scalar.ok_or_else(|| of_size(bits))?, signed.is_some()))
}

/// The maximum number of memory comparison steps for one file, because a hostile file may repeat large structs.
/// Beyond this limit, only sizes are compared.
const MAX_STEPS: usize = 1 << 20;

/// The maximum number of members copied to rename structs of one file, because a hostile file may pass a large struct
/// under many names.
const MAX_COPIED: usize = 1 << 20;

impl Sources<'_> {
    /// Checks that `ty` in the code has the size and memory map of `element`, as far as the code reveals both.
    pub(in crate::signature) fn agree(
        &mut self,
        ty: TypeId,
        element: &Element,
        text: &CppType,
        names: &Names,
    ) -> Result<(), Unsupported> {
        let Some((code, code_layouts)) = &mut self.compared else {
            return Ok(());
        };
        let layouts = &names.layouts;
        if let Some(bits) = code.module.types.wide_integer(ty.0) {
            return unsupported(format!(
                "bit-fields in `{text}` form a {bits}-bit integer in the code, which drivers lay out differently from \
                 C++; separate them with another member"
            ));
        }
        match (layouts.size(element), code.size(ty)) {
            (Some(size), Some(in_code)) if size != in_code => {
                return wrong_size(text, size, in_code);
            }
            (None, _) => return unsupported(format!("`{text}` is larger than the address space")),
            _ => {}
        }
        if names.steps.get() >= MAX_STEPS {
            return Ok(());
        }
        let Some((in_code, _)) = code.element(ty, code_layouts) else {
            return Ok(());
        };
        let declared = MemoryMap::of(element, layouts, false);
        let in_code = MemoryMap::of(&in_code, code_layouts, true);
        let steps = declared.steps + in_code.steps;
        names.steps.set(names.steps.get() + steps);
        match declared.difference(&in_code) {
            None => Ok(()),
            Some(at) => unsupported(format!(
                "it is declared as `{text}`, but the type in the code has a different layout at byte offset {at}"
            )),
        }
    }

    /// Checks that the arguments `slots` match a declared parameter of type `ty`. Adds to `ty` what only the code
    /// records: read-only access.
    fn agree_on_parameter(
        &mut self,
        ty: &mut Type,
        slots: &[Slot<'_>],
        text: &CppType,
        names: &Names,
    ) -> Result<(), Unsupported> {
        let number = |ty: &Type| match ty {
            Type::Value(Element::Scalar(of) | Element::Enum(Enum { of, .. })) => Some(*of),
            _ => None,
        };
        let first = slots.first().copied().unwrap_or(Slot::passed(None));
        let agrees = match (&mut *ty, first.spirv()) {
            (_, None) | (Type::Unused, _) | (Type::Sampler, Some(ParameterType::Sampler)) => true,
            // The pointee is not compared, because the code types a pointer by its use. A `float *` may appear
            // as a pointer to bytes, and opaque pointers have no pointee.
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
                let in_code = self.meanings.as_ref();
                let in_code = in_code.and_then(|code| code.array(pointee));
                // The code may declare a smaller array, for example if the first element begins with an array. So only
                // a declaration fixes the size.
                if let (Some(size), Some(in_code)) = (*size, in_code)
                    && size < in_code
                {
                    return wrong_size(text, size, in_code);
                }
                true
            }
            // A free-function kernel takes a struct that contains the pointer. A functor takes the pointer itself.
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
            (Type::Value(Element::Enum(of)), Some(ParameterType::Bool))
                if of.of == Scalar::Bool =>
            {
                return unsupported(format!(
                    "`{text}` is an enumeration of `bool`, which not every driver can pass; use `unsigned char`"
                ));
            }
            (Type::Value(element), Some(ParameterType::Bool)) => {
                *element == Element::Scalar(Scalar::Bool)
            }
            (ty, Some(ParameterType::Int { bits, .. })) => {
                number(ty).is_some_and(|of| of.bits() == bits && !of.is_float())
            }
            (ty, Some(ParameterType::Float { bits, bfloat })) => {
                number(ty).is_some_and(|of| Scalar::float(bits, bfloat) == Some(of))
            }
            (Type::Value(element), Some(ParameterType::ByValue { ty })) => {
                self.agree(ty, element, text, names)?;
                true
            }
            _ => false,
        };
        if !agrees {
            return unsupported(format!(
                "it is declared as `{text}`, but the code expects a different type"
            ));
        }
        let expected = ty.range_size();
        let ranges = slots.iter().skip(1).filter_map(|slot| slot.spirv());
        let agrees = |passed| match passed {
            ParameterType::ByValue { ty } => self.size(ty) == expected,
            _ => false,
        };
        if !{ ranges }.all(agrees) {
            return unsupported(format!(
                "it is declared as `{text}`, but the code expects a different number of dimensions"
            ));
        }
        Ok(())
    }
}
