//! Property sets: ordered, typed key/value records, the metadata of everything in a SYCLBIN file.

pub mod base64;
mod text;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// Names of sets, as files spell them.
pub mod set {
    /// The state of the file.
    pub const GLOBAL: &str = "SYCLBIN/global metadata";
    /// Type and target of an IR image.
    pub const IR_MODULE: &str = "SYCLBIN/ir module metadata";
    /// Architecture and target of a native image.
    pub const NATIVE_IMAGE: &str = "SYCLBIN/native device code image metadata";
    /// One key per kernel.
    pub const KERNEL_NAMES: &str = "SYCL/kernel names";
    /// A mask of the arguments the compiler removed, one key per kernel that has one.
    pub const KERNEL_PARAM_OPT: &str = "SYCL/kernel param opt";
    /// What a device must have.
    pub const DEVICE_REQUIREMENTS: &str = "SYCL/device requirements";
    /// Symbols the module uses and does not have.
    pub const IMPORTED_SYMBOLS: &str = "SYCL/imported symbols";
    /// Symbols the module offers to others.
    pub const EXPORTED_SYMBOLS: &str = "SYCL/exported symbols";
    /// The C++ declaration of each kernel: key the symbol, value a byte array of UTF-8 text such
    /// as `void fill::iota(float start, float *out, int count)`.
    ///
    /// This set is of this project, not of the SYCLBIN specification. Readers ignore sets they do
    /// not know, so a file that has it loads everywhere.
    pub const DECLARATIONS: &str = "SYCLBIN-RS/kernel declarations";
}

/// Names of keys, as files spell them.
pub mod key {
    /// [`State`](crate::State), in [`GLOBAL`](super::set::GLOBAL).
    pub const STATE: &str = "state";
    /// [`IrType`](crate::IrType), in [`IR_MODULE`](super::set::IR_MODULE).
    pub const TYPE: &str = "type";
    /// A target triple.
    pub const TARGET: &str = "target";
    /// An architecture.
    pub const ARCH: &str = "arch";
    /// Numbers of aspects, in [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS).
    pub const ASPECTS: &str = "aspects";
}

/// The value of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Type 1: a number.
    U32(u32),
    /// Type 2: bits. `data` has `bits / 8` bytes, rounded up.
    Bytes {
        /// How many bits count; a multiple of 8 for everything but argument masks.
        bits: u64,
        /// The bytes that hold them.
        data: Vec<u8>,
    },
}

impl Value {
    /// The number, if it is one.
    #[must_use]
    pub const fn as_u32(&self) -> Option<u32> {
        match self {
            Self::U32(number) => Some(*number),
            Self::Bytes { .. } => None,
        }
    }

    /// The bytes, if it has some.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::U32(_) => None,
            Self::Bytes { data, .. } => Some(data),
        }
    }

    /// The bytes as text, if they are some.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        core::str::from_utf8(self.as_bytes()?).ok()
    }
}

impl From<Vec<u8>> for Value {
    fn from(data: Vec<u8>) -> Self {
        let bits = data.len() as u64 * 8;
        Self::Bytes { bits, data }
    }
}

/// Named sets of properties, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertySets {
    sets: Vec<PropertySet>,
    // Where each name stands: a hostile text may have a hundred thousand of them.
    places: BTreeMap<String, usize>,
}

/// One set: its properties in the order of the file.
///
/// The order is kept because for specialization constants it carries meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertySet {
    name: String,
    properties: Vec<(String, Value)>,
    places: BTreeMap<String, usize>,
}

impl PropertySet {
    /// The name, such as `SYCL/kernel names`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The keys, in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.properties.iter().map(|(key, _)| key.as_str())
    }

    /// The properties, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.properties
            .iter()
            .map(|(key, value)| (key.as_str(), value))
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        let place = *self.places.get(key)?;
        self.properties.get(place).map(|(_, value)| value)
    }
}

impl PropertySets {
    /// The sets, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &PropertySet> {
        self.sets.iter()
    }

    /// Whether there is no set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// The set called `name`.
    #[must_use]
    pub fn set(&self, name: &str) -> Option<&PropertySet> {
        self.sets.get(*self.places.get(name)?)
    }

    /// The value of `key` in the set called `set`.
    #[must_use]
    pub fn get(&self, set: &str, key: &str) -> Option<&Value> {
        self.set(set)?.get(key)
    }

    /// Adds an empty set, unless there is one of this name.
    pub fn insert_set(&mut self, name: &str) {
        self.set_mut(name);
    }

    /// Sets a property; one of the same set and key keeps its place and takes the new value.
    ///
    /// Neither name may hold a line feed, nor `key` an `=` or a `[` in front: the text form has no
    /// escapes. The compiler makes no such names;
    /// [`write::offload_binary`](crate::write::offload_binary) leaves out properties that have them.
    pub fn insert(&mut self, set: &str, key: &str, value: Value) {
        let set = self.set_mut(set);
        match set.places.get(key) {
            Some(place) => set.properties[*place].1 = value,
            None => {
                set.places.insert(key.to_owned(), set.properties.len());
                set.properties.push((key.to_owned(), value));
            }
        }
    }

    fn set_mut(&mut self, name: &str) -> &mut PropertySet {
        let place = self.places.get(name).copied().unwrap_or_else(|| {
            self.places.insert(name.to_owned(), self.sets.len());
            self.sets.push(PropertySet {
                name: name.to_owned(),
                properties: Vec::new(),
                places: BTreeMap::new(),
            });
            self.sets.len() - 1
        });
        &mut self.sets[place]
    }
}
