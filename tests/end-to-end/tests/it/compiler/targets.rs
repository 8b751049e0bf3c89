// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native code in objects, and what becomes of it when `syclbin-clang` links them.

use std::path::Path;
use std::process::Command;

use syclbin::ImageKind;

use crate::common;
use crate::common::clang::{self, said};

const KERNEL: &str = "#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(
    (sycl::ext::oneapi::experimental::single_task_kernel)) void k(int *p) { *p = 1; }
";
/// A stand-in for ocloc, whose code is the options that it was given.
const OCLOC: &str = "#!/bin/sh
said=\"$*\"
while [ $# -gt 0 ]; do
  case \"$1\" in -output) echo \"$said\" > \"$2.bin\";; esac
  shift
done
";

/// Runs the program, with the stand-in in PATH: the exit code and what was said.
fn run(folder: &Path, line: &str) -> (Option<i32>, String) {
    let mut command = Command::new(clang::program());
    command.args(line.split_whitespace()).current_dir(folder);
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    let output = command.output().unwrap();
    (output.status.code(), said(&output))
}

/// The images of each module: what each is for, and its bytes.
fn images(path: &Path) -> Vec<Vec<(String, Vec<u8>)>> {
    let bytes = std::fs::read(path).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    let of_module = |module: &syclbin::AbstractModule<'_>| {
        let images = module.images.iter().map(|image| {
            let arch = match image.kind() {
                ImageKind::Native { arch, .. } => arch.to_owned(),
                ImageKind::Ir { .. } => "SPIR-V".to_owned(),
            };
            (arch, image.bytes.to_vec())
        });
        images.collect()
    };
    file.modules.iter().map(of_module).collect()
}

fn names(path: &Path) -> Vec<Vec<String>> {
    let name = |(name, _): (String, Vec<u8>)| name;
    let modules = images(path).into_iter();
    modules
        .map(|images| images.into_iter().map(name).collect())
        .collect()
}

#[cfg(unix)]
#[test]
fn executable_has_linked_gpu_code_or_none() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("k.cpp"), KERNEL).unwrap();
    std::fs::write(folder.join("ocloc"), OCLOC).unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.join("ocloc"), executable).unwrap();
    let made = folder.join("a.syclbin");
    let all_well = (Some(0), String::new());

    let line = "-fsyclbin=object -fsycl-targets=spir64,intel_gpu_pvc k.cpp -o o.syclbin";
    assert_eq!(run(folder, line), all_well);
    let line = "-fsyclbin -fsycl-targets=spir64,intel_gpu_pvc o.syclbin";
    assert_eq!(run(folder, line), all_well);
    let modules = images(&made);
    let code = String::from_utf8(modules[1][0].1.clone()).unwrap();
    assert!(!code.contains("-library-compilation"), "{code}");
    assert_eq!(names(&made), [["SPIR-V"], ["pvc"]]);

    let (code, said) = run(folder, "-fsyclbin o.syclbin");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("'o.syclbin': its code for the GPU pvc") && said.contains("is omitted"),
        "{said}"
    );
    assert_eq!(names(&made), [["SPIR-V"]]);

    let line = "-fsyclbin=object -fsycl-targets=intel_gpu_pvc k.cpp -o o.syclbin";
    assert_eq!(run(folder, line), all_well);
    let (code, said) = run(
        folder,
        "-fsyclbin -fsycl-targets=spir64,intel_gpu_pvc o.syclbin",
    );
    assert_eq!(code, Some(1));
    assert!(
        said.contains("kernel k contains no SPIR-V, only unlinked code for the GPU pvc"),
        "{said}"
    );
}

#[test]
fn requested_processor_replaces_the_objects_processor() {
    if common::queue().is_none() {
        return; // the CPU device compiles for itself
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("k.cpp"), KERNEL).unwrap();
    let made = folder.join("a.syclbin");
    let all_well = (Some(0), String::new());
    let line = "-fsyclbin=object -fsycl-targets=spir64,spir64_x86_64 k.cpp -o o.syclbin";
    assert_eq!(run(folder, line), all_well);
    assert_eq!(names(&folder.join("o.syclbin")), [["SPIR-V", "x86_64"]]);
    for (line, expected) in [
        ("--offload-arch=sse42", vec!["corei7"]),
        (
            "-fsycl-targets=spir64 --offload-arch=sse42",
            vec!["SPIR-V", "corei7"],
        ),
        ("", vec!["SPIR-V", "x86_64"]),
    ] {
        assert_eq!(
            run(folder, &format!("-fsyclbin {line} o.syclbin")),
            all_well
        );
        assert_eq!(names(&made), [expected], "{line}");
    }
}
