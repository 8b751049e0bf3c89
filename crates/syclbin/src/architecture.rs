// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translates between the names, aliases and numbers of device architectures.

use crate::prelude::*;
use core::fmt;

/// A device architecture, identified by its number in the SYCL extension `sycl_ext_oneapi_device_architecture`.
///
/// The number consists of 16 hexadecimal digits: two for the [family](Family), four zeros, eight for the architecture
/// and two for a variant. For Intel GPUs, the eight digits are the hardware IP version. The variant encodes a suffix,
/// such as the `a` in `sm_90a`, and is zero if the name has no suffix. Unknown numbers are preserved.
///
/// Files store architectures as text, in a spelling that depends on the writer. The compiler writes `pvc`, `sm_90`
/// or `gfx90a`. The reference runtime writes `intel_gpu_pvc`. [`Self::from_name`] accepts both spellings and all aliases.
/// To compare architectures that may be unknown, use [`same`].
///
/// ```
/// use syclbin::architecture::{Architecture, Family, same};
///
/// let pvc = Architecture::from_name("pvc").ok_or("not known")?;
/// assert_eq!(pvc.name(), Some("intel_gpu_pvc"));
/// assert_eq!(pvc.family(), Family::IntelGpu);
/// assert_eq!(Architecture::from_name("intel_gpu_12_60_7"), Some(pvc));
/// assert!(same("bmg-g21", "intel_gpu_20_1_4") && !same("sm_90", "sm_90a"));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Architecture(pub u64);

/// The device family that an architecture belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// An Intel GPU.
    IntelGpu,
    /// An NVIDIA GPU.
    NvidiaGpu,
    /// An AMD GPU.
    AmdGpu,
    /// A CPU.
    Cpu,
    /// The family of [`Architecture::UNKNOWN`].
    Unknown,
    /// An unknown family, identified by its number.
    Other(u8),
}

/// A table row: number, name, aliases.
type Row = (u64, &'static str, &'static [&'static str]);

impl Architecture {
    /// The architecture that the reference runtime reports for unknown devices.
    pub const UNKNOWN: Self = Self(0x9900_0000_0000_0000);

    /// Returns the name, such as `intel_gpu_pvc`, if it is known.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        let row = TABLE.iter().find(|(id, ..)| *id == self.0);
        row.map(|(_, name, _)| *name)
    }

    /// Returns the device family.
    #[must_use]
    pub const fn family(self) -> Family {
        match self.0.to_be_bytes()[0] {
            0 => Family::IntelGpu,
            1 => Family::NvidiaGpu,
            2 => Family::AmdGpu,
            3 => Family::Cpu,
            0x99 => Family::Unknown,
            other => Family::Other(other),
        }
    }

    /// Returns the architecture with this name or alias, in either spelling (see [`Architecture`]).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.replace('-', "_");
        let is_known = |known: &&str| short(known) == short(&name);
        let mut rows = TABLE.iter();
        let row = rows.find(|(_, name, aliases)| is_known(name) || aliases.iter().any(is_known));
        row.map(|(id, ..)| Self(*id))
    }

    /// Returns the architectures that `name` covers. The name of an architecture covers only that architecture. The
    /// name of an Intel GPU family, such as `intel_gpu_bmg`, covers every member of the family: each architecture with
    /// a name or alias that starts with the family name and `_`. An unknown name covers nothing.
    ///
    /// ```
    /// use syclbin::Architecture;
    ///
    /// let names: Vec<_> = Architecture::members("intel_gpu_bmg")
    ///     .iter()
    ///     .filter_map(|member| member.name())
    ///     .collect();
    /// assert_eq!(names, ["intel_gpu_bmg_g21", "intel_gpu_bmg_g31"]);
    /// ```
    #[must_use]
    pub fn members(name: &str) -> Vec<Self> {
        if let Some(architecture) = Self::from_name(name) {
            return Vec::from([architecture]);
        }
        let family = format!("intel_gpu_{}_", short(&name.replace('-', "_")));
        let is_member = |member: &&str| member.starts_with(&family);
        let mut rows = Vec::from(TABLE);
        rows.retain(|(_, name, aliases)| is_member(name) || aliases.iter().any(is_member));
        rows.iter().map(|(id, ..)| Self(*id)).collect()
    }
}

/// Returns whether two names refer to the same architecture. The comparison ignores the prefixes `intel_gpu_`,
/// `nvidia_gpu_` and `amd_gpu_`, treats `-` as `_`, and resolves aliases. It also works for unknown
/// architectures.
#[must_use]
pub fn same(a: &str, b: &str) -> bool {
    match (Architecture::from_name(a), Architecture::from_name(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => short(&a.replace('-', "_")) == short(&b.replace('-', "_")),
        _ => false,
    }
}

/// Removes the prefix of the device family.
fn short(name: &str) -> &str {
    let mut prefixes = ["intel_gpu_", "nvidia_gpu_", "amd_gpu_"].into_iter();
    let short = prefixes.find_map(|prefix| name.strip_prefix(prefix));
    short.unwrap_or(name)
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "architecture {:#018x}", self.0),
        }
    }
}

#[rustfmt::skip] // one architecture per line
const TABLE: &[Row] = &[
    (0x9900_0000_0000_0000, "unknown", &[]),
    (0x0300_0000_0000_0000, "x86_64", &[]),
    (0x0300_0000_0000_0800, "intel_cpu_spr", &[]),
    (0x0300_0000_0000_0900, "intel_cpu_gnr", &[]),
    (0x0300_0000_0000_1000, "intel_cpu_dmr", &[]),
    (0x0000_0002_0000_0000, "intel_gpu_bdw", &["intel_gpu_8_0_0"]),
    (0x0000_0002_4000_0900, "intel_gpu_skl", &["intel_gpu_9_0_9"]),
    (0x0000_0002_4040_0900, "intel_gpu_kbl", &["intel_gpu_9_1_9"]),
    (0x0000_0002_4080_0900, "intel_gpu_cfl", &["intel_gpu_9_2_9"]),
    (0x0000_0002_40c0_0000, "intel_gpu_apl", &["intel_gpu_bxt", "intel_gpu_9_3_0"]),
    (0x0000_0002_4100_0000, "intel_gpu_glk", &["intel_gpu_9_4_0"]),
    (0x0000_0002_4140_0000, "intel_gpu_whl", &["intel_gpu_9_5_0"]),
    (0x0000_0002_4180_0000, "intel_gpu_aml", &["intel_gpu_9_6_0"]),
    (0x0000_0002_41c0_0000, "intel_gpu_cml", &["intel_gpu_9_7_0"]),
    (0x0000_0002_c000_0000, "intel_gpu_icllp", &["intel_gpu_icl", "intel_gpu_11_0_0"]),
    (0x0000_0002_c080_0000, "intel_gpu_ehl", &["intel_gpu_jsl", "intel_gpu_11_2_0"]),
    (0x0000_0003_0000_0000, "intel_gpu_tgllp", &["intel_gpu_tgl", "intel_gpu_12_0_0"]),
    (0x0000_0003_0040_0000, "intel_gpu_rkl", &["intel_gpu_12_1_0"]),
    (0x0000_0003_0080_0000, "intel_gpu_adl_s", &["intel_gpu_rpl_s", "intel_gpu_12_2_0"]),
    (0x0000_0003_00c0_0000, "intel_gpu_adl_p", &["intel_gpu_12_3_0"]),
    (0x0000_0003_0100_0000, "intel_gpu_adl_n", &["intel_gpu_12_4_0"]),
    (0x0000_0003_0280_0000, "intel_gpu_dg1", &["intel_gpu_12_10_0"]),
    (0x0000_0003_0dc0_0800, "intel_gpu_acm_g10", &["intel_gpu_dg2_g10", "intel_gpu_12_55_8"]),
    (0x0000_0003_0e00_0500, "intel_gpu_acm_g11", &["intel_gpu_dg2_g11", "intel_gpu_12_56_5"]),
    (0x0000_0003_0e40_0000, "intel_gpu_acm_g12", &["intel_gpu_dg2_g12", "intel_gpu_12_57_0"]),
    (0x0000_0003_0f00_0700, "intel_gpu_pvc", &["intel_gpu_12_60_7"]),
    (0x0000_0003_0f40_0700, "intel_gpu_pvc_vg", &["intel_gpu_12_61_7"]),
    (0x0000_0003_1180_0400, "intel_gpu_mtl_u", &["intel_gpu_mtl_s", "intel_gpu_arl_u", "intel_gpu_arl_s", "intel_gpu_12_70_4"]),
    (0x0000_0003_11c0_0400, "intel_gpu_mtl_h", &["intel_gpu_12_71_4"]),
    (0x0000_0003_1280_0400, "intel_gpu_arl_h", &["intel_gpu_12_74_4"]),
    (0x0000_0005_0040_0400, "intel_gpu_bmg_g21", &["intel_gpu_20_1_4"]),
    (0x0000_0005_0080_0000, "intel_gpu_bmg_g31", &["intel_gpu_20_2_0"]),
    (0x0000_0005_0100_0400, "intel_gpu_lnl_m", &["intel_gpu_20_4_4"]),
    (0x0000_0007_8000_0400, "intel_gpu_ptl_h", &["intel_gpu_30_0_4"]),
    (0x0000_0007_8040_0100, "intel_gpu_ptl_u", &["intel_gpu_30_1_1"]),
    (0x0000_0007_80c0_0000, "intel_gpu_wcl", &["intel_gpu_30_3_0"]),
    (0x0000_0007_8100_0400, "intel_gpu_nvl_s", &["intel_gpu_nvl_hx", "intel_gpu_nvl_ul", "intel_gpu_30_4_0"]),
    (0x0000_0007_8140_0400, "intel_gpu_nvl_u", &["intel_gpu_nvl_h", "intel_gpu_30_5_0"]),
    (0x0000_0008_c280_0000, "intel_gpu_nvl_p", &["intel_gpu_35_10_0"]),
    (0x0000_0008_c2c0_0000, "intel_gpu_cri", &["intel_gpu_35_11_0"]),
    (0x0100_0000_0000_5000, "nvidia_gpu_sm_50", &[]),
    (0x0100_0000_0000_5200, "nvidia_gpu_sm_52", &[]),
    (0x0100_0000_0000_5300, "nvidia_gpu_sm_53", &[]),
    (0x0100_0000_0000_6000, "nvidia_gpu_sm_60", &[]),
    (0x0100_0000_0000_6100, "nvidia_gpu_sm_61", &[]),
    (0x0100_0000_0000_6200, "nvidia_gpu_sm_62", &[]),
    (0x0100_0000_0000_7000, "nvidia_gpu_sm_70", &[]),
    (0x0100_0000_0000_7200, "nvidia_gpu_sm_72", &[]),
    (0x0100_0000_0000_7500, "nvidia_gpu_sm_75", &[]),
    (0x0100_0000_0000_8000, "nvidia_gpu_sm_80", &[]),
    (0x0100_0000_0000_8600, "nvidia_gpu_sm_86", &[]),
    (0x0100_0000_0000_8700, "nvidia_gpu_sm_87", &[]),
    (0x0100_0000_0000_8900, "nvidia_gpu_sm_89", &[]),
    (0x0100_0000_0000_9000, "nvidia_gpu_sm_90", &[]),
    (0x0100_0000_0000_90a0, "nvidia_gpu_sm_90a", &[]),
    (0x0200_0000_0007_0000, "amd_gpu_gfx700", &[]),
    (0x0200_0000_0007_0100, "amd_gpu_gfx701", &[]),
    (0x0200_0000_0007_0200, "amd_gpu_gfx702", &[]),
    (0x0200_0000_0007_0300, "amd_gpu_gfx703", &[]),
    (0x0200_0000_0007_0400, "amd_gpu_gfx704", &[]),
    (0x0200_0000_0007_0500, "amd_gpu_gfx705", &[]),
    (0x0200_0000_0008_0100, "amd_gpu_gfx801", &[]),
    (0x0200_0000_0008_0200, "amd_gpu_gfx802", &[]),
    (0x0200_0000_0008_0300, "amd_gpu_gfx803", &[]),
    (0x0200_0000_0008_0500, "amd_gpu_gfx805", &[]),
    (0x0200_0000_0008_1000, "amd_gpu_gfx810", &[]),
    (0x0200_0000_0009_0000, "amd_gpu_gfx900", &[]),
    (0x0200_0000_0009_0200, "amd_gpu_gfx902", &[]),
    (0x0200_0000_0009_0400, "amd_gpu_gfx904", &[]),
    (0x0200_0000_0009_0600, "amd_gpu_gfx906", &[]),
    (0x0200_0000_0009_0800, "amd_gpu_gfx908", &[]),
    (0x0200_0000_0009_0900, "amd_gpu_gfx909", &[]),
    (0x0200_0000_0009_0a00, "amd_gpu_gfx90a", &[]),
    (0x0200_0000_0009_0c00, "amd_gpu_gfx90c", &[]),
    (0x0200_0000_0009_4000, "amd_gpu_gfx940", &[]),
    (0x0200_0000_0009_4100, "amd_gpu_gfx941", &[]),
    (0x0200_0000_0009_4200, "amd_gpu_gfx942", &[]),
    (0x0200_0000_0010_1000, "amd_gpu_gfx1010", &[]),
    (0x0200_0000_0010_1100, "amd_gpu_gfx1011", &[]),
    (0x0200_0000_0010_1200, "amd_gpu_gfx1012", &[]),
    (0x0200_0000_0010_1300, "amd_gpu_gfx1013", &[]),
    (0x0200_0000_0010_3000, "amd_gpu_gfx1030", &[]),
    (0x0200_0000_0010_3100, "amd_gpu_gfx1031", &[]),
    (0x0200_0000_0010_3200, "amd_gpu_gfx1032", &[]),
    (0x0200_0000_0010_3300, "amd_gpu_gfx1033", &[]),
    (0x0200_0000_0010_3400, "amd_gpu_gfx1034", &[]),
    (0x0200_0000_0010_3500, "amd_gpu_gfx1035", &[]),
    (0x0200_0000_0010_3600, "amd_gpu_gfx1036", &[]),
    (0x0200_0000_0011_0000, "amd_gpu_gfx1100", &[]),
    (0x0200_0000_0011_0100, "amd_gpu_gfx1101", &[]),
    (0x0200_0000_0011_0200, "amd_gpu_gfx1102", &[]),
    (0x0200_0000_0011_0300, "amd_gpu_gfx1103", &[]),
    (0x0200_0000_0011_5000, "amd_gpu_gfx1150", &[]),
    (0x0200_0000_0011_5100, "amd_gpu_gfx1151", &[]),
    (0x0200_0000_0012_0000, "amd_gpu_gfx1200", &[]),
    (0x0200_0000_0012_0100, "amd_gpu_gfx1201", &[]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_and_aliases_parse_in_both_spellings() {
        for (id, name, aliases) in TABLE {
            let architecture = Architecture(*id);
            assert_eq!(architecture.name(), Some(*name));
            for name in aliases.iter().chain([name]) {
                assert_eq!(Architecture::from_name(name), Some(architecture));
                let dashed = short(name).replace('_', "-");
                assert_eq!(
                    Architecture::from_name(&dashed),
                    Some(architecture),
                    "{dashed}"
                );
            }
        }
    }

    #[test]
    fn no_name_and_no_number_is_there_twice() {
        let mut names: Vec<_> = TABLE
            .iter()
            .flat_map(|(_, name, aliases)| aliases.iter().chain([name]))
            .map(|name| short(name))
            .collect();
        let mut ids: Vec<_> = TABLE.iter().map(|(id, ..)| id).collect();
        let counts = (names.len(), ids.len());
        names.sort();
        names.dedup();
        ids.sort();
        ids.dedup();
        assert_eq!((names.len(), ids.len()), counts);
        assert_eq!(ids.len(), 96);
    }

    #[test]
    fn number_gives_the_family_in_the_name() {
        for (id, name, _) in TABLE {
            let architecture = Architecture(*id);
            let family = match *name {
                "unknown" => Family::Unknown,
                name if name.starts_with("intel_gpu_") => Family::IntelGpu,
                name if name.starts_with("nvidia_gpu_") => Family::NvidiaGpu,
                name if name.starts_with("amd_gpu_") => Family::AmdGpu,
                _ => Family::Cpu,
            };
            assert_eq!(architecture.family(), family, "{architecture}");
        }
        assert_eq!(Architecture(4 << 56).family(), Family::Other(4));
    }

    #[test]
    fn families_have_their_members() {
        let names = |family| {
            let members = Architecture::members(family).into_iter();
            let names = members.filter_map(|member| member.name()?.strip_prefix("intel_gpu_"));
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("intel_gpu_bmg"), "bmg_g21 bmg_g31");
        assert_eq!(names("dg2"), "acm_g10 acm_g11 acm_g12");
        assert_eq!(names("intel_gpu_mtl"), "mtl_u mtl_h");
        assert_eq!(names("ptl"), "ptl_h ptl_u");
        // An exact match takes precedence over a family.
        assert_eq!(names("pvc"), "pvc");
        assert_eq!(names("bmg-g21"), "bmg_g21");
        for none in ["", "intel_gpu_", "bm", "bmg_", "sm", "gfx9"] {
            assert_eq!(Architecture::members(none), [], "{none}");
        }
    }

    #[test]
    fn compiler_and_runtime_spellings_are_equal() {
        for (a, b) in [
            ("pvc", "intel_gpu_pvc"),
            ("bmg-g21", "intel_gpu_bmg_g21"),
            ("sm_90", "nvidia_gpu_sm_90"),
            ("gfx90a", "amd_gpu_gfx90a"),
            ("acm-g10", "intel_gpu_dg2_g10"),
            ("x86-64", "x86_64"),
            // Not in the table.
            ("gfx9999", "amd_gpu_gfx9999"),
            ("corei7-avx", "corei7_avx"),
        ] {
            assert!(same(a, b) && same(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("pvc", "pvc_vg"),
            ("sm_90", "sm_90a"),
            ("gfx9999", "pvc"),
            ("", "pvc"),
        ] {
            assert!(!same(a, b) && !same(b, a), "{a} {b}");
        }
    }

    #[test]
    fn numbers_are_those_of_the_runtime() {
        let pvc = Architecture::from_name("intel_gpu_pvc");
        assert_eq!(pvc, Some(Architecture(0x3_0f00_0700)));
        let unknown = Architecture::from_name("unknown");
        assert_eq!(unknown, Some(Architecture::UNKNOWN));
    }

    #[test]
    fn unknown_numbers_survive_and_unknown_names_do_not() {
        let unknown = Architecture(0x0100_0000_0000_c000);
        assert_eq!(unknown.name(), None);
        assert_eq!(unknown.to_string(), "architecture 0x010000000000c000");
        assert_eq!(Architecture::UNKNOWN.to_string(), "unknown");
        assert_eq!(Architecture::from_name("sm_1"), None);
    }
}
