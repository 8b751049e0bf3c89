// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands: which words of an instruction in a function are ids that may stand for a pointer. The numbers are
//! those of the SPIR-V specification, section 3.

use core::ops::Range;

use crate::signature::spirv::words::{Instruction, op};

/// Returns the operands that may be pointers; the others are types, literals and other ids. Returns `None` for
/// an unknown instruction.
pub(super) fn pointers(instruction: &Instruction<'_>) -> Option<Range<usize>> {
    let count = instruction.operands.len();
    let range = match instruction.opcode {
        op::LINE
        | op::NO_LINE
        | op::LABEL
        | op::LOOP_MERGE
        | SELECTION_MERGE
        | BRANCH
        | BRANCH_CONDITIONAL
        | SWITCH
        | op::RETURN
        | op::FUNCTION_END
        | UNREACHABLE => 0..0,
        // Arithmetic, groups, images, and others whose operands are numbers.
        86..=107 | 109..=116 | 118..=120 | 126..=168 | 182..=226 | 261..=299 | 333..=366 => 0..0,
        op::VARIABLE | op::FUNCTION_PARAMETER | op::UNDEF => 0..0,
        op::STORE => 0..2,
        op::COPY_MEMORY => 0..2,
        op::COPY_MEMORY_SIZED => 0..3,
        op::LIFETIME_START | op::LIFETIME_STOP => 0..1,
        op::LOAD | COMPOSITE_EXTRACT | GENERIC_CAST_TO_PTR_EXPLICIT => 2..3,
        COMPOSITE_INSERT | VECTOR_SHUFFLE => 2..4,
        op::FUNCTION_CALL => 3..count,
        op::EXT_INST => 4..count - ext_inst_literals(instruction.operands),
        RETURN_VALUE | ATOMIC_STORE | ATOMIC_FLAG_CLEAR | ASSUME_TRUE | BLOCK_WRITE => 0..count,
        op::ACCESS_CHAIN
        | op::IN_BOUNDS_ACCESS_CHAIN
        | op::PTR_ACCESS_CHAIN
        | op::IN_BOUNDS_PTR_ACCESS_CHAIN
        | COMPOSITE_CONSTRUCT
        | op::COPY_OBJECT
        | CONVERT_PTR_TO_U
        | op::PTR_CAST_TO_GENERIC
        | op::GENERIC_CAST_TO_PTR
        | op::BITCAST
        | op::SELECT
        | COMPARISONS_FIRST..=COMPARISONS_LAST
        | ATOMICS_FIRST..=ATOMICS_LAST
        | op::PHI
        | ASYNC_COPY
        | ATOMIC_FLAG_TEST
        | PTR_EQUAL..=PTR_DIFF
        | BLOCK_READ
        | ATOMIC_FLOATS_FIRST..=ATOMIC_FLOATS_LAST
        | ATOMIC_FADD
        | EXPECT => 2..count,
        _ => return None,
    };
    (range.end <= count && range.start <= range.end).then_some(range)
}

const VECTOR_SHUFFLE: u16 = 79;
pub(super) const COMPOSITE_CONSTRUCT: u16 = 80;
const COMPOSITE_EXTRACT: u16 = 81;
const COMPOSITE_INSERT: u16 = 82;
const CONVERT_PTR_TO_U: u16 = 117;
const GENERIC_CAST_TO_PTR_EXPLICIT: u16 = 123;
/// `OpIEqual` and the others, which come after `OpSelect`.
const COMPARISONS_FIRST: u16 = 170;
const COMPARISONS_LAST: u16 = 181;
const ATOMICS_FIRST: u16 = 227;
const ATOMIC_STORE: u16 = 228;
const ATOMICS_LAST: u16 = 242;
const SELECTION_MERGE: u16 = 247;
const BRANCH: u16 = 249;
const BRANCH_CONDITIONAL: u16 = 250;
const SWITCH: u16 = 251;
const RETURN_VALUE: u16 = 254;
const UNREACHABLE: u16 = 255;
const ASYNC_COPY: u16 = 259;
const ATOMIC_FLAG_TEST: u16 = 318;
const ATOMIC_FLAG_CLEAR: u16 = 319;
const PTR_EQUAL: u16 = 401;
const PTR_DIFF: u16 = 403;
const BLOCK_READ: u16 = 5575;
const BLOCK_WRITE: u16 = 5576;
const ATOMIC_FLOATS_FIRST: u16 = 5614;
const ATOMIC_FLOATS_LAST: u16 = 5615;
const ASSUME_TRUE: u16 = 5630;
const EXPECT: u16 = 5631;
const ATOMIC_FADD: u16 = 6035;

/// Returns how many literals an extended instruction ends with. The numbers are those of OpenCL.std: loads of
/// vectors have their size, and stores with rounding have the mode.
fn ext_inst_literals(operands: &[u32]) -> usize {
    match operands {
        [_, _, _, 171 | 174 | 176 | 178 | 179 | 181, _, ..] => 1,
        [_, _, _, _, ..] => 0,
        // Too short; the range is refused.
        _ => operands.len(),
    }
}
