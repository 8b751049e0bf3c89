// SPDX-License-Identifier: MIT OR Apache-2.0
//! Versions of PTX, and which of them a driver takes.

use core::fmt;

/// A version of the PTX ISA (`.version`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

/// The release of CUDA, as `cuDriverGetVersion` reports it, and the PTX version that came with it. The source
/// is the PTX ISA, chapter "PTX Release History". From 13.0 on both count alike; the version of 13.5 was seen
/// in its assembler.
const RELEASES: [(u32, u32, u32); 31] = [
    (7000, 4, 2),
    (7050, 4, 3),
    (8000, 5, 0),
    (9000, 6, 0),
    (9010, 6, 1),
    (9020, 6, 2),
    (10000, 6, 3),
    (10010, 6, 4),
    (10020, 6, 5),
    (11000, 7, 0),
    (11010, 7, 1),
    (11020, 7, 2),
    (11030, 7, 3),
    (11040, 7, 4),
    (11050, 7, 5),
    (11060, 7, 6),
    (11070, 7, 7),
    (11080, 7, 8),
    (12000, 8, 0),
    (12010, 8, 1),
    (12020, 8, 2),
    (12030, 8, 3),
    (12040, 8, 4),
    (12050, 8, 5),
    (12070, 8, 6),
    (12080, 8, 7),
    (12090, 8, 8),
    (13000, 9, 0),
    (13010, 9, 1),
    (13020, 9, 2),
    (13050, 9, 5),
];

impl Version {
    /// Creates a version from its two numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Returns the highest version that a driver takes. `cuda` is the version that `cuDriverGetVersion`
    /// reports: 12040 for 12.4. For a driver newer than this crate it is the highest known version, so the
    /// driver may take more. Returns `None` before CUDA 7.
    ///
    /// ```
    /// use syclbin::ptx::Version;
    ///
    /// assert_eq!(Version::of_driver(12040), Some(Version::new(8, 4)));
    /// assert_eq!(Version::of_driver(12060), Some(Version::new(8, 5)));
    /// ```
    #[must_use]
    pub fn of_driver(cuda: u32) -> Option<Self> {
        if (13000..14000).contains(&cuda) {
            return Some(Self::new(9, cuda % 1000 / 10));
        }
        let known = RELEASES.iter().rev().find(|(first, ..)| *first <= cuda);
        known.map(|(_, major, minor)| Self::new(*major, *minor))
    }

    /// Returns the first release of CUDA whose driver takes this version, as `cuDriverGetVersion` reports it.
    /// Returns `None` for a version newer than this crate.
    #[must_use]
    pub fn first_driver(self) -> Option<u32> {
        if self.major == 9 && self.minor < 100 {
            return Some(13000 + self.minor * 10);
        }
        let known = RELEASES
            .iter()
            .find(|(_, major, minor)| Self::new(*major, *minor) >= self);
        known.map(|(first, ..)| *first)
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
    use super::*;

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
