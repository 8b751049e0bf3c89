// SPDX-License-Identifier: MIT OR Apache-2.0
//! Debian releases, and the packages of each root.

/// The glibc of the oldest release.
pub(super) const GLIBC: (u32, u32) = (2, 41);

/// A release, and the packages of its root.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Release {
    /// The name of the root's directory.
    pub(super) name: &'static str,
    /// The name in the archive.
    pub(super) suite: &'static str,
    pub(super) architecture: &'static str,
    /// The packages to install with their dependencies, and the versions that the tests were written for. A rolling
    /// release has no versions.
    pub(super) packages: &'static [(&'static str, Option<&'static str>)],
}

/// PoCL, and rusticl on the CPU.
pub(super) const STABLE: Release = Release {
    name: "debian-13",
    suite: "trixie",
    architecture: "amd64",
    packages: &[
        ("pocl-opencl-icd", Some("6.0-6")),
        ("mesa-opencl-icd", Some("25.0.7-2+deb13u1")),
        ("ocl-icd-libopencl1", Some("2.3.3-1")),
        // Contains the name of the release, for reports.
        ("base-files", None),
    ],
};

/// PoCL for aarch64, which `cargo xtask platforms` runs under QEMU.
pub(super) const ARM: Release = Release {
    name: "debian-13-arm64",
    suite: "trixie",
    architecture: "arm64",
    packages: &[
        ("pocl-opencl-icd", Some("6.0-6")),
        ("ocl-icd-libopencl1", Some("2.3.3-1")),
    ],
};

/// rusticl on AMD's driver with a DRM that executes nothing, and Intel's GPU driver with its ahead-of-time compiler.
pub(super) const UNSTABLE: Release = Release {
    name: "debian-sid",
    suite: "sid",
    architecture: "amd64",
    packages: &[
        ("mesa-opencl-icd", None),
        ("mesa-drm-shim", None),
        ("libdrm-amdgpu1", None),
        ("ocl-icd-libopencl1", None),
        ("intel-ocloc", None),
        ("libigc2", None),
        ("libigdfcl2", None),
        ("intel-opencl-icd", None),
        ("libze-intel-gpu1", None),
        ("base-files", None),
    ],
};

impl Release {
    pub(super) fn is_pinned(&self) -> bool {
        let mut packages = self.packages.iter();
        packages.any(|(_, version)| version.is_some())
    }
}
