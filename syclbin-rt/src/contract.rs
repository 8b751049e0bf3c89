//! Contracts: what must hold of arguments and range for a launch to be safe, evaluated without
//! allocation.
//!
//! Generated code is written against this module. It is no interface for people.

use std::fmt;

use bytemuck::Pod;

use crate::arg::Arg;
use crate::range::{Extent, NdRange};

/// What a contract sees of a launch: its arguments, read back, and its range.
#[derive(Clone, Copy, Debug)]
pub struct Given<'g> {
    args: &'g [Arg<'g>],
    range: Extent,
}

/// One comparison of a contract.
#[derive(Debug, PartialEq, Eq)]
pub struct Condition {
    /// All of it, such as `x.len() >= n`.
    pub text: &'static str,
    /// What stands to the left of the relation, such as `x.len()`.
    pub left: &'static str,
    /// How the two sides are compared.
    pub relation: Relation,
    /// What stands to the right.
    pub right: &'static str,
    /// The argument that an error names, counted from 0; none where that is not one argument.
    pub argument: Option<usize>,
}

/// How the two sides of a [`Condition`] are compared.
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
}

/// A condition of a contract that does not hold, and the values of its two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    condition: &'static Condition,
    left: Option<i128>,
    right: Option<i128>,
}

impl<'g> Given<'g> {
    pub(crate) fn new(args: &'g [Arg<'g>], range: &NdRange) -> Self {
        let range = range.global_extent();
        Self { args, range }
    }

    /// How many `T` the kernel can reach through argument `index`: the elements of a buffer, of the
    /// range of an accessor, of work-group memory. 0 if it is none of these.
    #[must_use]
    pub fn len<T: Pod>(&self, index: usize) -> i128 {
        let arg = self.args.get(index);
        arg.map_or(0, |arg| arg.elements(size_of::<T>()))
    }

    /// The value of argument `index`; all zero if it is no value of that size.
    #[must_use]
    pub fn value<T: Pod>(&self, index: usize) -> T {
        let bytes = self.args.get(index).and_then(Arg::value_bytes);
        let value = bytes.and_then(|bytes| bytemuck::try_pod_read_unaligned(bytes).ok());
        value.unwrap_or_else(T::zeroed)
    }

    /// How many work-items the range has.
    #[must_use]
    pub fn items(&self) -> i128 {
        let sizes = self.range.driver_order().iter();
        sizes.fold(1, |items: i128, size| items.saturating_mul(*size as i128))
    }

    /// How many dimensions the range has. The kernel may have been written for another number: its
    /// last dimension is the last one of the range.
    #[must_use]
    pub fn dimensions(&self) -> i128 {
        self.range.dimensions() as i128
    }

    /// The size of a dimension of the range, 1 beyond the last.
    #[must_use]
    pub fn size(&self, dimension: usize) -> i128 {
        self.range.size(dimension) as i128
    }

    /// Compares the two sides of `condition`; none is one that overflows or divides by zero, with
    /// which no condition holds.
    ///
    /// # Errors
    ///
    /// When the condition does not hold.
    pub fn holds(
        &self,
        condition: &'static Condition,
        left: Option<i128>,
        right: Option<i128>,
    ) -> Result<(), Broken> {
        match (left, right) {
            (Some(left), Some(right)) if condition.relation.holds(left, right) => Ok(()),
            _ => Err(Broken {
                condition,
                left,
                right,
            }),
        }
    }
}

impl Relation {
    fn holds(self, left: i128, right: i128) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::GreaterOrEqual => left >= right,
            Self::Greater => left > right,
        }
    }
}

impl Broken {
    /// The condition, as the contract has it.
    #[must_use]
    pub fn condition(&self) -> &'static str {
        self.condition.text
    }

    /// The value of its left side; none if it overflows or divides by zero.
    #[must_use]
    pub fn left(&self) -> Option<i128> {
        self.left
    }

    /// The value of its right side, as of the left one.
    #[must_use]
    pub fn right(&self) -> Option<i128> {
        self.right
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
        for (text, value) in [(left, self.left), (right, self.right)] {
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

/// Whether a side is a number as it stands, which needs no telling.
fn is_number(side: &str) -> bool {
    let digits = side.trim_start_matches('-');
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_')
}
