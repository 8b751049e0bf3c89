// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metadata: typed views of the property sets of a module, an image and a file.
//!
//! A view is a plain struct. Its `read` takes it from [`PropertySets`], its `write` puts it there. A known
//! property with a meaningless value is [`Malformed`]. Both leave unknown sets and keys alone. What was read
//! and is written again is the same, in the same order. Only values of old compilers change: they take the
//! form that current compilers write.
//!
//! ```
//! use syclbin::Aspect;
//! use syclbin::metadata::{Dimensions, KernelSizes, ModuleMetadata, WorkGroupSize};
//! use syclbin::property::PropertySets;
//!
//! let mut module = ModuleMetadata::default();
//! module.kernel_names.add("__sycl_kernel_coords");
//! module.requirements.aspects.push(Aspect::FP64);
//! // `work_group_size<2, 8>` of the source: files have the reverse order, filled up with 1.
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
//! Sources: the property sets of DPC++ (its design documents "PropertySets" and "SYCLBIN"), and
//! what its compiler and runtime of 2026.2 write where the documents differ.

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

/// Declares [`ModuleMetadata`]: each field with its view, and the set of a view that reads any set.
macro_rules! module_metadata {
    ($($(#[$of:meta])* $field:ident: $view:ty $(= $set:ident)?;)*) => {
        /// Everything that the property sets of a module say.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct ModuleMetadata {
            $($(#[$of])* pub $field: $view,)*
        }

        impl ModuleMetadata {
            /// Reads all sets.
            ///
            /// # Errors
            ///
            /// When a value is malformed.
            pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
                Ok(Self {
                    $($field: <$view>::read(sets $(, set::$set)?)?,)*
                })
            }

            /// Writes all sets. Unknown sets and keys are left alone.
            pub fn write(&self, sets: &mut PropertySets<'_>) {
                $(self.$field.write(sets $(, set::$set)?);)*
            }

            /// Returns the first malformed value of each view, so that one fault does not hide another.
            #[must_use]
            pub fn faults(sets: &PropertySets<'_>) -> Vec<Malformed> {
                let faults = [$(<$view>::read(sets $(, set::$set)?).err()),*];
                faults.into_iter().flatten().collect()
            }
        }
    };
}

module_metadata! {
    /// The symbols of the kernels.
    kernel_names: Symbols = KERNEL_NAMES;
    /// What it offers to other modules.
    exported_symbols: Symbols = EXPORTED_SYMBOLS;
    /// What it needs from other modules.
    imported_symbols: Symbols = IMPORTED_SYMBOLS;
    /// The kernels that use `assert`; only old compilers say it.
    assert_used: Symbols = ASSERT_USED;
    /// The kernels that use work-group memory whose size is given at launch.
    dynamic_local_memory: Symbols = DYNAMIC_LOCAL_MEMORY;
    /// For such kernels, the index of the hidden argument that the memory is passed as, counted from 0. It is
    /// `u32::MAX` if the memory is not an argument (set [`IMPLICIT_LOCAL_ARG`](set::IMPLICIT_LOCAL_ARG)).
    implicit_local_arguments: Named<u32> = IMPLICIT_LOCAL_ARG;
    /// Which arguments of kernels were removed.
    argument_masks: Named<ArgumentMask> = KERNEL_PARAM_OPT;
    /// The symbols of kernels that were registered under a name of the source (set
    /// [`REGISTERED_KERNELS`](set::REGISTERED_KERNELS)).
    registered_kernels: Named<String> = REGISTERED_KERNELS;
    /// Sizes of kernels, and names of device globals in the code.
    program: ProgramMetadata;
    /// The specialization constants.
    specialization: SpecializationConstants;
    /// The variables that live on between launches, by their unique identifier. The reference
    /// runtime may have written it with a prefix; [`Named::find`] looks through that.
    device_globals: Named<DeviceGlobal> = DEVICE_GLOBALS;
    /// The pipes between host and device; only old compilers write them.
    host_pipes: Named<HostPipe> = HOST_PIPES;
    /// The sets of virtual functions it defines and calls.
    virtual_functions: VirtualFunctions;
    /// The device libraries it needs or is.
    device_libraries: DeviceLibraries;
    /// How it was compiled.
    misc: MiscProperties;
    /// What a device must have.
    requirements: DeviceRequirements;
}
