// SPDX-License-Identifier: MIT OR Apache-2.0
//! A SPIR-V module as a list of instructions that can be changed. Unknown instructions are copied word by word.

use syclbin::__private::spirv::ids;
use syclbin::__private::spirv::words::{self, HEADER_WORDS};
pub(super) use syclbin::__private::spirv::words::{
    DECORATION_ALIGNMENT, DECORATION_CPACKED, DECORATION_LINKAGE_ATTRIBUTES, DECORATION_SPEC_ID,
    LINKAGE_EXPORT, LINKAGE_IMPORT, op, string,
};

/// A storage class.
pub(super) const STORAGE_FUNCTION: u32 = 7;
/// Memory operands.
pub(super) const MEMORY_VOLATILE: u32 = 1;
pub(super) const MEMORY_ALIGNED: u32 = 2;

/// The index of the id bound in the header.
const BOUND: usize = 3;

/// A module.
#[derive(Clone, Debug)]
pub(super) struct Module {
    header: [u32; HEADER_WORDS],
    pub(super) instructions: Vec<Instruction>,
}

/// An instruction: the words after the first are its operands, including the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) opcode: u16,
    pub(super) operands: Vec<u32>,
}

impl Module {
    /// Parses a module. Returns `None` if the bytes are not a module.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let words = words::words(bytes).ok()?;
        let instructions = words::instructions(&words).map(|instruction| {
            let words::Instruction {
                opcode, operands, ..
            } = instruction.ok()?;
            Some(Instruction::new(opcode, operands.iter().copied()))
        });
        Some(Self {
            header: *words.first_chunk()?,
            instructions: instructions.collect::<Option<_>>()?,
        })
    }

    /// Converts the module to bytes. Returns `None` if an instruction is longer than the format allows.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut words = self.header.to_vec();
        for instruction in &self.instructions {
            let count = u16::try_from(instruction.operands.len() + 1).ok()?;
            words.push(u32::from(count) << 16 | u32::from(instruction.opcode));
            words.extend(&instruction.operands);
        }
        Some(words.into_iter().flat_map(u32::to_le_bytes).collect())
    }

    /// Returns the first unused id.
    pub(super) fn bound(&self) -> u32 {
        self.header[BOUND]
    }

    /// Returns the same module with other instructions, whose ids are below `bound`.
    pub(super) fn with(&self, bound: u32, instructions: Vec<Instruction>) -> Self {
        let mut header = self.header;
        header[BOUND] = bound;
        Self {
            header,
            instructions,
        }
    }
}

impl Instruction {
    pub(super) fn new(opcode: u16, operands: impl IntoIterator<Item = u32>) -> Self {
        Self {
            opcode,
            operands: operands.into_iter().collect(),
        }
    }

    pub(super) fn operand(&self, index: usize) -> Option<u32> {
        self.operands.get(index).copied()
    }

    /// Returns the id that it defines.
    pub(super) fn result(&self) -> Option<u32> {
        let ids = ids(self.opcode, &self.operands);
        self.operand(ids.ok()?.result?)
    }

    /// Returns the ids that it needs. Names, decorations and the interface list of an entry point do not
    /// count: they are removed with their subject. In an unknown instruction every word may be an id.
    pub(super) fn uses(&self) -> Vec<u32> {
        let operands = &self.operands;
        let ids = match self.opcode {
            op::NAME | op::MEMBER_NAME | op::DECORATE | op::MEMBER_DECORATE => return Vec::new(),
            op::ENTRY_POINT => return self.operand(1).into_iter().collect(),
            opcode => ids(opcode, operands),
        };
        match ids {
            Ok(ids) => ids
                .ty
                .into_iter()
                .chain(ids.uses)
                .map(|at| operands[at])
                .collect(),
            Err(_) => operands.clone(),
        }
    }

    /// Returns whether it makes a pointer from another pointer and indices.
    pub(super) fn is_chain(&self) -> bool {
        matches!(
            self.opcode,
            op::ACCESS_CHAIN
                | op::IN_BOUNDS_ACCESS_CHAIN
                | op::PTR_ACCESS_CHAIN
                | op::IN_BOUNDS_PTR_ACCESS_CHAIN
        )
    }

    /// Returns whether it is the same address with another type.
    pub(super) fn is_cast(&self) -> bool {
        is_cast(self.opcode)
    }
}

/// Returns whether an instruction with this opcode is the same address with another type.
pub(super) fn is_cast(opcode: u16) -> bool {
    matches!(
        opcode,
        op::COPY_OBJECT | op::PTR_CAST_TO_GENERIC | op::GENERIC_CAST_TO_PTR | op::BITCAST
    )
}
