//! Property sets: ordered, typed key/value records, the metadata of everything in a SYCLBIN file.

pub mod base64;
mod text;

pub use text::Inexpressible;
#[cfg(feature = "extract")]
pub(crate) use text::key_problem;

use alloc::borrow::Cow;
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
    /// The location of the parts of each specialization constant, one key per constant.
    pub const SPECIALIZATION_CONSTANTS: &str = "SYCL/specialization constants";
    /// The default values of all specialization constants, as one blob.
    pub const SPECIALIZATION_DEFAULTS: &str = "SYCL/specialization constants default values";
    /// The values in force of all specialization constants, as one blob.
    pub const SPECIALIZATION_SET_VALUES: &str = "SYCL/specialization constants set values";
    /// Which device libraries are used; only old compilers write it.
    pub const DEVICELIB_REQ_MASK: &str = "SYCL/devicelib req mask";
    /// What a device library image implements.
    pub const DEVICELIB_METADATA: &str = "SYCL/devicelib metadata";
    /// Sizes of kernels and names of variables, keys `NAME@WHAT`.
    pub const PROGRAM_METADATA: &str = "SYCL/program metadata";
    /// How the module was compiled.
    pub const MISC_PROPERTIES: &str = "SYCL/misc properties";
    /// Kernels that use `assert`; only old compilers write it.
    pub const ASSERT_USED: &str = "SYCL/assert used";
    /// A name the reference runtime defines. Compilers do not write the set and its layout is not documented,
    /// so it is the only set without a view in [`metadata`](crate::metadata).
    pub const MALLOC_USED: &str = "SYCL/malloc used";
    /// Device globals, one key per unique identifier.
    pub const DEVICE_GLOBALS: &str = "SYCL/device globals";
    /// Host pipes, one key per pipe; only old compilers write it.
    pub const HOST_PIPES: &str = "SYCL/host pipes";
    /// Sets of virtual functions the module defines or calls.
    pub const VIRTUAL_FUNCTIONS: &str = "SYCL/virtual functions";
    /// The index of the hidden argument for work-group memory, one key per kernel that has one.
    pub const IMPLICIT_LOCAL_ARG: &str = "SYCL/implicit local arg";
    /// Kernels that use work-group memory whose size is given at launch.
    pub const DYNAMIC_LOCAL_MEMORY: &str = "SYCL/work group dynamic local mem";
    /// The symbol of each kernel that was registered under a name of the source.
    pub const REGISTERED_KERNELS: &str = "SYCL/registered kernels";
    /// The C++ declaration of each kernel: key the symbol, value a byte array of UTF-8 text such
    /// as `void fill::iota(float start, float *out, int count)`.
    ///
    /// This project defines this set, not the SYCLBIN specification. Readers ignore sets they do not know, so
    /// a file that has it loads everywhere.
    pub const DECLARATIONS: &str = "SYCLBIN-RS/kernel declarations";
    /// Structs and enumerations that kernels take, with the offset of each member. The key is the qualified
    /// name in C++. The value is a byte array of UTF-8 text, such as
    /// `struct Pair { int a[2]; /* 0 */ int b; /* 8 */ } /* size 12, align 4 */`.
    /// See [`signature::definition`](crate::signature::definition).
    ///
    /// This project defines this set too.
    pub const LAYOUTS: &str = "SYCLBIN-RS/struct layouts";
    /// The types of device globals and specialization constants: key the identifier, value a byte
    /// array of UTF-8 text, the type as C++ spells it: `int[4]`.
    ///
    /// This project defines this set too.
    pub const VARIABLES: &str = "SYCLBIN-RS/variable types";
    /// The sources that a file was compiled from; in the properties of a file. See
    /// [`Sources`](crate::metadata::Sources).
    ///
    /// This project defines this set too.
    pub const SOURCES: &str = "SYCLBIN-RS/sources";
    /// Marks a placeholder for a file that was not compiled, as on docs.rs, where a compiler is missing. It
    /// is in the properties of a file. A request for any kernel of such a file is valid.
    ///
    /// This project defines this set too.
    pub const PLACEHOLDER: &str = "SYCLBIN-RS/placeholder";
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
    /// Numbers of targets, in [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS).
    pub const FIXED_TARGET: &str = "fixed_target";
    /// A work-group size of 64-bit numbers, in
    /// [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS).
    pub const REQD_WORK_GROUP_SIZE_64: &str = "reqd_work_group_size_uint64_t";
    /// A work-group size of 32-bit numbers, in
    /// [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS) of old compilers, and after a
    /// kernel's name and `@` in [`PROGRAM_METADATA`](super::set::PROGRAM_METADATA).
    pub const REQD_WORK_GROUP_SIZE: &str = "reqd_work_group_size";
    /// How many dimensions a kernel has; in both of these sets.
    pub const WORK_GROUP_NUM_DIM: &str = "work_group_num_dim";
    /// A sub-group size; in both of these sets.
    pub const REQD_SUB_GROUP_SIZE: &str = "reqd_sub_group_size";
    /// After a kernel's name and `@`, in [`PROGRAM_METADATA`](super::set::PROGRAM_METADATA).
    pub const MAX_WORK_GROUP_SIZE: &str = "max_work_group_size";
    /// After a kernel's name and `@`, in [`PROGRAM_METADATA`](super::set::PROGRAM_METADATA).
    pub const MAX_LINEAR_WORK_GROUP_SIZE: &str = "max_linear_work_group_size";
    /// After a device global's identifier and `@`, in
    /// [`PROGRAM_METADATA`](super::set::PROGRAM_METADATA).
    pub const GLOBAL_ID_MAPPING: &str = "global_id_mapping";
    /// Matrix types, in [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS).
    pub const JOINT_MATRIX: &str = "joint_matrix";
    /// Matrix operations, in [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS).
    pub const JOINT_MATRIX_MAD: &str = "joint_matrix_mad";
    /// A target, in [`DEVICE_REQUIREMENTS`](super::set::DEVICE_REQUIREMENTS).
    pub const COMPILE_TARGET: &str = "compile_target";
    /// The only key of the sets of specialization constants' values.
    pub const ALL: &str = "all";
    /// The only key of [`DEVICELIB_REQ_MASK`](super::set::DEVICELIB_REQ_MASK).
    pub const DEVICELIB_REQ_MASK: &str = "DeviceLibReqMask";
    /// The only key of [`DEVICELIB_METADATA`](super::set::DEVICELIB_METADATA).
    pub const BFLOAT16: &str = "bfloat16";
    /// In [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES).
    pub const IS_ESIMD_IMAGE: &str = "isEsimdImage";
    /// In [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES) of old compilers.
    pub const REGISTER_ALLOC_MODE: &str = "sycl-register-alloc-mode";
    /// In [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES).
    pub const GRF_SIZE: &str = "sycl-grf-size";
    /// In [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES).
    pub const OPT_LEVEL: &str = "optLevel";
    /// In [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES).
    pub const SAN_USED: &str = "sanUsed";
    /// In [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES).
    pub const SPEC_CONSTS_REPLACED: &str = "specConstsReplacedWithDefault";
    /// In [`MISC_PROPERTIES`](super::set::MISC_PROPERTIES).
    pub const ID_QUERIES_RANGE: &str = "idQueriesRange";
    /// In [`VIRTUAL_FUNCTIONS`](super::set::VIRTUAL_FUNCTIONS).
    pub const VIRTUAL_FUNCTIONS_SET: &str = "virtual-functions-set";
    /// In [`VIRTUAL_FUNCTIONS`](super::set::VIRTUAL_FUNCTIONS).
    pub const USES_VIRTUAL_FUNCTIONS_SET: &str = "uses-virtual-functions-set";
}

/// The value of a property. It owns its bytes: the text form has them in base64.
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
    /// A type this crate does not know, kept as it is.
    Other {
        /// The number of the type.
        ty: u32,
        /// The value as the file spells it.
        text: String,
    },
}

impl Value {
    /// Returns the number, if the value is one.
    #[must_use]
    pub const fn as_u32(&self) -> Option<u32> {
        match self {
            Self::U32(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the bytes, if the value has some.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes { data, .. } => Some(data),
            _ => None,
        }
    }

    /// Returns the bytes as text, if they are UTF-8.
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

/// Named sets of properties, in the order of the file. Names are borrowed from the text that was
/// read.
#[derive(Clone, Debug, Default)]
pub struct PropertySets<'a> {
    sets: Vec<PropertySet<'a>>,
    // Where each name stands: a hostile text may have a hundred thousand of them.
    places: BTreeMap<Cow<'a, str>, usize>,
}

/// One set: its properties in the order of the file.
///
/// The order is kept because for specialization constants it carries meaning.
#[derive(Clone, Debug)]
pub struct PropertySet<'a> {
    name: Cow<'a, str>,
    properties: Vec<(Cow<'a, str>, Value)>,
    places: BTreeMap<Cow<'a, str>, usize>,
}

// The places follow from the rest.
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

    /// Returns whether the set has no properties, which is legal.
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

    /// Returns the value of `key` in the set called `set`.
    #[must_use]
    pub fn get(&self, set: &str, key: &str) -> Option<&Value> {
        self.set(set)?.get(key)
    }

    /// Adds an empty set, unless a set of this name exists.
    pub fn insert_set(&mut self, name: impl Into<Cow<'a, str>>) {
        self.set_mut(name.into());
    }

    /// Sets a property. An existing property of the same set and key keeps its place and takes the new value.
    ///
    /// The text form has no escapes, so not every name and value can be written: see
    /// [`Inexpressible`].
    pub fn insert(
        &mut self,
        set: impl Into<Cow<'a, str>>,
        key: impl Into<Cow<'a, str>>,
        value: impl Into<Value>,
    ) {
        self.set_mut(set.into()).insert(key.into(), value.into());
    }

    /// Converts the sets to ones that borrow nothing.
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

    /// Removes the properties of a set whose keys `keep` rejects. The set stays, empty or not.
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
