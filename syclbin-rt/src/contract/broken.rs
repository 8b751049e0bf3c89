// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditions of contracts, and the report of a condition that does not hold.

use std::fmt;

/// One comparison of a contract.
#[derive(Debug, PartialEq, Eq)]
pub struct Condition {
    /// The whole condition, such as `x.len() >= n`.
    pub text: &'static str,
    /// The left side of the relation, such as `x.len()`.
    pub left: &'static str,
    /// The relation between the two sides.
    pub relation: Relation,
    /// The right side of the relation.
    pub right: &'static str,
    /// The argument that an error names, counted from 0; `None` where the cause is not a single argument.
    pub argument: Option<usize>,
}

/// The relation between the two sides of a [`Condition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `>=`
    GreaterOrEqual,
    /// `>`
    Greater,
    /// `>=` of alignments, for implicit conditions.
    Aligned,
}

/// A condition of a contract that does not hold, and the values of its two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    condition: &'static Condition,
    left: Side,
    right: Side,
}

/// The value of a side of a condition.
///
/// This is not `Option<i128>`, because the tag of that type has 16 bytes. As a `Broken` is part of the error of
/// a launch, every `Result` on a launch's way would have such a tag. Processors wait for it, because it is
/// written in two halves and read as a whole. That took a fifth of a launch's time outside the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Side {
    value: i128,
    known: bool,
}

impl Side {
    fn new(value: Option<i128>) -> Self {
        Self {
            value: value.unwrap_or_default(),
            known: value.is_some(),
        }
    }

    fn get(self) -> Option<i128> {
        self.known.then_some(self.value)
    }
}

impl Relation {
    pub(crate) fn holds(self, left: i128, right: i128) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::GreaterOrEqual | Self::Aligned => left >= right,
            Self::Greater => left > right,
        }
    }
}

impl Broken {
    pub(crate) fn new(
        condition: &'static Condition,
        left: Option<i128>,
        right: Option<i128>,
    ) -> Self {
        Self {
            condition,
            left: Side::new(left),
            right: Side::new(right),
        }
    }

    /// Returns the condition as the contract has it.
    #[must_use]
    pub fn condition(&self) -> &'static str {
        self.condition.text
    }

    /// Returns the value of the left side; `None` if it overflows or divides by zero.
    #[must_use]
    pub fn left(&self) -> Option<i128> {
        self.left.get()
    }

    /// Returns the value of the right side; `None` if it overflows or divides by zero.
    #[must_use]
    pub fn right(&self) -> Option<i128> {
        self.right.get()
    }

    /// Returns the required and the actual alignment, if the condition is only about alignment.
    pub(crate) fn alignment(&self) -> Option<(u64, u64)> {
        let aligned = self.condition.relation == Relation::Aligned;
        let bytes = |side: Side| side.get().and_then(|value| u64::try_from(value).ok());
        Some((bytes(self.right)?, bytes(self.left)?)).filter(|_| aligned)
    }

    pub(crate) fn argument(&self) -> Option<usize> {
        self.condition.argument
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Condition {
            text, left, right, ..
        } = self.condition;
        write!(f, "`{text}`")?;
        let mut separator = ":";
        for (text, value) in [(left, self.left()), (right, self.right())] {
            if is_number(text) {
                continue;
            }
            match value {
                Some(value) => write!(f, "{separator} {text} is {value}")?,
                None => write!(f, "{separator} {text} overflows or divides by zero")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

/// Returns whether a side is a plain number, whose value an error need not repeat.
fn is_number(side: &str) -> bool {
    let digits = side.trim_start_matches('-');
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_from_terms() {
        assert!(is_number("1_000u64") && is_number("-1") && !is_number("2 * n"));
    }
}
