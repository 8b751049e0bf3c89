// SPDX-License-Identifier: MIT OR Apache-2.0
//! Views of the small sets: compilation settings, device libraries, device globals and virtual functions. Also defines
//! the compilation targets of images.

use core::fmt;

use super::value::{Malformed, Property};
use super::{Field, numbers, view};
use crate::prelude::*;
use crate::property::{PropertySets, Value, key, set};

/// The compilation settings of a module (sets [`MISC_PROPERTIES`](set::MISC_PROPERTIES) and
/// [`BUILD_OPTIONS`](set::BUILD_OPTIONS)). A missing property is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MiscProperties {
    /// Whether the code uses the explicit SIMD extension (`isEsimdImage`). Drivers compile such code differently.
    pub esimd: Option<bool>,
    /// The register allocation mode that old compilers write: 0 for automatic, 2 for large
    /// (`sycl-register-alloc-mode`).
    pub register_alloc_mode: Option<u32>,
    /// The number of registers per thread on Intel GPUs: 128, 256 ..., or 0 for automatic (`sycl-grf-size`).
    pub grf_size: Option<u32>,
    /// The optimization level, 0 to 3 (`optLevel`).
    pub opt_level: Option<u32>,
    /// The sanitizer that the code is instrumented for: `asan`, `msan` or `tsan` (`sanUsed`).
    pub sanitizer: Option<String>,
    /// Whether the compiler replaced specialization constants with their default values, so that they cannot be set
    /// (`specConstsReplacedWithDefault`).
    pub specialized_with_defaults: Option<bool>,
    /// The integer type that every work-item id is assumed to fit into (`idQueriesRange`). Compilers omit
    /// [`IdRange::Int`].
    pub id_range: Option<IdRange>,
    /// The compile options from the container that the image was extracted from (`compile`).
    pub compile_options: Option<String>,
    /// The link options from the container that the image was extracted from (`link`).
    pub link_options: Option<String>,
}

numbers! {
    /// The integer type that every work-item id is assumed to fit into (option `-fsycl-id-queries-range`).
    pub enum IdRange {
        /// Ids fit into an `int`.
        Int = 0,
        /// Ids fit into an `unsigned int`.
        UnsignedInt = 1,
        /// Ids fit into a `size_t`.
        Size = 2,
    }
}

/// The device libraries that a module requires or implements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceLibraries {
    /// One bit for each library that the module requires. Only old compilers write this mask (set
    /// [`DEVICELIB_REQ_MASK`](set::DEVICELIB_REQ_MASK)).
    pub required: Option<u32>,
    /// If the module is itself a device library, the method by which it converts `bfloat16` (set
    /// [`DEVICELIB_METADATA`](set::DEVICELIB_METADATA)).
    pub bfloat16: Option<Bfloat16>,
}

numbers! {
    /// The method by which a device library converts `bfloat16`.
    pub enum Bfloat16 {
        /// Uses arithmetic that every device supports.
        Fallback = 0,
        /// Uses conversion instructions, which not every device supports.
        Native = 1,
    }
}

view! {
    MiscProperties {
        esimd: MISC_PROPERTIES, IS_ESIMD_IMAGE;
        register_alloc_mode: MISC_PROPERTIES, REGISTER_ALLOC_MODE;
        grf_size: MISC_PROPERTIES, GRF_SIZE;
        opt_level: MISC_PROPERTIES, OPT_LEVEL;
        sanitizer: MISC_PROPERTIES, SAN_USED;
        specialized_with_defaults: MISC_PROPERTIES, SPEC_CONSTS_REPLACED;
        id_range: MISC_PROPERTIES, ID_QUERIES_RANGE;
        compile_options: BUILD_OPTIONS, COMPILE;
        link_options: BUILD_OPTIONS, LINK;
    }
}

view! {
    DeviceLibraries {
        required: DEVICELIB_REQ_MASK, DEVICELIB_REQ_MASK;
        bfloat16: DEVICELIB_METADATA, BFLOAT16;
    }
}

/// A variable that persists between launches. The set [`DEVICE_GLOBALS`](crate::property::set::DEVICE_GLOBALS)
/// stores it under its unique identifier, the mangled name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceGlobal {
    /// The size of the value in bytes.
    pub size: u32,
    /// Whether the variable itself contains the value (property `device_image_scope`). Otherwise, the variable
    /// begins with a pointer to memory that the loader allocates.
    pub image_scope: bool,
}

impl Property for DeviceGlobal {
    const EXPECTED: &'static str = "two 32-bit numbers: a size, and 0 or 1";

    fn from_value(value: &Value) -> Option<Self> {
        let [size, scope @ 0..=1] = Vec::from_value(value)?[..] else {
            return None;
        };
        let image_scope = scope == 1;
        Some(Self { size, image_scope })
    }

    fn to_value(&self) -> Value {
        vec![self.size, u32::from(self.image_scope)].to_value()
    }
}

/// Sets of virtual functions (set [`VIRTUAL_FUNCTIONS`](set::VIRTUAL_FUNCTIONS)). A loader must link each
/// module that calls functions in a set with the modules that define these functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VirtualFunctions {
    /// The sets whose functions the module defines (`virtual-functions-set`).
    pub defines: SetNames,
    /// The sets whose functions the module calls (`uses-virtual-functions-set`).
    pub uses: SetNames,
}

/// Names of virtual function sets. Files store them as one comma-separated string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetNames(pub Vec<String>);

impl Property for SetNames {
    const EXPECTED: &'static str = "UTF-8 text: names separated by commas";

    fn from_value(value: &Value) -> Option<Self> {
        let text = String::from_value(value)?;
        let names = text.split(',').filter(|_| !text.is_empty());
        Some(Self(names.map(String::from).collect()))
    }

    fn to_value(&self) -> Value {
        Value::from(self.0.join(","))
    }
}

view! {
    VirtualFunctions {
        defines: VIRTUAL_FUNCTIONS, VIRTUAL_FUNCTIONS_SET;
        uses: VIRTUAL_FUNCTIONS, USES_VIRTUAL_FUNCTIONS_SET;
    }
}

/// A compilation target: the first component of a target triple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target<'t> {
    /// `spir`: 32-bit SPIR-V.
    Spir,
    /// `spir64`: 64-bit SPIR-V, for OpenCL and Level Zero.
    Spir64,
    /// `spir64_gen`: native code for Intel GPUs.
    Spir64Gen,
    /// `spir64_x86_64`: native code for CPUs.
    Spir64X86_64,
    /// `spir64_fpga`: native code for FPGAs, from DPC++ before 2025.
    Spir64Fpga,
    /// `nvptx64`: code for NVIDIA GPUs.
    Nvptx64,
    /// `amdgcn`: code for AMD GPUs.
    AmdGcn,
    /// `native_cpu`: code for the CPU that the host program runs on.
    NativeCpu,
    /// An unknown target.
    Other(&'t str),
}

impl<'t> Target<'t> {
    /// Returns the target for a triple such as `spir64_gen-unknown-unknown`, or for the first component of a triple.
    #[must_use]
    pub fn of_triple(triple: &'t str) -> Self {
        let first = triple.split('-').next().unwrap_or_default();
        let known = NAMES.iter().find(|(_, name)| *name == first);
        known.map_or(Self::Other(first), |(target, _)| *target)
    }

    /// Returns whether the target is an FPGA. Also recognizes the names in DPC++ object files: `fpga_aocx`, `fpga_aocr`
    /// and `fpga_dep`.
    #[must_use]
    pub fn is_fpga(self) -> bool {
        match self {
            Self::Spir64Fpga => true,
            Self::Other(name) => name.starts_with("fpga_"),
            _ => false,
        }
    }

    /// Returns the spelling in target triples.
    #[must_use]
    pub fn spelling(self) -> &'t str {
        if let Self::Other(other) = self {
            return other;
        }
        let known = NAMES.iter().find(|(target, _)| *target == self);
        known.map_or("", |(_, name)| name)
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
    use alloc::string::ToString;

    #[test]
    fn values_have_one_meaning_and_unknown_survive() {
        for (number, range, conversion) in [
            (0, IdRange::Int, Bfloat16::Fallback),
            (1, IdRange::UnsignedInt, Bfloat16::Native),
            (2, IdRange::Size, Bfloat16::Other(2)),
            (9, IdRange::Other(9), Bfloat16::Other(9)),
        ] {
            let value = Value::U32(number);
            assert_eq!(
                (range.to_value(), conversion.to_value()),
                (value.clone(), value.clone())
            );
            assert_eq!(IdRange::from_value(&value), Some(range));
            assert_eq!(Bfloat16::from_value(&value), Some(conversion));
        }
    }

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
            assert_eq!(target.to_string(), first);
        }
        for fpga in ["spir64_fpga", "fpga_aocx-intel-unknown", "fpga_dep"] {
            assert!(Target::of_triple(fpga).is_fpga(), "{fpga}");
        }
        assert!(!Target::Spir64.is_fpga() && !Target::Other("").is_fpga());
    }
}
