// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report of a condition that does not hold.

use std::fmt;

use crate::contract::number::Fault;

/// A condition of a contract that does not hold, and the values in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    condition: &'static str,
    argument: Option<usize>,
    reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    Values {
        values: Vec<(&'static str, String)>,
        fault: Option<Fault>,
    },
    /// The required and the known alignment.
    Alignment(u64, u64),
}

impl Broken {
    pub(super) fn new(
        condition: &'static str,
        argument: Option<usize>,
        values: &[(&'static str, &dyn fmt::Display)],
        fault: Option<Fault>,
    ) -> Self {
        let values = values
            .iter()
            .map(|(text, value)| (*text, value.to_string()));
        let values = values.collect();
        Self {
            condition,
            argument,
            reason: Reason::Values { values, fault },
        }
    }

    pub(super) fn unaligned(argument: usize, required: u64, known: u64) -> Self {
        Self {
            condition: "align",
            argument: Some(argument),
            reason: Reason::Alignment(required, known),
        }
    }

    /// Returns the condition as the contract has it.
    #[must_use]
    pub fn condition(&self) -> &'static str {
        self.condition
    }

    /// Returns the numbers in the condition as the contract names them, such as `x.len()`, and their values.
    #[must_use]
    pub fn values(&self) -> &[(&'static str, String)] {
        match &self.reason {
            Reason::Values { values, .. } => values,
            Reason::Alignment(..) => &[],
        }
    }

    /// Returns the required and the known alignment, if only that is wrong.
    pub(crate) fn alignment(&self) -> Option<(u64, u64)> {
        match self.reason {
            Reason::Alignment(required, known) => Some((required, known)),
            Reason::Values { .. } => None,
        }
    }

    /// Returns the argument that an error names; `None` where the cause is not a single argument.
    pub(crate) fn argument(&self) -> Option<usize> {
        self.argument
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.condition)?;
        let mut separator = ": ";
        for (text, value) in self.values() {
            write!(f, "{separator}{text} is {value}")?;
            separator = ", ";
        }
        let Reason::Values { fault, .. } = self.reason else {
            return Ok(());
        };
        match fault {
            None => Ok(()),
            Some(Fault::Overflow) => f.write_str("; it overflows or divides by zero"),
            Some(Fault::UnknownSign) => f.write_str("; a number of unknown sign is negative"),
            Some(Fault::NegativeLength) => {
                f.write_str("; it compares a length with a negative number")
            }
        }
    }
}
