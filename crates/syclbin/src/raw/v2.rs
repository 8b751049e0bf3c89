// SPDX-License-Identifier: MIT OR Apache-2.0
//! The strings of SYCLBIN version 2. A file is an OffloadBinary with an entry for each part. A string in each entry
//! records the entry's role.
//!
//! This is a draft that no released runtime reads yet. Pull request 22089 of intel/llvm describes it.

/// Keys of an entry's strings.
pub mod key {
    /// The version, [`VERSION`](super::VERSION), on every entry.
    pub const FORMAT_VERSION: &str = "sycl_format_version";
    /// The role of the entry, one of [`role`](super::role).
    pub const ROLE: &str = "role";
    /// The index of the abstract module that the entry belongs to, in decimal. Present on all entries except the
    /// global metadata.
    pub const AM_INDEX: &str = "am_index";
    /// The number of an IR image's language, in decimal.
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
    /// An IR image: the size of its metadata as a 64-bit number, the metadata, and the code.
    pub const IR: &str = "ir";
    /// A native image, with the same layout as [`IR`].
    pub const NATIVE: &str = "native";
}

/// The value of [`key::FORMAT_VERSION`].
pub const VERSION: &str = "2";
/// The size in bytes of the number that precedes an image's metadata.
pub const METADATA_SIZE: usize = 8;
