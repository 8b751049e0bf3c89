// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proves that functions only read through their pointer parameters.
//!
//! A pointer counts as written unless every use of it, and of every pointer derived from it, is known to only read.
//! So a pointer that is stored, converted to an integer, or passed to unknown code counts as written.

use super::grammar;
use crate::portable::debug_info;
use crate::prelude::*;
use crate::spirv::words::{Instruction, instructions, op, string};

/// Loads and comparisons. These instructions do not write through their operands, and their results are not derived
/// pointers.
const READS: [u16; 6] = [op::LOAD, 401, 402, 403, 4457, 5575];
/// `OpenCL.std` functions that only read: vector loads and prefetches.
const READING_FUNCTIONS: [u32; 5] = [171, 173, 174, 179, 185];

/// Returns the parameters that functions do not write through. In malformed code, every parameter counts as written.
pub(crate) fn read_only_parameters(words: &[u32]) -> BTreeSet<u32> {
    let mut flow = Flow::default();
    let mut function = None;
    for instruction in instructions(words) {
        let Ok(instruction) = instruction else {
            return BTreeSet::new();
        };
        match (instruction.opcode, instruction.operands, function) {
            (op::FUNCTION, [_, id, ..], _) => function = Some(*id),
            (_, _, Some(function)) => flow.instruction(function, &instruction),
            (op::EXT_INST_IMPORT, [id, name @ ..], None) => {
                flow.descriptive.extend(debug_info(&instruction));
                if string(name).0 == "OpenCL.std" {
                    flow.open_cl = Some(*id);
                }
            }
            _ => {}
        }
    }
    flow.read_only()
}

#[derive(Default)]
struct Flow<'w> {
    /// The pointers that each pointer may be derived from.
    origins: BTreeMap<u32, Vec<u32>>,
    /// The ids that an instruction may write through.
    written: Vec<u32>,
    parameters: BTreeMap<u32, Vec<u32>>,
    /// The functions with a body.
    defined: BTreeSet<u32>,
    calls: Vec<(u32, &'w [u32])>,
    descriptive: BTreeSet<u32>,
    open_cl: Option<u32>,
}

impl<'w> Flow<'w> {
    fn instruction(&mut self, function: u32, instruction: &Instruction<'w>) {
        match (instruction.opcode, instruction.operands) {
            (op::FUNCTION_PARAMETER, [_, id]) => {
                self.parameters.entry(function).or_default().push(*id);
            }
            (op::LABEL, _) => _ = self.defined.insert(function),
            (op::FUNCTION_CALL, [_, _, callee, arguments @ ..]) => {
                self.calls.push((*callee, arguments));
            }
            (opcode, _) if READS.contains(&opcode) => {}
            (op::EXT_INST, [_, _, set, ..]) if self.descriptive.contains(set) => {}
            (op::EXT_INST, [_, _, set, number, ..])
                if self.open_cl == Some(*set) && READING_FUNCTIONS.contains(number) => {}
            (op::COPY_MEMORY | op::COPY_MEMORY_SIZED, [target, _, ..]) => {
                self.written.push(*target);
            }
            (
                op::ACCESS_CHAIN
                | op::IN_BOUNDS_ACCESS_CHAIN
                | op::PTR_ACCESS_CHAIN
                | op::IN_BOUNDS_PTR_ACCESS_CHAIN
                | op::COPY_OBJECT
                | op::PTR_CAST_TO_GENERIC
                | op::GENERIC_CAST_TO_PTR
                | op::GENERIC_CAST_TO_PTR_EXPLICIT
                | op::BITCAST,
                [_, result, pointer, ..],
            ) => self.computed(*result, &[*pointer]),
            // Labels among the operands are harmless, because labels are not pointers.
            (op::SELECT, [_, result, _, values @ ..]) | (op::PHI, [_, result, values @ ..]) => {
                self.computed(*result, values);
            }
            (opcode, operands) => match grammar::ids(opcode, operands) {
                Ok(ids) => self.written.extend(ids.uses.iter().map(|at| operands[*at])),
                Err(_) => self.written.extend(operands),
            },
        }
    }

    fn computed(&mut self, result: u32, from: &[u32]) {
        self.origins.entry(result).or_default().extend(from);
    }

    fn read_only(mut self) -> BTreeSet<u32> {
        for (callee, arguments) in core::mem::take(&mut self.calls) {
            let parameters = self.parameters.get(&callee);
            let parameters = parameters.filter(|_| self.defined.contains(&callee));
            match parameters.filter(|parameters| parameters.len() == arguments.len()) {
                Some(parameters) => {
                    for (parameter, argument) in parameters.iter().zip(arguments) {
                        self.origins.entry(*parameter).or_default().push(*argument);
                    }
                }
                None => self.written.extend(arguments),
            }
        }
        let written = reachable(self.written, &self.origins);
        let defined = (self.parameters.into_iter()).filter(|(id, _)| self.defined.contains(id));
        let parameters = defined.flat_map(|(_, parameters)| parameters);
        parameters.filter(|id| !written.contains(id)).collect()
    }
}

/// Returns everything that can be reached from `start`, including `start` itself, over the edges `next`,
/// which may form cycles.
pub fn reachable<T: Copy + Ord>(mut start: Vec<T>, next: &BTreeMap<T, Vec<T>>) -> BTreeSet<T> {
    let mut found = BTreeSet::new();
    while let Some(place) = start.pop() {
        if found.insert(place) {
            start.extend(next.get(&place).into_iter().flatten());
        }
    }
    found
}
