// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads and writes SYCLBIN, the container format for compiled SYCL kernels.
//!
//! A SYCLBIN file contains *abstract modules*: sets of kernels that were compiled together. Each module contains
//! one or more *images* (SPIR-V, PTX, or native code for one architecture). *Property sets* carry the metadata that
//! a runtime needs to launch the kernels. The crate works on byte slices. It needs no file system, driver or
//! standard library.
//!
//! ```
//! use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin};
//!
//! // One SPIR-V image with one kernel.
//! let spirv = [0x0723_0203u32, 0x0001_0400, 0, 1, 0].map(u32::to_le_bytes).concat();
//! let mut module = AbstractModule::default();
//! module.add_kernel_name("__sycl_kernel_saxpy");
//! module.images.push(Image::ir(IrType::SpirV, "spir64-unknown-unknown", spirv));
//! let mut file = Syclbin::new(State::Executable);
//! file.modules.push(module);
//!
//! let bytes = syclbin::write::to_vec(&file, Container::default())?;
//! assert_eq!(syclbin::read::parse(&bytes)?, file);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Overview:
//!
//! - [`read::parse`] and [`write::to_vec`] convert bytes to [`Syclbin`] and back, in any [`Container`].
//!   [`read::File`] reads records on demand.
//! - [`PropertySets`]: the text format that stores all metadata.
//! - [`metadata`]: typed access to each property set. [`Aspect`] and [`architecture`] map the numbers of aspects and
//!   architectures to names.
//! - [`signature`]: kernel parameters, derived from symbol names, SPIR-V and debug information.
//! - [`ptx`] and [`cubin`]: NVIDIA's assembly language and native code.
//! - [`merge()`]: combines files with the same kernels, compiled for different devices, into one file.
//! - [`offload`]: OffloadBinary files with any content. [`Content`] detects the content of an image.
//!
//! Enable the feature `compression` to read and write compressed OffloadBinaries.
//!
//! `SPECIFICATION.md` in the repository lists each part of the formats with its implementation and a test. Unknown
//! property sets, keys, kinds and states survive a round trip. Unknown versions of SYCLBIN and OffloadBinary are
//! rejected.
//!
//! How drivers compile the code is out of scope. To verify files, or to extract device images from other containers,
//! use the crate `syclbin-tools`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod architecture;
mod aspect;
mod content;
pub mod cubin;
mod error;
mod failed_assert;
mod merge;
pub mod metadata;
mod model;
pub mod offload;
mod portable;
mod prelude;
pub mod property;
pub mod ptx;
mod raw;
pub mod read;
pub mod signature;
mod spirv;
mod text;
pub mod write;

pub use architecture::Architecture;
pub use aspect::Aspect;
pub use content::{Container, Content};
pub use error::{Error, ErrorKind};
pub use merge::{MergeError, merge};
pub use model::{AbstractModule, Image, ImageKind, IrType, State, Syclbin};
pub use property::{PropertySet, PropertySets, Value};

/// Internal to this project. Any release may change it.
#[doc(hidden)]
pub mod __private {
    pub use crate::raw::offload_binary::MAGIC as OFFLOAD_BINARY_MAGIC;
    pub use crate::raw::v1::MAGIC as SYCLBIN_MAGIC;
    pub use crate::signature::cpp_type::CppParameter;
    pub use crate::signature::recorded::{dimensions, is_complete, leave_out, record};
    pub use crate::text::{counted, lines, listed, ranges};

    /// The source directory of this crate. Cached results depend on this code, so `syclbin-build` includes a hash of
    /// the directory in its cache keys.
    pub const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

    /// On-disk records.
    pub mod raw {
        pub use crate::raw::{Budget, Fields, offload_binary, slice, v1, v2};
    }

    /// OffloadBinary records, and limits on decompressed size.
    pub mod offload {
        pub use crate::offload::{Binary, SYMBOLS_KEY, listed_symbols, owned_strings};
        #[cfg(feature = "compression")]
        pub use crate::offload::{allowance, claim, unpack_frame, unpack_within};
    }

    /// Magic numbers of other containers.
    pub mod content {
        pub use crate::content::{ARCHIVE_MAGIC, BUNDLE_MAGIC, COMPRESSED_BUNDLE_MAGIC};
    }

    /// The record of a failed assert in a kernel.
    pub mod failed_assert {
        pub use crate::failed_assert::{FailedAssert, SIZE, VARIABLE};
    }

    /// Declarations and definitions read from debug information.
    pub mod debug_info {
        pub use crate::signature::debug_info::{DIMENSIONS, Described, DescribedKernel};
    }

    /// Symbol demangling.
    pub mod mangled {
        pub use crate::signature::mangled::{
            KERNEL_PREFIX, declared, parse, variable, with_source,
        };
    }

    /// SPIR-V parsing and editing, shared by signatures and linking.
    pub mod spirv {
        pub use crate::spirv::module::parse::{DECORATION_BUILT_IN, DECORATIONS_HOST_ACCESS};
        pub use crate::spirv::module::{MAGIC_BYTES, Module, Parameter, ParameterType};
        pub use crate::spirv::reads::reachable as reachable_from;
        pub use crate::spirv::{ASSERT_FAIL, Import, KernelUses, Uses, is_target};
        pub use crate::spirv::{REVERSING_BIT, reversible};
        pub use crate::spirv::{edit, grammar, words};
        pub use crate::spirv::{reachable, strip_debug_info, trim};

        /// Rewrites SPIR-V for drivers with limited support.
        pub mod portable {
            pub use crate::portable::{
                DriverSupport, UnsupportedModule, Version, check, has_debug_info, lift, rewrite,
                rewrite_all, specialize, without_debug_info,
            };
        }
    }
}
