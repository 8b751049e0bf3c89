// SPDX-License-Identifier: MIT OR Apache-2.0
//! Indexes the definitions and uses of ids, and traces pointers back to variables.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use syclbin::__private::spirv;
use syclbin::__private::spirv::edit::{Instruction, Module};
use syclbin::__private::spirv::words::{op, string};

/// The maximum number of instructions through which a pointer is traced.
const MAX_TRACE: usize = 64;

/// The limit on the total bytes and parts of a module's constants. It bounds time and memory for arbitrary code, and
/// no reasonable source reaches it.
const MAX_STEPS: usize = 1 << 24;

pub(super) const STORAGE_FUNCTION: u32 = 7;
pub(super) const MEMORY_VOLATILE: u32 = 1;

pub(super) struct Index<'m> {
    pub(super) module: &'m Module,
    /// The remaining work budget.
    steps: Cell<usize>,
    /// The module's types, links, calls and entry points.
    pub(super) code: spirv::Module,
    /// The index of the instruction that defines each id.
    pub(super) definitions: BTreeMap<u32, usize>,
    /// The instructions that use each id.
    uses: BTreeMap<u32, Vec<usize>>,
    /// Extended instruction sets for debug information, which do not affect the code.
    debug_sets: BTreeSet<u32>,
}

/// A local variable that is written once, so every load yields the same value. Unoptimized code passes values this way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    value: u32,
    /// The instruction that stores the value.
    pub(super) store: usize,
    /// The instructions that load the value.
    pub(super) loads: Vec<usize>,
}

/// The traced local variables. `None` marks a variable that is not a [`Slot`].
pub(super) type Slots = BTreeMap<u32, Option<Slot>>;

impl<'m> Index<'m> {
    pub(super) fn new(module: &'m Module, code: spirv::Module) -> Self {
        let mut index = Self {
            module,
            steps: Cell::new(MAX_STEPS),
            code,
            definitions: BTreeMap::new(),
            uses: BTreeMap::new(),
            debug_sets: BTreeSet::new(),
        };
        for (place, instruction) in module.instructions.iter().enumerate() {
            if let Some(id) = instruction.result() {
                index.definitions.entry(id).or_insert(place);
            }
            for id in uses(instruction) {
                index.uses.entry(id).or_default().push(place);
            }
            if let (op::EXT_INST_IMPORT, [id, name @ ..]) =
                (instruction.opcode, instruction.operands.as_slice())
                && string(name).0.contains("DebugInfo")
            {
                index.debug_sets.insert(*id);
            }
        }
        index
    }

    /// Spends `count` steps of the work budget, or returns `None` if too few are left.
    pub(super) fn spend(&self, count: usize) -> Option<()> {
        self.steps.set(self.steps.get().checked_sub(count)?);
        Some(())
    }

    /// Returns the instruction that defines `id`.
    pub(super) fn get(&self, id: u32) -> Option<&'m Instruction> {
        self.module.instructions.get(self.place(id)?)
    }

    /// Returns the index of the instruction that defines `id`.
    pub(super) fn place(&self, id: u32) -> Option<usize> {
        self.definitions.get(&id).copied()
    }

    pub(super) fn users(&self, id: u32) -> &[usize] {
        self.uses.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Traces the pointer `id` to the start of a module-scope variable, and returns the variable. Records in `slots`
    /// the local variables through which the pointer passes.
    pub(super) fn variable(&self, mut id: u32, slots: &mut Slots) -> Option<u32> {
        for _ in 0..MAX_TRACE {
            id = self.without_casts(id)?;
            let instruction = self.get(id)?;
            match (instruction.opcode, instruction.operands.as_slice()) {
                (op::VARIABLE, [_, _, storage, ..]) if *storage != STORAGE_FUNCTION => {
                    return Some(id);
                }
                (op::LOAD, [_, _, pointer, memory @ ..])
                    if memory
                        .first()
                        .is_none_or(|mask| mask & MEMORY_VOLATILE == 0) =>
                {
                    let local = self.without_casts(*pointer)?;
                    let slot = slots.entry(local).or_insert_with(|| self.slot(local));
                    id = slot.as_ref()?.value;
                }
                _ => return None,
            }
        }
        None
    }

    /// Follows casts and zero offsets back from `id`, and returns the original pointer.
    fn without_casts(&self, mut id: u32) -> Option<u32> {
        for _ in 0..MAX_TRACE {
            let instruction = self.get(id)?;
            let is_zero = |index: &u32| self.is_zero(*index);
            id = match (instruction.opcode, instruction.operands.as_slice()) {
                (opcode, [_, _, pointer]) if is_cast(opcode) => *pointer,
                (opcode, [_, _, pointer, indices @ ..])
                    if is_chain(opcode) && indices.iter().all(is_zero) =>
                {
                    *pointer
                }
                (op::SPEC_CONSTANT_OP, [_, _, opcode, pointer])
                    if u16::try_from(*opcode).is_ok_and(is_cast) =>
                {
                    *pointer
                }
                _ => return Some(id),
            };
        }
        None
    }

    fn is_zero(&self, id: u32) -> bool {
        self.get(id).is_some_and(|constant| match constant.opcode {
            op::CONSTANT_NULL => true,
            op::CONSTANT => constant.operands.iter().skip(2).all(|word| *word == 0),
            _ => false,
        })
    }

    /// Returns the slot of a local variable, or `None` if the code does anything but write it once and read it.
    fn slot(&self, variable: u32) -> Option<Slot> {
        let [_, _, STORAGE_FUNCTION] = self.get(variable)?.operands[..] else {
            return None;
        };
        let (mut aliases, mut seen) = (vec![variable], BTreeSet::new());
        let (mut value, mut loads) = (None, Vec::new());
        while let Some(alias) = aliases.pop() {
            if !seen.insert(alias) {
                continue; // a cycle of casts, which no compiler emits
            }
            for place in self.users(alias) {
                let user = self.module.instructions.get(*place)?;
                match (user.opcode, user.operands.as_slice()) {
                    (op::LOAD, _) => loads.push(*place),
                    (op::STORE, [pointer, stored, ..])
                        if *pointer == alias && *stored != alias && value.is_none() =>
                    {
                        value = Some((*stored, *place));
                    }
                    // Debug information that describes a source variable does not access it.
                    (op::EXT_INST, [_, _, set, ..]) if self.debug_sets.contains(set) => {}
                    (op::LIFETIME_START | op::LIFETIME_STOP, _) => {}
                    (_, [_, result, ..]) if is_cast(user.opcode) => aliases.push(*result),
                    _ => return None,
                }
            }
        }
        value.map(|(value, store)| Slot {
            value,
            store,
            loads,
        })
    }
}

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
