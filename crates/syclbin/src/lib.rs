// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads and writes SYCLBIN, the container format of compiled SYCL kernels.
//!
//! A SYCLBIN file holds *abstract modules*: sets of kernels that were compiled together. Each module has one
//! or more *images* (SPIR-V, PTX, or native code of one architecture). *Property sets* say what a launcher
//! must know. This crate is the one place in the workspace that knows the format. It works on byte slices,
//! without files, drivers or a standard library.
//!
//! ```
//! use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin};
//!
//! // One SPIR-V image that holds one kernel.
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
//! The map:
//!
//! - [`read::parse`] and [`write::to_vec`]: bytes to [`Syclbin`] and back, in any [`Container`];
//!   [`read::File`] reads only the records it is asked for,
//! - [`PropertySets`]: the text that carries all metadata,
//! - [`metadata`]: what each of its sets and keys means, with types; [`Aspect`] and
//!   [`architecture`] for the numbers and names of devices,
//! - [`signature`]: what a kernel takes, read from its name, its SPIR-V and its debug information,
//! - [`ptx`] and [`cubin`]: NVIDIA's text form of code and its native code,
//! - [`merge()`]: files of the same kernels for several devices to one file,
//! - [`offload`]: OffloadBinary files with any content; [`Content`] tells what an image really is.
//!
//! The feature `compression` reads and writes compressed OffloadBinaries.
//!
//! `SPECIFICATION.md` in the repository lists each part of the formats with the file that implements it and a test. What
//! this crate does not know, such as property sets, keys, kinds and states of the future, survives a round trip. Later
//! versions of SYCLBIN and OffloadBinary are refused with [`ErrorKind::Version`].
//!
//! Out of scope: what drivers make of the code. Crate `syclbin-tools` verifies files, links their SPIR-V, and extracts
//! device images from other containers.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod architecture;
mod aspect;
#[cfg(feature = "compression")]
mod compression;
mod container;
mod content;
pub mod cubin;
mod error;
mod failed_assert;
mod merge;
pub mod metadata;
mod model;
pub mod offload;
mod portable;
pub mod property;
pub mod ptx;
mod raw;
pub mod read;
pub mod signature;
mod spirv;
pub mod write;

pub use architecture::Architecture;
pub use aspect::{Aspect, UnknownAspect};
pub use container::Container;
pub use content::Content;
pub use error::{Error, ErrorKind};
pub use merge::{MergeError, merge};
pub use model::{AbstractModule, Image, ImageKind, IrType, State, Syclbin};
pub use property::{PropertySet, PropertySets, Value};

/// For the other crates of this project; any release may change it.
#[doc(hidden)]
pub mod __private {
    pub use crate::raw::offload_binary::MAGIC as OFFLOAD_BINARY_MAGIC;
    pub use crate::raw::v1::MAGIC as SYCLBIN_MAGIC;
    pub use crate::signature::names::Definitions;
    pub use crate::signature::recorded::{leave_out, record};

    /// The source directory of this crate. `syclbin-build` caches what this code made.
    pub const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

    /// The records on disk.
    pub mod raw {
        pub use crate::raw::{Budget, Fields, offload_binary, slice, v1, v2};
    }

    /// Records of OffloadBinary files, and limits for what they unpack to.
    pub mod offload {
        pub use crate::offload::{Binary, SYMBOLS_KEY, listed_symbols, owned_strings};
        #[cfg(feature = "compression")]
        pub use crate::offload::{allowance, claim, unpack_within};
    }

    /// The first bytes of other containers.
    pub mod content {
        pub use crate::content::{ARCHIVE_MAGIC, BUNDLE_MAGIC, COMPRESSED_BUNDLE_MAGIC};
    }

    /// The record of a failed assert in a kernel.
    pub mod failed_assert {
        pub use crate::failed_assert::{FailedAssert, SIZE, VARIABLE};
    }

    /// Declarations and definitions out of debug information.
    pub mod debug_info {
        pub use crate::signature::debug_info::{Described, describe};
    }

    /// The names that symbols stand for.
    pub mod mangled {
        pub use crate::signature::mangled::{
            KERNEL_PREFIX, SOURCE_MARK, parse, variable, with_source, without_source,
        };
    }

    /// SPIR-V modules, as far as signatures and linking need them.
    pub mod spirv {
        pub use crate::signature::spirv::parse::{
            DECORATION_BUILT_IN, DECORATIONS_HOST_ACCESS, EXECUTION_MODEL_KERNEL,
        };
        pub use crate::signature::spirv::{
            ASSERT_FAIL, Import, KernelUses, MAGIC_BYTES, Module, Parameter, ParameterType, TypeId,
            Uses, is_target, unresolved_imports,
        };
        pub use crate::spirv::grammar::{Ids, Unknown, ids};
        pub mod grammar {
            pub use crate::spirv::grammar::*;
        }
        pub use crate::spirv::trim;

        /// Rewriting for drivers that take less.
        pub mod portable {
            pub use crate::portable::{
                Reader, Unfit, Version, check, has_debug_info, is_debug_info, lift, rewrite,
                rewrite_all, specialize,
            };
        }

        /// Instructions and their words.
        pub mod words {
            pub use crate::spirv::words::*;
        }
    }
}
