// SPDX-License-Identifier: MIT OR Apache-2.0
//! Property sets: ordered, typed key-value records that store all metadata in a SYCLBIN file.

pub mod key;
pub mod set;
mod text;

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

pub use text::Inexpressible;
#[doc(hidden)]
pub use text::key_problem;

/// Named sets of properties, in file order. Parsed sets borrow their names and keys from the text.
#[derive(Clone, Debug, Default)]
pub struct PropertySets<'a> {
    sets: Vec<PropertySet<'a>>,
    // The position of each name. A hostile file may contain a hundred thousand names, too many for linear searches.
    places: BTreeMap<Cow<'a, str>, usize>,
}

/// A set of properties, in file order.
///
/// The order is preserved because it is significant for specialization constants.
#[derive(Clone, Debug)]
pub struct PropertySet<'a> {
    name: Cow<'a, str>,
    properties: Vec<(Cow<'a, str>, Value)>,
    places: BTreeMap<Cow<'a, str>, usize>,
}

// `places` follows from the other fields, so it is not compared.
impl PartialEq for PropertySets<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.sets == other.sets
    }
}

impl Eq for PropertySets<'_> {}

impl PartialEq for PropertySet<'_> {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.properties) == (&other.name, &other.properties)
    }
}

impl Eq for PropertySet<'_> {}

impl<'a> PropertySet<'a> {
    fn new(name: Cow<'a, str>) -> Self {
        Self {
            name,
            properties: Vec::new(),
            places: BTreeMap::new(),
        }
    }

    /// Returns the name, such as `SYCL/kernel names`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of properties.
    #[must_use]
    pub fn len(&self) -> usize {
        self.properties.len()
    }

    /// Returns whether the set is empty. Files may contain empty sets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.properties.is_empty()
    }

    /// Returns the keys, in file order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.properties.iter().map(|(key, _)| key.as_ref())
    }

    /// Returns the properties, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.properties
            .iter()
            .map(|(key, value)| (key.as_ref(), value))
    }

    /// Returns the value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        let place = *self.places.get(key)?;
        self.properties.get(place).map(|(_, value)| value)
    }

    fn insert(&mut self, key: Cow<'a, str>, value: Value) {
        match self.places.get(&key) {
            Some(place) => self.properties[*place].1 = value,
            None => {
                self.places.insert(key.clone(), self.properties.len());
                self.properties.push((key, value));
            }
        }
    }
}

impl<'a> PropertySets<'a> {
    /// Returns the sets, in file order.
    pub fn iter(&self) -> impl Iterator<Item = &PropertySet<'a>> {
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
        self.sets.get(*self.places.get(name)?)
    }

    /// Returns the keys and values of the set called `set`, in file order.
    pub fn entries(&self, set: &str) -> impl Iterator<Item = (&str, &Value)> {
        self.set(set).into_iter().flat_map(PropertySet::iter)
    }

    /// Returns the keys of the set called `set`, in file order.
    pub fn keys(&self, set: &str) -> impl Iterator<Item = &str> {
        self.set(set).into_iter().flat_map(PropertySet::keys)
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
        self.set_mut(set.into()).insert(key.into(), value.into());
    }

    /// Copies all borrowed names and keys, so that the sets no longer borrow the parsed text.
    #[must_use]
    pub fn into_owned(self) -> PropertySets<'static> {
        let mut owned = PropertySets::default();
        for set in self.sets {
            let into = owned.set_mut(Cow::Owned(set.name.into_owned()));
            for (key, value) in set.properties {
                into.insert(Cow::Owned(key.into_owned()), value);
            }
        }
        owned
    }

    /// Removes each property in `set` whose key `keep` rejects. The set remains, even if it becomes empty.
    pub fn retain(&mut self, set: &str, mut keep: impl FnMut(&str) -> bool) {
        let Some(place) = self.places.get(set) else {
            return;
        };
        let set = &mut self.sets[*place];
        set.properties.retain(|(key, _)| keep(key));
        set.places = (set.properties.iter().enumerate())
            .map(|(place, (key, _))| (key.clone(), place))
            .collect();
    }

    /// Removes a set with all its properties, and returns it.
    pub fn remove_set(&mut self, name: &str) -> Option<PropertySet<'a>> {
        let place = self.places.remove(name)?;
        for later in self.places.values_mut().filter(|later| **later > place) {
            *later -= 1;
        }
        Some(self.sets.remove(place))
    }

    fn set_mut(&mut self, name: Cow<'a, str>) -> &mut PropertySet<'a> {
        let place = match self.places.get(&name) {
            Some(place) => *place,
            None => {
                let place = self.sets.len();
                self.places.insert(name.clone(), place);
                self.sets.push(PropertySet::new(name));
                place
            }
        };
        &mut self.sets[place]
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
