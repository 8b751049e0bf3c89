// SPDX-License-Identifier: MIT OR Apache-2.0
//! Property sets: ordered, typed key-value records that store all metadata in a SYCLBIN file.

pub mod key;
pub mod set;
mod text;

use crate::metadata::Named;
use crate::prelude::*;
pub use text::Inexpressible;
#[doc(hidden)]
pub use text::key_problem;

/// Named sets of properties, in file order. Parsed sets borrow their names and keys from the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertySets<'a> {
    sets: Named<PropertySet<'a>, Cow<'a, str>>,
}

/// A set of properties, in file order. The order matters for specialization constants. Files may contain empty sets.
pub type PropertySet<'a> = Named<Value, Cow<'a, str>>;

impl<'a> PropertySets<'a> {
    /// Returns the sets and their names, such as `SYCL/kernel names`, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &PropertySet<'a>)> {
        self.sets.iter()
    }

    /// Returns whether there are no sets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Returns the set called `name`.
    #[must_use]
    pub fn set(&self, name: &str) -> Option<&PropertySet<'a>> {
        self.sets.get(name)
    }

    /// Returns the keys and values of the set called `set`, in file order.
    pub fn entries(&self, set: &str) -> impl Iterator<Item = (&str, &Value)> {
        self.set(set).into_iter().flat_map(Named::iter)
    }

    /// Returns the keys of the set called `set`, in file order.
    pub fn keys(&self, set: &str) -> impl Iterator<Item = &str> {
        self.set(set).into_iter().flat_map(Named::names)
    }

    /// Returns the value of `key` in the set called `set`.
    #[must_use]
    pub fn get(&self, set: &str, key: &str) -> Option<&Value> {
        self.set(set)?.get(key)
    }

    /// Adds an empty set, unless a set with this name exists.
    pub fn insert_set(&mut self, name: impl Into<Cow<'a, str>>) {
        self.set_mut(name.into());
    }

    /// Sets a property, and adds the set if it does not exist. An existing property with the same key keeps its
    /// position and gets the new value.
    ///
    /// The text form has no escape sequences, so some names and values cannot be written; see [`Inexpressible`].
    pub fn insert(
        &mut self,
        set: impl Into<Cow<'a, str>>,
        key: impl Into<Cow<'a, str>>,
        value: impl Into<Value>,
    ) {
        let set = self.set_mut(set.into());
        set.insert(key, value.into());
    }

    /// Copies all borrowed names and keys, so that the sets no longer borrow the parsed text.
    #[must_use]
    pub fn into_owned(self) -> PropertySets<'static> {
        let mut owned = PropertySets::default();
        for (name, set) in self.sets {
            let set = set.into_iter();
            *owned.set_mut(Cow::Owned(name.into_owned())) =
                set.map(|(key, value)| (key.into_owned(), value)).collect();
        }
        owned
    }

    /// Removes each property in `set` whose key `keep` rejects. The set remains, even if it becomes empty.
    pub fn retain(&mut self, set: &str, mut keep: impl FnMut(&str) -> bool) {
        if let Some(set) = self.sets.get_mut(set) {
            set.retain(|key, _| keep(key));
        }
    }

    /// Removes a set with all its properties, and returns it.
    pub fn remove_set(&mut self, name: &str) -> Option<PropertySet<'a>> {
        self.sets.remove(name)
    }

    fn set_mut(&mut self, name: Cow<'a, str>) -> &mut PropertySet<'a> {
        self.sets.entry(name, Named::default)
    }
}

/// The value of a property. A value owns its bytes, because the text form stores them in base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Type 1: a number.
    U32(u32),
    /// Type 2: bits. `data` contains `bits / 8` bytes, rounded up.
    Bytes {
        /// The number of bits. A multiple of 8, except for argument masks.
        bits: u64,
        /// The bytes that contain the bits.
        data: Vec<u8>,
    },
    /// A value of unknown type, preserved unchanged.
    Other {
        /// The type number.
        ty: u32,
        /// The value as written in the file.
        text: String,
    },
}

impl Value {
    /// Returns the number, if the value is a number.
    #[must_use]
    pub const fn as_u32(&self) -> Option<u32> {
        match self {
            Self::U32(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the bytes, if the value is a byte array.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes { data, .. } => Some(data),
            _ => None,
        }
    }

    /// Returns the text, if the value is a byte array that contains UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        core::str::from_utf8(self.as_bytes()?).ok()
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::U32(number)
    }
}

impl From<Vec<u8>> for Value {
    fn from(data: Vec<u8>) -> Self {
        let bits = data.len() as u64 * 8;
        Self::Bytes { bits, data }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::from(text.into_bytes())
    }
}
