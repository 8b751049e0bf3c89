// SPDX-License-Identifier: MIT OR Apache-2.0
//! `nvcc` of CUDA 13.0, for the baseline of the GPU benchmark. Drivers since version 580 accept its PTX and cubins.
//! It requires `g++` on `PATH`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cargo_syclbin::toolchain::pins::WheelPin;

use crate::steps::Result;
use oracle::wheels::Wheels;

const VERSION: &str = "13.0.88";

const CUDA: &str = "nvidia/cu13/";

/// Path prefixes of files that device code does not need: a linker of 38 MB, and a library of 63 MB that duplicates
/// `cicc`.
const LEFT_OUT: [&str; 2] = ["bin/nvlink", "lib/"];

const PROGRAMS: WheelPin = pin(
    "nvidia-cuda-nvcc",
    VERSION,
    "nvidia_cuda_nvcc-13.0.88-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
    "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
    37_384_532,
);

/// The compiler and the mathematical functions for device code.
const NVVM: WheelPin = pin(
    "nvidia-nvvm",
    VERSION,
    "nvidia_nvvm-13.0.88-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
    "c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0",
    61_601_415,
);

/// The headers that `nvcc` includes by default, and the headers that those include.
const RUNTIME: WheelPin = pin(
    "nvidia-cuda-runtime",
    "13.0.96",
    "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
    "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
    2_243_632,
);
const CRT: WheelPin = pin(
    "nvidia-cuda-crt",
    VERSION,
    "nvidia_cuda_crt-13.0.88-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
    "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4",
    134_086,
);

const fn pin(
    name: &'static str,
    version: &'static str,
    file: &'static str,
    sha256: &'static str,
    size: u64,
) -> WheelPin {
    WheelPin {
        name,
        version,
        file,
        sha256,
        size,
        licence: "NVIDIA Software License Agreement and CUDA Supplement",
        members: BTreeMap::new(),
    }
}

/// Returns the compiler in `target`, and fetches it with the user's pip if it is missing.
pub(crate) fn nvcc(target: &Path) -> Result<PathBuf> {
    let folder = target.join(format!("nvcc-{VERSION}"));
    if !folder.exists() {
        let wheels = Wheels {
            pins: &[&PROGRAMS, &NVVM, &RUNTIME, &CRT],
            target: place,
            needed: &[
                "bin/nvcc",
                "bin/ptxas",
                "nvvm/bin/cicc",
                "nvvm/libdevice/libdevice.10.bc",
                "include/cuda_runtime.h",
                "include/crt/host_config.h",
            ],
        };
        wheels.fetch(target, &folder)?;
    }
    Ok(folder.join("bin/nvcc"))
}

/// Returns the path of a member: the CUDA installation goes to the root, and each licence to its own file.
fn place(pin: &WheelPin, member: &str) -> Option<String> {
    if let Some(path) = member.strip_prefix(CUDA) {
        let is_left_out = LEFT_OUT.iter().any(|left_out| path.starts_with(left_out));
        return (!is_left_out).then(|| path.to_owned());
    }
    let is_licence = member.starts_with(&pin.stem()) && member.ends_with("License.txt");
    is_licence.then(|| format!("licenses/{}.txt", pin.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_match_their_stems_and_members_their_places() {
        for pin in [PROGRAMS, NVVM, RUNTIME, CRT] {
            assert!(pin.file.starts_with(&format!("{}-py", pin.stem())));
            assert_eq!(pin.sha256.len(), 64);
        }
        let place = |member: &str| place(&NVVM, member);
        assert_eq!(
            place("nvidia/cu13/nvvm/bin/cicc").as_deref(),
            Some("nvvm/bin/cicc")
        );
        assert_eq!(place("nvidia/cu13/lib/libnvvm.so.4"), None);
        let licence = "nvidia_nvvm-13.0.88.dist-info/licenses/License.txt";
        assert_eq!(place(licence).as_deref(), Some("licenses/nvidia-nvvm.txt"));
    }
}
