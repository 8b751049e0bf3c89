// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds instructions that are no longer needed once constants replace the calls that read them.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::ConstantReads;
use super::index::Index;
use super::words::{Instruction, MEMORY_VOLATILE, Module, is_cast, is_chain, op, uses};

/// The maximum number of passes over local variables that hold pointers to each other.
const MAX_ROUNDS: usize = 64;

/// Returns the instructions to remove in addition to those in `replaced`: the called functions, and everything that was
/// needed only to call them.
pub(super) fn unneeded(
    module: &Module,
    index: &Index<'_>,
    found: &ConstantReads,
    replaced: &BTreeMap<usize, Instruction>,
) -> BTreeSet<usize> {
    let mut sweep = Sweep {
        module,
        index,
        used: replaced.values().flat_map(uses).collect(),
        gone: BTreeSet::new(),
        idle: Vec::new(),
    };
    replaced.keys().for_each(|place| sweep.remove(*place));
    for _ in 0..MAX_ROUNDS {
        sweep.drain();
        let before = sweep.gone.len();
        for slot in found.slots.values().flatten() {
            if slot.loads.iter().all(|load| sweep.gone.contains(load)) {
                sweep.remove(slot.store);
            }
        }
        if sweep.gone.len() == before {
            break;
        }
    }
    for function in &found.functions {
        sweep.function(*function);
    }
    sweep.gone.retain(|place| !replaced.contains_key(place));
    sweep.gone
}

struct Sweep<'m> {
    module: &'m Module,
    index: &'m Index<'m>,
    /// The ids that the new instructions use.
    used: BTreeSet<u32>,
    gone: BTreeSet<usize>,
    /// Ids that may have become unused.
    idle: Vec<u32>,
}

impl Sweep<'_> {
    fn is_used(&self, id: u32) -> bool {
        let mut users = self.index.users(id).iter();
        self.used.contains(&id) || users.any(|place| !self.gone.contains(place))
    }

    fn remove(&mut self, place: usize) {
        if let Some(instruction) = self.module.instructions.get(place)
            && self.gone.insert(place)
        {
            self.idle.extend(uses(instruction));
        }
    }

    fn drain(&mut self) {
        while let Some(id) = self.idle.pop() {
            if let Some(place) = self.index.place(id)
                && let Some(instruction) = self.module.instructions.get(place)
                && self.may_go(id, instruction)
                && !self.is_used(id)
            {
                self.remove(place);
            }
        }
    }

    /// Returns whether defining `id` is the instruction's only effect.
    fn may_go(&self, id: u32, instruction: &Instruction) -> bool {
        match (instruction.opcode, instruction.operands.as_slice()) {
            (op::VARIABLE, _) => !self.index.exports.contains(&id),
            (op::LOAD, [_, _, _, mask, ..]) => mask & MEMORY_VOLATILE == 0,
            (op::SPEC_CONSTANT_OP, [_, _, opcode, ..]) => u16::try_from(*opcode).is_ok_and(is_cast),
            (
                op::LOAD
                | op::UNDEF
                | op::CONSTANT_TRUE..=op::CONSTANT_COMPOSITE
                | op::CONSTANT_NULL
                | op::CONVERT_U_TO_PTR,
                _,
            ) => true,
            _ => is_cast(instruction.opcode) || is_chain(instruction.opcode),
        }
    }

    /// Removes a function without a body, unless it is still needed.
    fn function(&mut self, id: u32) {
        let Some(start) = self.index.place(id).filter(|_| !self.is_used(id)) else {
            return;
        };
        let rest = self.module.instructions.get(start..).unwrap_or_default();
        let inside = rest
            .iter()
            .position(|i| !matches!(i.opcode, op::FUNCTION | op::FUNCTION_PARAMETER));
        let Some(end) = inside.filter(|end| rest[*end].opcode == op::FUNCTION_END) else {
            return;
        };
        for place in start..=start + end {
            self.remove(place);
        }
    }
}
