// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extracts device images from the files that compilers and linkers produce.
//!
//! [`images`] detects the format by content. It supports these formats, which may be nested:
//!
//! - OffloadBinary files, versions 1 to 3, concatenated or compressed,
//! - ELF and COFF objects, executables and shared libraries, with images in sections `.llvm.offloading` (clang's
//!   current driver) or `__CLANG_OFFLOAD_BUNDLE__` with a target suffix (DPC++'s older driver, in objects and linked
//!   files),
//! - LLVM bitcode with OffloadBinaries among its constants, as produced for link-time optimization,
//! - `ar` archives of these, including thin archives ([`images_with`]),
//! - `clang-offload-bundler` bundles: binary, text and compressed,
//! - SYCLBIN files and bare device images.
//!
//! [`package()`] packages these images as SYCLBIN and reports what each image lacks.
//!
//! Outside SYCLBIN, only files that DPC++'s older driver linked contain property sets for their images
//! ([`DeviceImage::properties`]).
//!
//! No input causes a panic. Time and memory are bounded by a multiple of the input size. For compressed containers,
//! the bound is 128 times the size plus 16 MiB.

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

use crate::archive::{self, NAME_LIMIT, shown};
use syclbin::__private::spirv;
use syclbin::offload::{self, ImageKind, SYMBOLS_KEY, Strings, listed_symbols};
use syclbin::property::PropertySets;
use syclbin::{AbstractModule, Content, Error, Image, Syclbin, cubin, ptx};

/// A device image, with everything that its file records about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceImage<'a> {
    /// The path to the image within the input, such as `archive member a.o: section .llvm.offloading: entry 0`.
    /// Empty if the input is the image itself.
    pub origin: String,
    /// The offset of the image in the input. For an image that was compressed or embedded in bitcode, the offset of
    /// its container. For an image in a member of a thin archive, the offset of the archive.
    pub offset: u64,
    /// The programming model that the image was compiled for.
    pub offload_kind: OffloadKind,
    /// The target triple. Empty if the file does not record it.
    pub triple: Cow<'a, str>,
    /// The architecture. Empty if the file does not record it, or if the code is portable.
    pub arch: Cow<'a, str>,
    /// The image kind, if the container declares one.
    pub image_kind: Option<ImageKind>,
    /// The format detected from the bytes.
    pub content: Content,
    /// Additional strings from the file as key-value pairs, such as `compile-opts`.
    pub strings: Strings<'a>,
    /// The property sets, if a linked program registers the image with the SYCL runtime. For images from a SYCLBIN
    /// file, see [`Self::syclbin`].
    pub properties: Option<PropertySets<'a>>,
    /// The code.
    pub bytes: Cow<'a, [u8]>,
    /// The position in a SYCLBIN file, if the image comes from such a file.
    pub syclbin: Option<InSyclbin<'a>>,
}

/// An image in a SYCLBIN file, together with that file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InSyclbin<'a> {
    /// The file.
    pub file: Arc<Syclbin<'a>>,
    /// The index of the abstract module.
    pub module: usize,
    /// The index of the image within its module.
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

/// The programming model that a device image was compiled for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OffloadKind {
    /// Not recorded in the file.
    #[default]
    None,
    /// Host code, which bundles contain along with the device code.
    Host,
    /// OpenMP.
    OpenMp,
    /// CUDA.
    Cuda,
    /// HIP.
    Hip,
    /// SYCL.
    Sycl,
    /// Another programming model, named as in the file.
    Other(String),
}

impl OffloadKind {
    /// Returns the kind for a number in an OffloadBinary. Since 2025 the numbers are bit flags; before that, 3 was
    /// HIP and 4 was SYCL. The target disambiguates 4, because HIP targets only AMD GPUs.
    fn numbered(number: u16, triple: &str) -> Self {
        match (number, offload::OffloadKind(number).name()) {
            (0, _) => Self::None,
            (4, _) if !triple.is_empty() && !triple.starts_with("amdgcn") => Self::Sycl,
            (3, _) => Self::Hip,
            (_, Some(name)) => Self::named(name),
            (other, None) => Self::Other(other.to_string()),
        }
    }

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
            Self::None => "no programming model recorded",
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

    /// Returns the symbols of the image's kernels, or `None` if they are unknown. They come from the enclosing SYCLBIN
    /// file, SPIR-V, PTX, the symbol table of native AMD code, or the list that `clang-sycl-linker` writes. The
    /// cost is linear in the size of the image or of its module's metadata.
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
                let kernels = ptx::Module::read(cubin::ptx(&self.bytes)?).0.kernels;
                Some(kernels.into_iter().map(|kernel| kernel.name).collect())
            }
            _ => match self.string(SYMBOLS_KEY).and_then(listed_symbols) {
                None if self.content == (Content::Elf { machine: 224 }) => {
                    modules::amd_kernels(&self.bytes)
                }
                listed => listed,
            },
        }
    }
}

/// Returns the device images in `bytes`, in order. For objects and archives without device images, the list is
/// empty.
///
/// # Errors
///
/// Returns an error if `bytes` or a nested container is damaged, if `bytes` is a thin archive, or if its format cannot
/// contain device images. The error states the location and its offset in `bytes`.
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

/// Returns the device images in `bytes` like [`images`], and also reads the members of a thin archive. `open` reads a
/// member. Its argument is the member's path as stored in the archive, relative to the archive's directory.
///
/// # Errors
///
/// Returns an error if `open` fails, and for the same reasons as [`images`].
pub fn images_with<'a>(
    bytes: &'a [u8],
    open: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<Vec<DeviceImage<'a>>, Error> {
    walk::images(bytes, Some(open))
}

/// Returns whether a file that starts with these bytes may contain device images. If not, there is no need to read
/// the rest: [`images`] reports the same error for the start alone.
#[must_use]
pub fn is_known(start: &[u8]) -> bool {
    Content::of(start) != Content::Unknown
        || start.starts_with(archive::THIN_MAGIC)
        || bundle::is_text(start)
        || ::object::FileKind::parse(start).is_ok()
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

    #[test]
    fn known_formats_are_recognized_by_prefix() {
        // A COFF object, and a stub of an import library.
        let mut coff = [0; 20];
        coff[..2].copy_from_slice(&[0x64, 0x86]);
        let mut stub = [0; 20];
        stub[2..4].fill(0xff);
        for (start, expected) in [
            (&b"IBYS"[..], true),
            (b"!<thin>\n", true),
            (b"\n// __CLANG_OFFLOAD_BUNDLE____START__ sycl-spir64", true),
            (&coff, true),
            (&stub, true),
            (b"int main;", false),
            (b"", true),
        ] {
            assert_eq!(is_known(start), expected, "{start:?}");
            let error = images(start).err().map(|error| error.to_string());
            let error = error.unwrap_or_default();
            assert_eq!(
                error.contains("no device images"),
                !expected || start.is_empty()
            );
        }
    }
}
