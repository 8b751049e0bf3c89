// SPDX-License-Identifier: MIT OR Apache-2.0
//! Direct loads: pointers to variables, taken from an argument and not from memory.

use alloc::collections::BTreeMap;

use super::Layout;
use super::scan::Scan;
use crate::spirv::grammar;
use crate::spirv::words::{Instruction, op};

/// Loads of the pointers to variables with buffers of their own. Such a load is the argument itself, so most
/// kernels do not have to set the pointers. If all work-items wrote them, processors would contend for the memory.
#[derive(Default)]
pub(super) struct DirectLoads {
    /// The ids that such pointers are loaded from, with the number of the buffer.
    pub(super) buffers: BTreeMap<u32, usize>,
    /// Whether the pointers are also read in other ways.
    pub(super) needs_slots: bool,
}

impl DirectLoads {
    pub(super) fn of(function: &[Instruction<'_>], scan: &Scan<'_>, layout: &Layout) -> Self {
        let mut direct = Self::default();
        for (id, variable) in &scan.variables {
            let host = variable.host.as_ref();
            // They are sorted.
            let buffer = host.and_then(|host| layout.buffers.binary_search(host).ok());
            direct.buffers.extend(buffer.map(|buffer| (*id, buffer)));
        }
        for instruction in function {
            let operands = instruction.operands;
            let ids = grammar::ids(instruction.opcode, operands).unwrap_or_default();
            let mut used = ids.uses.iter().map(|at| &operands[*at]);
            match (instruction.opcode, operands) {
                (op::BITCAST, [_, result, of]) => {
                    if let Some(buffer) = direct.buffers.get(of).copied() {
                        direct.buffers.insert(*result, buffer);
                    }
                    direct.needs_slots |= scan.dependent_ids.contains(of);
                }
                (op::LOAD, [_, _, of, ..]) if direct.buffers.contains_key(of) => {}
                (op::FUNCTION_CALL, _) => direct.needs_slots = true,
                _ => {
                    let other = |id: &u32| {
                        direct.buffers.contains_key(id) || scan.dependent_ids.contains(id)
                    };
                    direct.needs_slots |= used.any(other);
                }
            }
        }
        direct
    }
}
