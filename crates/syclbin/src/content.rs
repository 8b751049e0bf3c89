// SPDX-License-Identifier: MIT OR Apache-2.0
//! SYCLBIN containers, and content detection for images.

use core::fmt;

use crate::ptx;
use crate::raw::{offload_binary, v1};
use crate::spirv::words::MAGIC_BYTES;

/// The first bytes of a binary offload bundle, as clang writes it.
pub const BUNDLE_MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// The first bytes of a compressed offload bundle.
pub const COMPRESSED_BUNDLE_MAGIC: &[u8] = b"CCOB";
/// The first bytes of an `ar` archive.
pub const ARCHIVE_MAGIC: &[u8] = b"!<arch>\n";

/// The content of an image, detected from its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Content {
    /// SPIR-V.
    SpirV,
    /// An ELF file: native code.
    Elf {
        /// The ELF machine number: 62 for x86-64, 190 for CUDA, 205 for Intel graphics, 224 for AMD GPUs.
        machine: u16,
    },
    /// LLVM bitcode.
    LlvmBitcode,
    /// NVIDIA PTX.
    Ptx,
    /// A CUDA fat binary: PTX and native code for several architectures.
    CudaFatbin,
    /// A binary offload bundle, which is also HIP's fat binary format.
    ClangBundle,
    /// A compressed offload bundle.
    CompressedBundle,
    /// SYCLBIN without a wrapper.
    Syclbin,
    /// An OffloadBinary.
    OffloadBinary,
    /// An `ar` archive. Intel's offline compiler writes one when it compiles for several devices.
    Archive,
    /// Zstd-compressed content. Clang writes it with the option `--offload-compress`.
    Zstd,
    /// No content.
    #[default]
    Empty,
    /// Unrecognized content.
    Unknown,
}

impl Content {
    /// Detects the kind of content in `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        match bytes {
            [] => Self::Empty,
            [0x7f, b'E', b'L', b'F', ..] => Self::Elf {
                machine: match (bytes.get(5), bytes.get(18..20)) {
                    (Some(2), Some([high, low])) => u16::from_be_bytes([*high, *low]),
                    (_, Some([low, high])) => u16::from_le_bytes([*low, *high]),
                    _ => 0,
                },
            },
            // Plain bitcode, or bitcode in Apple's wrapper.
            [b'B', b'C', 0xc0, 0xde, ..] | [0xde, 0xc0, 0x17, 0x0b, ..] => Self::LlvmBitcode,
            [0x50, 0xed, 0x55, 0xba, ..] => Self::CudaFatbin,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ if bytes.starts_with(&MAGIC_BYTES) => Self::SpirV,
            _ if bytes.starts_with(&v1::MAGIC) => Self::Syclbin,
            _ if bytes.starts_with(&offload_binary::MAGIC) => Self::OffloadBinary,
            _ if bytes.starts_with(BUNDLE_MAGIC) => Self::ClangBundle,
            _ if bytes.starts_with(COMPRESSED_BUNDLE_MAGIC) => Self::CompressedBundle,
            _ if bytes.starts_with(ARCHIVE_MAGIC) => Self::Archive,
            _ if ptx::is_ptx(bytes) => Self::Ptx,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SpirV => "SPIR-V",
            Self::Elf { machine: 62 } => "ELF for x86-64",
            Self::Elf { machine: 190 } => "ELF for CUDA",
            Self::Elf { machine: 205 } => "ELF for Intel graphics",
            Self::Elf { machine: 224 } => "ELF for AMD GPUs",
            Self::Elf { machine } => return write!(f, "ELF for machine {machine}"),
            Self::LlvmBitcode => "LLVM bitcode",
            Self::Ptx => "PTX",
            Self::CudaFatbin => "CUDA fat binary",
            Self::ClangBundle => "offload bundle",
            Self::CompressedBundle => "compressed offload bundle",
            Self::Syclbin => "SYCLBIN",
            Self::OffloadBinary => "OffloadBinary",
            Self::Archive => "archive",
            Self::Zstd => "zstd-compressed",
            Self::Empty => "empty",
            Self::Unknown => "unknown content",
        })
    }
}

/// The container format of a SYCLBIN file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Container {
    /// Version 1 without a wrapper. LLVM's `syclbin-dump` reads this form, but the reference runtime does not.
    Bare,
    /// Version 1 in a version 1 OffloadBinary: the only form that all 2026 releases of the reference runtime load.
    #[default]
    OffloadBinary1,
    /// Version 1 in a version 2 OffloadBinary. The reference runtime writes this form, and has been able to load it
    /// since 2026.2.
    OffloadBinary2,
    /// Version 2: a version 2 OffloadBinary with separate entries for the file's metadata, each module and each image.
    /// Version 2 is a draft that no released runtime loads.
    Version2,
    /// Bare device images in OffloadBinaries, without SYCLBIN, as LLVM's own SYCL compiler (`clang-sycl-linker`)
    /// writes them. This crate can only read this form, and derives the metadata from the strings and the code.
    Images,
}

impl Container {
    /// All containers that this crate can write.
    pub const ALL: [Self; 4] = [
        Self::Bare,
        Self::OffloadBinary1,
        Self::OffloadBinary2,
        Self::Version2,
    ];

    /// Returns the short name. Commands accept the short name of each container in [`Self::ALL`].
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bare => "v1-bare",
            Self::OffloadBinary1 => "v1",
            Self::OffloadBinary2 => "v1-offload2",
            Self::Version2 => "v2",
            Self::Images => "images",
        }
    }

    /// Returns the container with this [name](Self::name), if it is one of [`Self::ALL`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|container| container.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn first_bytes_tell_what_an_image_is() {
        let mut elf = [0u8; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[18] = 62;
        let mut big_endian = elf;
        (big_endian[5], big_endian[18], big_endian[19]) = (2, 0, 190);
        for (bytes, expected) in [
            (&[3, 2, 0x23, 7, 0][..], "SPIR-V"),
            (&elf[..], "ELF for x86-64"),
            (&big_endian[..], "ELF for CUDA"),
            (&elf[..5], "ELF for machine 0"),
            (b"BC\xc0\xde", "LLVM bitcode"),
            (b"// made by hand\n.version 6.3\n", "PTX"),
            (b"\x50\xed\x55\xba", "CUDA fat binary"),
            (b"__CLANG_OFFLOAD_BUNDLE__", "offload bundle"),
            (b"!<arch>\n", "archive"),
            (b"IBYS", "SYCLBIN"),
            (b"", "empty"),
            (b"?", "unknown content"),
        ] {
            assert_eq!(Content::of(bytes).to_string(), expected);
        }
    }

    #[test]
    fn containers_to_write_have_names() {
        for container in Container::ALL {
            assert_eq!(Container::from_name(container.name()), Some(container));
        }
        // This crate only reads them.
        assert_eq!(Container::from_name(Container::Images.name()), None);
    }
}
