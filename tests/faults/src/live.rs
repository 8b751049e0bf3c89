// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which objects live: how many references the program holds to each.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "they are called like the objects of OpenCL")]
pub enum Kind {
    Context,
    Device,
    Queue,
    Memory,
    UsmAllocation,
    Mapping,
    Program,
    Kernel,
    Event,
    Sampler,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The references to each object, by kind and address.
#[derive(Default)]
struct Live {
    references: Option<HashMap<(Kind, usize), u64>>,
    strange: u64,
}

static LIVE: Mutex<Live> = Mutex::new(Live {
    references: None,
    strange: 0,
});

fn live() -> MutexGuard<'static, Live> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One reference more.
pub(crate) fn add(kind: Kind, object: usize) {
    if object != 0 {
        let mut live = live();
        *live
            .references
            .get_or_insert_default()
            .entry((kind, object))
            .or_default() += 1;
    }
}

/// One reference less, and whether that was the last one.
pub(crate) fn remove(kind: Kind, object: usize) -> bool {
    let mut live = live();
    let references = live.references.get_or_insert_default();
    let Some(count) = references.get_mut(&(kind, object)) else {
        // Null may be freed; anything else was never made, or is gone already.
        live.strange += u64::from(object != 0);
        return false;
    };
    *count -= 1;
    let last = *count == 0;
    if last {
        references.remove(&(kind, object));
    }
    last
}

/// How many references there are to objects of each kind.
pub(crate) fn count() -> BTreeMap<Kind, u64> {
    let live = live();
    let mut counts = BTreeMap::new();
    for ((kind, _), count) in live.references.iter().flatten() {
        *counts.entry(*kind).or_default() += count;
    }
    counts
}

/// How many releases there were of what does not live.
pub(crate) fn strange_releases() -> u64 {
    live().strange
}
