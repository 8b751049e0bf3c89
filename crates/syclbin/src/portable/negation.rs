// SPDX-License-Identifier: MIT OR Apache-2.0
//! Negation: `OpFNegate` as integer arithmetic with the same result, bit by bit.
//!
//! LLVM turns a flipped sign bit back into a negation, as well as `x * -1` and `-0.0 - x`. So the sign bit is rotated
//! to bit 0, flipped there, and rotated back, which LLVM does not recognize.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use crate::error::Error;
use crate::spirv::words::{HEADER_WORDS, Instruction, instructions, literal, op, put, string};

const STD: &str = "OpenCL.std";
/// An instruction of this set.
const ROTATE: u32 = 161;

const CAPABILITY_INT64: u32 = 11;
const CAPABILITY_INT16: u32 = 22;
const SUB_GROUP: u32 = 3;

/// Returns whether a module contains negations of floating-point numbers.
pub(super) fn are_in(words: &[u32]) -> bool {
    let mut instructions = instructions(words).map_while(Result::ok);
    instructions.any(|instruction| instruction.opcode == op::F_NEGATE)
}

/// Returns whether work-items of a module may wait for the others of their work-group.
pub(super) fn waits(words: &[u32]) -> bool {
    let mut sub_group = BTreeSet::new();
    let mut instructions = instructions(words).map_while(Result::ok);
    instructions.any(|instruction| {
        let scope = match (instruction.opcode, instruction.operands) {
            (op::CONSTANT, [_, id, SUB_GROUP]) => {
                sub_group.insert(*id);
                return false;
            }
            // Barriers, also in two halves.
            (op::CONTROL_BARRIER | 6142..=6143, [scope, ..]) => scope,
            // Copies and their events; votes, broadcasts, reductions and scans, also those of extensions.
            (259 | 261..=271 | 333..=366 | 6401..=6408, [_, _, scope, ..]) => scope,
            (260, [scope, ..]) => scope,
            _ => return false,
        };
        !sub_group.contains(scope)
    })
}

/// The types and constants of integers with the size of a floating-point type.
#[derive(Clone, Copy)]
struct Integers {
    ty: u32,
    one: u32,
    /// The number of the sign bit.
    sign: u32,
}

/// The declarations of a module, and those that it lacks.
struct Rewriter {
    /// The number of ids.
    bound: u32,
    capabilities: BTreeSet<u32>,
    /// The id of OpenCL's set of instructions.
    std: Option<u32>,
    /// The widths of numbers.
    floats: BTreeMap<u32, u32>,
    /// The types of integers, by their width.
    integers: BTreeMap<u32, u32>,
    /// The component and the length of vectors.
    vectors: BTreeMap<u32, (u32, u32)>,
    negations: BTreeSet<u32>,
    negated: BTreeSet<u32>,
}

impl Rewriter {
    fn new(bound: u32, code: &[Instruction<'_>]) -> Self {
        let mut new = Self {
            bound,
            capabilities: BTreeSet::new(),
            std: None,
            floats: BTreeMap::new(),
            integers: BTreeMap::new(),
            vectors: BTreeMap::new(),
            negations: BTreeSet::new(),
            negated: BTreeSet::new(),
        };
        for instruction in code {
            match (instruction.opcode, instruction.operands) {
                (op::CAPABILITY, [capability]) => _ = new.capabilities.insert(*capability),
                (op::EXT_INST_IMPORT, [id, name @ ..]) if string(name).0 == STD => {
                    new.std = Some(*id);
                }
                (op::TYPE_FLOAT, [ty, width, ..]) => _ = new.floats.insert(*ty, *width),
                (op::TYPE_INT, [ty, width, 0]) => _ = new.integers.insert(*width, *ty),
                (op::TYPE_VECTOR, [ty, component, length @ 2..=16]) => {
                    new.vectors.insert(*ty, (*component, *length));
                }
                (op::F_NEGATE, [ty, result, _]) => {
                    new.negations.insert(*result);
                    new.negated.insert(*ty);
                }
                _ => {}
            }
        }
        new
    }

    fn id(&mut self) -> u32 {
        let id = self.bound;
        self.bound = id.wrapping_add(1);
        id
    }

    /// Declares the integers for all negated types.
    fn declare(&mut self, out: &mut Vec<u32>) -> BTreeMap<u32, Integers> {
        let negated = core::mem::take(&mut self.negated).into_iter();
        let declared = negated.filter_map(|ty| Some((ty, self.integers_of(ty, out)?)));
        declared.collect()
    }

    /// Declares the integers for a type; `None` if it is not a type of floating-point numbers.
    fn integers_of(&mut self, ty: u32, out: &mut Vec<u32>) -> Option<Integers> {
        let vector = self.vectors.get(&ty).copied();
        let width = *self
            .floats
            .get(&vector.map_or(ty, |(component, _)| component))?;
        let number = self.integers.get(&width).copied().unwrap_or_else(|| {
            let number = self.id();
            put(out, op::TYPE_INT, &[&[number, width, 0]]);
            self.integers.insert(width, number);
            number
        });
        let mut constant = |value| {
            let id = self.id();
            let high: &[u32] = if width > 32 { &[0] } else { &[] };
            put(out, op::CONSTANT, &[&[number, id, value], high]);
            id
        };
        let (one, sign) = (constant(1), constant(width - 1));
        let Some((_, length)) = vector else {
            let ty = number;
            return Some(Integers { ty, one, sign });
        };
        let mut vectors = self.vectors.iter();
        let found = vectors.find(|(_, vector)| **vector == (number, length));
        let ty = found.map(|(ty, _)| *ty).unwrap_or_else(|| {
            let ty = self.id();
            put(out, op::TYPE_VECTOR, &[&[ty, number, length]]);
            self.vectors.insert(ty, (number, length));
            ty
        });
        let [one, sign] = [one, sign].map(|component| {
            let id = self.id();
            let components = vec![component; length as usize];
            put(out, op::CONSTANT_COMPOSITE, &[&[ty, id], &components]);
            id
        });
        Some(Integers { ty, one, sign })
    }

    /// Writes the negation of `operand`.
    fn negate(&mut self, [float, result, operand]: [u32; 3], of: Integers, out: &mut Vec<u32>) {
        let Integers { ty, one, sign } = of;
        let [bits, rotated, flipped, back] = [(); 4].map(|()| self.id());
        let std = self.std.unwrap_or_default();
        put(out, op::BITCAST, &[&[ty, bits, operand]]);
        put(out, op::EXT_INST, &[&[ty, rotated, std, ROTATE, bits, one]]);
        put(out, op::BITWISE_XOR, &[&[ty, flipped, rotated, one]]);
        put(
            out,
            op::EXT_INST,
            &[&[ty, back, std, ROTATE, flipped, sign]],
        );
        put(out, op::BITCAST, &[&[float, result, back]]);
    }
}

/// Returns a module with integer arithmetic in place of negations.
pub(super) fn replace(words: &[u32]) -> Result<Vec<u32>, Error> {
    let code = instructions(words).collect::<Result<Vec<_>, Error>>()?;
    let mut rewriter = Rewriter::new(words[3], &code);
    let mut out = words[..HEADER_WORDS].to_vec();
    let widths = (rewriter.negated.iter())
        .map(|ty| {
            rewriter
                .vectors
                .get(ty)
                .map_or(ty, |(component, _)| component)
        })
        .filter_map(|ty| rewriter.floats.get(ty));
    let needed: BTreeSet<u32> = widths
        .filter_map(|width| match width {
            16 => Some(CAPABILITY_INT16),
            64 => Some(CAPABILITY_INT64),
            _ => None,
        })
        .collect();
    for capability in needed.difference(&rewriter.capabilities) {
        put(&mut out, op::CAPABILITY, &[&[*capability]]);
    }
    let mut integers = None;
    for Instruction {
        opcode, operands, ..
    } in code
    {
        match (opcode, operands) {
            (op::MEMORY_MODEL, _) if rewriter.std.is_none() => {
                let id = rewriter.id();
                rewriter.std = Some(id);
                put(&mut out, op::EXT_INST_IMPORT, &[&[id], &literal(STD)]);
            }
            (op::FUNCTION, _) if integers.is_none() => {
                integers = Some(rewriter.declare(&mut out));
            }
            // They describe floating-point arithmetic.
            (op::DECORATE, [id, ..]) if rewriter.negations.contains(id) => continue,
            (op::GROUP_DECORATE, [group, ids @ ..]) => {
                let mut ids = ids.to_vec();
                ids.retain(|id| !rewriter.negations.contains(id));
                put(&mut out, opcode, &[&[*group], &ids]);
                continue;
            }
            (op::F_NEGATE, &[ty, result, operand]) => {
                if let Some(of) = integers.as_ref().and_then(|found| found.get(&ty)) {
                    rewriter.negate([ty, result, operand], *of, &mut out);
                    continue;
                }
            }
            _ => {}
        }
        put(&mut out, opcode, &[operands]);
    }
    out[3] = rewriter.bound;
    Ok(out)
}
