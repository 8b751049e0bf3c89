// SPDX-License-Identifier: MIT OR Apache-2.0
//! One function: its name, how often it was called, and where the real one is.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::driver;

/// What is known of one function.
pub(crate) struct Slot {
    name: &'static str,
    calls: AtomicU64,
    real: AtomicPtr<c_void>,
}

impl Slot {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self {
            name,
            calls: AtomicU64::new(0),
            real: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Counts a call, and says which one it is.
    pub(crate) fn count(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn reset(&self) {
        self.calls.store(0, Ordering::SeqCst);
    }

    /// Where the function of the driver is, or null.
    pub(crate) fn real(&self) -> *mut c_void {
        let known = self.real.load(Ordering::Acquire);
        if !known.is_null() {
            return known;
        }
        let real = driver::symbol(self.name);
        self.real.store(real, Ordering::Release);
        real
    }

    /// An extension function, which only a platform can tell.
    pub(crate) fn set_real(&self, real: *mut c_void) {
        self.real.store(real, Ordering::Release);
    }
}

/// A function in a table.
pub(crate) struct Entry {
    pub(crate) slot: &'static Slot,
    /// The address of what is called in its place.
    pub(crate) here: fn() -> *mut c_void,
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Entry> {
    crate::standard::TABLE
        .iter()
        .chain(crate::extensions::TABLE)
}
