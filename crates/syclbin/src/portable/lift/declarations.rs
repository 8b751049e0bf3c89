// SPDX-License-Identifier: MIT OR Apache-2.0
//! Declarations: types and constants of a module, each found or added once.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::super::Unfit;
use crate::spirv::words::{Instruction, op, put};

const CAPABILITY_INT64: u32 = 11;
const CAPABILITY_INT8: u32 = 39;

/// The types and constants of a module.
pub(super) struct Declarations {
    /// Ids by the opcode and the operands without the result.
    known: BTreeMap<Vec<u32>, u32>,
    /// The operands of types of functions.
    pub(super) functions: BTreeMap<u32, Vec<u32>>,
    missing_capabilities: BTreeSet<u32>,
    /// Instructions to add.
    pub(super) added: Vec<u32>,
    /// All ids are less.
    pub(super) bound: u32,
}

impl Declarations {
    pub(super) fn new(instructions: &[Instruction<'_>], bound: u32) -> Self {
        let mut declarations = Self {
            known: BTreeMap::new(),
            functions: BTreeMap::new(),
            missing_capabilities: [CAPABILITY_INT8, CAPABILITY_INT64].into(),
            added: Vec::new(),
            bound,
        };
        for instruction in instructions {
            let key = |rest: &[u32]| [&[u32::from(instruction.opcode)], rest].concat();
            match (instruction.opcode, instruction.operands) {
                (op::CAPABILITY, [capability]) => {
                    declarations.missing_capabilities.remove(capability);
                }
                (op::TYPE_FUNCTION, [id, rest @ ..]) => {
                    declarations.functions.insert(*id, rest.to_vec());
                    declarations.known.entry(key(rest)).or_insert(*id);
                }
                (op::TYPE_VOID | op::TYPE_INT | op::TYPE_POINTER, [id, rest @ ..]) => {
                    declarations.known.entry(key(rest)).or_insert(*id);
                }
                (op::CONSTANT, [ty, id, value @ ..]) => {
                    let key = [&[u32::from(op::CONSTANT), *ty], value].concat();
                    declarations.known.entry(key).or_insert(*id);
                }
                _ => {}
            }
        }
        declarations
    }

    /// Returns the capabilities that the module has to declare.
    pub(super) fn capabilities(&self) -> Vec<u32> {
        let mut words = Vec::new();
        for capability in &self.missing_capabilities {
            put(&mut words, op::CAPABILITY, &[&[*capability]]);
        }
        words
    }

    pub(super) fn new_id(&mut self) -> Result<u32, Unfit> {
        let id = self.bound;
        let next = id.checked_add(1);
        self.bound = next.ok_or(Unfit::Variable("it has no free ids for arguments"))?;
        Ok(id)
    }

    /// Returns a type.
    pub(super) fn ty(&mut self, opcode: u16, operands: &[u32]) -> Result<u32, Unfit> {
        let key = [&[u32::from(opcode)], operands].concat();
        if let Some(id) = self.known.get(&key) {
            return Ok(*id);
        }
        let id = self.new_id()?;
        put(&mut self.added, opcode, &[&[id], operands]);
        self.known.insert(key, id);
        Ok(id)
    }

    /// Returns a constant of 64 bits.
    pub(super) fn number(&mut self, value: u64) -> Result<u32, Unfit> {
        let ty = self.ty(op::TYPE_INT, &[64, 0])?;
        // The low word comes first.
        let [low, high] = [value, value >> 32].map(|half| (half & 0xffff_ffff) as u32);
        let key = [u32::from(op::CONSTANT), ty, low, high].to_vec();
        if let Some(id) = self.known.get(&key) {
            return Ok(*id);
        }
        let id = self.new_id()?;
        put(&mut self.added, op::CONSTANT, &[&[ty, id, low, high]]);
        self.known.insert(key, id);
        Ok(id)
    }
}
