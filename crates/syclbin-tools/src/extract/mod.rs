// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device images from the files that compilers and linkers produce besides SYCLBIN.
//!
//! [`images`] reads any of these formats, which it detects by content. They may be nested:
//!
//! - OffloadBinary files, several one after another, version 1, 2 and 3, also compressed,
//! - ELF, COFF and Mach-O objects, executables and shared libraries, also universal Mach-O files. Images lie in
//!   sections `.llvm.offloading` (the current driver of clang), or in sections named `__CLANG_OFFLOAD_BUNDLE__` and a
//!   target (the older driver of DPC++, also in what it links),
//! - LLVM bitcode with OffloadBinaries among its constants, as link-time optimization has it,
//! - `ar` archives of these, also thin ones ([`images_with`]),
//! - offload bundles of `clang-offload-bundler`, binary, text and compressed,
//! - SYCLBIN, and device images by themselves.
//!
//! [`package()`] makes SYCLBIN of these images and says for each image what is missing.
//!
//! In what the older driver of DPC++ links, images have property sets ([`DeviceImage::properties`]). Other objects and
//! bundles have none.
//!
//! No input makes this module panic. Work and memory are bounded by a multiple of the input's size. For compressed
//! containers, that is 128 times the size, and 16 MiB more.

mod archive;
mod bitcode;
mod bundle;
mod found;
mod modules;
mod object;
mod package;
mod registered;
mod walk;

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

pub use bundle::bundle;
pub use object::embed;
pub use package::{Note, package};

use syclbin::__private::spirv;
use syclbin::Content;
use syclbin::Error;
use syclbin::cubin;
use syclbin::offload::{ImageKind, Strings};
use syclbin::property::PropertySets;
use syclbin::ptx;
use syclbin::{AbstractModule, Image, Syclbin};

/// Longest name of a section or member that is shown or compared.
const NAME_LIMIT: usize = 256;

/// A device image, with everything that its file says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceImage<'a> {
    /// Where it came from, such as `archive member a.o: section .llvm.offloading: entry 0`; empty
    /// where the input is the image.
    pub origin: String,
    /// Where its bytes start in the input. For an image that was compressed or in bitcode, where its container
    /// starts; for a member of a thin archive, where the archive starts.
    pub offset: u64,
    /// The programming model it was made for.
    pub offload_kind: OffloadKind,
    /// The target triple; empty where the file does not say.
    pub triple: Cow<'a, str>,
    /// The architecture; empty where the file does not say, or the code is for any.
    pub arch: Cow<'a, str>,
    /// The kind of image as declared, where the container declares one.
    pub image_kind: Option<ImageKind>,
    /// What the bytes really are.
    pub content: Content,
    /// What else the file says: keys and values, such as `compile-opts`.
    pub strings: Strings<'a>,
    /// Its property sets, where a linked program registers it with SYCL's runtime. Images of a SYCLBIN file have them in
    /// [`Self::syclbin`].
    pub properties: Option<PropertySets<'a>>,
    /// The code.
    pub bytes: Cow<'a, [u8]>,
    /// Its place in a SYCLBIN file, if it comes from such a file.
    pub syclbin: Option<InSyclbin<'a>>,
}

/// An image of a SYCLBIN file, with the file around it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InSyclbin<'a> {
    /// The file.
    pub file: Arc<Syclbin<'a>>,
    /// The index of the abstract module.
    pub module: usize,
    /// The index of the image in its module.
    pub image: usize,
}

impl<'a> InSyclbin<'a> {
    /// Returns the abstract module.
    #[must_use]
    pub fn module(&self) -> Option<&AbstractModule<'a>> {
        self.file.modules.get(self.module)
    }

    /// Returns the image with its metadata.
    #[must_use]
    pub fn image(&self) -> Option<&Image<'a>> {
        self.module()?.images.get(self.image)
    }
}

/// The programming model a device image was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OffloadKind {
    /// The file does not say.
    None,
    /// Host code, which bundles contain beside the device code.
    Host,
    /// OpenMP.
    OpenMp,
    /// CUDA.
    Cuda,
    /// HIP.
    Hip,
    /// SYCL.
    Sycl,
    /// Another model, by its name in the file.
    Other(String),
}

impl OffloadKind {
    /// Returns the kind for a number in an OffloadBinary. Since 2025 the numbers are bits; before that 3 was
    /// HIP and 4 SYCL. The target tells what 4 means: HIP has only AMD's targets.
    fn numbered(number: u16, triple: &str) -> Self {
        match number {
            0 => Self::None,
            1 => Self::OpenMp,
            2 => Self::Cuda,
            4 if !triple.is_empty() && !triple.starts_with("amdgcn") => Self::Sycl,
            3 | 4 => Self::Hip,
            8 => Self::Sycl,
            other => Self::Other(other.to_string()),
        }
    }

    /// Returns the kind for the name in the identifier of a bundle's entry.
    fn named(name: &str) -> Self {
        match name {
            "" => Self::None,
            "host" => Self::Host,
            "openmp" => Self::OpenMp,
            "cuda" => Self::Cuda,
            "hip" | "hipv4" => Self::Hip,
            "sycl" => Self::Sycl,
            other => Self::Other(other.into()),
        }
    }
}

impl fmt::Display for OffloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no model named",
            Self::Host => "host",
            Self::OpenMp => "OpenMP",
            Self::Cuda => "CUDA",
            Self::Hip => "HIP",
            Self::Sycl => "SYCL",
            Self::Other(name) => name,
        })
    }
}

impl DeviceImage<'_> {
    /// Returns the value of `key` in [`Self::strings`].
    #[must_use]
    pub fn string(&self, key: &str) -> Option<&[u8]> {
        let found = self.strings.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| &**value)
    }

    /// Returns the symbols of its kernels, or `None` where nothing lists them. The sources are the SYCLBIN
    /// file around it, SPIR-V or PTX, the symbols of AMD's native code, and the list that `clang-sycl-linker`
    /// writes. Takes time in proportion to the image, or to the metadata of its module.
    #[must_use]
    pub fn kernel_names(&self) -> Option<Vec<String>> {
        if let Some(module) = self.syclbin.as_ref().and_then(InSyclbin::module) {
            return Some(module.kernel_names().map(String::from).collect());
        }
        match self.content {
            Content::SpirV => {
                let module = spirv::Module::parse(&self.bytes).ok()?;
                Some(module.kernels().map(String::from).collect())
            }
            Content::Ptx | Content::CudaFatbin => {
                let text = cubin::ptx(&self.bytes)?;
                let kernels = ptx::Module::read(text).0.kernels;
                Some(kernels.into_iter().map(|kernel| kernel.name).collect())
            }
            _ => {
                let listed = self
                    .string(syclbin::offload::SYMBOLS_KEY)
                    .and_then(syclbin::offload::listed_symbols);
                listed.or_else(|| match self.content {
                    Content::Elf { machine: 224 } => modules::amd_kernels(&self.bytes),
                    _ => None,
                })
            }
        }
    }
}

/// Returns the device images in `bytes`, in their order. Objects and archives without device images give an
/// empty list.
///
/// # Errors
///
/// When `bytes`, or a container inside them, are damaged, or `bytes` are a thin archive. Also when `bytes` cannot
/// hold device images at all. The error names the place and its offset in `bytes`.
///
/// ```
/// let spirv = [0x0723_0203u32, 0x0001_0400, 0, 1, 0].map(u32::to_le_bytes).concat();
/// let images = syclbin_tools::extract::images(&spirv)?;
/// assert_eq!(images[0].content, syclbin::Content::SpirV);
/// # Ok::<(), syclbin::Error>(())
/// ```
pub fn images(bytes: &[u8]) -> Result<Vec<DeviceImage<'_>>, Error> {
    walk::images(bytes, None)
}

/// Returns the device images in `bytes` as [`images`] does, and those in the members of a thin archive. `open`
/// reads a member; its argument is the path in the archive, which is relative to the archive's directory.
///
/// # Errors
///
/// When `open` fails, and as [`images`] does.
pub fn images_with<'a>(
    bytes: &'a [u8],
    open: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<Vec<DeviceImage<'a>>, Error> {
    walk::images(bytes, Some(open))
}

/// Returns whether a file with this start may have device images. For any other file, however large, the start is
/// enough for the error of [`images`].
#[must_use]
pub fn is_known(start: &[u8]) -> bool {
    Content::of(start) != Content::Unknown
        || start.starts_with(archive::THIN_MAGIC)
        || bundle::is_text(start)
        || ::object::FileKind::parse(start).is_ok()
}

/// Returns a name from a file, as text of bounded length.
fn shown(name: &[u8]) -> String {
    let name = &name[..name.len().min(NAME_LIMIT)];
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    String::from_utf8_lossy(name).chars().map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_sycl_and_hip_differ_by_triple() {
        for (number, triple, kind) in [
            (8, "", OffloadKind::Sycl),
            (4, "spir64-unknown-unknown", OffloadKind::Sycl),
            (4, "nvptx64-nvidia-cuda", OffloadKind::Sycl),
            (4, "amdgcn-amd-amdhsa", OffloadKind::Hip),
            (3, "amdgcn-amd-amdhsa", OffloadKind::Hip),
            (16, "", OffloadKind::Other("16".into())),
        ] {
            assert_eq!(OffloadKind::numbered(number, triple), kind);
        }
    }
}
