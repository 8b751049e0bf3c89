// SPDX-License-Identifier: MIT OR Apache-2.0
//! Converts the default value of a specialization constant to bytes.

use super::index::Index;
use super::layout::{Layouts, Shape};
use super::words::op;

/// The maximum size of a constant in bytes, far more than SPIR-V can express in one constant.
const MAX_SIZE: u64 = 1 << 20;

/// Bytes in memory, some of which may be undefined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Initializer {
    pub(super) bytes: Vec<u8>,
    defined: Vec<bool>,
}

impl Initializer {
    /// Returns the bytes of the constant `id` in memory. `steps` is the remaining work limit.
    pub(super) fn of_constant(
        id: u32,
        index: &Index<'_>,
        layouts: &Layouts,
        steps: &mut usize,
    ) -> Result<Self, &'static str> {
        const UNKNOWN: &str = "its default value cannot be determined";
        let ty = index.get(id).and_then(|found| found.operand(0));
        let layout = ty.and_then(|ty| layouts.get(ty)).ok_or(UNKNOWN)?;
        let size = usize::try_from(layout.size).unwrap_or(usize::MAX);
        if layout.size > MAX_SIZE {
            return Err("it is too large");
        }
        *steps = steps.checked_sub(size).ok_or("it is too large")?;
        let mut memory = Self {
            bytes: vec![0; size],
            defined: vec![false; size],
        };
        let done = memory.fill(id, 0, index, layouts, steps);
        done.map(|()| memory).ok_or(UNKNOWN)
    }

    /// Returns whether any byte of the range is defined.
    pub(super) fn is_defined(&self, offset: u64, size: u64) -> bool {
        let bytes = range(offset, size).and_then(|range| self.defined.get(range));
        bytes.is_some_and(|bytes| bytes.contains(&true))
    }

    pub(super) fn at(&self, offset: u64, size: u64) -> Option<&[u8]> {
        self.bytes.get(range(offset, size)?)
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) -> Option<()> {
        let range = range(offset, bytes.len() as u64)?;
        self.bytes.get_mut(range.clone())?.copy_from_slice(bytes);
        self.defined.get_mut(range)?.fill(true);
        Some(())
    }

    // The recursion terminates: each part must have the type that the layout prescribes, and types have limited depth.
    fn fill(
        &mut self,
        id: u32,
        offset: u64,
        index: &Index<'_>,
        layouts: &Layouts,
        steps: &mut usize,
    ) -> Option<()> {
        *steps = steps.checked_sub(1)?;
        let constant = index.get(id)?;
        let layout = layouts.get(constant.operand(0)?)?;
        match (constant.opcode, constant.operands.as_slice()) {
            (op::UNDEF, _) => Some(()),
            (op::CONSTANT_NULL, _) => {
                *steps = steps.checked_sub(usize::try_from(layout.size).ok()?)?;
                let zeros = vec![0; usize::try_from(layout.size).ok()?];
                self.put(offset, &zeros)
            }
            (op::CONSTANT, [_, _, words @ ..]) => {
                let Shape::Number { .. } = layout.shape else {
                    return None;
                };
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                self.put(offset, bytes.get(..usize::try_from(layout.size).ok()?)?)
            }
            (op::CONSTANT_COMPOSITE, [_, _, parts @ ..]) => {
                if layout.part_count() != parts.len() as u64 {
                    return None;
                }
                for (part, (ty, at)) in parts.iter().zip(layout.parts()) {
                    if index.get(*part)?.operand(0)? != ty {
                        return None;
                    }
                    self.fill(*part, offset + at, index, layouts, steps)?;
                }
                Some(())
            }
            _ => None,
        }
    }
}

fn range(offset: u64, size: u64) -> Option<std::ops::Range<usize>> {
    let offset = usize::try_from(offset).ok()?;
    Some(offset..offset.checked_add(usize::try_from(size).ok()?)?)
}
