// SPDX-License-Identifier: MIT OR Apache-2.0
//! The SPIR-V grammar, which determines which operands of an instruction are ids. Opcodes and operand patterns are from
//! the SPIR-V specification and its extension registry.

use crate::prelude::*;
use crate::spirv::words::{Instruction, op};

/// The operand patterns of all instructions that kernels may contain, with the opcodes for each pattern. Other
/// opcodes are unknown. The letters in a pattern stand for:
///
/// | letter | operands |
/// |---|---|
/// | `T`, `R`, `I` | a type, a result, another id |
/// | `i` | ids, to the end |
/// | `l`, `s` | a literal, a literal string |
/// | `r` | literals, to the end |
/// | `m`, `g` | memory operands, image operands |
/// | `w`, `p` | cases of a switch, pairs of an id and a literal |
/// | `o`, `x` | a constant operation, the operands of an extended instruction |
const PATTERNS: &[(&str, &str)] = &[
    ("", "0 56 253 255 317 5380"),
    (
        "i",
        "74 224-225 228 249 254 260 280-281 287-288 297-298 301-302 319 329 4426 5121 5576 5578 \
         5581 5630 5820 5946-5947 6096 6142-6143 6164 6166 6231-6235",
    ),
    ("IIIg", "99"),
    ("IIIIm", "4458"),
    ("IIIm", "64 6259"),
    ("IIIr", "250"),
    ("IIli", "6429"),
    ("IIm", "62-63 6221"),
    ("IIr", "246"),
    ("IIw", "251"),
    ("Ili", "331-332"),
    ("IlIsi", "6249"),
    ("Ip", "75"),
    ("Ir", "5-6 8 16 39 71-72 247 256-257 5632-5633 6248 6250"),
    ("lIsi", "15"),
    ("llIr", "3"),
    ("R", "19-20 26 34-37 73 248 322 327 5701-5712 6199"),
    ("r", "2 4 10 14 17 330 5887"),
    ("Ri", "27-28 30 33 4456 5700 5911-5913"),
    ("RIr", "23 25"),
    ("Rli", "32"),
    ("Rr", "7 11 21-22 31 38 4417 5609 6086"),
    (
        "TR",
        "1 41-42 46 48-49 55 299 303 5158 5721-5723 5726-5727 5819",
    ),
    (
        "TRi",
        "44 51 57 60 65-67 69-70 77-78 80 83 86 100-107 109-115 117-122 124 126-142 148-152 \
         154-191 194-200 205 227 229-242 245 259 261-263 274-279 282-286 291-296 300 304 318 321 \
         324-326 328 333-341 343-348 365-366 400-403 4419-4424 4427-4432 4460 5056 5110-5111 5159 \
         5571-5575 5577 5580 5585-5598 5600-5601 5611 5614-5615 5631 5699 5713-5720 5724-5725 \
         5728-5816 5818 5934 5938 5949 6035 6116-6117 6145 6165 6242 6244 6254 6426 6529-6531 \
         6916-6918",
    ),
    ("TRIIg", "88 95 98"),
    ("TRIIIIIIIm", "4434"),
    ("TRIIIIr", "6237"),
    ("TRIIIm", "4457 6258"),
    ("TRIIIr", "4453-4455 4459"),
    ("TRIIr", "79 82 4425 4450-4452 5610"),
    ("TRIli", "264-271 342 349-364 6401-6408 6428"),
    ("TRIlIr", "5846-5854 5858 5879-5882"),
    ("TRIlx", "12 4433"),
    ("TRIm", "61"),
    (
        "TRIr",
        "81 123 5840-5843 5855-5857 5859-5878 5923-5933 6163",
    ),
    ("TRli", "54 59 4418"),
    ("TRo", "52"),
    ("TRr", "43 45 50 323 5147-5148 6251-6253"),
];

const UNKNOWN: u8 = u8::MAX;

/// The index of each opcode's pattern.
static ROWS: [u8; 8192] = rows();

const fn rows() -> [u8; 8192] {
    let mut rows = [UNKNOWN; 8192];
    let mut row = 0;
    while (row as usize) < PATTERNS.len() {
        let opcodes = PATTERNS[row as usize].1.as_bytes();
        let (mut first, mut number, mut at) = (None, 0, 0);
        while at <= opcodes.len() {
            // The end of the string terminates a number, just as a space does.
            let is_end = at == opcodes.len();
            let byte = if is_end { b' ' } else { opcodes[at] };
            match byte {
                b'0'..=b'9' => number = number * 10 + (byte - b'0') as usize,
                b'-' => (first, number) = (Some(number), 0),
                _ => {
                    let mut opcode = match first {
                        Some(first) => first,
                        None => number,
                    };
                    while opcode <= number {
                        assert!(rows[opcode] == UNKNOWN, "an opcode has two patterns");
                        rows[opcode] = row;
                        opcode += 1;
                    }
                    (first, number) = (None, 0);
                }
            }
            at += 1;
        }
        row += 1;
    }
    rows
}

fn pattern_of(opcode: u16) -> Option<&'static str> {
    let row = ROWS.get(usize::from(opcode))?;
    let (pattern, _) = PATTERNS.get(usize::from(*row))?;
    Some(pattern)
}

/// The memory operand bit that is followed by a literal, and the bits that are followed by an id.
const MEMORY_LITERALS: u32 = 0x2;
const MEMORY_IDS: [u32; 4] = [0x8, 0x10, 0x1_0000, 0x2_0000];

/// The ids of an instruction, as indices into its operands.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// The type of the result.
    pub ty: Option<usize>,
    /// The result.
    pub result: Option<usize>,
    /// All other ids.
    pub uses: Vec<usize>,
}

impl Ids {
    /// Returns the type and the other ids that an instruction uses.
    pub fn used(&self) -> impl Iterator<Item = usize> + '_ {
        self.ty.iter().chain(&self.uses).copied()
    }

    /// Returns all ids.
    pub fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.used().chain(self.result)
    }
}

/// Why the ids of an instruction are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The instruction is not in the table.
    Opcode,
    /// There are too few or too many operands.
    Operands,
}

/// Returns the ids of an instruction, except the labels in the cases of a switch.
///
/// # Errors
///
/// Returns an error if the instruction is not in the table, or if its operands do not match the pattern.
pub fn ids(opcode: u16, operands: &[u32]) -> Result<Ids, Unknown> {
    read(opcode, operands, None)
}

/// Returns the ids of an instruction, including the labels in the cases of a switch. `has_wide_cases` returns whether
/// the case literals for a selector occupy two words.
///
/// # Errors
///
/// Fails for the same reasons as [`ids`].
pub fn ids_with_cases(
    instruction: &Instruction<'_>,
    has_wide_cases: impl Fn(u32) -> bool,
) -> Result<Ids, Unknown> {
    let selector = instruction.operands.first().copied().unwrap_or_default();
    let is_wide = instruction.opcode == op::SWITCH && has_wide_cases(selector);
    read(instruction.opcode, instruction.operands, Some(is_wide))
}

/// Reads the ids. `wide_cases` is `None` if the ids in cases are not needed.
fn read(opcode: u16, operands: &[u32], wide_cases: Option<bool>) -> Result<Ids, Unknown> {
    let pattern = pattern_of(opcode).ok_or(Unknown::Opcode)?;
    let mut reader = Reader {
        operands,
        next: 0,
        ids: Ids::default(),
    };
    for letter in pattern.chars() {
        let is_missing = reader.next >= operands.len();
        match letter {
            'T' => reader.ids.ty = Some(reader.take()?),
            'R' => reader.ids.result = Some(reader.take()?),
            // Trailing operands are optional.
            _ if is_missing => break,
            'o' => {
                let opcode = operands.get(2).and_then(|word| u16::try_from(*word).ok());
                let rest = opcode.and_then(|opcode| pattern_of(opcode)?.strip_prefix("TR"));
                reader.next += 1;
                for letter in rest.ok_or(Unknown::Opcode)?.chars() {
                    reader.letter(letter)?;
                }
            }
            'w' => match wide_cases {
                Some(true) => reader.pairs(3, 2)?,
                Some(false) => reader.pairs(2, 1)?,
                None => reader.next = operands.len(),
            },
            letter => reader.letter(letter)?,
        }
    }
    if reader.next < operands.len() {
        return Err(Unknown::Operands);
    }
    Ok(reader.ids)
}

struct Reader<'o> {
    operands: &'o [u32],
    next: usize,
    ids: Ids,
}

impl Reader<'_> {
    fn take(&mut self) -> Result<usize, Unknown> {
        let place = self.next;
        self.next += 1;
        self.operands.get(place).ok_or(Unknown::Operands)?;
        Ok(place)
    }

    fn id(&mut self) -> Result<(), Unknown> {
        let place = self.take()?;
        self.ids.uses.push(place);
        Ok(())
    }

    /// Reads records of `stride` words until the end, each with an id at `at`.
    fn pairs(&mut self, stride: usize, at: usize) -> Result<(), Unknown> {
        while self.next < self.operands.len() {
            let id = self.next + at;
            self.next += stride;
            if self.next > self.operands.len() {
                return Err(Unknown::Operands);
            }
            self.ids.uses.push(id);
        }
        Ok(())
    }

    fn letter(&mut self, letter: char) -> Result<(), Unknown> {
        let end = self.operands.len();
        match letter {
            'I' if self.next < end => self.id()?,
            'l' if self.next < end => self.next += 1,
            'i' => self.pairs(1, 0)?,
            'p' => self.pairs(2, 0)?,
            'r' => self.next = end,
            's' => {
                let rest = self.operands.get(self.next..).unwrap_or_default();
                let last = |word: &u32| word.to_le_bytes().contains(&0);
                let last = rest.iter().position(last).ok_or(Unknown::Operands)?;
                self.next += last + 1;
            }
            'm' => {
                while self.next < end {
                    let mask = self.operands[self.take()?];
                    if mask & MEMORY_LITERALS != 0 {
                        self.take()?;
                    }
                    for id in MEMORY_IDS {
                        if mask & id != 0 {
                            self.id()?;
                        }
                    }
                }
            }
            'g' if self.next < end => {
                self.next += 1;
                self.pairs(1, 0)?;
            }
            'x' => {
                // Some OpenCL.std instructions end with a literal: vector loads with the vector size, and vector stores
                // with the rounding mode. No other extended instruction has literals, once debug information is
                // removed.
                let literals = match self.operands.get(3) {
                    Some(171 | 174 | 176 | 178 | 179 | 181) if self.next < end => 1,
                    _ => 0,
                };
                while self.next + literals < end {
                    self.id()?;
                }
                self.next = end;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns whether identical instructions with this opcode can be merged. This is the case for types, constants,
/// undefined values, strings and instruction set imports, but not for specialization constants: in different modules,
/// the same `SpecId` may stand for different constants.
pub fn is_merged(opcode: u16) -> bool {
    const TYPE_COOPERATIVE_MATRIX: u16 = 4456;
    const CONSTANT_FUNCTION_POINTER: u16 = 5600;
    const TYPES_OF_INTEL: [u16; 2] = [6086, 6199];
    matches!(
        opcode,
        op::UNDEF
            | op::STRING
            | op::EXT_INST_IMPORT
            | op::TYPE_VOID..=38
            | op::CONSTANT_TRUE..=op::CONSTANT_NULL
            | op::SPEC_CONSTANT_COMPOSITE..=op::SPEC_CONSTANT_OP
            | 322
            | 327
            | op::TYPE_UNTYPED_POINTER
            | TYPE_COOPERATIVE_MATRIX
            | CONSTANT_FUNCTION_POINTER
    ) || TYPES_OF_INTEL.contains(&opcode)
}
