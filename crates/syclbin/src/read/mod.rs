// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses SYCLBIN files. No input causes a panic. Memory use is limited to a small multiple of the input size, and time
//! is linear.
//!
//! [`parse`] reads an entire file into a [`Syclbin`]. To read records on demand, use the underlying [`File`]. In
//! version 1, the time to open a file does not depend on the number of images. In version 2, it grows with the
//! number of records, not with their size.
//!
//! LLVM's own SYCL compiler writes device images into OffloadBinaries, without SYCLBIN ([`Container::Images`]).
//! [`File`] presents each image as a module without metadata. [`parse`] derives the target, kernels, imports
//! and exports from the entry and the code. The result is the same model as for SYCLBIN files, so code that
//! reads SYCLBIN also handles these files.
//!
//! [`Container::Images`]: crate::Container::Images
//!
//! In a hostile version 1 file, all modules can claim the same images. [`parse`] rejects such files, but iterating
//! over the modules of a [`File`] reads the images again for each module.
//!
//! ```
//! # use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin, write};
//! # let mut module = AbstractModule::default();
//! # module.images.push(Image::ir(IrType::SpirV, "spir64-unknown-unknown", vec![3, 2, 35, 7]));
//! # let mut file = Syclbin::new(State::Executable);
//! # file.modules.push(module);
//! # let bytes = write::to_vec(&file, Container::default())?;
//! let file = syclbin::read::File::parse(&bytes)?;
//! for module in file.modules() {
//!     for image in module?.images() {
//!         let image = image?;
//!         println!("{} bytes at {:#x}", image.bytes.len(), image.offset);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file;
mod image;
mod images;
mod v1;
mod v2;

use crate::error::Error;
use crate::model::Syclbin;
pub use file::File;
#[doc(hidden)]
pub use image::Owner;
pub use image::{AbstractModule, Image, Metadata};

/// Reads a SYCLBIN file in any [`Container`](crate::Container). Bytes after the end of the wrapper are ignored,
/// as in the reference runtime, except in [`Container::Images`], which may consist of several OffloadBinaries.
///
/// [`Container::Images`]: crate::Container::Images
///
/// # Errors
///
/// Returns an error if `bytes` is not a SYCLBIN file or is malformed. The error names the record and its offset.
pub fn parse(bytes: &[u8]) -> Result<Syclbin<'_>, Error> {
    File::parse(bytes)?.to_model()
}
