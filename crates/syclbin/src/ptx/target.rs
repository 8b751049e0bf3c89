// SPDX-License-Identifier: MIT OR Apache-2.0
//! Target GPUs and PTX versions, and the GPUs and drivers that accept them.

use core::fmt;
use core::ops::Range;

use crate::text::decimal;

/// A target for PTX or native code: an NVIDIA architecture, such as `sm_75` or `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The compute capability without the dot, such as 75 or 120.
    pub number: u32,
    /// A restriction on the GPUs that can run the code, if any.
    pub suffix: Option<Suffix>,
}

/// A restriction on the GPUs that can run the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suffix {
    /// `a`: only GPUs with exactly this compute capability.
    Architecture,
    /// `f`: only GPUs of the same family (the same major number), with at least this compute capability.
    Family,
}

impl Target {
    /// Creates a target without a suffix.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self {
            number,
            suffix: None,
        }
    }

    /// Parses a target such as `sm_90a`, or `nvidia_gpu_sm_90a` as SYCL compilers spell it.
    ///
    /// ```
    /// use syclbin::ptx::Target;
    ///
    /// assert_eq!(Target::parse("sm_80"), Some(Target::new(80)));
    /// assert_eq!(Target::parse("gfx90a"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.strip_prefix("nvidia_gpu_").unwrap_or(text);
        let name = name.strip_prefix("sm_")?;
        let suffix = match name.as_bytes().last()? {
            b'a' => Some(Suffix::Architecture),
            b'f' => Some(Suffix::Family),
            _ => None,
        };
        let digits = &name[..name.len() - usize::from(suffix.is_some())];
        let number = decimal::<u16>(digits)?.into();
        Some(Self { number, suffix })
    }

    /// Returns the major number of the compute capability.
    #[must_use]
    pub const fn major(self) -> u32 {
        self.number / 10
    }

    /// Returns the minor number of the compute capability.
    #[must_use]
    pub const fn minor(self) -> u32 {
        self.number % 10
    }

    /// Returns whether a driver can compile PTX for this target on a GPU with the compute capability `major.minor`.
    #[must_use]
    pub const fn ptx_runs_on(self, major: u32, minor: u32) -> bool {
        match self.suffix {
            None => self.number <= major * 10 + minor,
            Some(_) => self.native_runs_on(major, minor),
        }
    }

    /// Returns whether native code (a cubin) for this target runs on a GPU with the compute capability
    /// `major.minor`.
    #[must_use]
    pub const fn native_runs_on(self, major: u32, minor: u32) -> bool {
        let same = self.major() == major;
        match self.suffix {
            Some(Suffix::Architecture) => same && self.minor() == minor,
            Some(Suffix::Family) | None => same && self.minor() <= minor,
        }
    }

    /// Returns the first PTX version that supports this target, or `None` for unknown targets.
    #[must_use]
    #[doc(hidden)]
    pub const fn first_version(self) -> Option<Version> {
        let (major, minor) = match self.number {
            50 => (4, 0),
            52 => (4, 1),
            53 => (4, 2),
            60..=62 => (5, 0),
            70 => (6, 0),
            72 => (6, 1),
            75 => (6, 3),
            80 => (7, 0),
            86 => (7, 1),
            87 => (7, 4),
            89 => (7, 8),
            90 if self.suffix.is_some() => (8, 0),
            90 => (7, 8),
            88 | 110 => (9, 0),
            103 | 121 => (8, 8),
            100 | 101 | 120 if matches!(self.suffix, Some(Suffix::Family)) => (8, 8),
            100 | 101 => (8, 6),
            120 => (8, 7),
            _ => return None,
        };
        Some(Version::new(major, minor))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.suffix {
            None => "",
            Some(Suffix::Architecture) => "a",
            Some(Suffix::Family) => "f",
        };
        write!(f, "sm_{}{suffix}", self.number)
    }
}

/// A version of the PTX ISA (`.version`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

/// Runs of CUDA releases that each added 1 to the minor PTX version: the first release, as `cuDriverGetVersion` reports
/// it, its major PTX version, and the minor PTX versions of the run. The source is the PTX ISA, chapter "PTX Release
/// History". In CUDA 13, the minor version of PTX is that of CUDA.
const RELEASES: [(u32, u32, Range<u32>); 9] = [
    (7000, 4, 2..3),
    (7050, 4, 3..4),
    (8000, 5, 0..1),
    (9000, 6, 0..3),
    (10000, 6, 3..6),
    (11000, 7, 0..9),
    (12000, 8, 0..6),
    (12070, 8, 6..9),
    (13000, 9, 0..100),
];

/// The newest release whose PTX version is known; its assembler tells it. Drivers of CUDA 14 and later count as this
/// release.
const NEWEST: u32 = 13050;

impl Version {
    /// Creates the version `major.minor`.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Returns the highest version that a driver accepts. `cuda` is the version that `cuDriverGetVersion` reports:
    /// 12040 for 12.4. CUDA 13 drivers accept the PTX 9 version with the same minor number. For CUDA 14 and later,
    /// returns the highest known version, although the driver may accept later ones. Returns `None` for drivers before
    /// CUDA 7.
    ///
    /// ```
    /// use syclbin::ptx::Version;
    ///
    /// assert_eq!(Version::of_driver(12040), Some(Version::new(8, 4)));
    /// assert_eq!(Version::of_driver(12060), Some(Version::new(8, 5)));
    /// ```
    #[must_use]
    pub fn of_driver(cuda: u32) -> Option<Self> {
        let cuda = if cuda < 14000 { cuda } else { NEWEST };
        let mut runs = RELEASES.iter().rev();
        let (first, major, minors) = runs.find(|(first, ..)| *first <= cuda)?;
        let minor = minors.start + (cuda - first) / 10;
        Some(Self::new(*major, minor.min(minors.end - 1)))
    }

    /// Returns the first CUDA release whose driver accepts this version, as a number in the format of
    /// `cuDriverGetVersion`. Returns `None` for unknown later versions.
    #[must_use]
    pub fn first_driver(self) -> Option<u32> {
        let mut runs = RELEASES.iter();
        let (first, major, minors) =
            runs.find(|(_, major, minors)| Self::new(*major, minors.end - 1) >= self)?;
        let added = self.minor.saturating_sub(minors.start);
        Some(first + if *major == self.major { added * 10 } else { 0 })
    }

    pub(super) fn parse(word: &[u8]) -> Option<Self> {
        let (major, minor) = str::from_utf8(word).ok()?.split_once('.')?;
        let number = |digits: &str| digits.parse::<u16>().ok().map(u32::from);
        Some(Self::new(number(major)?, number(minor)?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn targets_are_read_as_they_are_written() {
        for text in ["sm_75", "sm_90a", "sm_100f", "sm_120"] {
            let target = Target::parse(text);
            assert_eq!(target.map(|t| t.to_string()).as_deref(), Some(text));
            let long = alloc::format!("nvidia_gpu_{text}");
            assert_eq!(Target::parse(&long), target);
        }
        for text in [
            "", "sm_", "sm_a", "sm_-1", "sm_+9", "sm_99999", "gfx90a", "75",
        ] {
            assert_eq!(Target::parse(text), None, "{text}");
        }
    }

    #[test]
    fn ptx_runs_on_newer_gpus_unlike_cubins() {
        let target = |text| Target::parse(text).unwrap_or(Target::new(0));
        for (text, (major, minor), ptx, native) in [
            ("sm_75", (7, 5), true, true),
            ("sm_75", (9, 0), true, false),
            ("sm_80", (8, 9), true, true),
            ("sm_89", (8, 6), false, false),
            ("sm_90", (12, 0), true, false),
            ("sm_90a", (9, 0), true, true),
            ("sm_90a", (10, 0), false, false),
            ("sm_100f", (10, 3), true, true),
            ("sm_100a", (10, 3), false, false),
            ("sm_100f", (12, 0), false, false),
            ("sm_120", (10, 3), false, false),
        ] {
            assert_eq!(target(text).ptx_runs_on(major, minor), ptx, "{text}");
            assert_eq!(target(text).native_runs_on(major, minor), native, "{text}");
        }
    }

    /// The history of `.target` in the PTX ISA, section 13.
    #[test]
    fn each_target_came_with_a_version() {
        for (text, version) in [
            ("sm_50", (4, 0)),
            ("sm_52", (4, 1)),
            ("sm_53", (4, 2)),
            ("sm_61", (5, 0)),
            ("sm_70", (6, 0)),
            ("sm_72", (6, 1)),
            ("sm_75", (6, 3)),
            ("sm_80", (7, 0)),
            ("sm_86", (7, 1)),
            ("sm_87", (7, 4)),
            ("sm_89", (7, 8)),
            ("sm_90", (7, 8)),
            ("sm_90a", (8, 0)),
            ("sm_100", (8, 6)),
            ("sm_100a", (8, 6)),
            ("sm_100f", (8, 8)),
            ("sm_101", (8, 6)),
            ("sm_103", (8, 8)),
            ("sm_120", (8, 7)),
            ("sm_120f", (8, 8)),
            ("sm_121", (8, 8)),
            ("sm_88", (9, 0)),
            ("sm_110", (9, 0)),
        ] {
            let found = Target::parse(text).and_then(Target::first_version);
            assert_eq!(found, Some(Version::new(version.0, version.1)), "{text}");
        }
        assert_eq!(Target::new(49).first_version(), None);
    }

    #[test]
    fn a_driver_takes_the_ptx_of_its_release() {
        for (cuda, expected) in [
            (6050, None),
            (10000, Some((6, 3))),
            (11080, Some((7, 8))),
            (12060, Some((8, 5))),
            (12061, Some((8, 5))),
            (13000, Some((9, 0))),
            (13030, Some((9, 3))),
            (14000, Some((9, 5))),
        ] {
            let version = Version::of_driver(cuda).map(|v| (v.major, v.minor));
            assert_eq!(version, expected, "{cuda}");
        }
    }

    #[test]
    fn the_first_driver_of_a_version_takes_it() {
        for (version, expected) in [
            (Version::new(6, 3), Some(10000)),
            (Version::new(8, 5), Some(12050)),
            (Version::new(3, 2), Some(7000)),
            (Version::new(9, 4), Some(13040)),
            (Version::new(9, 99), Some(13990)),
            (Version::new(9, 100), None),
            (Version::new(10, 0), None),
        ] {
            let first = version.first_driver();
            assert_eq!(first, expected, "{version}");
            let taken = first.and_then(Version::of_driver);
            assert!(taken.is_none_or(|taken| taken >= version), "{version}");
        }
    }
}
