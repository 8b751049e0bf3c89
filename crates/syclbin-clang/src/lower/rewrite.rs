// SPDX-License-Identifier: MIT OR Apache-2.0
//! Replaces calls that read constants with SPIR-V specialization constants, and finds the instructions that are then
//! unnecessary.

use std::collections::{BTreeMap, BTreeSet};

use syclbin::__private::spirv::edit::{Instruction, Module};
use syclbin::__private::spirv::words::{self, DECORATION_SPEC_ID, op};
use syclbin::metadata::{SpecConstantDescriptor, SpecializationConstants};

use super::calls::{Call, ConstantReads, Destination, kernels};
use super::index::{Index, MEMORY_VOLATILE, is_cast, is_chain, uses};
use super::initializer::Initializer;
use super::{MAX_DEPTH, Refusal};

/// The memory operand that is followed by an alignment.
const MEMORY_ALIGNED: u32 = 2;

/// The maximum number of parts of a value. An instruction cannot hold more operands.
const MAX_PARTS: u64 = u16::MAX as u64 - 3;

pub(super) struct Edit {
    /// The replacement for each call, by the index of the call.
    pub(super) replaced: BTreeMap<usize, Instruction>,
    pub(super) constants: SpecializationConstants,
    /// The new constants, with their decorations.
    added: Module,
}

/// Plans a constant for each symbol, and a replacement for each call.
pub(super) fn plan(index: &Index<'_>, found: &ConstantReads) -> Result<Edit, Refusal> {
    let mut maker = Maker {
        index,
        added: index.module.empty(),
        next: 0,
        parts: Vec::new(),
    };
    let mut constants = SpecializationConstants::default();
    let mut defaults = Vec::new();
    // For each symbol, the new constant, and the call for which it was created.
    let mut made: BTreeMap<&str, (u32, &Call)> = BTreeMap::new();
    let mut replaced = BTreeMap::new();
    for call in &found.calls {
        let refused =
            |reason: &str| Refusal::new(Some(&call.symbol), kernels(index, call.place), reason);
        let value = match made.get(call.symbol.as_str()) {
            Some((id, known)) if (known.ty, &known.default) == (call.ty, &call.default) => *id,
            Some(_) => return Err(refused("it is read with different types or default values")),
            None => {
                let id = maker.constant(call).map_err(refused)?;
                made.insert(&call.symbol, (id, call));
                let parts = std::mem::take(&mut maker.parts);
                constants.constants.insert(call.symbol.clone(), parts);
                defaults.extend_from_slice(&call.default.bytes);
                id
            }
        };
        let instruction = match call.to {
            Destination::Result(id) => Instruction::new(op::COPY_OBJECT, [call.ty, id, value]),
            Destination::Pointer { id, align } => {
                Instruction::new(op::STORE, [id, value, MEMORY_ALIGNED, align])
            }
        };
        replaced.insert(call.place, instruction);
    }
    if !constants.constants.is_empty() {
        constants.defaults = Some(defaults);
    }
    Ok(Edit {
        replaced,
        constants,
        added: maker.added,
    })
}

/// Returns the edited module, without the unneeded instructions.
pub(super) fn apply(module: &Module, mut edit: Edit, unneeded: &BTreeSet<usize>) -> Module {
    let all = &module.instructions;
    let removed = unneeded
        .iter()
        .filter_map(|place| all.get(*place)?.result());
    let removed: BTreeSet<u32> = removed.collect();
    let kept = all.iter().enumerate().filter_map(|(place, instruction)| {
        let describes = matches!(instruction.opcode, op::NAME | op::DECORATE);
        let subject = instruction.operands.first().filter(|_| describes);
        let replacement = edit.replaced.remove(&place);
        let is_gone = unneeded.contains(&place) || subject.is_some_and(|id| removed.contains(id));
        replacement.or_else(|| (!is_gone).then(|| without_references(instruction, &removed)))
    });
    edit.added.instructions = kept.collect();
    edit.added
}

/// Returns a copy of the instruction. In an entry point, omits references to removed ids.
fn without_references(instruction: &Instruction, removed: &BTreeSet<u32>) -> Instruction {
    let mut kept = instruction.clone();
    if kept.opcode == op::ENTRY_POINT {
        kept.operands = words::entry_point(&kept.operands, |id| !removed.contains(id));
    }
    kept
}

struct Maker<'m> {
    index: &'m Index<'m>,
    added: Module,
    /// The next unused `SpecId`.
    next: u32,
    /// The parts of the current constant.
    parts: Vec<SpecConstantDescriptor>,
}

impl Maker<'_> {
    /// Creates the constant that `call` reads.
    fn constant(&mut self, call: &Call) -> Result<u32, &'static str> {
        const DIFFERS: &str = "its type differs from the type of its default value";
        self.parts.clear();
        let default = &call.default;
        let ty = self.index.get(call.ty);
        let is_bool = ty.is_some_and(|ty| ty.opcode == op::TYPE_BOOL);
        if is_bool {
            let opcode = match default.bytes[..] {
                [0] => op::SPEC_CONSTANT_FALSE,
                [_] => op::SPEC_CONSTANT_TRUE,
                _ => return Err(DIFFERS),
            };
            return self.specialized(opcode, call.ty, &[], 0, 1);
        }
        let Some((size, _)) = self.index.code.size(call.ty) else {
            return Err("its type has no size in SPIR-V");
        };
        if size != default.bytes.len() as u64 {
            return Err(DIFFERS);
        }
        let id = self.value(call.ty, 0, default, 0)?;
        // The parts omit trailing padding, but the constant's value includes it, so the padding becomes its own part.
        let last = self.parts.last();
        let end = last.map_or(0, |last| u64::from(last.offset + last.size));
        if end < size {
            self.part(SpecConstantDescriptor::PADDING, end, size - end)?;
        }
        Ok(id)
    }

    /// Creates the part of type `ty` at `offset`. `depth` is its nesting depth in the constant.
    fn value(
        &mut self,
        ty: u32,
        offset: u64,
        default: &Initializer,
        depth: u32,
    ) -> Result<u32, &'static str> {
        const LARGE: &str = "it is too large";
        let index = self.index;
        index.spend(1).ok_or(LARGE)?;
        let (size, _) = index.code.size(ty).ok_or("a part of it has no size")?;
        if !default.is_defined(offset, size) {
            let id = self.id()?;
            self.added.add(op::UNDEF, &[ty, id]);
            return Ok(id);
        }
        let Some((count, parts)) = index.code.parts(ty) else {
            if (index.get(ty)).is_some_and(|ty| ty.opcode == op::TYPE_POINTER) {
                return Err("it contains a pointer, which SPIR-V cannot specialize");
            }
            let words = words::padded(default.at(offset, size).ok_or(LARGE)?);
            return self.specialized(op::SPEC_CONSTANT, ty, &words, offset, size);
        };
        if count > MAX_PARTS || depth > MAX_DEPTH {
            return Err("it has more parts than SPIR-V can express");
        }
        let mut operands = vec![ty, 0];
        for (part, at) in parts {
            operands.push(self.value(part, offset + at, default, depth + 1)?);
        }
        operands[1] = self.id()?;
        self.added.add(op::SPEC_CONSTANT_COMPOSITE, &operands);
        Ok(operands[1])
    }

    /// Creates a scalar constant with the next `SpecId`.
    fn specialized(
        &mut self,
        opcode: u16,
        ty: u32,
        words: &[u32],
        offset: u64,
        size: u64,
    ) -> Result<u32, &'static str> {
        let (id, number) = (self.id()?, self.next);
        self.next = number.checked_add(1).ok_or("it is too large")?;
        self.added.add(opcode, &[&[ty, id], words].concat());
        let decoration = [id, DECORATION_SPEC_ID, number];
        self.added.add(op::DECORATE, &decoration);
        self.part(number, offset, size)?;
        Ok(id)
    }

    fn part(&mut self, id: u32, offset: u64, size: u64) -> Result<(), &'static str> {
        let [offset, size] = [offset, size].map(u32::try_from);
        let (Ok(offset), Ok(size)) = (offset, size) else {
            return Err("it is too large");
        };
        self.parts.push(SpecConstantDescriptor { id, offset, size });
        Ok(())
    }

    fn id(&mut self) -> Result<u32, &'static str> {
        let id = self.added.new_id();
        id.map_err(|_| "the module has too many ids")
    }
}

/// The maximum number of passes over the module. Each pass removes instructions whose only users have been removed.
const MAX_ROUNDS: usize = 64;

/// Returns the instructions to remove, apart from the calls in `replaced`: the called functions, and everything that
/// was needed only to call them.
pub(super) fn unneeded(
    index: &Index<'_>,
    found: &ConstantReads,
    replaced: &BTreeMap<usize, Instruction>,
) -> BTreeSet<usize> {
    let all = &index.module.instructions;
    let used: BTreeSet<u32> = replaced.values().flat_map(uses).collect();
    let is_used = |id: u32, gone: &BTreeSet<usize>| {
        let mut users = index.users(id).iter();
        used.contains(&id) || users.any(|place| !gone.contains(place))
    };
    let mut gone: BTreeSet<usize> = replaced.keys().copied().collect();
    for _ in 0..MAX_ROUNDS {
        let before = gone.len();
        // Start with the largest ids. Most instructions use only ids smaller than their own, so fewer rounds are
        // necessary.
        for (id, place) in index.definitions.iter().rev() {
            let was_used = !index.users(*id).is_empty();
            if was_used && !is_used(*id, &gone) && only_defines(*id, &all[*place], index) {
                gone.insert(*place);
            }
        }
        for slot in found.slots.values().flatten() {
            if slot.loads.iter().all(|load| gone.contains(load)) {
                gone.insert(slot.store);
            }
        }
        if gone.len() == before {
            break;
        }
    }
    for function in &found.functions {
        if !is_used(*function, &gone) {
            let body = index
                .place(*function)
                .and_then(|start| without_body(all, start));
            gone.extend(body.into_iter().flatten());
        }
    }
    gone.retain(|place| !replaced.contains_key(place));
    gone
}

/// Returns whether defining `id` is the instruction's only effect.
fn only_defines(id: u32, instruction: &Instruction, index: &Index<'_>) -> bool {
    match (instruction.opcode, instruction.operands.as_slice()) {
        (op::VARIABLE, _) => !index.code.exports.iter().any(|(known, _)| *known == id),
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

/// Returns the instructions of the function that begins at `start`, if it has no body.
fn without_body(all: &[Instruction], start: usize) -> Option<std::ops::RangeInclusive<usize>> {
    let is_head = |i: &Instruction| matches!(i.opcode, op::FUNCTION | op::FUNCTION_PARAMETER);
    let end = start + all.get(start..)?.iter().position(|i| !is_head(i))?;
    (all[end].opcode == op::FUNCTION_END).then_some(start..=end)
}
