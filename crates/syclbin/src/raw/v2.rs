// SPDX-License-Identifier: MIT OR Apache-2.0
//! Version 2 of SYCLBIN: an OffloadBinary with an entry for everything; strings say what each is.
//!
//! A draft: no released runtime reads it yet. It is described in pull request 22089 of intel/llvm.

/// Keys of an entry's strings.
pub mod key {
    /// The version, [`VERSION`](super::VERSION), on every entry.
    pub const FORMAT_VERSION: &str = "sycl_format_version";
    /// What the entry is, one of [`role`](super::role).
    pub const ROLE: &str = "role";
    /// The abstract module it belongs to, in decimal digits; on all but the global metadata.
    pub const AM_INDEX: &str = "am_index";
    /// The number of an IR image's language, in decimal digits.
    pub const IR_TYPE: &str = "ir_type";
    /// The target triple of an image.
    pub const TRIPLE: &str = "triple";
    /// The architecture of a native image.
    pub const ARCH: &str = "arch";
}

/// Values of [`key::ROLE`].
pub mod role {
    /// The text of the global property sets.
    pub const GLOBAL_METADATA: &str = "global_metadata";
    /// The text of an abstract module's property sets.
    pub const AM_METADATA: &str = "am_metadata";
    /// An IR image: the size of its metadata as 64 bits, the metadata, the code.
    pub const IR: &str = "ir";
    /// A native image, laid out the same.
    pub const NATIVE: &str = "native";
}

/// The value of [`key::FORMAT_VERSION`].
pub const VERSION: &str = "2";
/// Bytes of the number that precedes the metadata of an image.
pub const METADATA_SIZE: usize = 8;
