// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of specialization constants, as defaults in the code.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use crate::error::{Error, ErrorKind};
use crate::spirv::words::{self, DECORATION_SPEC_ID, Instruction, op};

/// Makes `values` the defaults of the constants with these `SpecId`s.
///
/// # Errors
///
/// When `spirv` is not SPIR-V, and when a value does not have the size of its constant.
pub fn specialize(spirv: &[u8], values: &BTreeMap<u32, &[u8]>) -> Result<Vec<u8>, Error> {
    let mut words = words::words(spirv)?;
    let mut targets = BTreeMap::new();
    let mut bits = BTreeMap::new();
    let mut changes = Vec::new();
    for instruction in words::instructions(&words) {
        let instruction = instruction?;
        match (instruction.opcode, instruction.operands) {
            (op::DECORATE, [target, DECORATION_SPEC_ID, id]) => {
                targets.insert(*target, *id);
            }
            (op::TYPE_INT | op::TYPE_FLOAT, [ty, width, ..]) => _ = bits.insert(*ty, *width),
            (
                op::SPEC_CONSTANT_TRUE | op::SPEC_CONSTANT_FALSE | op::SPEC_CONSTANT,
                [ty, result, literal @ ..],
            ) => {
                let id = targets.get(result);
                let Some((id, value)) = id.and_then(|id| values.get_key_value(id)) else {
                    continue;
                };
                // A bool has no width.
                let size = bits.get(ty).map_or(1, |bits| bits / 8);
                if u32::try_from(value.len()) != Ok(size) {
                    let problem = format!(
                        "specialization constant {id} has {size} bytes in the code, and its value has {}",
                        value.len()
                    );
                    let offset = instruction.at as u64 * 4;
                    return Err(Error::new(
                        "SPIR-V",
                        offset,
                        ErrorKind::Record(problem.into()),
                    ));
                }
                changes.extend(change(&instruction, literal, value));
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

/// Returns the words to change in an instruction with `literal`, so that it has this value.
fn change(instruction: &Instruction<'_>, literal: &[u32], value: &[u8]) -> Vec<(usize, u32)> {
    let at = instruction.at;
    if instruction.opcode == op::SPEC_CONSTANT {
        // Values of less than 32 bits fill a word.
        let word = |bytes: &[u8]| {
            let bytes = bytes.iter().rev();
            bytes.fold(0, |word, byte| word << 8 | u32::from(*byte))
        };
        let places = (at + 3..).take(literal.len());
        return places.zip(value.chunks(4).map(word)).collect();
    }
    const WORDS: u32 = 3 << 16;
    let is_set = value.iter().any(|byte| *byte != 0);
    let opcode = if is_set {
        op::SPEC_CONSTANT_TRUE
    } else {
        op::SPEC_CONSTANT_FALSE
    };
    [(at, WORDS | u32::from(opcode))].into()
}
