// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations on SYCLBIN files, for compilers and tools. Programs that only run kernels do not need this crate.
//!
//! - [`verify`]: finds every error in a file,
//! - [`native`]: reads the register, spill and memory usage of each kernel from native Intel and NVIDIA code,
//! - `extract` (requires the feature of the same name): extracts device images from objects, executables, archives
//!   and bundles.
//!
//! Like [`syclbin`], this crate works on byte slices, without files or drivers.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod archive;
#[cfg(feature = "extract")]
pub mod extract;
mod link;
mod names;
pub mod native;
mod rename;
pub mod verify;

/// Internal to this project. Any release may change it.
#[doc(hidden)]
pub mod __private {
    pub use crate::names::{described, qualified, spelled};
    pub use crate::rename::{Unrenamed, rename_kernels};

    /// The source directory of this crate. `syclbin-build` hashes the code there, because it caches results of this
    /// code.
    pub const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

    /// Links SPIR-V ahead of time.
    pub mod link {
        pub use crate::link::{
            LinkError, Object, Obstacle, Unlinked, link, link_modules, linked_metadata,
            store_ptx_as_native,
        };
    }
}
