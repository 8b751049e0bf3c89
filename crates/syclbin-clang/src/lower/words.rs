// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers for the instructions that lowering handles.

pub(super) use syclbin::__private::spirv::edit::{Instruction, Module};
pub(super) use syclbin::__private::spirv::words::{
    DECORATION_ALIGNMENT, DECORATION_CPACKED, DECORATION_LINKAGE_ATTRIBUTES, DECORATION_SPEC_ID,
    LINKAGE_EXPORT, LINKAGE_IMPORT, bytes, op, string,
};

pub(super) const STORAGE_FUNCTION: u32 = 7;
pub(super) const MEMORY_VOLATILE: u32 = 1;
pub(super) const MEMORY_ALIGNED: u32 = 2;

/// Returns the ids that an instruction needs. Names, decorations and the interface of an entry point do not count,
/// because they are removed together with their target. In an unknown instruction, every word may be an id.
pub(super) fn uses(instruction: &Instruction) -> Vec<u32> {
    let operands = &instruction.operands;
    match instruction.opcode {
        op::NAME | op::MEMBER_NAME | op::DECORATE | op::MEMBER_DECORATE => Vec::new(),
        op::ENTRY_POINT => instruction.operand(1).into_iter().collect(),
        _ => match instruction.ids() {
            Ok(ids) => ids.used().map(|at| operands[at]).collect(),
            Err(_) => operands.clone(),
        },
    }
}

/// Returns whether an instruction computes a pointer from another pointer and indices.
pub(super) fn is_chain(opcode: u16) -> bool {
    matches!(
        opcode,
        op::ACCESS_CHAIN
            | op::IN_BOUNDS_ACCESS_CHAIN
            | op::PTR_ACCESS_CHAIN
            | op::IN_BOUNDS_PTR_ACCESS_CHAIN
    )
}

/// Returns whether an instruction with this opcode yields the same address with another type.
pub(super) fn is_cast(opcode: u16) -> bool {
    matches!(
        opcode,
        op::COPY_OBJECT | op::PTR_CAST_TO_GENERIC | op::GENERIC_CAST_TO_PTR | op::BITCAST
    )
}
