// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads and writes the words of a SPIR-V module: opcodes, instructions and strings, without interpreting them.
//! `syclbin-clang` also uses this module. Numbers and names are from the SPIR-V specification, section 3.
#![allow(missing_docs, reason = "the names are those of the specification")]

use crate::error::{Error, ErrorKind};
use crate::prelude::*;

/// Opcodes.
pub mod op {
    pub const UNDEF: u16 = 1;
    pub const SOURCE_CONTINUED: u16 = 2;
    pub const SOURCE: u16 = 3;
    pub const SOURCE_EXTENSION: u16 = 4;
    pub const NAME: u16 = 5;
    pub const MEMBER_NAME: u16 = 6;
    pub const STRING: u16 = 7;
    pub const LINE: u16 = 8;
    pub const EXTENSION: u16 = 10;
    pub const EXT_INST_IMPORT: u16 = 11;
    pub const EXT_INST: u16 = 12;
    pub const MEMORY_MODEL: u16 = 14;
    pub const ENTRY_POINT: u16 = 15;
    pub const EXECUTION_MODE: u16 = 16;
    pub const CAPABILITY: u16 = 17;
    pub const TYPE_VOID: u16 = 19;
    pub const TYPE_BOOL: u16 = 20;
    pub const TYPE_INT: u16 = 21;
    pub const TYPE_FLOAT: u16 = 22;
    pub const TYPE_VECTOR: u16 = 23;
    pub const TYPE_IMAGE: u16 = 25;
    pub const TYPE_SAMPLER: u16 = 26;
    pub const TYPE_ARRAY: u16 = 28;
    pub const TYPE_STRUCT: u16 = 30;
    pub const TYPE_POINTER: u16 = 32;
    pub const TYPE_UNTYPED_POINTER: u16 = 4417;
    pub const TYPE_FUNCTION: u16 = 33;
    pub const TYPE_FORWARD_POINTER: u16 = 39;
    pub const CONSTANT_TRUE: u16 = 41;
    pub const CONSTANT: u16 = 43;
    pub const CONSTANT_COMPOSITE: u16 = 44;
    pub const CONSTANT_NULL: u16 = 46;
    pub const SPEC_CONSTANT_TRUE: u16 = 48;
    pub const SPEC_CONSTANT_FALSE: u16 = 49;
    pub const SPEC_CONSTANT: u16 = 50;
    pub const SPEC_CONSTANT_COMPOSITE: u16 = 51;
    pub const SPEC_CONSTANT_OP: u16 = 52;
    pub const FUNCTION: u16 = 54;
    pub const FUNCTION_PARAMETER: u16 = 55;
    pub const FUNCTION_END: u16 = 56;
    pub const FUNCTION_CALL: u16 = 57;
    pub const VARIABLE: u16 = 59;
    pub const LOAD: u16 = 61;
    pub const STORE: u16 = 62;
    pub const COPY_MEMORY: u16 = 63;
    pub const COPY_MEMORY_SIZED: u16 = 64;
    pub const ACCESS_CHAIN: u16 = 65;
    pub const IN_BOUNDS_ACCESS_CHAIN: u16 = 66;
    pub const PTR_ACCESS_CHAIN: u16 = 67;
    pub const IN_BOUNDS_PTR_ACCESS_CHAIN: u16 = 70;
    pub const DECORATE: u16 = 71;
    pub const MEMBER_DECORATE: u16 = 72;
    pub const GROUP_DECORATE: u16 = 74;
    pub const GROUP_MEMBER_DECORATE: u16 = 75;
    pub const COMPOSITE_CONSTRUCT: u16 = 80;
    pub const COPY_OBJECT: u16 = 83;
    pub const CONVERT_U_TO_PTR: u16 = 120;
    pub const PTR_CAST_TO_GENERIC: u16 = 121;
    pub const GENERIC_CAST_TO_PTR: u16 = 122;
    pub const GENERIC_CAST_TO_PTR_EXPLICIT: u16 = 123;
    pub const BITCAST: u16 = 124;
    pub const F_NEGATE: u16 = 127;
    pub const I_ADD: u16 = 128;
    pub const I_SUB: u16 = 130;
    pub const I_MUL: u16 = 132;
    pub const SELECT: u16 = 169;
    pub const SHIFT_RIGHT_LOGICAL: u16 = 194;
    pub const BITWISE_XOR: u16 = 198;
    pub const BITWISE_AND: u16 = 199;
    pub const CONTROL_BARRIER: u16 = 224;
    pub const PHI: u16 = 245;
    pub const LOOP_MERGE: u16 = 246;
    pub const LABEL: u16 = 248;
    pub const SWITCH: u16 = 251;
    pub const RETURN: u16 = 253;
    pub const LIFETIME_START: u16 = 256;
    pub const LIFETIME_STOP: u16 = 257;
    pub const NO_LINE: u16 = 317;
    pub const MODULE_PROCESSED: u16 = 330;
    pub const EXECUTION_MODE_ID: u16 = 331;
    pub const DECORATE_ID: u16 = 332;
    pub const EXT_INST_WITH_FORWARD_REFS: u16 = 4433;
    pub const DECORATE_STRING: u16 = 5632;
    pub const MEMBER_DECORATE_STRING: u16 = 5633;
    pub const CONDITIONAL_EXTENSION: u16 = 6248;
    pub const CONDITIONAL_ENTRY_POINT: u16 = 6249;
    pub const CONDITIONAL_CAPABILITY: u16 = 6250;
}

// Capabilities.
pub const CAPABILITY_INT64: u32 = 11;
pub const CAPABILITY_INT8: u32 = 39;

// Decorations and their values.
pub const DECORATION_SPEC_ID: u32 = 1;
pub const DECORATION_CPACKED: u32 = 10;
pub const DECORATION_CONSTANT: u32 = 22;
pub const DECORATION_LINKAGE_ATTRIBUTES: u32 = 41;
pub const DECORATION_ALIGNMENT: u32 = 44;
pub const LINKAGE_EXPORT: u32 = 0;
pub const LINKAGE_IMPORT: u32 = 1;
/// From `SPV_KHR_linkonce_odr`: the linkage of `inline` functions and variables.
pub const LINKAGE_LINK_ONCE: u32 = 2;
/// The prefix of functions with which LLVM's SPIR-V translator replaces intrinsics. It exports them, although each module
/// has its own. Drivers turn exported functions with this prefix into intrinsics again, so the linkage must stay.
pub const INTRINSIC: &str = "spirv.llvm_";

pub const MAGIC: u32 = 0x0723_0203;
/// The first bytes of a module.
pub const MAGIC_BYTES: [u8; 4] = MAGIC.to_le_bytes();
pub const HEADER_WORDS: usize = 5;

/// An instruction. The operands are all words after the first, including the result.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'w> {
    /// The index of the instruction's first word in the module.
    pub at: usize,
    pub opcode: u16,
    pub operands: &'w [u32],
}

pub fn error(word: usize, problem: &'static str) -> Error {
    Error::new("SPIR-V module", word as u64 * 4, ErrorKind::SpirV(problem))
}

/// Returns the words of a module, including its header.
///
/// # Errors
///
/// Returns an error if the bytes are not SPIR-V in little-endian byte order. Every known compiler uses this order.
pub fn words(bytes: &[u8]) -> Result<Vec<u32>, Error> {
    let (words, []) = bytes.as_chunks() else {
        return Err(error(bytes.len() / 4, "the size is not a multiple of 4"));
    };
    let words: Vec<u32> = words.iter().copied().map(u32::from_le_bytes).collect();
    match words.first() {
        Some(&MAGIC) if words.len() >= HEADER_WORDS => Ok(words),
        Some(&MAGIC) => Err(error(0, "the header is truncated")),
        _ => Err(error(
            0,
            "it does not begin with the magic number 0x07230203",
        )),
    }
}

/// Returns the bytes of a module.
pub fn bytes(words: Vec<u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Iterates over the instructions in a module. An error ends the iteration.
pub fn instructions(words: &[u32]) -> impl Iterator<Item = Result<Instruction<'_>, Error>> {
    let mut next = HEADER_WORDS;
    core::iter::from_fn(move || {
        let at = next;
        let first = *words.get(at)?;
        // A zero-length instruction ends before its operands start, so it is rejected.
        next = at + (first >> 16) as usize;
        let Some(operands) = words.get(at + 1..next) else {
            next = words.len();
            return Some(Err(error(at, "an instruction extends beyond the module")));
        };
        Some(Ok(Instruction {
            at,
            opcode: (first & 0xffff) as u16,
            operands,
        }))
    })
}

/// Decodes a literal string (four bytes per word, NUL-terminated). Also returns the words after it.
pub fn string(words: &[u32]) -> (String, &[u32]) {
    let ends = |word: &u32| word.to_le_bytes().contains(&0);
    let end = words
        .iter()
        .position(ends)
        .map_or(words.len(), |last| last + 1);
    let (text, rest) = words.split_at(end);
    let bytes = text.iter().flat_map(|word| word.to_le_bytes());
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    (String::from_utf8_lossy(&bytes).into_owned(), rest)
}

/// Appends an instruction. The caller must ensure that it is at most 65,535 words long.
pub fn put(out: &mut Vec<u32>, opcode: u16, operands: &[&[u32]]) {
    let count = 1 + operands.iter().map(|part| part.len()).sum::<usize>();
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    out.push(count << 16 | u32::from(opcode));
    out.extend(operands.iter().copied().flatten());
}

/// Returns the operands of `OpEntryPoint` with only the interface variables that `is_kept` accepts.
pub fn entry_point(operands: &[u32], is_kept: impl Fn(&u32) -> bool) -> Vec<u32> {
    let interface = string(operands.get(2..).unwrap_or_default()).1;
    let (head, _) = operands.split_at(operands.len() - interface.len());
    let kept: Vec<u32> = interface.iter().copied().filter(is_kept).collect();
    [head, &kept].concat()
}

/// Encodes a literal string: four bytes per word, NUL-terminated.
pub fn literal(text: &str) -> Vec<u32> {
    padded(&[text.as_bytes(), &[0]].concat())
}

/// Encodes bytes, four per word, and extends them to whole words with zeros.
pub fn padded(bytes: &[u8]) -> Vec<u32> {
    let word = |bytes: &[u8]| {
        let bytes = bytes.iter().rev();
        bytes.fold(0, |word, byte| word << 8 | u32::from(*byte))
    };
    bytes.chunks(4).map(word).collect()
}
