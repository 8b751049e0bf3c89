// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed views of the property sets of modules. For the few properties of files and images, see [`Sources`],
//! [`Syclbin::state`](crate::Syclbin::state) and [`Image::kind`](crate::Image::kind).
//!
//! Each view is a plain struct. Its function `read` extracts it from [`PropertySets`], and `write` stores it there. An
//! invalid value of a known property results in the error [`Malformed`]. Unknown sets and keys are preserved.
//! Reading and writing back preserves all values and their order, except values from old compilers, which are
//! converted to the current form.
//!
//! ```
//! use syclbin::Aspect;
//! use syclbin::metadata::{Dimensions, KernelSizes, ModuleMetadata, WorkGroupSize};
//! use syclbin::property::PropertySets;
//!
//! let mut module = ModuleMetadata::default();
//! module.kernel_names.add("__sycl_kernel_coords");
//! module.requirements.aspects.push(Aspect::FP64);
//! // `work_group_size<2, 8>` in the source. Files store the reverse order, padded with 1.
//! let sizes = KernelSizes {
//!     required: WorkGroupSize::from_sycl(&[2, 8]),
//!     dimensions: Some(Dimensions::TWO),
//!     ..KernelSizes::default()
//! };
//! module.program.kernels.insert("__sycl_kernel_coords", sizes);
//!
//! let mut sets = PropertySets::default();
//! module.write(&mut sets);
//! let text = sets.to_text()?;
//! assert!(text.contains("\n__sycl_kernel_coords@work_group_num_dim=1|2\n"));
//!
//! let read = ModuleMetadata::read(&PropertySets::parse(text.as_bytes())?)?;
//! let sizes = read.program.kernels.get("__sycl_kernel_coords").ok_or("no sizes")?;
//! assert_eq!(sizes.required.map(|size| size.xyz()), Some([8, 2, 1]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! References: DPC++'s design documents "PropertySets" and "SYCLBIN". Where the documents are wrong, this
//! module follows the files that DPC++ 2026.2 writes.

mod named;
mod program;
mod requirements;
mod sets;
mod sources;
mod specialization;
mod value;

pub use named::{Named, Symbols, without_run_prefix};
pub use program::{Dimensions, KernelSizes, ProgramMetadata, WorkGroupSize};
pub use requirements::{DeviceRequirements, Records};
pub use sets::Target;
pub use sets::{
    Bfloat16, DeviceGlobal, DeviceLibraries, IdRange, MiscProperties, SetNames, VirtualFunctions,
};
pub use sources::Sources;
pub use specialization::{
    Leaf, SpecConstantDescriptor, SpecConstantLayout, SpecializationConstants,
};
pub use value::{ArgumentMask, Malformed, Property};

use crate::Aspect;
use crate::prelude::*;
use crate::property::{PropertySets, set};

/// Declares [`ModuleMetadata`]. Each field names its view, and its set unless the view implies the set.
macro_rules! module_metadata {
    ($($(#[$of:meta])* $field:ident: $view:ty $(= $set:ident)?;)*) => {
        /// All metadata of a module.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct ModuleMetadata {
            $($(#[$of])* pub $field: $view,)*
        }

        impl ModuleMetadata {
            /// Reads all sets.
            ///
            /// # Errors
            ///
            /// Returns an error if a value is malformed.
            pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
                let (valid, faults) = Self::read_valid(sets);
                faults.into_iter().next().map_or(Ok(valid), Err)
            }

            /// Writes all sets. Unknown sets and keys are preserved.
            pub fn write(&self, sets: &mut PropertySets<'_>) {
                $(self.$field.write(sets $(, set::$set)?);)*
            }

            /// Reads all sets, even if some are malformed. For each view with malformed values, returns the first error
            /// and leaves the view empty.
            #[must_use]
            pub fn read_valid(sets: &PropertySets<'_>) -> (Self, Vec<Malformed>) {
                let mut faults = Vec::new();
                let valid = Self {
                    $($field: <$view>::read(sets $(, set::$set)?).unwrap_or_else(|fault| {
                        faults.push(fault);
                        Default::default()
                    }),)*
                };
                (valid, faults)
            }
        }
    };
}

module_metadata! {
    /// The symbols of the kernels.
    kernel_names: Symbols = KERNEL_NAMES;
    /// The symbols that the module exports to other modules.
    exported_symbols: Symbols = EXPORTED_SYMBOLS;
    /// The symbols that the module imports from other modules.
    imported_symbols: Symbols = IMPORTED_SYMBOLS;
    /// The kernels that use `assert`. Only old compilers write this set.
    assert_used: Symbols = ASSERT_USED;
    /// The kernels that use dynamically sized work-group memory.
    dynamic_local_memory: Symbols = DYNAMIC_LOCAL_MEMORY;
    /// For each kernel that uses dynamically sized work-group memory, the zero-based index of the hidden argument for
    /// this memory, or `u32::MAX` if there is no such argument (set
    /// [`IMPLICIT_LOCAL_ARG`](set::IMPLICIT_LOCAL_ARG)).
    implicit_local_arguments: Named<u32> = IMPLICIT_LOCAL_ARG;
    /// The kernel arguments that the compiler removed.
    argument_masks: Named<ArgumentMask> = KERNEL_PARAM_OPT;
    /// The symbols of kernels that were registered under a source name (set
    /// [`REGISTERED_KERNELS`](set::REGISTERED_KERNELS)).
    registered_kernels: Named<String> = REGISTERED_KERNELS;
    /// The kernels' work-group and sub-group sizes, and the names that the code uses for device globals.
    program: ProgramMetadata;
    /// The specialization constants.
    specialization: SpecializationConstants;
    /// The variables that persist between launches, by unique identifier. The reference runtime may have added a
    /// prefix to an identifier. [`without_run_prefix`] removes the prefix.
    device_globals: Named<DeviceGlobal> = DEVICE_GLOBALS;
    /// The pipes between host and device, with the size of the transferred values in bytes. Only old compilers write
    /// this set.
    host_pipes: Named<u32> = HOST_PIPES;
    /// The sets of virtual functions that the module defines and calls.
    virtual_functions: VirtualFunctions;
    /// The device libraries that the module requires or implements.
    device_libraries: DeviceLibraries;
    /// Compilation settings.
    misc: MiscProperties;
    /// The device requirements.
    requirements: DeviceRequirements;
}

/// A field of a view. Each field is stored under its own key.
trait Field: Sized {
    fn read(sets: &PropertySets<'_>, set: &str, key: &str) -> Result<Self, Malformed>;
    fn write(&self, sets: &mut PropertySets<'_>, set: &'static str, key: &'static str);
}

impl<T: Property> Field for Option<T> {
    fn read(sets: &PropertySets<'_>, set: &str, key: &str) -> Result<Self, Malformed> {
        sets.read(set, key)
    }

    fn write(&self, sets: &mut PropertySets<'_>, set: &'static str, key: &'static str) {
        match self {
            Some(property) => sets.insert(set, key, property.to_value()),
            None => sets.retain(set, |other| other != key),
        }
    }
}

/// An empty list is equivalent to a missing list, and some writers omit empty lists. So an empty list is only written
/// to replace an existing list.
macro_rules! lists {
    ($($list:ty),*) => {$(
        impl Field for $list {
            fn read(sets: &PropertySets<'_>, set: &str, key: &str) -> Result<Self, Malformed> {
                Ok(sets.read(set, key)?.unwrap_or_default())
            }

            fn write(&self, sets: &mut PropertySets<'_>, set: &'static str, key: &'static str) {
                if *self != Self::default() || sets.get(set, key).is_some() {
                    sets.insert(set, key, self.to_value());
                }
            }
        }
    )*};
}
lists!(Vec<u32>, Vec<Aspect>, Records, SetNames);

/// Implements `read` and `write` for a view.
macro_rules! view {
    ($view:ident { $($field:ident: $set:ident, $key:ident;)* }) => {
        impl $view {
            /// Reads the view.
            ///
            /// # Errors
            ///
            /// Returns an error if a value is malformed.
            pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
                Ok(Self {
                    $($field: Field::read(sets, set::$set, key::$key)?,)*
                })
            }

            /// Writes the view. Unknown keys are preserved.
            pub fn write(&self, sets: &mut PropertySets<'_>) {
                $(self.$field.write(sets, set::$set, key::$key);)*
            }
        }
    };
}
use view;

/// Declares an enumeration of the numeric values of a property.
macro_rules! numbers {
    (
        $(#[$about:meta])*
        pub enum $name:ident {
            $($(#[$of:meta])* $variant:ident = $number:literal,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$of])* $variant,)*
            /// An unknown number.
            Other(u32),
        }

        impl $name {
            /// Returns the number that represents this variant in files.
            #[must_use]
            pub const fn number(self) -> u32 {
                match self {
                    $(Self::$variant => $number,)*
                    Self::Other(number) => number,
                }
            }

            /// Returns the variant that `number` represents in files.
            #[must_use]
            #[doc(hidden)]
            pub const fn from_number(number: u32) -> Self {
                match number {
                    $($number => Self::$variant,)*
                    other => Self::Other(other),
                }
            }
        }

        impl crate::metadata::Property for $name {
            const EXPECTED: &'static str = u32::EXPECTED;

            fn from_value(value: &crate::property::Value) -> Option<Self> {
                u32::from_value(value).map(Self::from_number)
            }

            fn to_value(&self) -> crate::property::Value {
                crate::property::Value::U32(self.number())
            }
        }
    };
}
pub(crate) use numbers;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Value;
    use alloc::vec;

    #[test]
    fn empty_list_replaces_but_does_not_add() {
        let mut sets = PropertySets::default();
        Vec::<u32>::new().write(&mut sets, "s", "k");
        assert!(sets.is_empty());
        vec![1u32].write(&mut sets, "s", "k");
        Vec::<u32>::new().write(&mut sets, "s", "k");
        assert_eq!(sets.get("s", "k"), Some(&Value::from(Vec::new())));
    }
}
