// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares what is declared with the memory that the code describes.

use alloc::format;

use super::Sources;
use crate::signature::memory_map::MemoryMap;
use crate::signature::names::Names;
use crate::signature::spirv::TypeId;
use crate::signature::types::Element;
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
}
