// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed access to sets whose keys are names.

use core::borrow::Borrow;

use super::value::{Malformed, Property, read_value};
use crate::prelude::*;
use crate::property::PropertySets;
use crate::text::is_decimal;

/// A map from unique names to values, in file order. Holds, for example, the properties of kernels, variables or
/// constants. `K` is the type that stores a name.
///
/// ```
/// use syclbin::metadata::{DeviceGlobal, Named};
/// use syclbin::property::{PropertySets, set};
///
/// let mut globals = Named::default();
/// let bias = DeviceGlobal { size: 4, image_scope: true };
/// globals.insert("_Z4bias", bias);
/// let mut sets = PropertySets::default();
/// globals.write(&mut sets, set::DEVICE_GLOBALS);
/// assert_eq!(Named::read(&sets, set::DEVICE_GLOBALS)?.get("_Z4bias"), Some(&bias));
/// # Ok::<(), syclbin::metadata::Malformed>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<T, K = String> {
    entries: Vec<(K, T)>,
    // The position of each name. A hostile file may contain a hundred thousand names, too many for linear searches.
    places: BTreeMap<K, usize>,
}

impl<T, K> Default for Named<T, K> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            places: BTreeMap::new(),
        }
    }
}

impl<T, K: Borrow<str> + Clone + Ord> Named<T, K> {
    /// Returns the number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        Some(&self.entries[*self.places.get(name)?].1)
    }

    /// Returns a mutable reference to the value of `name`.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        Some(&mut self.entries[*self.places.get(name)?].1)
    }

    /// Sets the value of `name` and returns the previous value. An existing name keeps its position.
    pub fn insert(&mut self, name: impl Into<K>, value: T) -> Option<T> {
        let name = name.into();
        match self.get_mut(name.borrow()) {
            Some(old) => Some(core::mem::replace(old, value)),
            None => {
                self.entry(name, || value);
                None
            }
        }
    }

    /// Returns the value of `name`. If there is none, adds the value that `new` returns.
    pub(crate) fn entry(&mut self, name: K, new: impl FnOnce() -> T) -> &mut T {
        let place = match self.places.get(name.borrow()) {
            Some(place) => *place,
            None => {
                self.places.insert(name.clone(), self.entries.len());
                self.entries.push((name, new()));
                self.entries.len() - 1
            }
        };
        &mut self.entries[place].1
    }

    /// Removes `name` and returns its value.
    pub(crate) fn remove(&mut self, name: &str) -> Option<T> {
        let place = self.places.remove(name)?;
        for later in self.places.values_mut().filter(|later| **later > place) {
            *later -= 1;
        }
        Some(self.entries.remove(place).1)
    }

    /// Removes the names that `keep` rejects.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &T) -> bool) {
        self.entries
            .retain(|(name, value)| keep(name.borrow(), value));
        let names = self.entries.iter().map(|(name, _)| name.clone());
        self.places = names.zip(0..).collect();
    }

    /// Returns the names and their values, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        let entries = self.entries.iter();
        entries.map(|(name, value)| (name.borrow(), value))
    }

    /// Returns the names, in file order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }
}

impl<T: Property> Named<T> {
    /// Reads the set called `set`.
    ///
    /// # Errors
    ///
    /// Returns an error if a value is not valid for `T`.
    pub fn read(sets: &PropertySets<'_>, set: &str) -> Result<Self, Malformed> {
        let read = |(key, value)| Ok((key, read_value(set, key, value)?));
        sets.entries(set).map(read).collect()
    }

    /// Replaces the properties of the set called `set`. Existing properties keep their positions. Properties whose
    /// names `self` does not contain are removed.
    pub fn write(&self, sets: &mut PropertySets<'_>, set: &'static str) {
        sets.retain(set, |key| self.places.contains_key(key));
        for (name, value) in &self.entries {
            sets.insert(set, name.clone(), value.to_value());
        }
    }
}

impl<T, K: Borrow<str> + Clone + Ord, N: Into<K>> FromIterator<(N, T)> for Named<T, K> {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(iter: I) -> Self {
        let mut named = Self::default();
        for (name, value) in iter {
            named.insert(name, value);
        }
        named
    }
}

impl<T, K> IntoIterator for Named<T, K> {
    type Item = (K, T);
    type IntoIter = alloc::vec::IntoIter<(K, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

/// Returns `name` without the prefix `rtc_N$`. The reference runtime adds this prefix to the names in code that it
/// compiles at run time. The prefix is meaningless outside that run.
#[must_use]
pub fn without_run_prefix(name: &str) -> &str {
    let rest = name.strip_prefix("rtc_");
    match rest.and_then(|rest| rest.split_once('$')) {
        Some((number, rest)) if is_decimal(number) => rest,
        _ => name,
    }
}

/// A set of names, each stored with a flag. The property sets of this form are:
///
/// - [`KERNEL_NAMES`](crate::property::set::KERNEL_NAMES),
/// - [`EXPORTED_SYMBOLS`](crate::property::set::EXPORTED_SYMBOLS),
/// - [`IMPORTED_SYMBOLS`](crate::property::set::IMPORTED_SYMBOLS),
/// - [`ASSERT_USED`](crate::property::set::ASSERT_USED),
/// - [`DYNAMIC_LOCAL_MEMORY`](crate::property::set::DYNAMIC_LOCAL_MEMORY).
///
/// The value of each name is normally 1. A name with the value 0 is preserved, but is not a member. Any other value
/// is preserved, and the name is a member.
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
    /// Returns an error if a value is not a number.
    pub fn read(sets: &PropertySets<'_>, set: &str) -> Result<Self, Malformed> {
        Named::read(sets, set).map(|values| Self { values })
    }

    /// Replaces the names in the set called `set` with these names.
    pub fn write(&self, sets: &mut PropertySets<'_>, set: &'static str) {
        self.values.write(sets, set);
    }

    /// Adds a name.
    pub fn add(&mut self, name: impl Into<String>) {
        self.values.insert(name, 1);
    }

    /// Returns whether `name` is a member.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|value| *value != 0)
    }

    /// Returns the members. Names with a run prefix are left out (see [`without_run_prefix`]).
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.values.names();
        names.filter(|name| self.contains(name) && without_run_prefix(name) == *name)
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
    fn names_keep_their_order_and_their_place() {
        let mut named: Named<u32> = [("b", 1), ("a", 2), ("b", 3)].into_iter().collect();
        assert!(named.iter().eq([("b", &3), ("a", &2)]));
        assert_eq!(named.insert("c", 4), None);
        named.retain(|name, _| name != "b");
        assert_eq!((named.get("b"), named.get("c")), (None, Some(&4)));
        assert_eq!(named.insert("c", 5), Some(4));
        named.insert("d", 6);
        assert!(named.iter().eq([("a", &2), ("c", &5), ("d", &6)]));
    }

    #[test]
    fn run_prefix_needs_a_number() {
        for (name, plain) in [("rtc_0$x", "x"), ("rtc_12$y", "y"), ("rtc_$z", "rtc_$z")] {
            assert_eq!(without_run_prefix(name), plain);
        }
    }

    #[test]
    fn writing_removes_stale_keys_of_the_set() {
        let mut sets = PropertySets::default();
        for (set, key) in [("s", "gone"), ("s", "kept"), ("other", "gone")] {
            sets.insert(set, key, 1);
        }
        let named: Named<u32> = [("new", 2), ("kept", 3)].into_iter().collect();
        named.write(&mut sets, "s");
        let text = sets.to_text().unwrap();
        assert_eq!(text, "[s]\nkept=1|3\nnew=1|2\n[other]\ngone=1|1\n");
        Named::<u32>::default().write(&mut sets, "s");
        Named::<u32>::default().write(&mut sets, "absent");
        assert_eq!(sets.to_text().unwrap(), "[s]\n[other]\ngone=1|1\n");
    }

    #[test]
    fn zero_symbol_is_kept_but_not_contained() {
        let mut sets = PropertySets::default();
        for (name, value) in [("a", 1), ("b", 0), ("c", 7), ("rtc_3$d", 1)] {
            sets.insert("s", name, value);
        }
        let mut symbols = Symbols::read(&sets, "s").unwrap();
        assert!(symbols.names().eq(["a", "c"]));
        assert!(symbols.contains("c") && symbols.contains("rtc_3$d"));
        assert!(!symbols.contains("b") && !symbols.contains("d"));
        let mut written = PropertySets::default();
        symbols.write(&mut written, "s");
        assert_eq!(written, sets);
        for name in ["b", "e"] {
            symbols.add(name);
        }
        assert!(symbols.names().eq(["a", "b", "c", "e"]));
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
