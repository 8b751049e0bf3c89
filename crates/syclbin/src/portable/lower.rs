// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lowers instructions of later SPIR-V versions to equivalents in earlier versions.

use super::version::{V1_1, V1_4, Version};
use crate::prelude::*;
use crate::spirv::words::{Instruction, entry_point, op, put, string};

/// `NoSignedWrap` and `NoUnsignedWrap`: core decorations since SPIR-V 1.4, from an extension in earlier versions.
const NO_WRAP: [u32; 2] = [4469, 4470];
pub(super) const NO_WRAP_EXTENSION: &str = "SPV_KHR_no_integer_wrap_decoration";

const STORAGE_INPUT: u32 = 1;
const STORAGE_OUTPUT: u32 = 3;

/// Memory operand bits that every version supports.
const VOLATILE: u32 = 1;
const ALIGNED: u32 = 2;
const NONTEMPORAL: u32 = 4;

/// Module-wide information for lowering individual instructions.
pub(super) struct Lowering {
    to: Version,
    /// The storage class of each variable, by id.
    storage: BTreeMap<u32, u32>,
    /// Whether the lowered module needs [`NO_WRAP_EXTENSION`], but does not declare it.
    pub(super) needs_extension: bool,
}

impl Lowering {
    pub(super) fn new(instructions: &[Instruction<'_>], to: Version) -> Self {
        let of = |opcode: u16| instructions.iter().filter(move |i| i.opcode == opcode);
        let variable = |i: &Instruction<'_>| Some((*i.operands.get(1)?, *i.operands.get(2)?));
        let no_wrap = |i: &Instruction<'_>| i.operands.get(1).is_some_and(|d| NO_WRAP.contains(d));
        let declared = |i: &Instruction<'_>| string(i.operands).0 == NO_WRAP_EXTENSION;
        Self {
            to,
            storage: of(op::VARIABLE).filter_map(variable).collect(),
            needs_extension: to < V1_4
                && of(op::DECORATE).any(no_wrap)
                && !of(op::EXTENSION).any(declared),
        }
    }

    /// Writes an instruction in the form that the target version supports.
    pub(super) fn write(&self, instruction: &Instruction<'_>, out: &mut Vec<u32>) {
        let (opcode, operands) = (instruction.opcode, instruction.operands);
        match opcode {
            op::MODULE_PROCESSED if self.to < V1_1 => {}
            op::ENTRY_POINT if self.to < V1_4 => {
                let is_listed = |id: &u32| {
                    let class = self.storage.get(id);
                    matches!(class, Some(&(STORAGE_INPUT | STORAGE_OUTPUT)))
                };
                put(out, opcode, &[&entry_point(operands, is_listed)]);
            }
            op::LOOP_MERGE if self.to < V1_4 => put(out, opcode, &[&self.loop_merge(operands)]),
            op::COPY_MEMORY | op::COPY_MEMORY_SIZED if self.to < V1_4 => {
                let head = operands.len().min(operands_of_copy(opcode));
                let mask = memory_operands(instruction).unwrap_or_default();
                put(out, opcode, &[&operands[..head], &mask]);
            }
            _ => put(out, opcode, &[operands]),
        }
    }

    /// Returns the operands of `OpLoopMerge` without hints that the target version lacks.
    fn loop_merge(&self, operands: &[u32]) -> Vec<u32> {
        const DEPENDENCY_INFINITE: u32 = 4;
        const DEPENDENCY_LENGTH: u32 = 8;
        let [merge, next, control, parameters @ ..] = operands else {
            return operands.to_vec();
        };
        let mut known = 3;
        if self.to >= V1_1 {
            known |= DEPENDENCY_INFINITE | DEPENDENCY_LENGTH;
        }
        let control = control & known;
        // Only `DependencyLength` and higher bits have parameters. Parameters are in bit order, so the length
        // comes first.
        let has_length = control & DEPENDENCY_LENGTH != 0;
        let length = parameters.iter().take(usize::from(has_length));
        let fixed = [*merge, *next, control];
        fixed.iter().chain(length).copied().collect()
    }
}

/// Returns the number of operands that precede the memory operands of a copy.
fn operands_of_copy(opcode: u16) -> usize {
    if opcode == op::COPY_MEMORY { 2 } else { 3 }
}

/// Merges the memory operands for the target and the source of a copy, because versions before 1.4 accept only
/// one set. Returns `None` if these versions cannot express the operands.
pub(super) fn memory_operands(copy: &Instruction<'_>) -> Option<Vec<u32>> {
    let given = copy.operands.get(operands_of_copy(copy.opcode)..)?;
    let ((target, at_target), rest) = operand_set(given)?;
    if rest.is_empty() {
        return Some(given.to_vec());
    }
    let ((source, at_source), _) = operand_set(rest)?;
    let mut mask = (target | source) & VOLATILE | target & source & NONTEMPORAL;
    let alignment = at_target.zip(at_source).map(|(one, other)| one.min(other));
    if alignment.is_some() {
        mask |= ALIGNED;
    }
    Some([mask].into_iter().chain(alignment).collect())
}

/// A memory operand mask and its alignment.
type OperandSet = (u32, Option<u32>);

/// Splits off one set of memory operands. Returns `None` if the set is incomplete or contains bits that later SPIR-V
/// versions define.
fn operand_set(words: &[u32]) -> Option<(OperandSet, &[u32])> {
    let Some((mask, rest)) = words.split_first() else {
        return Some(((0, None), words));
    };
    if mask & !(VOLATILE | ALIGNED | NONTEMPORAL) != 0 {
        return None;
    }
    if mask & ALIGNED == 0 {
        return Some(((*mask, None), rest));
    }
    let (alignment, rest) = rest.split_first()?;
    Some(((*mask, Some(*alignment)), rest))
}
