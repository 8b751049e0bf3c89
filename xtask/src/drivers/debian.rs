// SPDX-License-Identifier: MIT OR Apache-2.0
//! Releases of Debian, and what each root has of them.

/// The glibc of the oldest release.
pub(super) const GLIBC: (u32, u32) = (2, 41);

/// A release, and the packages of its root.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Release {
    /// The name of the root's directory.
    pub(super) name: &'static str,
    /// What the archive calls it.
    pub(super) suite: &'static str,
    /// Packages, whose dependencies follow, with the versions that the tests were written for. A release that
    /// moves has none.
    pub(super) packages: &'static [(&'static str, Option<&'static str>)],
}

/// PoCL, and rusticl on the CPU.
pub(super) const STABLE: Release = Release {
    name: "debian-13",
    suite: "trixie",
    packages: &[
        ("pocl-opencl-icd", Some("6.0-6")),
        ("mesa-opencl-icd", Some("25.0.7-2+deb13u1")),
        ("ocl-icd-libopencl1", Some("2.3.3-1")),
        // The name of the release, for reports.
        ("base-files", None),
    ],
};

/// rusticl over AMD's driver with a DRM that executes nothing, and Intel's GPU driver with its ahead-of-time compiler.
pub(super) const UNSTABLE: Release = Release {
    name: "debian-sid",
    suite: "sid",
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
    /// Returns whether the versions stay as they are.
    pub(super) fn is_pinned(&self) -> bool {
        let mut packages = self.packages.iter();
        packages.any(|(_, version)| version.is_some())
    }
}
