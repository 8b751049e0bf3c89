// SPDX-License-Identifier: MIT OR Apache-2.0
//! Repairs signed conversions of booleans.
//!
//! LLVM optimizes `x < 0 ? -1.0f : 0.0f` to a signed conversion of a boolean, in which true is -1. The SPIR-V
//! translator in the compiler library first turns the boolean into 1 or 0, so the result is +1 (fixed upstream in July
//! 2026, KhronosGroup/SPIRV-LLVM-Translator#3918). In optimized code, the translator's selection between 1 and 0 has no
//! name. A selection in the source is converted as unsigned, or is an argument of a conversion function and has a name,
//! because [`describe::arguments`](crate::describe::arguments) keeps names.

use std::collections::{BTreeMap, BTreeSet};

use syclbin::__private::spirv::edit::{Instruction, Module};
use syclbin::__private::spirv::words::{bytes, op};

const CONVERT_S_TO_F: u16 = 111;

/// Returns the SPIR-V module with repaired conversions, or `None` if nothing needs repair.
pub(crate) fn repair(code: &[u8]) -> Option<Vec<u8>> {
    let mut module = Module::read(code).ok()?;
    // For each 32-bit integer type, the ids of the constants 0 and 1.
    let mut ints: BTreeMap<u32, [Option<u32>; 2]> = BTreeMap::new();
    let mut selections = BTreeMap::new();
    let mut named = BTreeSet::new();
    for instruction in &module.instructions {
        match (instruction.opcode, &*instruction.operands) {
            (op::NAME, [id, ..]) => _ = named.insert(*id),
            (op::TYPE_INT, [ty, 32, _]) => _ = ints.insert(*ty, [None; 2]),
            (op::CONSTANT, [ty, id, value @ (0 | 1)]) => {
                if let Some(known) = ints.get_mut(ty) {
                    known[usize::from(*value == 1)] = Some(*id);
                }
            }
            (op::SELECT, [ty, id, condition, one, zero])
                if ints.get(ty) == Some(&[Some(*zero), Some(*one)]) && !named.contains(id) =>
            {
                selections.insert(*id, (*ty, *condition, *zero));
            }
            _ => {}
        }
    }
    let before = std::mem::take(&mut module.instructions);
    let mut out = Vec::with_capacity(before.len());
    let mut is_repaired = false;
    for mut instruction in before {
        if let (CONVERT_S_TO_F, [_, _, value]) = (instruction.opcode, &mut *instruction.operands)
            && let Some((ty, condition, zero)) = selections.get(value)
        {
            let minus_one = module.declare(op::CONSTANT, &[*ty, u32::MAX]).ok()?;
            *value = module.new_id().ok()?;
            let select = [*ty, *value, *condition, minus_one, *zero];
            out.push(Instruction::new(op::SELECT, select));
            is_repaired = true;
        }
        out.push(instruction);
    }
    module.instructions = out;
    let words = is_repaired.then(|| module.words().ok())?;
    words.map(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a module that converts a selection between two constants.
    fn module(constants: [u32; 2], convert: u16) -> Vec<u8> {
        named(constants, convert, 9)
    }

    /// Returns the same module, with a name for the id `name`.
    fn named(constants: [u32; 2], convert: u16, name: u32) -> Vec<u8> {
        let header = [0x0723_0203, 0x0001_0400, 0, 20, 0];
        let instructions = [
            Instruction::new(op::NAME, [name, 0x646e_6f63, 0]),
            Instruction::new(op::TYPE_BOOL, [1]),
            Instruction::new(op::TYPE_INT, [2, 32, 0]),
            Instruction::new(op::TYPE_FLOAT, [3, 32]),
            Instruction::new(op::CONSTANT, [2, 4, constants[0]]),
            Instruction::new(op::CONSTANT, [2, 5, constants[1]]),
            Instruction::new(op::CONSTANT_TRUE, [1, 6]),
            Instruction::new(op::SELECT, [2, 7, 6, 4, 5]),
            Instruction::new(convert, [3, 8, 7]),
        ];
        bytes(Module::new(header, instructions.into()).words().unwrap())
    }

    #[test]
    fn signed_conversions_select_minus_one() {
        let code = repair(&module([1, 0], CONVERT_S_TO_F)).unwrap();
        let mut repaired = Module::read(&code).unwrap();
        let find = |opcode| {
            let all = repaired.instructions.iter();
            all.filter(move |instruction| instruction.opcode == opcode)
        };
        assert!(find(op::CONSTANT).any(|constant| constant.operands == [2, 20, u32::MAX]));
        assert!(find(op::SELECT).any(|select| select.operands == [2, 21, 6, 20, 5]));
        let converted: Vec<_> = find(CONVERT_S_TO_F).collect();
        assert_eq!(converted, [&Instruction::new(CONVERT_S_TO_F, [3, 8, 21])]);
        assert_eq!(repaired.new_id(), Ok(22));
        assert_eq!(repair(&code), None);
    }

    #[test]
    fn other_selections_stay() {
        const CONVERT_U_TO_F: u16 = 112;
        assert_eq!(repair(&named([1, 0], CONVERT_S_TO_F, 7)), None);
        assert_eq!(repair(&module([1, 0], CONVERT_U_TO_F)), None);
        assert_eq!(repair(&module([2, 0], CONVERT_S_TO_F)), None);
        assert_eq!(repair(&module([1, 2], CONVERT_S_TO_F)), None);
        assert_eq!(repair(b"no SPIR-V"), None);
    }
}
