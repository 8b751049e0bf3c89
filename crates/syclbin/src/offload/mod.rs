// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads and writes OffloadBinary files, LLVM's container for any kind of device code.
//!
//! ```
//! use syclbin::offload::{self, Entry, ImageKind, OffloadKind};
//!
//! let entry = Entry {
//!     image_kind: ImageKind::SPIRV,
//!     offload_kind: OffloadKind::SYCL,
//!     flags: 0,
//!     strings: vec![("triple".into(), b"spir64-unknown-unknown".into())],
//!     image: b"\x03\x02\x23\x07".into(),
//! };
//! let bytes = offload::write(&[entry.clone()])?;
//! assert_eq!(offload::read(&bytes)?, [entry]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod binary;
#[cfg(feature = "compression")]
mod compressed;

use crate::content::Content;
use crate::cubin;
use crate::error::Error;
use crate::prelude::*;
#[doc(hidden)]
pub use binary::{Binary, SYMBOLS_KEY, listed_symbols};
#[cfg(feature = "compression")]
pub use compressed::{Compression, unpack, write_compressed};
#[cfg(feature = "compression")]
#[doc(hidden)]
pub use compressed::{allowance, claim, unpack_frame, unpack_within};

/// The strings of an entry: key-value pairs whose values may be arbitrary bytes.
pub type Strings<'a> = Vec<(Cow<'a, str>, Cow<'a, [u8]>)>;

/// The kind of an image. Unknown numbers are preserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ImageKind(pub u16);

impl ImageKind {
    /// Unspecified.
    pub const NONE: Self = Self(0);
    /// A native object.
    pub const OBJECT: Self = Self(1);
    /// LLVM bitcode.
    pub const BITCODE: Self = Self(2);
    /// NVIDIA machine code.
    pub const CUBIN: Self = Self(3);
    /// A CUDA or HIP fat binary.
    pub const FATBINARY: Self = Self(4);
    /// PTX text.
    pub const PTX: Self = Self(5);
    /// SPIR-V. Before mid-2025, DPC++ used this number for SYCLBIN.
    pub const SPIRV: Self = Self(6);
    /// SYCLBIN, used by DPC++ since mid-2025. Upstream LLVM does not define it.
    pub const SYCLBIN: Self = Self(7);

    /// Returns the kind that corresponds to the content of an image.
    #[must_use]
    pub fn of(content: Content) -> Self {
        match content {
            Content::Elf {
                machine: cubin::MACHINE,
            } => Self::CUBIN,
            Content::Elf { .. } => Self::OBJECT,
            Content::LlvmBitcode => Self::BITCODE,
            Content::CudaFatbin => Self::FATBINARY,
            Content::Ptx => Self::PTX,
            Content::SpirV => Self::SPIRV,
            Content::Syclbin => Self::SYCLBIN,
            _ => Self::NONE,
        }
    }

    /// Returns the name, if the kind is known.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 8] = [
            "none",
            "object",
            "bitcode",
            "cubin",
            "fatbinary",
            "ptx",
            "spirv",
            "syclbin",
        ];
        NAMES.get(usize::from(self.0)).copied()
    }
}

/// The offloading model of an image. Unknown numbers are preserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OffloadKind(pub u16);

impl OffloadKind {
    /// Unspecified.
    pub const NONE: Self = Self(0);
    /// OpenMP.
    pub const OPENMP: Self = Self(1);
    /// CUDA.
    pub const CUDA: Self = Self(2);
    /// HIP. Before 2025, its number was 3.
    pub const HIP: Self = Self(4);
    /// SYCL. Before 2025, its number was 4.
    pub const SYCL: Self = Self(8);

    /// Returns the kind with this [name](Self::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = [Self::NONE, Self::OPENMP, Self::CUDA, Self::HIP, Self::SYCL].into_iter();
        all.find(|kind| kind.name() == Some(name))
    }

    /// Returns the name, if the number is currently in use.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "none",
            1 => "openmp",
            2 => "cuda",
            4 => "hip",
            8 => "sycl",
            _ => return None,
        })
    }
}

/// An image in an OffloadBinary, with its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The kind of the image.
    pub image_kind: ImageKind,
    /// The offloading model.
    pub offload_kind: OffloadKind,
    /// Flags. The value 1 marks an entry without an image.
    pub flags: u32,
    /// Key-value pairs, with keys such as `triple` and `arch`.
    pub strings: Strings<'a>,
    /// The image.
    pub image: Cow<'a, [u8]>,
}

#[doc(hidden)]
#[must_use]
pub fn owned_strings(strings: Strings<'_>) -> Strings<'static> {
    let strings = strings.into_iter();
    let owned = strings.map(|(key, value)| (key.into_owned().into(), value.into_owned().into()));
    owned.collect()
}

impl Entry<'_> {
    /// Converts the entry into one that owns all its data.
    #[must_use]
    pub fn into_owned(self) -> Entry<'static> {
        Entry {
            strings: owned_strings(self.strings),
            image: Cow::Owned(self.image.into_owned()),
            ..self
        }
    }

    /// Returns the value of `key`, if it is UTF-8.
    #[must_use]
    pub fn string(&self, key: &str) -> Option<&str> {
        let (_, value) = self.strings.iter().find(|(name, _)| name == key)?;
        core::str::from_utf8(value).ok()
    }
}

/// Returns all entries of one or more concatenated OffloadBinaries, as compilers store them in object files. Zeros
/// before and after each OffloadBinary are skipped, because linkers add them. The images are borrowed.
///
/// # Errors
///
/// Returns an error if a record is malformed. Error offsets count from the start of `bytes`.
pub fn read(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Error> {
    let mut entries = Vec::new();
    each_binary(bytes, |binary, _| {
        if entries.is_empty() {
            // Reserve space for all entries, because most files are a single OffloadBinary. `Binary::parse` has checked
            // that the entry table is inside the file, so `count` cannot cause a huge allocation.
            entries = Vec::with_capacity(binary.count);
        }
        for entry in binary.entries() {
            entries.push(entry?);
        }
        Ok(())
    })?;
    Ok(entries)
}

/// Calls `each` with each OffloadBinary in `bytes` and its offset. Offsets in errors from `each` are
/// relative to the OffloadBinary.
pub(crate) fn each_binary<'a>(
    bytes: &'a [u8],
    mut each: impl FnMut(&Binary<'a>, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut start = 0;
    while let Some(zeros) = bytes[start..].iter().position(|byte| *byte != 0) {
        start += zeros;
        let fail = |error: Error| error.moved(start as u64);
        let binary = Binary::parse(&bytes[start..]).map_err(fail)?;
        each(&binary, start as u64).map_err(fail)?;
        start += binary.bytes.len();
    }
    Ok(())
}

/// Writes a version 2 OffloadBinary with these entries. The output is deterministic.
///
/// # Errors
///
/// Returns an error if a key contains NUL, which would terminate the key.
pub fn write(entries: &[Entry<'_>]) -> Result<Vec<u8>, crate::write::Error> {
    binary::write(2, entries)
}

/// Writes a version 1 OffloadBinary for each entry, and concatenates them. LLVM 15 and later read version 1. Releases
/// before LLVM 23 read no other version.
///
/// # Errors
///
/// Returns an error if a key or a value contains NUL, which would terminate the string.
pub fn write_each(entries: &[Entry<'_>]) -> Result<Vec<u8>, crate::write::Error> {
    let each = entries.chunks(1).map(|entry| binary::write(1, entry));
    Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
}

#[cfg(test)]
mod kind_tests {
    use super::*;

    /// The names that `llvm-offload-binary` uses.
    #[test]
    fn known_kinds_have_names() {
        let names = [
            "none",
            "object",
            "bitcode",
            "cubin",
            "fatbinary",
            "ptx",
            "spirv",
            "syclbin",
        ];
        for (number, name) in (0..).zip(names) {
            assert_eq!(ImageKind(number).name(), Some(name));
        }
        assert_eq!(ImageKind(8).name(), None);
    }

    #[test]
    fn producers_have_the_names_of_2025() {
        let named: Vec<_> = (0..=9).map(|number| OffloadKind(number).name()).collect();
        let [none, openmp, cuda, hip, sycl] = ["none", "openmp", "cuda", "hip", "sycl"].map(Some);
        let expected = [none, openmp, cuda, None, hip, None, None, None, sycl, None];
        assert_eq!(named, expected);
        let known = (0..=9)
            .map(OffloadKind)
            .filter(|kind| kind.name().is_some());
        for kind in known {
            assert_eq!(kind.name().and_then(OffloadKind::from_name), Some(kind));
        }
        assert_eq!(OffloadKind::from_name("opencl"), None);
    }
}
