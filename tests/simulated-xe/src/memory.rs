// SPDX-License-Identifier: MIT OR Apache-2.0
//! The addresses of a GPU, and the host memory behind them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::node::Object;

/// What one address space of a GPU maps.
#[derive(Default)]
pub(crate) struct AddressSpace {
    /// By the first address.
    ranges: BTreeMap<u64, Range>,
}

struct Range {
    bytes: u64,
    host: usize,
    /// What has the memory, which may be closed before it is unmapped.
    _object: Option<Arc<Object>>,
}

/// Addresses have at most 57 bits. Above these, the driver repeats the last one, or not.
const BITS: u64 = (1 << 57) - 1;
/// What repeats where addresses have 48 bits.
const REPEATED: u64 = !((1 << 47) - 1) & BITS;

fn plain(address: u64) -> u64 {
    match address & BITS {
        address if address & REPEATED == REPEATED => address & ((1 << 48) - 1),
        address => address,
    }
}

impl AddressSpace {
    /// Maps a part of an object, or memory of the program.
    pub(crate) fn map(
        &mut self,
        address: u64,
        bytes: u64,
        (host, object): (usize, Option<Arc<Object>>),
    ) {
        let range = Range {
            bytes,
            host,
            _object: object,
        };
        self.ranges.insert(plain(address), range);
    }

    pub(crate) fn unmap(&mut self, address: u64, bytes: u64) {
        let first = plain(address);
        let end = first.saturating_add(bytes);
        let inside: Vec<u64> = self
            .ranges
            .range(first..end)
            .map(|(first, _)| *first)
            .collect();
        for first in inside {
            self.ranges.remove(&first);
        }
    }

    /// The host memory of `bytes` bytes, if all of them are in one range.
    pub(crate) fn host<T>(&self, address: u64, bytes: u64) -> Option<*mut T> {
        let address = plain(address);
        let (first, range) = self.ranges.range(..=address).next_back()?;
        let offset = address - first;
        (offset.checked_add(bytes)? <= range.bytes)
            .then_some((range.host + offset as usize) as *mut T)
    }

    pub(crate) fn read<T: Copy>(&self, address: u64) -> Option<T> {
        let host = self.host::<T>(address, size_of::<T>() as u64)?;
        Some(unsafe { host.read_unaligned() })
    }

    /// Writes a value, for threads that wait for it.
    pub(crate) fn write<T: Copy>(&self, address: u64, value: T) {
        if let Some(host) = self.host::<T>(address, size_of::<T>() as u64) {
            std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
            unsafe { host.write_volatile(value) };
        }
    }

    /// Copies bytes as the copy engine does.
    pub(crate) fn copy(&self, from: u64, to: u64, bytes: u64) {
        if let (Some(from), Some(to)) = (self.host::<u8>(from, bytes), self.host::<u8>(to, bytes)) {
            unsafe { to.copy_from(from, bytes as usize) };
        }
    }

    pub(crate) fn fill(&self, to: u64, value: u8, bytes: u64) {
        if let Some(to) = self.host::<u8>(to, bytes) {
            unsafe { to.write_bytes(value, bytes as usize) };
        }
    }
}
