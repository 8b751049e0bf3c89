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

mod globals;
mod image;
mod misc;
mod program;
mod requirements;
mod sources;
mod specialization;
mod symbols;
mod target;
mod value;
mod virtual_functions;

pub use globals::{DeviceGlobal, HostPipe};
pub use image::{FileMetadata, IrMetadata, NativeMetadata};
pub use misc::{Bfloat16, DeviceLibraries, IdRange, MiscProperties, Sanitizer};
pub use program::{KernelSizes, ProgramMetadata};
pub use requirements::{DeviceRequirements, Records};
pub use sources::Sources;
pub use specialization::{
    Leaf, SpecConstantDescriptor, SpecConstantLayout, SpecializationConstants,
};
pub use symbols::Symbols;
pub use target::Target;
pub use value::malformed::Malformed;
pub use value::mask::ArgumentMask;
pub use value::named::{Named, without_run_prefix};
pub use value::property::Property;
pub use value::size::{Dimensions, WorkGroupSize};
pub use virtual_functions::{SetNames, VirtualFunctions};

use alloc::string::String;

use crate::property::{PropertySets, set};

/// Everything that the property sets of a module say
/// ([`AbstractModule::metadata`](crate::AbstractModule::metadata)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleMetadata {
    /// The symbols of the kernels.
    pub kernel_names: Symbols,
    /// What it offers to other modules.
    pub exported_symbols: Symbols,
    /// What it needs from other modules.
    pub imported_symbols: Symbols,
    /// The kernels that use `assert`; only old compilers say it.
    pub assert_used: Symbols,
    /// The kernels that use work-group memory whose size is given at launch.
    pub dynamic_local_memory: Symbols,
    /// For such kernels, the index of the hidden argument that the memory is passed as, counted from 0. It is
    /// `u32::MAX` if the memory is not an argument (set [`IMPLICIT_LOCAL_ARG`](set::IMPLICIT_LOCAL_ARG)).
    pub implicit_local_arguments: Named<u32>,
    /// Which arguments of kernels were removed.
    pub argument_masks: Named<ArgumentMask>,
    /// The symbols of kernels that were registered under a name of the source (set
    /// [`REGISTERED_KERNELS`](set::REGISTERED_KERNELS)).
    pub registered_kernels: Named<String>,
    /// Sizes of kernels, and names of device globals in the code.
    pub program: ProgramMetadata,
    /// The specialization constants.
    pub specialization: SpecializationConstants,
    /// The variables that live on between launches, by their unique identifier. The reference
    /// runtime may have written it with a prefix; [`Named::find`] looks through that.
    pub device_globals: Named<DeviceGlobal>,
    /// The pipes between host and device; only old compilers write them.
    pub host_pipes: Named<HostPipe>,
    /// The sets of virtual functions it defines and calls.
    pub virtual_functions: VirtualFunctions,
    /// The device libraries it needs or is.
    pub device_libraries: DeviceLibraries,
    /// How it was compiled.
    pub misc: MiscProperties,
    /// What a device must have.
    pub requirements: DeviceRequirements,
}

impl ModuleMetadata {
    /// Reads all sets of a module.
    ///
    /// # Errors
    ///
    /// When a value is malformed.
    pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            kernel_names: Symbols::read(sets, set::KERNEL_NAMES)?,
            exported_symbols: Symbols::read(sets, set::EXPORTED_SYMBOLS)?,
            imported_symbols: Symbols::read(sets, set::IMPORTED_SYMBOLS)?,
            assert_used: Symbols::read(sets, set::ASSERT_USED)?,
            dynamic_local_memory: Symbols::read(sets, set::DYNAMIC_LOCAL_MEMORY)?,
            implicit_local_arguments: Named::read(sets, set::IMPLICIT_LOCAL_ARG)?,
            argument_masks: Named::read(sets, set::KERNEL_PARAM_OPT)?,
            registered_kernels: Named::read(sets, set::REGISTERED_KERNELS)?,
            program: ProgramMetadata::read(sets)?,
            specialization: SpecializationConstants::read(sets)?,
            device_globals: Named::read(sets, set::DEVICE_GLOBALS)?,
            host_pipes: Named::read(sets, set::HOST_PIPES)?,
            virtual_functions: VirtualFunctions::read(sets)?,
            device_libraries: DeviceLibraries::read(sets)?,
            misc: MiscProperties::read(sets)?,
            requirements: DeviceRequirements::read(sets)?,
        })
    }

    /// Writes all sets of a module.
    pub fn write(&self, sets: &mut PropertySets<'_>) {
        self.kernel_names.write(sets, set::KERNEL_NAMES);
        self.exported_symbols.write(sets, set::EXPORTED_SYMBOLS);
        self.imported_symbols.write(sets, set::IMPORTED_SYMBOLS);
        self.assert_used.write(sets, set::ASSERT_USED);
        self.dynamic_local_memory
            .write(sets, set::DYNAMIC_LOCAL_MEMORY);
        self.implicit_local_arguments
            .write(sets, set::IMPLICIT_LOCAL_ARG);
        self.argument_masks.write(sets, set::KERNEL_PARAM_OPT);
        self.registered_kernels.write(sets, set::REGISTERED_KERNELS);
        self.program.write(sets);
        self.specialization.write(sets);
        self.device_globals.write(sets, set::DEVICE_GLOBALS);
        self.host_pipes.write(sets, set::HOST_PIPES);
        self.virtual_functions.write(sets);
        self.device_libraries.write(sets);
        self.misc.write(sets);
        self.requirements.write(sets);
    }
}
