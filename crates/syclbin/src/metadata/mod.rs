// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed views of the property sets of modules, images and files.
//!
//! A view is a plain struct. The function `read` extracts a view from [`PropertySets`], and `write` stores the view
//! there. An invalid value of a known property causes the error [`Malformed`]. Unknown sets and keys are
//! preserved. Reading and writing back preserves all values and their order, except values from old compilers,
//! which are converted to the current form.
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
//! assert_eq!(sizes.required_sycl(), Some(vec![2, 8]));
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
pub(crate) mod view;

pub use named::{Named, Symbols, without_run_prefix};
pub use program::{Dimensions, WorkGroupSize};
pub use program::{KernelSizes, ProgramMetadata};
pub use requirements::{DeviceRequirements, Records};
pub use sets::Target;
pub use sets::{
    Bfloat16, DeviceGlobal, DeviceLibraries, FileMetadata, HostPipe, IdRange, IrMetadata,
    MiscProperties, NativeMetadata, Sanitizer, SetNames, VirtualFunctions,
};
pub use sources::Sources;
pub use specialization::{
    Leaf, SpecConstantDescriptor, SpecConstantLayout, SpecializationConstants,
};
pub use value::{ArgumentMask, Malformed, Property};

use alloc::string::String;
use alloc::vec::Vec;

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
                Ok(Self {
                    $($field: <$view>::read(sets $(, set::$set)?)?,)*
                })
            }

            /// Writes all sets. Unknown sets and keys are preserved.
            pub fn write(&self, sets: &mut PropertySets<'_>) {
                $(self.$field.write(sets $(, set::$set)?);)*
            }

            /// Reads all sets, so that one error does not hide another. If a view contains malformed values, returns
            /// the first one and leaves the view empty.
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
    /// The kernels' work-group sizes, and the names that the code uses for device globals.
    program: ProgramMetadata;
    /// The specialization constants.
    specialization: SpecializationConstants;
    /// The variables that persist between launches, by unique identifier. The reference runtime may have added a
    /// prefix to an identifier. [`Named::find`] ignores the prefix.
    device_globals: Named<DeviceGlobal> = DEVICE_GLOBALS;
    /// The pipes between host and device. Only old compilers write this set.
    host_pipes: Named<HostPipe> = HOST_PIPES;
    /// The sets of virtual functions that the module defines and calls.
    virtual_functions: VirtualFunctions;
    /// The device libraries that the module requires or implements.
    device_libraries: DeviceLibraries;
    /// Compilation settings.
    misc: MiscProperties;
    /// The device requirements.
    requirements: DeviceRequirements;
}
