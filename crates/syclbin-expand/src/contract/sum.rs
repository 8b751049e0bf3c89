// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums: the values of expressions in a contract, with the details that decide what bounds what.
//!
//! `2 * x.len() - n + 1` is a sum of numbers of the launch, each with a factor. Products of numbers,
//! quotients and remainders are separate terms: for these, only the lengths that they grow with matter.

use std::collections::{BTreeMap, BTreeSet};

/// The number of elements of a parameter, in one of its dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Length {
    pub(crate) parameter: usize,
    /// `None` means all elements of an accessor of several dimensions.
    pub(crate) dimension: Option<u64>,
}

/// Signed numbers by their spelling.
pub(crate) type Numbers = BTreeSet<String>;

/// A sum such as `2 * x.len() - n + 1`: terms with their factors, by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    terms: BTreeMap<String, (i128, Term)>,
    constant: i128,
}

/// A number of the launch, or a combination of several.
#[derive(Clone, Debug, Default)]
struct Term {
    /// The lengths that it grows with or ignores, if none of its numbers is negative.
    grows: BTreeSet<Length>,
    /// The lengths that it depends on in another way.
    varies: BTreeSet<Length>,
    /// The signed numbers in it.
    signed: Numbers,
    /// Whether it is at least 0 if its signed numbers are.
    natural: bool,
}

/// How a sum depends on a length.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trend {
    /// It does not depend on the length.
    Constant,
    /// It never shrinks when the length grows.
    Up,
    Other,
}

impl Sum {
    pub(crate) fn constant(constant: i128) -> Self {
        let terms = BTreeMap::new();
        Self { terms, constant }
    }

    pub(crate) fn length(length: Length) -> Self {
        let term = Term {
            grows: [length].into(),
            natural: true,
            ..Term::default()
        };
        Self::of(format!("{length:?}"), term)
    }

    /// Creates a number that is never negative, from its spelling.
    pub(crate) fn natural(text: String) -> Self {
        let natural = true;
        Self::of(
            text,
            Term {
                natural,
                ..Term::default()
            },
        )
    }

    pub(crate) fn signed(text: String) -> Self {
        let term = Term {
            signed: [text.clone()].into(),
            natural: true,
            ..Term::default()
        };
        Self::of(text, term)
    }

    fn of(key: String, term: Term) -> Self {
        Self {
            terms: [(key, (1, term))].into(),
            constant: 0,
        }
    }

    pub(crate) fn scaled(mut self, factor: i128) -> Self {
        self.constant = self.constant.saturating_mul(factor);
        for (own, _) in self.terms.values_mut() {
            *own = own.saturating_mul(factor);
        }
        self.terms.retain(|_, (factor, _)| *factor != 0);
        self
    }

    pub(crate) fn plus(mut self, other: Self) -> Self {
        self.constant = self.constant.saturating_add(other.constant);
        for (key, (factor, term)) in other.terms {
            let own = self.terms.entry(key).or_insert((0, term));
            own.0 = own.0.saturating_add(factor);
        }
        self.terms.retain(|_, (factor, _)| *factor != 0);
        self
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        self.plus(other.scaled(-1))
    }

    pub(crate) fn times(self, other: Self) -> Self {
        if self.terms.is_empty() {
            return other.scaled(self.constant);
        }
        if other.terms.is_empty() {
            return self.scaled(other.constant);
        }
        let mut keys = [self.key(), other.key()];
        keys.sort();
        let mut term = self.growing_with(&other);
        term.grows.extend(other.growing_with(&self).grows);
        term.varies.retain(|length| !term.grows.contains(length));
        term.natural = self.is_natural(&Numbers::new()) && other.is_natural(&Numbers::new());
        Self::of(format!("({}) * ({})", keys[0], keys[1]), term)
    }

    pub(crate) fn over(self, other: Self) -> Self {
        if let (true, true, Some(quotient)) = (
            self.terms.is_empty(),
            other.terms.is_empty(),
            self.constant.checked_div(other.constant),
        ) {
            return Self::constant(quotient);
        }
        let mut term = self.growing_with(&other);
        term.natural = self.is_natural(&Numbers::new()) && other.is_natural(&Numbers::new());
        Self::of(format!("({}) / ({})", self.key(), other.key()), term)
    }

    pub(crate) fn modulo(self, other: Self) -> Self {
        if let (true, true, Some(rest)) = (
            self.terms.is_empty(),
            other.terms.is_empty(),
            self.constant.checked_rem(other.constant),
        ) {
            return Self::constant(rest);
        }
        let mut term = self.growing_with(&other);
        let grows = std::mem::take(&mut term.grows);
        term.varies.extend(grows);
        // A remainder has the sign of the dividend.
        term.natural = self.is_natural(&Numbers::new());
        Self::of(format!("({}) % ({})", self.key(), other.key()), term)
    }

    /// Combines both into a term that grows where this sum grows, and varies with the other lengths.
    fn growing_with(&self, other: &Self) -> Term {
        let mut term = Term::default();
        let others = other.lengths();
        let steady = other.is_natural(&Numbers::new());
        for length in self.lengths() {
            let up = self.trend(length, &Numbers::new()) == Trend::Up;
            if up && steady && !others.contains(&length) {
                term.grows.insert(length);
            } else {
                term.varies.insert(length);
            }
        }
        term.varies.extend(others);
        for (_, inner) in self.terms.values().chain(other.terms.values()) {
            term.signed.extend(inner.signed.iter().cloned());
        }
        term
    }

    /// Returns the same text for the same sum.
    fn key(&self) -> String {
        let terms = self.terms.iter();
        let mut key: String = terms
            .map(|(key, (factor, _))| format!("{factor} * {key} + "))
            .collect();
        key.push_str(&self.constant.to_string());
        key
    }

    /// Returns whether it is a constant.
    pub(crate) fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }

    pub(crate) fn lengths(&self) -> BTreeSet<Length> {
        let terms = self.terms.values();
        let each = terms.flat_map(|(_, term)| term.grows.iter().chain(&term.varies));
        each.copied().collect()
    }

    /// Returns whether it cannot be negative, if only the numbers in `negative` can be.
    pub(crate) fn is_natural(&self, negative: &Numbers) -> bool {
        let mut terms = self.terms.values();
        self.constant >= 0
            && terms.all(|(factor, term)| {
                factor.is_positive() && term.natural && term.signed.is_disjoint(negative)
            })
    }

    /// Returns how it depends on `length`, if only the numbers in `negative` can be negative.
    pub(crate) fn trend(&self, length: Length, negative: &Numbers) -> Trend {
        let mut trend = Trend::Constant;
        for (factor, term) in self.terms.values() {
            if term.varies.contains(&length) {
                return Trend::Other;
            }
            if term.grows.contains(&length) {
                if factor.is_negative() || !term.signed.is_disjoint(negative) {
                    return Trend::Other;
                }
                trend = Trend::Up;
            }
        }
        trend
    }

    /// Returns the signed numbers that make it smaller as they grow, or may do so. If the sum must be at
    /// least 0, they have an upper bound.
    pub(crate) fn bounded_above(&self) -> Numbers {
        let mut bounded = Numbers::new();
        for (key, (factor, term)) in &self.terms {
            let itself = term.signed.contains(key);
            if factor.is_negative() || !itself {
                bounded.extend(term.signed.iter().cloned());
            }
        }
        bounded
    }

    pub(crate) fn numbers(&self) -> Numbers {
        let terms = self.terms.values();
        terms.flat_map(|(_, term)| term.signed.clone()).collect()
    }

    /// Returns the signed number that has a lower bound if the sum is at least 0, and this bound.
    pub(crate) fn lower_bound(&self) -> Option<(&String, i128)> {
        let mut terms = self.terms.iter();
        match (terms.next(), terms.next()) {
            (Some((key, (factor, term))), None)
                if factor.is_positive() && term.signed.contains(key) =>
            {
                // The bound is rounded up: `2 * n - 3 >= 0` holds from 2 on.
                let least = self.constant.saturating_neg();
                let (quotient, rest) = (least.div_euclid(*factor), least.rem_euclid(*factor));
                Some((key, quotient.saturating_add(i128::from(rest != 0))))
            }
            _ => None,
        }
    }

    /// Returns the factor, if the sum is a multiple of one length.
    pub(crate) fn multiple_of_length(&self) -> Option<i128> {
        let mut terms = self.terms.values();
        match (terms.next(), terms.next()) {
            (Some((factor, term)), None)
                if self.constant == 0 && term.signed.is_empty() && term.grows.len() == 1 =>
            {
                Some(*factor)
            }
            _ => None,
        }
    }
}
