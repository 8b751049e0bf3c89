// SPDX-License-Identifier: MIT OR Apache-2.0
//! Targets: what the first component of a triple says of the device.

use core::fmt;

/// What code was made for: the first component of a target triple, up to the first `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target<'t> {
    /// `spir`: 32-bit SPIR-V.
    Spir,
    /// `spir64`: 64-bit SPIR-V, for OpenCL and Level Zero.
    Spir64,
    /// `spir64_gen`: code of Intel GPUs.
    Spir64Gen,
    /// `spir64_x86_64`: code of CPUs.
    Spir64X86_64,
    /// `spir64_fpga`: code of FPGAs, of DPC++ before 2025.
    Spir64Fpga,
    /// `nvptx64`: code of NVIDIA GPUs.
    Nvptx64,
    /// `amdgcn`: code of AMD GPUs.
    AmdGcn,
    /// `native_cpu`: code of the CPU that the host program runs on.
    NativeCpu,
    /// A target this crate does not know.
    Other(&'t str),
}

impl<'t> Target<'t> {
    /// Returns the target of a triple such as `spir64_gen-unknown-unknown`, or of its first component.
    #[must_use]
    pub fn of_triple(triple: &'t str) -> Self {
        let first = triple.split('-').next().unwrap_or_default();
        let mut known = NAMES.iter().filter(|(_, name)| *name == first);
        known
            .next()
            .map_or(Self::Other(first), |(target, _)| *target)
    }

    /// Returns whether the code is for FPGAs. Object files of DPC++ name them `fpga_aocx`, `fpga_aocr` and `fpga_dep`.
    #[must_use]
    pub fn is_fpga(self) -> bool {
        match self {
            Self::Spir64Fpga => true,
            Self::Other(name) => name.starts_with("fpga_"),
            _ => false,
        }
    }

    /// Returns the spelling that triples use.
    #[must_use]
    pub fn spelling(self) -> &'t str {
        match self {
            Self::Other(other) => other,
            known => { NAMES.iter() }
                .find(|(target, _)| *target == known)
                .map_or("", |(_, name)| name),
        }
    }
}

const NAMES: [(Target<'static>, &str); 8] = [
    (Target::Spir, "spir"),
    (Target::Spir64, "spir64"),
    (Target::Spir64Gen, "spir64_gen"),
    (Target::Spir64X86_64, "spir64_x86_64"),
    (Target::Spir64Fpga, "spir64_fpga"),
    (Target::Nvptx64, "nvptx64"),
    (Target::AmdGcn, "amdgcn"),
    (Target::NativeCpu, "native_cpu"),
];

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.spelling())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_component_counts_and_unknown_ones_survive() {
        for (triple, target) in [
            ("spir-unknown-unknown", Target::Spir),
            ("spir64-unknown-unknown", Target::Spir64),
            ("spir64_gen-unknown-unknown", Target::Spir64Gen),
            ("spir64_x86_64-unknown-unknown", Target::Spir64X86_64),
            ("spir64_fpga-unknown-unknown", Target::Spir64Fpga),
            ("nvptx64-nvidia-cuda", Target::Nvptx64),
            ("amdgcn-amd-amdhsa", Target::AmdGcn),
            ("native_cpu", Target::NativeCpu),
            ("spirv64-unknown-unknown", Target::Other("spirv64")),
            ("", Target::Other("")),
        ] {
            assert_eq!(Target::of_triple(triple), target);
            let first = triple.split('-').next().unwrap();
            assert_eq!(target.spelling(), first);
        }
        for fpga in ["spir64_fpga", "fpga_aocx-intel-unknown", "fpga_dep"] {
            assert!(Target::of_triple(fpga).is_fpga(), "{fpga}");
        }
        assert!(!Target::Spir64.is_fpga() && !Target::Other("").is_fpga());
    }
}
