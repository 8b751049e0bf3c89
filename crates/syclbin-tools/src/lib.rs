// SPDX-License-Identifier: MIT OR Apache-2.0
//! What compilers and tools do with SYCLBIN files, and a program that runs kernels does not:
//!
//! - [`verify`]: everything that is wrong with a file,
//! - [`native`]: the registers, spills and memory of each kernel in code for Intel's and NVIDIA's GPUs,
//! - `extract`, behind the feature of the same name: device images from objects, executables, archives and
//!   bundles.
//!
//! Like [`syclbin`], this crate works on byte slices, without files or drivers.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(feature = "extract")]
pub mod extract;
mod link;
pub mod native;
mod rename;
pub mod verify;

/// For the other crates of this project; any release may change it.
#[doc(hidden)]
pub mod __private {
    pub use crate::rename::{Unrenamed, rename_kernels};

    /// The source directory of this crate. `syclbin-build` caches what this code made.
    pub const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

    /// Linking SPIR-V ahead of time.
    pub mod link {
        pub use crate::link::{
            LinkError, Object, Obstacle, Unlinked, link, link_modules, linked_metadata,
        };
    }
}
