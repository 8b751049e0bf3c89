// SPDX-License-Identifier: MIT OR Apache-2.0
//! Differences: sides of conditions that can be negative although no number in them is, such as `n - 1`. A
//! contract implies that a difference is at least 0 where it bounds a length.

use std::collections::BTreeSet;

use crate::contract::condition::{Side, ungrouped};
use crate::contract::implied::Implied;
use crate::contract::spelling::spelled;
use crate::contract::sum::Numbers;
use crate::contract::terms::Value;

/// The differences of one contract.
#[derive(Default)]
pub(super) struct Differences {
    all: Vec<Difference>,
    /// The differences that a condition compares with a constant.
    stated: BTreeSet<String>,
    /// The number of conditions so far.
    pub(super) conditions: usize,
}

struct Difference {
    condition: usize,
    implied: Implied,
}

impl Differences {
    /// Adds `side` of the next condition, if it is a difference.
    pub(super) fn add(&mut self, side: &Side, value: &Value, other: &Value, blamed: Option<usize>) {
        let text = spelled(ungrouped(&side.expression));
        let without_length = value.sum.lengths().is_empty() && !value.sum.is_constant();
        if !without_length || value.sum.is_natural(&Numbers::new()) {
            return;
        }
        if other.sum.is_constant() {
            self.stated.insert(text);
            return;
        }
        let implied = Implied::natural(blamed, text, value.code.clone());
        self.all.push(Difference {
            condition: self.conditions,
            implied,
        });
    }

    /// Returns the conditions that differences are at least 0 where they bound a length. Skips differences
    /// whose minimum the contract states.
    pub(super) fn beside_lengths(&self, binding: &[bool]) -> impl Iterator<Item = &Implied> {
        let binding = self
            .all
            .iter()
            .filter(|difference| binding.get(difference.condition) == Some(&true));
        binding
            .map(|difference| &difference.implied)
            .filter(|implied| !self.stated.contains(&implied.text))
    }
}
