//! A SPIR-V module as a list of instructions that may be changed; whatever it does not know it
//! keeps word by word. Names and numbers are those of the SPIR-V specification, section 3.

use syclbin::signature::spirv::MAGIC_BYTES;

/// Opcodes.
pub(super) mod op {
    pub(crate) const UNDEF: u16 = 1;
    pub(crate) const SOURCE_CONTINUED: u16 = 2;
    pub(crate) const NAME: u16 = 5;
    pub(crate) const STRING: u16 = 7;
    pub(crate) const LINE: u16 = 8;
    pub(crate) const EXTENSION: u16 = 10;
    pub(crate) const EXT_INST_IMPORT: u16 = 11;
    pub(crate) const EXT_INST: u16 = 12;
    pub(crate) const MEMORY_MODEL: u16 = 14;
    pub(crate) const ENTRY_POINT: u16 = 15;
    pub(crate) const EXECUTION_MODE: u16 = 16;
    pub(crate) const CAPABILITY: u16 = 17;
    pub(crate) const TYPE_VOID: u16 = 19;
    pub(crate) const TYPE_BOOL: u16 = 20;
    pub(crate) const TYPE_INT: u16 = 21;
    pub(crate) const TYPE_FLOAT: u16 = 22;
    pub(crate) const TYPE_VECTOR: u16 = 23;
    pub(crate) const TYPE_ARRAY: u16 = 28;
    pub(crate) const TYPE_STRUCT: u16 = 30;
    pub(crate) const TYPE_POINTER: u16 = 32;
    pub(crate) const TYPE_FUNCTION: u16 = 33;
    pub(crate) const CONSTANT_TRUE: u16 = 41;
    pub(crate) const CONSTANT: u16 = 43;
    pub(crate) const CONSTANT_COMPOSITE: u16 = 44;
    pub(crate) const CONSTANT_NULL: u16 = 46;
    pub(crate) const SPEC_CONSTANT_TRUE: u16 = 48;
    pub(crate) const SPEC_CONSTANT_FALSE: u16 = 49;
    pub(crate) const SPEC_CONSTANT: u16 = 50;
    pub(crate) const SPEC_CONSTANT_COMPOSITE: u16 = 51;
    pub(crate) const SPEC_CONSTANT_OP: u16 = 52;
    pub(crate) const FUNCTION: u16 = 54;
    pub(crate) const FUNCTION_PARAMETER: u16 = 55;
    pub(crate) const FUNCTION_END: u16 = 56;
    pub(crate) const FUNCTION_CALL: u16 = 57;
    pub(crate) const VARIABLE: u16 = 59;
    pub(crate) const LOAD: u16 = 61;
    pub(crate) const STORE: u16 = 62;
    pub(crate) const ACCESS_CHAIN: u16 = 65;
    pub(crate) const IN_BOUNDS_ACCESS_CHAIN: u16 = 66;
    pub(crate) const PTR_ACCESS_CHAIN: u16 = 67;
    pub(crate) const IN_BOUNDS_PTR_ACCESS_CHAIN: u16 = 70;
    pub(crate) const DECORATE: u16 = 71;
    pub(crate) const MEMBER_DECORATE: u16 = 72;
    pub(crate) const COPY_OBJECT: u16 = 83;
    pub(crate) const CONVERT_U_TO_PTR: u16 = 120;
    pub(crate) const PTR_CAST_TO_GENERIC: u16 = 121;
    pub(crate) const GENERIC_CAST_TO_PTR: u16 = 122;
    pub(crate) const BITCAST: u16 = 124;
    pub(crate) const PHI: u16 = 245;
    pub(crate) const LABEL: u16 = 248;
    pub(crate) const RETURN: u16 = 253;
    pub(crate) const LIFETIME_START: u16 = 256;
    pub(crate) const LIFETIME_STOP: u16 = 257;
    pub(crate) const NO_LINE: u16 = 317;
    pub(crate) const MODULE_PROCESSED: u16 = 330;
}

/// Decorations, and a storage class.
pub(super) const DECORATION_SPEC_ID: u32 = 1;
pub(super) const DECORATION_CPACKED: u32 = 10;
pub(super) const DECORATION_LINKAGE_ATTRIBUTES: u32 = 41;
pub(super) const DECORATION_ALIGNMENT: u32 = 44;
pub(super) const LINKAGE_EXPORT: u32 = 0;
pub(super) const LINKAGE_IMPORT: u32 = 1;
pub(super) const STORAGE_FUNCTION: u32 = 7;
/// Memory operands.
pub(super) const MEMORY_VOLATILE: u32 = 1;
pub(super) const MEMORY_ALIGNED: u32 = 2;
/// Of these, no operand is an id: volatile, aligned, nontemporal.
const MEMORY_OF_LITERALS: u32 = 7;

const HEADER_WORDS: usize = 5;
/// Where the header has the bound of ids.
const BOUND: usize = 3;

/// A module.
#[derive(Clone, Debug)]
pub(super) struct Module {
    header: [u32; HEADER_WORDS],
    pub(super) instructions: Vec<Instruction>,
}

/// An instruction: what follows its first word are its operands, the result among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) opcode: u16,
    pub(super) operands: Vec<u32>,
}

impl Module {
    /// Reads a module; `None` if that is not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks() else {
            return None;
        };
        let words: Vec<u32> = words.iter().copied().map(u32::from_le_bytes).collect();
        let (header, mut rest) = words.split_first_chunk::<HEADER_WORDS>()?;
        if !bytes.starts_with(&MAGIC_BYTES) {
            return None;
        }
        let mut instructions = Vec::new();
        while let Some(first) = rest.first() {
            let (instruction, next) = rest.split_at_checked((first >> 16) as usize)?;
            let (first, operands) = instruction.split_first()?;
            let [low, high, ..] = first.to_le_bytes();
            instructions.push(Instruction {
                opcode: u16::from_le_bytes([low, high]),
                operands: operands.to_vec(),
            });
            rest = next;
        }
        let header = *header;
        Some(Self {
            header,
            instructions,
        })
    }

    /// The module as bytes; `None` if an instruction is longer than one can be.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut words = self.header.to_vec();
        for instruction in &self.instructions {
            let count = u16::try_from(instruction.operands.len() + 1).ok()?;
            words.push(u32::from(count) << 16 | u32::from(instruction.opcode));
            words.extend(&instruction.operands);
        }
        Some(words.into_iter().flat_map(u32::to_le_bytes).collect())
    }

    /// The first id that nothing has.
    pub(super) fn bound(&self) -> u32 {
        self.header[BOUND]
    }

    /// The same module with other instructions, whose ids are below `bound`.
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

    /// The id it defines. Only of what this pass follows: types, constants, variables, functions, and
    /// what makes pointers.
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

    /// Whether it makes a pointer of another one and indices.
    pub(super) fn is_chain(&self) -> bool {
        matches!(
            self.opcode,
            op::ACCESS_CHAIN
                | op::IN_BOUNDS_ACCESS_CHAIN
                | op::PTR_ACCESS_CHAIN
                | op::IN_BOUNDS_PTR_ACCESS_CHAIN
        )
    }

    /// Whether it is the same address with another type.
    pub(super) fn is_cast(&self) -> bool {
        is_cast(self.opcode)
    }

    /// The ids it needs. Names, decorations and the list of what an entry point refers to need none:
    /// they go with what they are about. Of an instruction that is not known every word may be one.
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

/// Whether an instruction of that opcode is the same address with another type.
pub(super) fn is_cast(opcode: u16) -> bool {
    matches!(
        opcode,
        op::COPY_OBJECT | op::PTR_CAST_TO_GENERIC | op::GENERIC_CAST_TO_PTR | op::BITCAST
    )
}

/// A literal string, four bytes a word, closed by a zero byte, and the words after it.
pub(super) fn string(words: &[u32]) -> (String, &[u32]) {
    let mut bytes = Vec::new();
    for (index, word) in words.iter().enumerate() {
        for byte in word.to_le_bytes() {
            if byte == 0 {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                return (text, &words[index + 1..]);
            }
            bytes.push(byte);
        }
    }
    (String::from_utf8_lossy(&bytes).into_owned(), &[])
}
