// SPDX-License-Identifier: MIT OR Apache-2.0
//! Symbols: sets that only list the names for which something is true.

use alloc::string::String;

use super::value::malformed::Malformed;
use super::value::named::{Named, without_run_prefix};
use crate::property::PropertySets;

/// Names of which a set says that something is true. The sets are:
///
/// - [`KERNEL_NAMES`](crate::property::set::KERNEL_NAMES),
/// - [`EXPORTED_SYMBOLS`](crate::property::set::EXPORTED_SYMBOLS),
/// - [`IMPORTED_SYMBOLS`](crate::property::set::IMPORTED_SYMBOLS),
/// - [`ASSERT_USED`](crate::property::set::ASSERT_USED),
/// - [`DYNAMIC_LOCAL_MEMORY`](crate::property::set::DYNAMIC_LOCAL_MEMORY).
///
/// The value of each is 1. A 0 means that it is not true: the name is kept but not counted. Another number is
/// kept as well, and counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// The names and their values.
    pub values: Named<u32>,
}

impl Symbols {
    /// Reads the set called `set`.
    ///
    /// # Errors
    ///
    /// When a value is not a number.
    pub fn read(sets: &PropertySets<'_>, set: &str) -> Result<Self, Malformed> {
        Named::read(sets, set).map(|values| Self { values })
    }

    /// Replaces the names of the set called `set` with these.
    pub fn write(&self, sets: &mut PropertySets<'_>, set: &'static str) {
        self.values.write(sets, set);
    }

    /// Adds a name.
    pub fn add(&mut self, name: impl Into<String>) {
        self.values.insert(name, 1);
    }

    /// Returns whether it is true of `name`.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|value| *value != 0)
    }

    /// Returns the names of which it is true. Names that only mean something to one run of the reference
    /// runtime are left out (see [`without_run_prefix`]).
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values
            .iter()
            .filter(|(name, value)| **value != 0 && without_run_prefix(name) == *name)
            .map(|(name, _)| name)
    }
}

impl<N: Into<String>> FromIterator<N> for Symbols {
    fn from_iter<I: IntoIterator<Item = N>>(names: I) -> Self {
        let values = names.into_iter().map(|name| (name, 1)).collect();
        Self { values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_symbol_is_kept_but_not_contained() {
        let mut sets = PropertySets::default();
        for (name, value) in [("a", 1), ("b", 0), ("c", 7), ("rtc_3$d", 1)] {
            sets.insert("s", name, value);
        }
        let symbols = Symbols::read(&sets, "s").unwrap();
        assert!(symbols.names().eq(["a", "c"]));
        assert!(symbols.contains("c") && symbols.contains("rtc_3$d"));
        assert!(!symbols.contains("b") && !symbols.contains("d"));
        let mut written = PropertySets::default();
        symbols.write(&mut written, "s");
        assert_eq!(written, sets);
    }

    #[test]
    fn text_for_a_value_is_malformed() {
        let mut sets = PropertySets::default();
        sets.insert("s", "k", "yes");
        let error = Symbols::read(&sets, "s").unwrap_err();
        assert_eq!((&*error.set, &*error.key), ("s", "k"));
        assert_eq!(error.found, "3 bytes: 79 65 73");
    }
}
