// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares what is declared with what the code takes, and with the memory that it describes.

use alloc::format;

use super::{Slot, Sources};
use crate::signature::memory_map::MemoryMap;
use crate::signature::names::Names;
use crate::signature::spirv::{ParameterType, TypeId};
use crate::signature::types::{Access, Element, Enum, Type};
use crate::signature::{Unsupported, unsupported};

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
                "bit-fields in `{text}` are an integer of {bits} bits in the code, and drivers lay that out \
                 in another way than C++; separate them by another member"
            ));
        }
        match (layouts.size(element), code.size(ty)) {
            (Some(size), Some(in_code)) if size != in_code => {
                return unsupported(format!(
                    "it is declared `{text}`, {size} bytes, and the code has {in_code}"
                ));
            }
            (None, _) => return unsupported(format!("`{text}` is beyond all memory")),
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
                "it is declared `{text}`, and at byte {at} the code has something else"
            )),
        }
    }

    /// Checks whether the code takes arguments `slots` for a declared parameter, and completes its type by what only
    /// the code has: the size of memory, and that nothing is written. `is_unbounded` says that a launch gives the size.
    pub(super) fn agree_on_parameter(
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
                            "it is declared `{text}`, {size} bytes, and the code has {in_code}"
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
                "it is declared `{text}`, and the code takes something else"
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
                "it is declared `{text}`, and the code takes other ranges"
            ));
        }
        Ok(())
    }
}
