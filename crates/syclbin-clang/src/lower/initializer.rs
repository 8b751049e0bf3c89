// SPDX-License-Identifier: MIT OR Apache-2.0
//! Converts the default value of a specialization constant to bytes.

use syclbin::__private::spirv::words::op;

use super::MAX_DEPTH;
use super::index::Index;

/// The maximum size of a constant in bytes, far more than any reasonable source needs.
const MAX_SIZE: usize = 1 << 20;

/// Bytes in memory, some of which may be undefined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Initializer {
    pub(super) bytes: Vec<u8>,
    defined: Vec<bool>,
}

impl Initializer {
    /// Returns the in-memory bytes of the constant `id`.
    pub(super) fn of_constant(id: u32, index: &Index<'_>) -> Result<Self, &'static str> {
        const UNKNOWN: &str = "its default value cannot be determined";
        let ty = index.get(id).and_then(|found| found.operand(0));
        let (size, _) = ty.and_then(|ty| index.code.size(ty)).ok_or(UNKNOWN)?;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > MAX_SIZE {
            return Err("it is too large");
        }
        index.spend(size).ok_or("it is too large")?;
        let mut memory = Self {
            bytes: vec![0; size],
            defined: vec![false; size],
        };
        memory.fill(id, 0, 0, index).map(|()| memory).ok_or(UNKNOWN)
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

    fn fill(&mut self, id: u32, offset: u64, depth: u32, index: &Index<'_>) -> Option<()> {
        index.spend(1)?;
        let constant = index.get(id).filter(|_| depth <= MAX_DEPTH)?;
        let ty = constant.operand(0)?;
        let (size, _) = index.code.size(ty)?;
        match (constant.opcode, constant.operands.as_slice()) {
            (op::UNDEF, _) => Some(()),
            (op::CONSTANT_NULL, _) => {
                let size = usize::try_from(size).ok()?;
                index.spend(size)?;
                self.put(offset, &vec![0; size])
            }
            (op::CONSTANT, [_, _, words @ ..]) => {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                self.put(offset, bytes.get(..usize::try_from(size).ok()?)?)
            }
            (op::CONSTANT_COMPOSITE, [_, _, values @ ..]) => {
                let (count, parts) = index.code.parts(ty)?;
                if count != values.len() as u64 {
                    return None;
                }
                for (value, (ty, at)) in values.iter().zip(parts) {
                    if index.get(*value)?.operand(0)? != ty {
                        return None;
                    }
                    self.fill(*value, offset + at, depth + 1, index)?;
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
