// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses files. No input causes a panic, an allocation of more than a small multiple of the input, or more
//! than linear time.
//!
//! [`parse`] reads a whole file into a [`Syclbin`]. [`File`] is the view beneath it, which reads only what it
//! is asked for. In version 1, opening a file takes the same time for one image as for a thousand. In version
//! 2 the time grows with the number of records, not of bytes.
//!
//! LLVM's own SYCL compiler writes device images into OffloadBinaries, without SYCLBIN ([`Container::Images`]). Each is
//! read as one module. A [`File`] has no metadata for it. [`parse`] adds what the entry and the code say: target,
//! kernels, imports and exports. All readers of SYCLBIN read such files because the result is the same model.
//!
//! [`Container::Images`]: crate::Container::Images
//!
//! In version 1 the modules of a hostile file can all claim the same images. Code that walks a [`File`]
//! through all modules reads those images again for each module; [`parse`] returns an error.
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
//!         println!("{} bytes at {:#x}", image.bytes().len(), image.offset());
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file;
mod image;
mod images;
mod v1;
mod v2;

use alloc::string::ToString;

use crate::error::Error;
use crate::model::Syclbin;
use crate::property::PropertySets;
use crate::raw::{Budget, v1 as raw};
pub use file::File;
pub use image::AbstractModule;
#[doc(hidden)]
pub use image::Owner;
use image::Parts;
pub use image::{Image, Metadata};

/// Reads a SYCLBIN file in any [`Container`](crate::Container). Bytes after the end of the wrapper are ignored, as
/// the reference runtime does.
///
/// # Errors
///
/// When the bytes are something else or do not hold together; the error names record and offset.
pub fn parse(bytes: &[u8]) -> Result<Syclbin<'_>, Error> {
    File::parse(bytes)?.to_model()
}

/// Limits for the total that the records of a file may claim.
struct Limits {
    metadata: Budget,
    ir: Budget,
    native: Budget,
}

impl Limits {
    /// Creates the limits that `header` gives.
    fn new(header: &raw::FileHeader) -> Self {
        Self {
            metadata: Budget::new("metadata bytes", header.metadata_byte_table_size),
            ir: Budget::new("IR modules", header.ir_module_count.into()),
            native: Budget::new(
                "native images",
                header.native_device_code_image_count.into(),
            ),
        }
    }

    fn metadata<'a>(&mut self, metadata: Metadata<'a>) -> Result<PropertySets<'a>, Error> {
        let Metadata {
            owner,
            text,
            offset,
        } = metadata;
        let record = || owner.to_string();
        self.metadata.spend(text.len() as u64, record, offset)?;
        metadata.parse()
    }

    fn images(&mut self, module: &AbstractModule<'_, '_>) -> Result<(), Error> {
        let (ir, native) = module.image_counts();
        let Parts::V1(_, header) = &module.parts else {
            return Ok(());
        };
        let record = || Owner::Module(module.index).to_string();
        self.ir.spend(ir as u64, record, header.at)?;
        self.native.spend(native as u64, record, header.at)
    }
}
