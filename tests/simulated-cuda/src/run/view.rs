// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel sees of memory: allocations by their addresses, and where their bytes are.

use std::sync::atomic::{AtomicU32, Ordering};

use super::Fault;

/// An allocation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range {
    pub(crate) begin: u64,
    pub(crate) size: u64,
    /// What is added to an address for the place of its bytes in this process.
    pub(crate) shift: u64,
}

/// All allocations, sorted by their addresses.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    pub(crate) ranges: Vec<Range>,
}

impl View {
    /// Where the bytes at an address are. `hint` remembers the allocation for the next time.
    #[inline]
    pub(crate) fn locate(
        &self,
        address: u64,
        size: u64,
        hint: &AtomicU32,
    ) -> Result<*mut u8, Fault> {
        let guess = hint.load(Ordering::Relaxed) as usize;
        if let Some(range) = self.ranges.get(guess)
            && within(range, address, size)
        {
            return Ok(place(range, address));
        }
        let after = self.ranges.partition_point(|range| range.begin <= address);
        let number = after.checked_sub(1).ok_or(Fault::Address)?;
        let range = &self.ranges[number];
        if !within(range, address, size) {
            return Err(Fault::Address);
        }
        hint.store(u32::try_from(number).unwrap_or(0), Ordering::Relaxed);
        Ok(place(range, address))
    }
}

#[inline]
fn within(range: &Range, address: u64, size: u64) -> bool {
    let offset = address.wrapping_sub(range.begin);
    offset <= range.size && range.size - offset >= size
}

#[inline]
fn place(range: &Range, address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address.wrapping_add(range.shift) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_inside_an_allocation_are_found() {
        let range = |begin, size| Range {
            begin,
            size,
            shift: 0x1000,
        };
        let view = View {
            ranges: vec![range(100, 10), range(200, 8)],
        };
        let hint = AtomicU32::new(0);
        let at = |address, size| view.locate(address, size, &hint).map(|place| place as u64);
        assert_eq!(at(100, 10), Ok(0x1064));
        assert_eq!(at(204, 4), Ok(0x10cc));
        for (address, size) in [
            (99, 1),
            (100, 11),
            (109, 2),
            (150, 1),
            (208, 1),
            (u64::MAX, 8),
        ] {
            assert_eq!(at(address, size), Err(Fault::Address), "{address} {size}");
        }
    }
}
