// SPDX-License-Identifier: MIT OR Apache-2.0
//! Debug information: instructions without an effect on results, which name others before these are defined.
//! Drivers with the linker of SPIRV-Tools refuse that.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use crate::spirv::words::{Instruction, instructions, op, string};

/// Returns whether a module has debug information. Imports come before the memory model.
pub(super) fn is_in(words: &[u32]) -> bool {
    instructions(words)
        .map_while(Result::ok)
        .take_while(|instruction| instruction.opcode != op::MEMORY_MODEL)
        .any(|instruction| imported(&instruction).is_some())
}

/// Removes the debug information of a module.
pub(super) fn remove(instructions: &mut Vec<Instruction<'_>>) {
    let sets: BTreeSet<u32> = instructions.iter().filter_map(imported).collect();
    let result = |instruction: &Instruction<'_>| match (instruction.opcode, instruction.operands) {
        (op::EXT_INST_IMPORT, [id, ..]) if sets.contains(id) => Some(*id),
        (op::EXT_INST | op::EXT_INST_WITH_FORWARD_REFS, [_, id, set, ..]) if sets.contains(set) => {
            Some(*id)
        }
        _ => None,
    };
    let removed: BTreeSet<u32> = instructions.iter().filter_map(result).collect();
    instructions.retain(|instruction| {
        let is_about_removed = matches!(instruction.opcode, op::NAME | op::DECORATE)
            && (instruction.operands.first()).is_some_and(|id| removed.contains(id));
        result(instruction).is_none() && !is_about_removed
    });
}

/// Returns the id of a set of instructions that an instruction imports, if these only describe the source.
fn imported(instruction: &Instruction<'_>) -> Option<u32> {
    let (op::EXT_INST_IMPORT, [id, name @ ..]) = (instruction.opcode, instruction.operands) else {
        return None;
    };
    let name: String = string(name).0;
    let describes = name.starts_with("NonSemantic.")
        || ["OpenCL.DebugInfo.100", "DebugInfo", "SPIRV.debug"].contains(&name.as_str());
    describes.then_some(*id)
}

/// Returns whether an instruction imports a set of instructions that only describe the source.
pub fn is_debug_info(instruction: &Instruction<'_>) -> bool {
    imported(instruction).is_some()
}
