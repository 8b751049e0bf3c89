// SPDX-License-Identifier: MIT OR Apache-2.0
//! Replaces calls that read constants with SPIR-V specialization constants.

use std::collections::{BTreeMap, BTreeSet};

use syclbin::metadata::{SpecConstantDescriptor, SpecializationConstants};

use super::Refusal;
use super::calls::{Call, ConstantReads, Destination, kernels, shown};
use super::initializer::Initializer;
use super::layout::{Layouts, Shape};
use super::words::{DECORATION_SPEC_ID, Instruction, MEMORY_ALIGNED, Module, op, string};

/// The maximum number of parts of a value. More operands do not fit into an instruction.
const MAX_PARTS: u64 = u16::MAX as u64 - 3;

pub(super) struct Edit {
    /// The replacement for each call, by the index of the call.
    pub(super) replaced: BTreeMap<usize, Instruction>,
    pub(super) constants: SpecializationConstants,
    /// The new constants, with their decorations.
    added: Module,
}

/// A new constant, and the call for which it was created.
struct Made<'f> {
    id: u32,
    call: &'f Call,
}

/// Plans a constant for each symbol, and a replacement for each call.
pub(super) fn plan(
    module: &Module,
    layouts: &Layouts,
    found: &ConstantReads,
    steps: &mut usize,
) -> Result<Edit, Refusal> {
    let mut maker = Maker {
        module,
        layouts,
        steps,
        added: module.empty(),
        next: 0,
        parts: Vec::new(),
    };
    let mut constants = SpecializationConstants::default();
    let mut defaults = Vec::new();
    let mut made: BTreeMap<&str, Made<'_>> = BTreeMap::new();
    let mut replaced = BTreeMap::new();
    for call in &found.calls {
        let refused = |reason: &str| Refusal {
            constant: Some(shown(&call.symbol)),
            kernels: kernels(module, call.place),
            reason: reason.into(),
        };
        let value = match made.get(call.symbol.as_str()) {
            Some(known) if (known.call.ty, &known.call.default) == (call.ty, &call.default) => {
                known.id
            }
            Some(_) => return Err(refused("it is read with different types or default values")),
            None => {
                let id = maker.constant(call).map_err(refused)?;
                made.insert(&call.symbol, Made { id, call });
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
    let removed: BTreeSet<u32> = unneeded
        .iter()
        .filter_map(|place| all.get(*place)?.result())
        .collect();
    let kept = all.iter().enumerate().filter_map(|(place, instruction)| {
        let subject = instruction
            .operand(0)
            .filter(|_| matches!(instruction.opcode, op::NAME | op::DECORATE));
        let replacement = edit.replaced.remove(&place);
        let is_gone =
            unneeded.contains(&place) || subject.is_some_and(|subject| removed.contains(&subject));
        replacement.or_else(|| (!is_gone).then(|| without_references(instruction, &removed)))
    });
    edit.added.instructions = kept.collect();
    edit.added
}

/// Returns an entry point without references to removed ids.
fn without_references(instruction: &Instruction, removed: &BTreeSet<u32>) -> Instruction {
    let [model, function, rest @ ..] = instruction.operands.as_slice() else {
        return instruction.clone();
    };
    if instruction.opcode != op::ENTRY_POINT {
        return instruction.clone();
    }
    let (_, references) = string(rest);
    let name = &rest[..rest.len() - references.len()];
    let kept = references.iter().filter(|id| !removed.contains(id));
    let operands = [model, function].into_iter().chain(name).chain(kept);
    Instruction::new(op::ENTRY_POINT, operands.copied())
}

struct Maker<'m> {
    module: &'m Module,
    layouts: &'m Layouts,
    steps: &'m mut usize,
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
        if self.is_bool(call.ty) {
            let [byte] = default.bytes[..] else {
                return Err(DIFFERS);
            };
            let opcode = match byte {
                0 => op::SPEC_CONSTANT_FALSE,
                _ => op::SPEC_CONSTANT_TRUE,
            };
            return self.specialized(opcode, call.ty, &[], 0, 1);
        }
        let Some(layout) = self.layouts.get(call.ty) else {
            return Err("its type has no size in SPIR-V");
        };
        if layout.size != default.bytes.len() as u64 {
            return Err(DIFFERS);
        }
        let id = self.value(call.ty, 0, default)?;
        // The device code omits trailing padding, but the value includes it.
        let last = self.parts.last();
        let end = last.map_or(0, |last| u64::from(last.offset + last.size));
        if end < layout.size {
            self.part(SpecConstantDescriptor::PADDING, end, layout.size - end)?;
        }
        Ok(id)
    }

    /// Creates the part of type `ty` at `offset`. The nesting of the type bounds the recursion depth.
    fn value(&mut self, ty: u32, offset: u64, default: &Initializer) -> Result<u32, &'static str> {
        const LARGE: &str = "it is too large";
        *self.steps = self.steps.checked_sub(1).ok_or(LARGE)?;
        let layouts = self.layouts;
        let layout = layouts.get(ty).ok_or("a part of it has no size")?;
        if !default.is_defined(offset, layout.size) {
            let id = self.id()?;
            self.added.add(op::UNDEF, &[ty, id]);
            return Ok(id);
        }
        match layout.shape {
            Shape::Pointer => Err("it contains a pointer, which SPIR-V cannot specialize"),
            Shape::Number { signed } => {
                let bytes = default.at(offset, layout.size).ok_or(LARGE)?;
                let words = literal(bytes, signed);
                self.specialized(op::SPEC_CONSTANT, ty, &words, offset, layout.size)
            }
            Shape::Many { .. } | Shape::Struct(_) => {
                if layout.part_count() > MAX_PARTS {
                    return Err("it has more parts than SPIR-V can express");
                }
                let mut operands = vec![ty, 0];
                for (part, at) in layout.parts() {
                    operands.push(self.value(part, offset + at, default)?);
                }
                let id = self.id()?;
                operands[1] = id;
                self.added.add(op::SPEC_CONSTANT_COMPOSITE, &operands);
                Ok(id)
            }
        }
    }

    /// Creates a constant that is a single number, with the next `SpecId`.
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

    fn is_bool(&self, ty: u32) -> bool {
        let mut types = self.module.instructions.iter();
        types.any(|i| i.opcode == op::TYPE_BOOL && i.operands == [ty])
    }
}

/// Returns the words of a literal: the value extended to whole words.
fn literal(bytes: &[u8], signed: bool) -> Vec<u32> {
    let negative = signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let fill = if negative { 0xff } else { 0 };
    let words = bytes.chunks(4).map(|chunk| {
        let mut word = [fill; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        u32::from_le_bytes(word)
    });
    words.collect()
}
