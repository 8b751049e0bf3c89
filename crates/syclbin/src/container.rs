// SPDX-License-Identifier: MIT OR Apache-2.0
//! The forms in which a SYCLBIN file is stored.

/// How a file is wrapped. The content is the same in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Container {
    /// Version 1 without a wrapper. LLVM's `syclbin-dump` reads it, the reference runtime does not.
    Bare,
    /// Version 1 in an OffloadBinary of version 1: the only form that every reference runtime of
    /// 2026 loads.
    #[default]
    OffloadBinary1,
    /// Version 1 in an OffloadBinary of version 2: what the reference runtime itself writes, and
    /// loads since 2026.2.
    OffloadBinary2,
    /// Version 2: an OffloadBinary of version 2 with an entry for each module and image. A draft
    /// that no released runtime loads.
    Version2,
    /// OffloadBinaries of device images without SYCLBIN, as LLVM's own SYCL compiler (`clang-sycl-linker`) writes
    /// them. They are read only. What the property sets of SYCLBIN say comes from the code.
    Images,
}

impl Container {
    /// All containers that are written.
    pub const ALL: [Self; 4] = [
        Self::Bare,
        Self::OffloadBinary1,
        Self::OffloadBinary2,
        Self::Version2,
    ];

    /// Returns its short name. Commands accept the names of [`Self::ALL`].
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
        Self::ALL
            .into_iter()
            .find(|container| container.name() == name)
    }
}
