// SPDX-License-Identifier: MIT OR Apache-2.0
//! A SPIR-V module as a list of instructions that can be changed. Unknown instructions are copied word by word.

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
/// These memory operands have no ids: volatile, aligned, nontemporal.
const MEMORY_OF_LITERALS: u32 = 7;

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

    /// Returns the id that it defines. Only covers instructions that this pass follows: types, constants,
    /// variables, functions, and instructions that make pointers.
    pub(super) fn result(&self) -> Option<u32> {
        match self.opcode {
            op::TYPE_VOID
            | op::TYPE_BOOL
            | op::TYPE_INT
            | op::TYPE_FLOAT
            | op::TYPE_VECTOR
            | op::TYPE_ARRAY
            | op::TYPE_STRUCT
            | op::TYPE_POINTER
            | op::TYPE_FUNCTION => self.operand(0),
            op::UNDEF
            | op::CONSTANT_TRUE..=op::CONSTANT_COMPOSITE
            | op::CONSTANT_NULL
            | op::SPEC_CONSTANT_TRUE..=op::SPEC_CONSTANT_OP
            | op::FUNCTION
            | op::FUNCTION_PARAMETER
            | op::FUNCTION_CALL
            | op::VARIABLE
            | op::LOAD
            | op::COPY_OBJECT
            | op::CONVERT_U_TO_PTR
            | op::PTR_CAST_TO_GENERIC
            | op::GENERIC_CAST_TO_PTR
            | op::BITCAST => self.operand(1),
            _ if self.is_chain() => self.operand(1),
            _ => None,
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

    /// Returns the ids that it needs. Names, decorations and the interface list of an entry point do not count:
    /// they are removed with their subject. In an unknown instruction every word may be an id.
    pub(super) fn uses(&self) -> Vec<u32> {
        let w = self.operands.as_slice();
        let from = |index: usize| w.get(index..).unwrap_or_default();
        let each = |indices: &[usize]| indices.iter().filter_map(|i| self.operand(*i)).collect();
        let with = |indices: &[usize], rest: usize| {
            let mut ids: Vec<u32> = each(indices);
            ids.extend(from(rest));
            ids
        };
        let memory = |indices: &[usize], at: usize| match self.operand(at) {
            Some(mask) if mask & !MEMORY_OF_LITERALS != 0 => with(indices, at),
            _ => each(indices),
        };
        match self.opcode {
            op::SOURCE_CONTINUED..=op::STRING
            | op::EXTENSION
            | op::EXT_INST_IMPORT
            | op::MEMORY_MODEL
            | op::CAPABILITY
            | op::TYPE_VOID..=op::TYPE_FLOAT
            | op::DECORATE
            | op::MEMBER_DECORATE
            | op::LABEL
            | op::RETURN
            | op::FUNCTION_END
            | op::NO_LINE
            | op::MODULE_PROCESSED => Vec::new(),
            op::LINE | op::EXECUTION_MODE | op::LIFETIME_START | op::LIFETIME_STOP => each(&[0]),
            op::ENTRY_POINT | op::TYPE_VECTOR => each(&[1]),
            op::EXT_INST => with(&[0, 2], 4),
            op::TYPE_ARRAY | op::TYPE_STRUCT | op::TYPE_FUNCTION => with(&[], 1),
            op::TYPE_POINTER => each(&[2]),
            op::UNDEF
            | op::CONSTANT_TRUE..=op::CONSTANT
            | op::CONSTANT_NULL
            | op::SPEC_CONSTANT_TRUE..=op::SPEC_CONSTANT
            | op::FUNCTION_PARAMETER => each(&[0]),
            op::SPEC_CONSTANT_OP => with(&[0], 3),
            op::FUNCTION | op::VARIABLE => with(&[0], 3),
            op::LOAD => memory(&[0, 2], 3),
            op::STORE => memory(&[0, 1], 2),
            op::CONSTANT_COMPOSITE
            | op::SPEC_CONSTANT_COMPOSITE
            | op::FUNCTION_CALL
            | op::PHI
            | op::COPY_OBJECT
            | op::CONVERT_U_TO_PTR..=op::GENERIC_CAST_TO_PTR
            | op::BITCAST => with(&[0], 2),
            _ if self.is_chain() => with(&[0], 2),
            _ => w.to_vec(),
        }
    }
}

/// Returns whether an instruction with this opcode is the same address with another type.
pub(super) fn is_cast(opcode: u16) -> bool {
    matches!(
        opcode,
        op::COPY_OBJECT | op::PTR_CAST_TO_GENERIC | op::GENERIC_CAST_TO_PTR | op::BITCAST
    )
}
