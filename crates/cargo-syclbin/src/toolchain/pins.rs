// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pinned wheels of each component: name, version, hash, licence, and every member that is unpacked.
//!
//! The hash fixes every byte of a wheel, and so the size of each member. The sizes are known before anything is
//! fetched, and a member of another size is refused.
//!
//! To move to another version, change this file. Take the names from `pip download`, the hashes from `sha256sum`,
//! and the members and sizes from `unzip -v`. Take the licence from the wheel's `METADATA` and the first line of
//! its `LICENSE.txt`.

use std::fmt::Write;

use syclbin_toolchain::Component;

/// One version of one component.
#[derive(Clone, Copy, Debug)]
pub struct ComponentPin {
    /// The component.
    pub component: Component,
    /// Its version, which is also the name of its directory.
    pub version: &'static str,
    /// The wheels that it is unpacked from.
    pub wheels: &'static [&'static WheelPin],
}

/// One wheel.
#[derive(Clone, Copy, Debug)]
pub struct WheelPin {
    /// The name of the wheel's project, as pip knows it.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its file name.
    pub file: &'static str,
    /// The SHA-256 of the file, in lower-case hexadecimal.
    pub sha256: &'static str,
    /// The size of the file in bytes.
    pub size: u64,
    /// Its licence, as its own licence text names it.
    pub licence: &'static str,
    /// The members to unpack.
    pub members: &'static [Member],
}

/// One file to unpack from a wheel: its path, and its unpacked size in bytes. A path begins with `data/` or
/// `dist-info/` for the directories that a wheel calls `STEM.data/data` and `STEM.dist-info`, or with `nvidia/cu13/`,
/// the root of a CUDA installation. Its programs are in `bin`.
pub type Member = (&'static str, u64);

/// The root of a CUDA installation in a wheel.
const CUDA: &str = "nvidia/cu13/";

impl ComponentPin {
    /// Returns the size of its files in bytes, without `syclbin-clang` and the manifest.
    #[must_use]
    pub fn unpacked_size(&self) -> u64 {
        self.wheels.iter().map(|wheel| wheel.unpacked_size()).sum()
    }

    /// Returns whether it is unpacked from this wheel.
    #[must_use]
    pub fn uses(&self, wheel: &WheelPin) -> bool {
        self.wheels.iter().any(|used| used.sha256 == wheel.sha256)
    }
}

impl WheelPin {
    /// Returns the size of its members in bytes, once unpacked.
    #[must_use]
    pub fn unpacked_size(&self) -> u64 {
        self.members.iter().map(|(_, size)| size).sum()
    }

    /// Returns the directory of its licence texts, relative to the component's directory.
    #[must_use]
    pub fn licence_folder(&self) -> String {
        format!("licenses/{}", self.name)
    }

    /// Returns the start of its own directories' names: `intel_sycl_rt-2026.2.0`.
    #[must_use]
    pub fn stem(&self) -> String {
        format!("{}-{}", self.name.replace('-', "_"), self.version)
    }

    /// Returns the name of the member at `path` inside the zip file.
    #[must_use]
    pub fn source(&self, path: &str) -> String {
        let stem = self.stem();
        match path.split_once('/') {
            Some(("data", path)) => format!("{stem}.data/data/{path}"),
            Some(("dist-info", path)) => format!("{stem}.dist-info/{path}"),
            _ => path.to_owned(),
        }
    }

    /// Returns the path of the member relative to the component's directory, with `/` between directories. Licence
    /// texts go to `licenses/NAME`, and everything else stays in its directory.
    #[must_use]
    pub fn target(&self, path: &str) -> String {
        let inside = path
            .strip_prefix("data/")
            .or_else(|| path.strip_prefix(CUDA));
        match inside.filter(|path| !path.starts_with("share/doc/")) {
            Some(inside) => inside.to_owned(),
            None => {
                let file = path.rsplit('/').next().unwrap_or(path);
                format!("{}/{file}", self.licence_folder())
            }
        }
    }
}

/// Returns whether the member at `path` is a program.
#[must_use]
pub fn is_program(path: &str) -> bool {
    path.strip_prefix(CUDA)
        .is_some_and(|path| path.starts_with("bin/"))
}

/// Lists wheels with their hashes, each on a line of its own, for an error that asks the user to fetch them.
#[must_use]
pub fn listing(wheels: &[&WheelPin]) -> String {
    wheels.iter().fold(String::new(), |mut text, wheel| {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {}  {}", wheel.sha256, wheel.file);
        text
    })
}

/// Every component that `cargo syclbin toolchain install` can install.
pub const ALL: [ComponentPin; 3] = [COMPILER, CPU_DEVICE, NVIDIA];

/// The SYCL compiler. The installer adds `syclbin-clang` from beside the running program.
pub const COMPILER: ComponentPin = ComponentPin {
    component: Component::Compiler,
    version: "2026.2.0",
    wheels: &[&SYCL, &MATH],
};

/// The OpenCL driver for the CPU.
pub const CPU_DEVICE: ComponentPin = ComponentPin {
    component: Component::CpuDevice,
    version: "2026.2.0",
    wheels: &[&OPENCL, &TBB, &MATH],
};

/// What compiling for NVIDIA GPUs needs in addition to the compiler.
pub const NVIDIA: ComponentPin = ComponentPin {
    component: Component::Nvidia,
    version: "13.5.37",
    wheels: &[&NVVM, &NVCC],
};

const NVIDIA_EULA: &str =
    "End User License Agreement (NVIDIA Software License Agreement and CUDA Supplement)";

/// LLVM bitcode of the mathematical functions that PTX calls.
const NVVM: WheelPin = WheelPin {
    name: "nvidia-nvvm",
    version: "13.5.37",
    file: "nvidia_nvvm-13.5.37-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
    sha256: "c41bfa362e407405163f103c2229f0765f8cc2ed7d148b754dc77f228bf7e070",
    size: 75_141_406,
    licence: NVIDIA_EULA,
    members: &[
        ("nvidia/cu13/nvvm/libdevice/libdevice.10.bc", 465_504),
        // clang rejects a CUDA directory that has no `include`.
        ("nvidia/cu13/include/nvvm.h", 12_906),
        ("dist-info/licenses/License.txt", 59_262),
    ],
};

/// The PTX assembler, and the linker of its objects.
const NVCC: WheelPin = WheelPin {
    name: "nvidia-cuda-nvcc",
    version: "13.5.37",
    file: "nvidia_cuda_nvcc-13.5.37-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
    sha256: "f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7",
    size: 47_028_279,
    licence: NVIDIA_EULA,
    members: &[
        ("nvidia/cu13/bin/ptxas", 50_753_552),
        ("nvidia/cu13/bin/nvlink", 46_153_216),
        ("dist-info/licenses/License.txt", 59_262),
    ],
};

const INTEL_EULA: &str =
    "Intel End User License Agreement for Developer Tools (Version August 2024)";

/// The compiler as a library, with the SYCL headers and the device libraries.
const SYCL: WheelPin = WheelPin {
    name: "intel-sycl-rt",
    version: "2026.2.0",
    file: "intel_sycl_rt-2026.2.0-py2.py3-none-manylinux_2_28_x86_64.whl",
    sha256: "ad920da1ffcb43edbc03422a7c85094997e6d578f9ab534743442af70bcbfaa1",
    size: 172_457_265,
    licence: INTEL_EULA,
    members: &[
        ("data/lib/libsycl-jit.so", 250_467_448),
        ("dist-info/LICENSE.txt", 25_224),
    ],
};

/// The mathematical functions that the compiler and the CPU device link to.
const MATH: WheelPin = WheelPin {
    name: "intel-cmplr-lib-rt",
    version: "2026.2.0",
    file: "intel_cmplr_lib_rt-2026.2.0-py2.py3-none-manylinux_2_28_x86_64.whl",
    sha256: "9f713083073a820d2496a6da8e8d4f3482aba6640f74521d25ea48dcebe72748",
    size: 41_454_395,
    licence: INTEL_EULA,
    members: &[
        ("data/lib/libimf.so", 5_084_320),
        ("data/lib/libintlc.so.5", 416_016),
        ("data/lib/libirng.so", 1_072_848),
        ("data/lib/libsvml.so", 28_865_896),
        ("dist-info/LICENSE.txt", 25_224),
    ],
};

/// The CPU device and its compiler. The letters in its file names stand for instruction sets.
const OPENCL: WheelPin = WheelPin {
    name: "intel-opencl-rt",
    version: "2026.2.0",
    file: "intel_opencl_rt-2026.2.0-py2.py3-none-manylinux_2_28_x86_64.whl",
    sha256: "6b6215a420598b4999ee01caca6d5cbe106aa4155c46c52377619c5aafce9f67",
    size: 224_964_968,
    licence: INTEL_EULA,
    members: &[
        ("data/lib/cl.cfg", 9_370),
        ("data/lib/clbltfne9.rtl", 6_866_468),
        ("data/lib/clbltfnh8.rtl", 6_943_048),
        ("data/lib/clbltfnl9.rtl", 7_168_104),
        ("data/lib/clbltfnshared.rtl", 13_743_356),
        ("data/lib/clbltfnz0.rtl", 7_044_872),
        ("data/lib/clbltfnz1.rtl", 7_375_520),
        ("data/lib/cllibrary.rtl", 7_488),
        ("data/lib/cllibrarye9.o", 599_064),
        ("data/lib/cllibraryh8.o", 640_296),
        ("data/lib/cllibraryl9.o", 532_912),
        ("data/lib/cllibraryz0.o", 591_296),
        ("data/lib/cllibraryz1.o", 598_528),
        ("data/lib/libcommon_clang.so.2026.22.10.0", 201_715_680),
        ("data/lib/libintelocl.so", 100_572_456),
        ("data/lib/libocl_svml_e9.so", 5_240_600),
        ("data/lib/libocl_svml_h8.so", 5_793_912),
        ("data/lib/libocl_svml_l9.so", 4_942_352),
        ("data/lib/libocl_svml_z0.so", 4_909_088),
        ("data/lib/libocl_svml_z1.so", 5_731_112),
        ("dist-info/LICENSE.txt", 25_224),
        ("data/share/doc/opencl/licensing/TBB_TPP.txt", 19_503),
        (
            "data/share/doc/opencl/licensing/third-party-programs.txt",
            32_294,
        ),
    ],
};

/// The threading library of the CPU device.
const TBB: WheelPin = WheelPin {
    name: "tbb",
    version: "2023.2.0",
    file: "tbb-2023.2.0-py2.py3-none-manylinux_2_28_x86_64.whl",
    sha256: "7d80615b6e970f11671fa05b6eaa9483ac864fbfe525ac280271a78b37870b7c",
    size: 6_864_088,
    licence: "Intel Simplified Software License (Version October 2022)",
    members: &[
        ("data/lib/libtbb.so.12", 4_481_712),
        ("data/lib/libtbbmalloc.so.2", 1_184_544),
        ("dist-info/LICENSE.txt", 4_105),
        (
            "data/share/doc/tbb/licensing/third-party-programs.txt",
            19_503,
        ),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn components_are_pinned_once_with_their_entry() {
        assert_eq!(ALL.map(|pin| pin.component), Component::ALL);
        let targets = |pin: &ComponentPin| -> Vec<String> {
            let wheels = pin.wheels.iter();
            wheels
                .flat_map(|wheel| wheel.members.iter().map(|(path, _)| wheel.target(path)))
                .collect()
        };
        assert!(targets(&COMPILER).contains(&syclbin_toolchain::COMPILER_LIBRARY.to_owned()));
        assert!(targets(&CPU_DEVICE).contains(&Component::CpuDevice.entry().to_owned()));
        assert!(targets(&NVIDIA).contains(&Component::Nvidia.entry().to_owned()));
        assert!(targets(&NVIDIA).contains(&syclbin_toolchain::CUDA_MATHEMATICS.to_owned()));
        for pin in ALL {
            let all = targets(&pin);
            let distinct: HashSet<_> = all.iter().collect();
            assert_eq!(distinct.len(), all.len(), "two members share a path");
        }
    }

    #[test]
    fn each_wheel_has_its_licence_and_stem() {
        for wheel in ALL.iter().flat_map(|pin| pin.wheels) {
            assert!(wheel.file.starts_with(&format!("{}-py", wheel.stem())));
            assert_eq!(wheel.sha256.len(), 64);
            let licence = format!("licenses/{}/license.txt", wheel.name);
            let mut targets = wheel.members.iter().map(|(path, _)| wheel.target(path));
            let brings = targets.any(|target| target.eq_ignore_ascii_case(&licence));
            assert!(brings, "{}", wheel.name);
        }
    }
}
