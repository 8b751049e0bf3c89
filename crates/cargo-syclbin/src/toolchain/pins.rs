// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pinned wheels of each component: name, version, hash, licence, and every member that is unpacked.
//!
//! The hash determines every byte of a wheel. The member sizes are pinned too, so the required disk space is known
//! before the download. A member whose size differs is rejected.
//!
//! To update to another version, change `pins.json`. Take the names from `pip download`, the hashes from `sha256sum`,
//! and the members and sizes from `unzip -v`. Take the licence from the wheel's `METADATA` and the first line of its
//! `LICENSE.txt`.

use std::collections::BTreeMap;
use std::env::consts::{ARCH, OS};
use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, de};
use syclbin_toolchain::Component;

/// Every component that `cargo syclbin toolchain install` can install on this system. For the compiler, the installer
/// also copies the `syclbin-clang` beside the running program, and writes the headers `<syclbin/...>`.
pub static ALL: LazyLock<Vec<ComponentPin>> = LazyLock::new(|| of(OS, ARCH));

/// Returns the pins for a system. `os` and `arch` have the values that [`std::env::consts`] defines.
///
/// # Panics
///
/// Never: the pins are part of this program.
pub fn of(os: &str, arch: &str) -> Vec<ComponentPin> {
    let pins = match (os, arch) {
        ("linux", "x86_64") => include_str!("pins.json"),
        ("windows", "x86_64") => include_str!("pins-windows.json"),
        _ => "[]",
    };
    serde_json::from_str(pins).expect("the pins are part of this program")
}

/// A pinned version of a component.
#[derive(Clone, Debug, Deserialize)]
pub struct ComponentPin {
    /// The component.
    #[serde(deserialize_with = "component")]
    pub component: Component,
    /// The component's version, which is also the name of its directory.
    pub version: &'static str,
    /// The wheels that contain the component's files.
    pub wheels: Vec<WheelPin>,
}

/// A pinned wheel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WheelPin {
    /// The name of the project on PyPI.
    pub name: &'static str,
    /// The version of the wheel.
    pub version: &'static str,
    /// The file name of the wheel.
    pub file: &'static str,
    /// The SHA-256 of the file, in lower-case hexadecimal.
    pub sha256: &'static str,
    /// The size of the file in bytes.
    pub size: u64,
    /// The name of the licence, as its text states it.
    pub licence: &'static str,
    /// The files to unpack, each with its unpacked size in bytes. A path begins with `data/` for `STEM.data/data` (on
    /// Windows `data/Library/`), with `dist-info/` for `STEM.dist-info`, with `ziglang/` for the headers of a C and a
    /// C++ library, or with `nvidia/cu13/`, the root of a CUDA installation, whose programs are in `bin`. That
    /// installation needs at least one file in `include`, because clang rejects a CUDA directory without one.
    pub members: BTreeMap<&'static str, u64>,
}

fn component<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Component, D::Error> {
    let name = <&str>::deserialize(deserializer)?;
    Component::from_name(name).ok_or_else(|| de::Error::custom("unknown component"))
}

/// The root of a CUDA installation in a wheel.
const CUDA: &str = "nvidia/cu13/";

/// The headers of musl that depend on the processor.
const MUSL: &str = "ziglang/lib/libc/include/x86_64-linux-musl/";

/// Directories in wheels, and where their files are installed.
const ROOTS: [(&str, &str); 6] = [
    ("data/Library/", ""),
    ("data/", ""),
    (CUDA, ""),
    ("ziglang/lib/libcxx/include/", "usr/include/c++/v1/"),
    ("ziglang/lib/libc/include/generic-musl/", "usr/include/"),
    (MUSL, "usr/include/"),
];

impl ComponentPin {
    /// Returns the total size in bytes of the files from its wheels. This excludes `syclbin-clang`, the headers
    /// `<syclbin/...>` and the manifest.
    pub fn unpacked_size(&self) -> u64 {
        let members = self.wheels.iter().flat_map(|wheel| &wheel.members);
        members.map(|(_, size)| size).sum()
    }

    /// Returns whether the component contains files of this wheel.
    pub fn uses(&self, wheel: &WheelPin) -> bool {
        self.wheels.iter().any(|used| used.sha256 == wheel.sha256)
    }
}

impl fmt::Display for ComponentPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.component.name(), self.version)
    }
}

impl WheelPin {
    /// Returns the directory of the wheel's licence texts, relative to the component's directory.
    pub fn licence_folder(&self) -> String {
        format!("licenses/{}", self.name)
    }

    /// Returns the platforms at the end of the file name, such as `manylinux_2_28_x86_64`. Dots separate them.
    pub(super) fn platforms(&self) -> impl Iterator<Item = &'static str> {
        let name = self.file.trim_end_matches(".whl");
        name.rsplit('-').take(1).flat_map(|tags| tags.split('.'))
    }

    /// Returns the common prefix of the directory names in the wheel, such as `intel_sycl_rt-2026.2.0`.
    pub fn stem(&self) -> String {
        format!("{}-{}", self.name.replace('-', "_"), self.version)
    }

    /// Returns the name of the member at `path` inside the zip file.
    pub fn source(&self, path: &str) -> String {
        let stem = self.stem();
        match path.split_once('/') {
            Some(("data", path)) => format!("{stem}.data/data/{path}"),
            Some(("dist-info", path)) => format!("{stem}.dist-info/{path}"),
            _ => path.to_owned(),
        }
    }

    /// Returns the path of the member relative to the component's directory, with `/` between directories. Licence
    /// texts go to `licenses/NAME`, the headers of `ziglang` go to `usr/include`, and everything else keeps its path
    /// below `data/`, `data/Library/` or `nvidia/cu13/`.
    pub fn target(&self, path: &str) -> String {
        let mut roots = ROOTS.iter();
        let inside = roots.find_map(|(root, place)| Some((place, path.strip_prefix(root)?)));
        match inside.filter(|(_, path)| !path.starts_with("share/doc/")) {
            Some((place, inside)) => format!("{place}{inside}"),
            None => {
                let file = path.rsplit('/').next().unwrap_or(path);
                format!("{}/{file}", self.licence_folder())
            }
        }
    }
}

/// Returns whether the member at `path` is a program.
pub fn is_program(path: &str) -> bool {
    (path.strip_prefix(CUDA)).is_some_and(|path| path.starts_with("bin/"))
}

/// Lists wheels with their hashes, one per line, for an error that asks the user to fetch them.
pub fn listing(wheels: &[&WheelPin]) -> String {
    let line = |wheel: &&WheelPin| format!("\n  {}  {}", wheel.sha256, wheel.file);
    wheels.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Component as Step, Path};

    use super::*;
    use crate::toolchain::manifest::Manifest;

    #[test]
    fn components_are_pinned_once_with_their_entry() {
        let (linux, windows) = (of("linux", "x86_64"), of("windows", "x86_64"));
        let components: Vec<_> = linux.iter().map(|pin| pin.component).collect();
        assert_eq!(components, Component::ALL);
        let components: Vec<_> = windows.iter().map(|pin| pin.component).collect();
        assert_eq!(components, [Component::Compiler, Component::CpuDevice]);
        for (pin, needed) in linux.iter().chain(&windows).zip([
            [syclbin_toolchain::COMPILER_LIBRARY, "lib/libimf.so"],
            ["lib/libintelocl.so", "lib/libtbb.so.12"],
            [
                Component::Nvidia.entry(),
                syclbin_toolchain::CUDA_MATHEMATICS,
            ],
            ["include/oneapi/dpl/execution", "include/oneapi/mkl.hpp"],
            ["bin/sycl-jit.dll", "usr/include/c++/v1/cmath"],
            ["bin/intelocl64.dll", "bin/tbb12.dll"],
        ]) {
            let files = Manifest::of(pin).files;
            for needed in needed {
                assert!(files.contains_key(needed), "{needed}");
            }
            let members = pin.wheels.iter().map(|wheel| wheel.members.len());
            assert_eq!(
                files.len(),
                members.sum::<usize>(),
                "two members share a path"
            );
            for path in files.keys() {
                let mut steps = Path::new(path).components();
                let stays = steps.all(|step| matches!(step, Step::Normal(_)));
                assert!(stays, "{path} leaves the directory of its component");
            }
        }
    }

    #[test]
    fn programs_come_from_nvidia_alone() {
        let members = |pin: &ComponentPin| {
            let paths = pin.wheels.iter().flat_map(|wheel| wheel.members.keys());
            paths.filter(|path| is_program(path)).count()
        };
        for pin in of("linux", "x86_64") {
            let is_nvidia = pin.component == Component::Nvidia;
            assert_eq!(members(&pin) > 0, is_nvidia, "{pin}");
        }
    }

    #[test]
    fn shared_wheels_are_pinned_alike() {
        let wheels: Vec<_> = ALL.iter().flat_map(|pin| &pin.wheels).collect();
        for wheel in &wheels {
            let mut same = wheels.iter().filter(|other| other.name == wheel.name);
            assert!(same.all(|other| other == wheel), "{}", wheel.name);
        }
    }

    #[test]
    fn each_wheel_has_its_licence_and_stem() {
        let pins = [of("linux", "x86_64"), of("windows", "x86_64")].concat();
        for wheel in pins.iter().flat_map(|pin| &pin.wheels) {
            assert!(wheel.file.starts_with(&format!("{}-py", wheel.stem())));
            assert_eq!(wheel.sha256.len(), 64);
            let known = ["manylinux", "win_amd64"];
            let is_known = |name: &str| known.iter().any(|known| name.starts_with(known));
            assert!(wheel.platforms().count() > 0 && wheel.platforms().all(is_known));
            let licence = format!("licenses/{}/license.txt", wheel.name);
            let mut targets = wheel.members.keys().map(|path| wheel.target(path));
            let brings = targets.any(|target| target.eq_ignore_ascii_case(&licence));
            assert!(brings, "{}", wheel.name);
        }
    }
}
