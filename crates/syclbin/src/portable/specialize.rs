// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of specialization constants, as defaults in the code.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::error::Error;
use crate::signature::spirv::words::{self, DECORATION_SPEC_ID, op};

/// Makes `values` the defaults of the constants with these `SpecId`s. A value of another size than its constant
/// is left out.
///
/// # Errors
///
/// When `spirv` is not SPIR-V.
pub fn specialize(spirv: &[u8], values: &BTreeMap<u32, &[u8]>) -> Result<Vec<u8>, Error> {
    let mut words = words::words(spirv)?;
    let mut targets = BTreeMap::new();
    let mut changes = Vec::new();
    for instruction in words::instructions(&words) {
        let instruction = instruction?;
        match (instruction.opcode, instruction.operands) {
            (op::DECORATE, [target, DECORATION_SPEC_ID, id]) => {
                targets.insert(*target, *id);
            }
            (opcode, [_, result, literal @ ..]) => {
                let value = targets.get(result).and_then(|id| values.get(id));
                if let Some(value) = value {
                    changes.extend(change(instruction.at, opcode, literal, value));
                }
            }
            _ => {}
        }
    }
    for (at, word) in changes {
        if let Some(place) = words.get_mut(at) {
            *place = word;
        }
    }
    Ok(words.into_iter().flat_map(u32::to_le_bytes).collect())
}

/// Returns the words to change in the instruction at `at`.
fn change(at: usize, opcode: u16, literal: &[u32], value: &[u8]) -> Vec<(usize, u32)> {
    match opcode {
        op::SPEC_CONSTANT_TRUE | op::SPEC_CONSTANT_FALSE => {
            const WORDS: u32 = 3 << 16;
            let is_set = value.iter().any(|byte| *byte != 0);
            let opcode = if is_set {
                op::SPEC_CONSTANT_TRUE
            } else {
                op::SPEC_CONSTANT_FALSE
            };
            [(at, WORDS | u32::from(opcode))].into()
        }
        // Values of less than 32 bits fill a word.
        op::SPEC_CONSTANT if value.len().div_ceil(4) == literal.len() => {
            let word = |bytes: &[u8]| {
                let bytes = bytes.iter().rev();
                bytes.fold(0, |word, byte| word << 8 | u32::from(*byte))
            };
            (at + 3..).zip(value.chunks(4).map(word)).collect()
        }
        _ => Vec::new(),
    }
}
