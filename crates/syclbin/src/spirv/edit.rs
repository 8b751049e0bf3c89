// SPDX-License-Identifier: MIT OR Apache-2.0
//! An editable SPIR-V module: a list of instructions.

use super::grammar::{self, Ids, Unknown};
use super::words::{self, HEADER_WORDS, op, string};
use crate::error::Error;
use crate::prelude::*;

/// The index of the version in the header.
const VERSION: usize = 1;
/// The index of the id bound in the header.
const BOUND: usize = 3;
/// The maximum total number of words in entry points, as a multiple of the number of instructions.
const MAX_GROWTH: usize = 64;

/// An editable module.
#[derive(Clone, Debug)]
pub struct Module {
    header: [u32; HEADER_WORDS],
    /// The instructions, in order.
    pub instructions: Vec<Instruction>,
    /// Instructions to insert at the end of their sections.
    added: Vec<Instruction>,
    /// The ids of declarations, by opcode and operands without the result. The first call of [`Self::declare`] creates
    /// this map.
    declared: Option<BTreeMap<Vec<u32>, u32>>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The number of the instruction in the specification.
    pub opcode: u16,
    /// All words after the first.
    pub operands: Vec<u32>,
}

impl Module {
    /// Parses a module.
    ///
    /// # Errors
    ///
    /// Returns an error if `words` does not consist of a header and valid instructions.
    pub fn parse(words: &[u32]) -> Result<Self, Error> {
        let header = words.first_chunk();
        let header = header.ok_or_else(|| words::error(0, "the header is truncated"))?;
        let instructions = words::instructions(words).map(|instruction| {
            let found = instruction?;
            let operands = found.operands.iter().copied();
            Ok(Instruction::new(found.opcode, operands))
        });
        let instructions = instructions.collect::<Result<_, Error>>()?;
        Ok(Self::new(*header, instructions))
    }

    /// Parses the bytes of a module.
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` is not a SPIR-V module.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        Self::parse(&words::words(bytes)?)
    }

    /// Creates a module with the version, generator and id bound of `header`.
    pub fn new(header: [u32; HEADER_WORDS], instructions: Vec<Instruction>) -> Self {
        Self {
            header,
            instructions,
            added: Vec::new(),
            declared: None,
        }
    }

    /// Returns the words of the module.
    ///
    /// # Errors
    ///
    /// Returns an error if an instruction is longer than the format allows.
    pub fn words(mut self) -> Result<Vec<u32>, Error> {
        self.added.sort_by_key(|added| section(added.opcode));
        let is_same = |a: &Instruction, b: &Instruction| section(a.opcode) == section(b.opcode);
        for added in self.added.chunk_by(is_same) {
            let is_after = |i: &Instruction| section(i.opcode) > section(added[0].opcode);
            let end = self.instructions.iter().position(is_after);
            let end = end.unwrap_or(self.instructions.len());
            self.instructions.splice(end..end, added.iter().cloned());
        }
        let mut words = self.header.to_vec();
        for Instruction { opcode, operands } in &self.instructions {
            if operands.len() >= usize::from(u16::MAX) {
                return Err(words::error(words.len(), "an instruction is too long"));
            }
            words::put(&mut words, *opcode, &[operands]);
        }
        Ok(words)
    }

    /// Returns a module with the same header, but without instructions.
    pub fn empty(&self) -> Self {
        Self::new(self.header, Vec::new())
    }

    /// Returns an unused id.
    ///
    /// # Errors
    ///
    /// Returns an error if the module uses all ids.
    pub fn new_id(&mut self) -> Result<u32, Error> {
        let id = self.header[BOUND];
        let next = id.checked_add(1);
        self.header[BOUND] =
            next.ok_or_else(|| words::error(BOUND, "the module uses all 32-bit ids"))?;
        Ok(id)
    }

    /// Completes the interface of each kernel with the variables that the SPIR-V version requires there. Returns `None`
    /// if the module would become too large.
    pub fn complete_interfaces(&mut self) -> Option<()> {
        const FIRST_WITH_ALL_VARIABLES: u32 = 0x0001_0400;
        const STORAGE_INPUT: u32 = 1;
        const STORAGE_OUTPUT: u32 = 3;
        let lists_all = self.header[VERSION] >= FIRST_WITH_ALL_VARIABLES;
        let mut budget = self.instructions.len().saturating_mul(MAX_GROWTH);
        let declarations = self.instructions.iter();
        let declarations = declarations.take_while(|i| i.opcode != op::FUNCTION);
        let variables = declarations.filter_map(|i| match (i.opcode, &i.operands[..]) {
            (op::VARIABLE, [_, id, storage, ..])
                if lists_all || [STORAGE_INPUT, STORAGE_OUTPUT].contains(storage) =>
            {
                Some(*id)
            }
            _ => None,
        });
        let variables: Vec<u32> = variables.collect();
        for instruction in &mut self.instructions {
            if instruction.opcode == op::ENTRY_POINT {
                let (_, interface) = string(instruction.operands.get(2..)?);
                let listed: BTreeSet<u32> = interface.iter().copied().collect();
                let missing = variables.iter().filter(|id| !listed.contains(id));
                instruction.operands.extend(missing);
                budget = budget.checked_sub(instruction.operands.len())?;
            }
        }
        Some(())
    }

    /// Adds an instruction at the end of its section.
    pub fn add(&mut self, opcode: u16, operands: &[u32]) {
        let operands = operands.iter().copied();
        self.added.push(Instruction::new(opcode, operands));
    }

    /// Adds a capability, unless the module declares it.
    pub fn require(&mut self, capability: u32) {
        // A valid module begins with its capabilities.
        let first = self
            .instructions
            .iter()
            .take_while(|i| section(i.opcode) == 0);
        if !first
            .chain(&self.added)
            .any(|i| i.opcode == op::CAPABILITY && i.operands == [capability])
        {
            self.add(op::CAPABILITY, &[capability]);
        }
    }

    /// Returns the id of a type or constant, after adding it if necessary. `operands` excludes the result.
    ///
    /// # Errors
    ///
    /// Returns an error if the module uses all ids.
    pub fn declare(&mut self, opcode: u16, operands: &[u32]) -> Result<u32, Error> {
        let place = |instruction: &Instruction| instruction.ids().ok()?.result;
        let known = self.declared.get_or_insert_with(|| {
            let before = self.instructions.iter();
            let before = before.take_while(|i| i.opcode != op::FUNCTION);
            let known = before.filter_map(|instruction| {
                let mut key = instruction.operands.clone();
                let id = key.remove(place(instruction)?);
                key.insert(0, instruction.opcode.into());
                Some((key, id))
            });
            // Among equal declarations, the first one wins.
            known.collect::<Vec<_>>().into_iter().rev().collect()
        });
        let key = [&[u32::from(opcode)], operands].concat();
        if let Some(id) = known.get(&key) {
            return Ok(*id);
        }
        let id = self.new_id()?;
        self.declared.get_or_insert_default().insert(key, id);
        let mut new = Instruction::new(opcode, [0, 0]);
        let place = place(&new).unwrap_or_default();
        new.operands = operands.to_vec();
        new.operands.insert(place.min(operands.len()), id);
        self.added.push(new);
        Ok(id)
    }
}

impl Instruction {
    /// Creates an instruction.
    pub fn new(opcode: u16, operands: impl IntoIterator<Item = u32>) -> Self {
        Self {
            opcode,
            operands: operands.into_iter().collect(),
        }
    }

    /// Returns the operand at `index`, if there is one.
    pub fn operand(&self, index: usize) -> Option<u32> {
        self.operands.get(index).copied()
    }

    /// Returns which operands are ids, as [`grammar::ids`] does.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`grammar::ids`].
    pub fn ids(&self) -> Result<Ids, Unknown> {
        grammar::ids(self.opcode, &self.operands)
    }

    /// Returns the id that the instruction defines.
    pub fn result(&self) -> Option<u32> {
        self.operand(self.ids().ok()?.result?)
    }
}

/// Returns the number of the module section that an instruction belongs to. Sections are numbered in the order that the
/// specification prescribes in section 2.4, "Logical Layout of a Module".
pub fn section(opcode: u16) -> u8 {
    match opcode {
        op::CAPABILITY | op::CONDITIONAL_CAPABILITY => 0,
        op::EXTENSION | op::CONDITIONAL_EXTENSION => 1,
        op::EXT_INST_IMPORT => 2,
        op::MEMORY_MODEL => 3,
        op::ENTRY_POINT | op::CONDITIONAL_ENTRY_POINT => 4,
        op::EXECUTION_MODE | op::EXECUTION_MODE_ID => 5,
        op::STRING | op::SOURCE | op::SOURCE_EXTENSION | op::SOURCE_CONTINUED => 6,
        op::NAME | op::MEMBER_NAME => 7,
        op::MODULE_PROCESSED => 8,
        op::DECORATE..=op::GROUP_MEMBER_DECORATE
        | op::DECORATE_ID
        | op::DECORATE_STRING
        | op::MEMBER_DECORATE_STRING => 9,
        op::FUNCTION => 11,
        _ => 10,
    }
}
