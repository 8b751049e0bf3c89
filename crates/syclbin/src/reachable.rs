// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reachability in a graph, such as a call graph. Cycles are allowed.

use crate::prelude::*;

/// Returns everything that can be reached from `start`, including `start` itself, over the edges `next`.
pub(crate) fn reachable<T: Copy + Ord>(
    mut start: Vec<T>,
    next: &BTreeMap<T, Vec<T>>,
) -> BTreeSet<T> {
    let mut found = BTreeSet::new();
    while let Some(place) = start.pop() {
        if found.insert(place) {
            start.extend(next.get(&place).into_iter().flatten());
        }
    }
    found
}
