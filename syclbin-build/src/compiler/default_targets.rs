// SPDX-License-Identifier: MIT OR Apache-2.0
//! Determines the default targets, for builds that specify none.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use syclbin_toolchain::{CUDA_MATHEMATICS, Component, HOME_VARIABLE, Home};

use crate::search::Detected;

/// The environment variable that lists the default targets, separated by commas.
pub const VARIABLE: &str = "SYCLBIN_TARGETS";

/// The option of `syclbin-clang` that adds an optional target. If a source cannot be compiled for that target, the
/// compiler warns and continues.
pub(crate) const OPTIONAL: &str = "--optional-target=";

pub(crate) const TARGETS: &str = "-fsycl-targets=";

/// The target for PTX, which covers every supported NVIDIA GPU.
const NVIDIA: &str = "nvptx64-nvidia-cuda";

/// Returns the arguments for the default targets of `found`: the targets in `SYCLBIN_TARGETS`, or else SPIR-V, plus PTX
/// if the component `nvidia` is installed for `syclbin-clang`.
///
/// `variable` returns the value of an environment variable.
pub fn arguments(found: &Detected, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<OsString> {
    if let Some(targets) = variable(VARIABLE) {
        return vec![OsString::from_iter([OsStr::new(TARGETS), &targets])];
    }
    let mut homes = homes(found, variable).into_iter();
    let has_nvidia = homes.any(|home| home.newest(Component::Nvidia).is_some());
    let target = has_nvidia.then(|| format!("{OPTIONAL}{NVIDIA}").into());
    target.into_iter().collect()
}

/// Returns the existing files and directories that determine whether and how `found` generates PTX.
pub(crate) fn parts(found: &Detected, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let mut parts = Vec::new();
    for home in homes(found, variable) {
        parts.push(home.versions(Component::Nvidia));
        let installed = home.newest(Component::Nvidia);
        parts.extend(installed.map(|installed| installed.folder.join(CUDA_MATHEMATICS)));
    }
    parts.retain(|part| part.exists());
    parts
}

/// Returns whether `flags` may request native code.
pub(crate) fn name_native(flags: &[OsString]) -> bool {
    let is_native = |target: &str| target != "spir64" && !target.starts_with("nvptx");
    flags.iter().any(|flag| {
        let text = flag.to_string_lossy();
        match text.strip_prefix(TARGETS) {
            Some(targets) => targets.split(',').any(is_native),
            None => ["--offload-arch", "--cuda-gpu-arch"]
                .iter()
                .any(|it| text.contains(it)),
        }
    })
}

/// Splits `flags` into those unrelated to targets, and those that name targets or configure their backends.
pub(crate) fn split(flags: &[OsString]) -> (Vec<OsString>, Vec<OsString>) {
    const BACKEND: &str = "-Xsycl-target-backend";
    let (mut others, mut of_targets) = (Vec::new(), Vec::new());
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        let text = flag.to_string_lossy();
        let is = |option| text.starts_with(option);
        let mut options = [TARGETS, OPTIONAL, "--offload-arch", BACKEND].into_iter();
        if options.any(is) || is("-Xs") && !is("-Xsycl") {
            of_targets.push(flag.clone());
            if text == "--offload-arch" || text == "-Xs" || is(BACKEND) {
                of_targets.extend(flags.next().cloned()); // its value
            }
        } else {
            others.push(flag.clone());
        }
    }
    (others, of_targets)
}

/// Returns the directories in which the compiler looks for the component `nvidia`. Only `syclbin-clang` uses
/// components.
fn homes(found: &Detected, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<Home> {
    if !found.is_own() {
        return Vec::new();
    }
    let program = &found.candidate.program;
    let program = program.canonicalize().unwrap_or_else(|_| program.clone());
    Home::of_compiler(&program, variable(HOME_VARIABLE).as_deref()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Candidate, Origin};

    fn compiler(home: &Home, version: &str) -> Detected {
        Detected {
            candidate: Candidate {
                origin: Origin::Path,
                program: home
                    .folder(Component::Compiler, "1")
                    .join("bin/syclbin-clang"),
                leading: Vec::new(),
                wrapped: None,
            },
            version: version.to_owned(),
        }
    }

    #[test]
    fn ptx_is_a_default_where_its_component_is() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::locate(Some(folder.path().as_os_str())).unwrap();
        let ours = compiler(&home, "syclbin-clang version 0.1.0 (DPC++ 2026.2.0)");
        let set = |name: &str| (name == HOME_VARIABLE).then(|| folder.path().into());
        assert_eq!(arguments(&ours, &set), [""; 0]);
        assert!(parts(&ours, &set).is_empty());

        let nvidia = home.folder(Component::Nvidia, "13.5.37");
        std::fs::create_dir_all(nvidia.join("bin")).unwrap();
        for file in [Component::Nvidia.entry(), syclbin_toolchain::MANIFEST] {
            std::fs::write(nvidia.join(file), "").unwrap();
        }
        assert_eq!(
            arguments(&ours, &set),
            ["--optional-target=nvptx64-nvidia-cuda"]
        );
        assert!(parts(&ours, &set).contains(&home.versions(Component::Nvidia)));
        let other = compiler(&home, "clang version 23.0.0");
        assert_eq!(arguments(&other, &set), [""; 0]);
    }

    #[test]
    fn variable_decides_over_targets() {
        let home = Home::locate(Some("/nowhere".as_ref())).unwrap();
        let set =
            |name: &str| (name == VARIABLE).then(|| OsString::from("spir64,nvidia_gpu_sm_90"));
        let found = compiler(&home, "clang version 23.0.0");
        assert_eq!(
            arguments(&found, &set),
            ["-fsycl-targets=spir64,nvidia_gpu_sm_90"]
        );
    }

    #[test]
    fn named_targets_are_recognized() {
        for named in [
            "-fsycl-targets=spir64",
            "--offload-arch=sm_80",
            "-Xsycl-target-backend",
            "-Xs",
        ] {
            assert_eq!(split(&["-O2", named].map(OsString::from)).1, [named]);
        }
    }

    #[test]
    fn native_targets_are_told_from_others() {
        for (flag, expected) in [
            ("-fsycl-targets=spir64,spir64_x86_64", true),
            ("-fsycl-targets=intel_gpu_pvc", true),
            ("-fsycl-targets=spir64,nvidia_gpu_sm_80", true),
            ("-fsycl-targets=spir64,nvptx64-nvidia-cuda", false),
            ("--optional-target=nvptx64-nvidia-cuda", false),
            ("--cuda-gpu-arch=sm_80", true),
            ("-O3 --offload-arch=sm_80", true),
            ("-O2", false),
        ] {
            assert_eq!(name_native(&[flag.into()]), expected, "{flag}");
        }
        let flags = [
            "-O2",
            "-Xs",
            "-march=avx2",
            "-fsycl-targets=spir64_x86_64",
            "-DX",
        ];
        let flags = flags.map(OsString::from);
        let (others, of_targets) = split(&flags);
        assert_eq!(others, ["-O2", "-DX"]);
        assert_eq!(of_targets, flags[1..4]);
    }
}
