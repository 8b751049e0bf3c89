// SPDX-License-Identifier: MIT OR Apache-2.0
//! Replaces `OpFNegate` with integer arithmetic that produces the same bits, for drivers that lose the results of
//! negations across work-group barriers.
//!
//! Simpler replacements would have no effect: LLVM recognizes a flipped sign bit, `x * -1` and `-0.0 - x`, and turns
//! each back into a negation. So this module rotates the sign bit to bit 0, flips it there, and rotates it back.

use crate::error::Error;
use crate::prelude::*;
use crate::spirv::edit::{self, Instruction};
use crate::spirv::words::{CAPABILITY_INT64, instructions, literal, op};

/// The instruction number of `rotate` in `OpenCL.std`.
const ROTATE: u32 = 161;

const CAPABILITY_INT16: u32 = 22;
const SUB_GROUP: u32 = 3;

pub(super) fn contains_negation(words: &[u32]) -> bool {
    let mut instructions = instructions(words).map_while(Result::ok);
    instructions.any(|instruction| instruction.opcode == op::F_NEGATE)
}

/// Returns whether work-items may wait for the rest of their work-group.
pub(super) fn waits(words: &[u32]) -> bool {
    let mut sub_group = BTreeSet::new();
    let mut instructions = instructions(words).map_while(Result::ok);
    instructions.any(|instruction| {
        let scope = match (instruction.opcode, instruction.operands) {
            (op::CONSTANT, [_, id, SUB_GROUP]) => {
                sub_group.insert(*id);
                return false;
            }
            // Barriers, including split barriers.
            (op::CONTROL_BARRIER | 6142..=6143, [scope, ..]) => scope,
            // Asynchronous copies and their events, votes, broadcasts, reductions and scans, including those from
            // extensions.
            (259 | 261..=271 | 333..=366 | 6401..=6408, [_, _, scope, ..]) => scope,
            (260, [scope, ..]) => scope,
            _ => return false,
        };
        !sub_group.contains(scope)
    })
}

/// An integer type as wide as a floating-point type, and constants of that type.
#[derive(Clone, Copy)]
struct Integers {
    ty: u32,
    one: u32,
    /// The index of the sign bit, as a constant.
    sign: u32,
}

#[derive(Default)]
struct Declarations {
    /// The width of each floating-point type in bits, by id.
    floats: BTreeMap<u32, u32>,
    /// The component type and length of each vector type.
    vectors: BTreeMap<u32, (u32, u32)>,
    negations: BTreeSet<u32>,
    /// The types of the negated values.
    negated: BTreeSet<u32>,
}

impl Declarations {
    fn of(module: &edit::Module) -> Self {
        let mut found = Self::default();
        for instruction in &module.instructions {
            match (instruction.opcode, &*instruction.operands) {
                (op::TYPE_FLOAT, [ty, width, ..]) => _ = found.floats.insert(*ty, *width),
                (op::TYPE_VECTOR, [ty, component, length @ 2..=16]) => {
                    found.vectors.insert(*ty, (*component, *length));
                }
                (op::F_NEGATE, [ty, result, _]) => {
                    found.negations.insert(*result);
                    found.negated.insert(*ty);
                }
                _ => {}
            }
        }
        found
    }

    /// Declares the integer type and constants for a floating-point type. Returns `None` for other types.
    fn integers(&self, ty: u32, module: &mut edit::Module) -> Result<Option<Integers>, Error> {
        let vector = self.vectors.get(&ty).copied();
        let component = vector.map_or(ty, |(component, _)| component);
        let Some(&width) = self.floats.get(&component) else {
            return Ok(None);
        };
        match width {
            16 => module.require(CAPABILITY_INT16),
            64 => module.require(CAPABILITY_INT64),
            _ => {}
        }
        let number = module.declare(op::TYPE_INT, &[width, 0])?;
        let mut constant = |value| {
            let high: &[u32] = if width > 32 { &[0] } else { &[] };
            module.declare(op::CONSTANT, &[&[number, value], high].concat())
        };
        let (one, sign) = (constant(1)?, constant(width - 1)?);
        let Some((_, length)) = vector else {
            let ty = number;
            return Ok(Some(Integers { ty, one, sign }));
        };
        let ty = module.declare(op::TYPE_VECTOR, &[number, length])?;
        let mut composite = |component| {
            let components = vec![component; length as usize];
            module.declare(op::CONSTANT_COMPOSITE, &[&[ty], &*components].concat())
        };
        let (one, sign) = (composite(one)?, composite(sign)?);
        Ok(Some(Integers { ty, one, sign }))
    }
}

pub(super) fn replace(words: &[u32]) -> Result<Vec<u32>, Error> {
    let mut module = edit::Module::parse(words)?;
    let declarations = Declarations::of(&module);
    let std = module.declare(op::EXT_INST_IMPORT, &literal("OpenCL.std"))?;
    let mut integers = BTreeMap::new();
    for ty in &declarations.negated {
        if let Some(of) = declarations.integers(*ty, &mut module)? {
            integers.insert(*ty, of);
        }
    }
    let is_negation = |id: &u32| declarations.negations.contains(id);
    let before = core::mem::take(&mut module.instructions);
    let mut out = Vec::with_capacity(before.len());
    for mut instruction in before {
        match (instruction.opcode, &mut *instruction.operands) {
            // Decorations of a negation describe floating-point arithmetic, so they do not apply to the replacement.
            (op::DECORATE, [id, ..]) if is_negation(id) => continue,
            (op::GROUP_DECORATE, [group, ..]) => {
                let group = *group;
                let operands = &mut instruction.operands;
                operands.retain(|id| *id == group || !is_negation(id));
            }
            (op::F_NEGATE, &mut [float, result, operand]) => {
                if let Some(Integers { ty, one, sign }) = integers.get(&float).copied() {
                    let mut step = |opcode, operands: &[u32]| {
                        let id = module.new_id()?;
                        let operands = [&[ty, id], operands].concat();
                        out.push(Instruction { opcode, operands });
                        Ok::<_, Error>(id)
                    };
                    let bits = step(op::BITCAST, &[operand])?;
                    let rotated = step(op::EXT_INST, &[std, ROTATE, bits, one])?;
                    let flipped = step(op::BITWISE_XOR, &[rotated, one])?;
                    let back = step(op::EXT_INST, &[std, ROTATE, flipped, sign])?;
                    out.push(Instruction::new(op::BITCAST, [float, result, back]));
                    continue;
                }
            }
            _ => {}
        }
        out.push(instruction);
    }
    module.instructions = out;
    module.words()
}
