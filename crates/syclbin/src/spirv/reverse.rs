// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lets each launch choose the order of its work-groups: if the launch sets a bit of its offset in each dimension, the
//! ids of the work-groups are reversed. For all other launches, the module computes the same as before.

use super::edit::{Instruction, Module};
use super::module::parse::DECORATION_BUILT_IN;
use super::words::op;
use crate::prelude::*;

/// The bit of the offset that reverses the work-groups.
pub const REVERSING_BIT: u32 = 62;

const MASK: u32 = !(1 << (REVERSING_BIT - 32));
const STORAGE_INPUT: u32 = 1;
/// A built-in variable that DPC++ does not use.
const GLOBAL_LINEAR_ID: u32 = 34;

/// Values 0 to 4 are loaded from built-in variables: the offset, the local id, the work-group, the number of
/// work-groups, and the size of a work-group.
const LOADED: [u32; 5] = [33, 27, 26, 24, 25];
/// Values 5 to 7 are constants: a mask without the reversing bit, the number of that bit, and 1.
const CONSTANTS: [[u32; 2]; 3] = [[!0, MASK], [REVERSING_BIT, 0], [1, 0]];
/// The other values are each computed from two earlier ones.
const COMPUTED: [(u16, usize, usize); 10] = [
    (op::BITWISE_AND, 0, 5), // 8: the offset
    (op::SHIFT_RIGHT_LOGICAL, 0, 6),
    (op::I_SUB, 3, 7),
    (op::I_SUB, 10, 2),
    (op::I_SUB, 11, 2),
    (op::I_MUL, 12, 9),
    (op::I_ADD, 2, 13), // 14: the work-group
    (op::I_MUL, 14, 4),
    (op::I_ADD, 15, 1),
    (op::I_ADD, 16, 8), // 17: the global id
];
/// The values that replace loads of the offset, the work-group and the global id.
const RESULTS: [(u32, usize); 3] = [(33, 8), (26, 14), (28, 17)];

/// Rewrites a module so that launches can reverse the order of its work-groups. Returns `None` if the module is
/// malformed, or loads built-in variables in a way that DPC++ does not generate.
pub fn reversible(words: &[u32]) -> Option<Vec<u32>> {
    let mut module = Module::parse(words).ok()?;
    let number = module.declare(op::TYPE_INT, &[64, 0]).ok()?;
    let vector = module.declare(op::TYPE_VECTOR, &[number, 3]).ok()?;
    let pointer = [STORAGE_INPUT, vector];
    let pointer = module.declare(op::TYPE_POINTER, &pointer).ok()?;
    let known = module.instructions.iter();
    let known = known.filter_map(|i| match (i.opcode, &*i.operands) {
        (op::DECORATE, &[id, DECORATION_BUILT_IN, built_in]) => Some((built_in, id)),
        _ => None,
    });
    let known: BTreeMap<u32, u32> = known.collect();
    let (mut variables, mut new, mut constants) = (known.clone(), Vec::new(), Vec::new());
    let is_new = |built_in: &u32| !known.contains_key(built_in);
    for built_in in LOADED.into_iter().filter(is_new) {
        let id = module.new_id().ok()?;
        module.add(op::VARIABLE, &[pointer, id, STORAGE_INPUT]);
        module.add(op::DECORATE, &[id, DECORATION_BUILT_IN, built_in]);
        variables.insert(built_in, id);
        new.push(id);
    }
    for [low, high] in CONSTANTS {
        let part = module.declare(op::CONSTANT, &[number, low, high]).ok()?;
        let parts = [vector, part, part, part];
        constants.push(module.declare(op::CONSTANT_COMPOSITE, &parts).ok()?);
    }
    for mut instruction in core::mem::take(&mut module.instructions) {
        if instruction.opcode == op::ENTRY_POINT {
            instruction.operands.extend(&new);
        }
        let operands = &*instruction.operands;
        let is_from = |(built_in, _): &&(u32, usize)| known.get(built_in) == operands.get(2);
        let value = RESULTS.iter().find(is_from);
        let (op::LOAD, Some((_, value)), &[ty, result, _, ..]) =
            (instruction.opcode, value, operands)
        else {
            module.instructions.push(instruction);
            continue;
        };
        if ty != vector || known.contains_key(&GLOBAL_LINEAR_ID) {
            return None;
        }
        let mut step = |opcode, operands: &[u32]| {
            let id = module.new_id().ok()?;
            let operands = [&[vector, id], operands].concat();
            module.instructions.push(Instruction { opcode, operands });
            Some(id)
        };
        let mut values = Vec::new();
        for built_in in LOADED {
            values.push(step(op::LOAD, &[variables[&built_in]])?);
        }
        values.extend(&constants);
        for (opcode, a, b) in COMPUTED {
            values.push(step(opcode, &[values[a], values[b]])?);
        }
        let copy = [vector, result, values[*value]];
        (module.instructions).push(Instruction::new(op::COPY_OBJECT, copy));
    }
    module.words().ok()
}
