// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bounds: which lengths the conditions of a contract bound from below. Some numbers must not be negative, so
//! that this means the same in C++ as here.
//!
//! For an `int n`, `x.len() >= n` holds for every negative `n`. A kernel that converts `n` to `size_t` then
//! reaches out of bounds. So numbers beside lengths must not be negative, and neither must numbers with an
//! upper bound, unless the contract says how small they may be.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::condition::Relation;
use crate::contract::sum::{Length, Numbers, Sum, Trend};

/// All conditions of a contract together.
#[derive(Default)]
pub(crate) struct Bounds {
    compared: Vec<Compared>,
}

/// A condition.
struct Compared {
    /// The differences that are at least 0 where the condition holds; an equation has two.
    natural: Vec<Sum>,
    equal: bool,
}

impl Bounds {
    /// Adds the condition that `left` is in `relation` to `right`.
    pub(crate) fn compare(&mut self, left: &Sum, relation: Relation, right: &Sum) {
        let (less, more) = (
            || right.clone().minus(left.clone()),
            || left.clone().minus(right.clone()),
        );
        let strictly = |difference: Sum| difference.plus(Sum::constant(-1));
        let natural = match relation {
            Relation::Less => vec![strictly(less())],
            Relation::LessOrEqual => vec![less()],
            Relation::Greater => vec![strictly(more())],
            Relation::GreaterOrEqual | Relation::Aligned => vec![more()],
            Relation::Equal => vec![less(), more()],
            // A length that is not 0 is at least 1.
            Relation::NotEqual => match more().multiple_of_length() {
                Some(factor) => vec![strictly(more().scaled(factor.signum()))],
                None => Vec::new(),
            },
        };
        let equal = relation == Relation::Equal;
        self.compared.push(Compared { natural, equal });
    }

    /// Returns the lengths with a known minimum. Lengths that only bound each other are not included.
    pub(crate) fn bounded(&self) -> BTreeSet<Length> {
        let negative = self.negative();
        let mut bounded = BTreeSet::new();
        loop {
            let known = bounded.len();
            for compared in &self.compared {
                for sum in &compared.natural {
                    bounded.extend(compared.bounds(sum, &negative, &bounded));
                }
            }
            if bounded.len() == known {
                return bounded;
            }
        }
    }

    /// Returns for each condition whether it bounds a length, if all other lengths in it are bounded.
    pub(crate) fn binding(&self) -> Vec<bool> {
        let negative = self.negative();
        let binds = |compared: &Compared| {
            let mut natural = compared.natural.iter();
            natural.any(|sum| !compared.bounds(sum, &negative, &sum.lengths()).is_empty())
        };
        self.compared.iter().map(binds).collect()
    }

    /// Returns the smallest allowed values of numbers, where the contract states them.
    fn least(&self) -> BTreeMap<&String, i128> {
        let mut least = BTreeMap::new();
        for sum in self.compared.iter().flat_map(|compared| &compared.natural) {
            if let Some((number, bound)) = sum.lower_bound() {
                let known = least.entry(number).or_insert(bound);
                *known = bound.max(*known);
            }
        }
        least
    }

    /// Returns the numbers that may be negative.
    fn negative(&self) -> Numbers {
        let least = self.least().into_iter();
        let negative = least.filter(|(_, bound)| *bound < 0);
        negative.map(|(number, _)| number.clone()).collect()
    }

    /// Returns the numbers that must not be negative, unless a condition says how small they may be.
    pub(crate) fn natural_numbers(&self) -> Numbers {
        let mut natural = Numbers::new();
        for sum in self.compared.iter().flat_map(|compared| &compared.natural) {
            natural.extend(if sum.lengths().is_empty() {
                sum.bounded_above()
            } else {
                sum.numbers()
            });
        }
        let least = self.least();
        natural.retain(|number| !least.contains_key(number));
        natural
    }
}

impl Compared {
    /// Returns the lengths that `sum`, one of its own sums, bounds where `others` are bounded.
    fn bounds(&self, sum: &Sum, negative: &Numbers, others: &BTreeSet<Length>) -> BTreeSet<Length> {
        if !self.equal && sum.is_natural(negative) {
            return BTreeSet::new(); // as it is whatever the lengths are
        }
        let lengths = sum.lengths();
        let (up, other): (Vec<Length>, Vec<Length>) = lengths
            .into_iter()
            .partition(|length| sum.trend(*length, negative) == Trend::Up);
        if other.iter().all(|length| others.contains(length)) {
            up.into_iter().collect()
        } else {
            BTreeSet::new()
        }
    }
}
