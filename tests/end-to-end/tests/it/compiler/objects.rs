// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fat objects and static libraries as inputs of `syclbin-clang`. They are made with binutils and LLVM's tools.
#![allow(unsafe_code)] // loading a file and launching a kernel are unsafe

use std::path::{Path, PathBuf};
use std::process::Command;

use syclbin::property::set;
use syclbin_rt::{Arg, Launch, Module};

use crate::common;
use crate::common::clang::{clang, said};

const HEADER: &str = "#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
SYCL_EXTERNAL int scaled(int);
SYCL_EXTERNAL int step(int);
";
const FILL: &str = "#include \"h.hpp\"
extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(
    (sycl::ext::oneapi::experimental::nd_range_kernel<1>)) void fill(int *out) {
  size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  out[i] = scaled(static_cast<int>(i));
}
";
const SCALED: &str =
    "#include \"h.hpp\"\nSYCL_EXTERNAL int scaled(int x) { return 1 + step(x); }\n";
const STEP: &str = "#include \"h.hpp\"\nSYCL_EXTERNAL int step(int x) { return 7 * x; }\n";
const UNNEEDED: &str = "#include \"h.hpp\"
SYCL_EXTERNAL int missing(int);
SYCL_EXTERNAL int unneeded(int x) { return missing(x); }
";

/// A directory with the bitcode and the SPIR-V of each source, and a host object.
fn sources() -> Option<tempfile::TempDir> {
    for tool in ["gcc", "objcopy", "ar"] {
        if Command::new(tool).arg("--version").output().is_err() {
            common::say_skipped(&format!("there is no {tool}"));
            return None;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("h.hpp"), HEADER).unwrap();
    for (name, text) in [
        ("fill", FILL),
        ("scaled", SCALED),
        ("step", STEP),
        ("unneeded", UNNEEDED),
    ] {
        std::fs::write(path.join(format!("{name}.cpp")), text).unwrap();
        // DPC++ stores this bitcode in objects by default.
        let made = run(
            path,
            &format!("-fsyclbin=object -O2 --save-bitcode {name}.cpp -o {name}.bc"),
        );
        assert_eq!(made, Ok(String::new()));
    }
    std::fs::write(path.join("host.c"), "int host(void) { return 1; }\n").unwrap();
    tool(path, "gcc", "-c host.c -o host.o");
    Some(folder)
}

/// Writes the SPIR-V of a source.
fn spirv(folder: &Path, name: &str) {
    let line = format!("-fsyclbin=object -O2 {name}.cpp -o {name}.syclbin");
    assert_eq!(run(folder, &line), Ok(String::new()));
    let bytes = std::fs::read(folder.join(format!("{name}.syclbin"))).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    let code = file.modules[0].images[0].spirv().unwrap();
    std::fs::write(folder.join(format!("{name}.spv")), code).unwrap();
}

/// Runs the compiler: what it said, as an error if it failed.
fn run(folder: &Path, line: &str) -> Result<String, String> {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let output = clang(&arguments, folder);
    let said = said(&output);
    if output.status.success() {
        Ok(said)
    } else {
        Err(said)
    }
}

fn tool(folder: &Path, program: &str, line: &str) {
    let mut command = Command::new(program);
    let output = command.args(line.split_whitespace()).current_dir(folder);
    let output = output.output().unwrap();
    assert!(
        output.status.success(),
        "{program} {line}: {}",
        said(&output)
    );
}

/// Adds a section with device code to the host object, as the older driver of DPC++ names it.
fn bundle(folder: &Path, code: &str, target: &str, object: &str) {
    let section = format!("__CLANG_OFFLOAD_BUNDLE__sycl-{target}={code}");
    tool(
        folder,
        "objcopy",
        &format!("--add-section {section} host.o {object}"),
    );
}

/// Returns LLVM's packager, if it is installed in a version that knows SYCL.
fn packager() -> Option<PathBuf> {
    let named = std::env::var_os("SYCLBIN_LLVM").map(PathBuf::from);
    let installed = (20..40).rev();
    let installed = installed.map(|version| format!("/usr/lib/llvm-{version}/bin").into());
    let mut folders = named.into_iter().chain(installed);
    folders.find_map(|folder: PathBuf| {
        let programs = ["llvm-offload-binary", "clang-offload-packager"];
        let mut programs = programs.map(|name| folder.join(name)).into_iter();
        programs.find(|path| path.is_file())
    })
}

fn assert_runs(path: &Path) {
    let Some(queue) = common::spirv_queue() else {
        return;
    };
    let bytes = std::fs::read(path).unwrap();
    // SAFETY: it was compiled for this test.
    let module = unsafe { Module::load(&queue, &bytes) }.unwrap();
    let kernel = module.kernel("fill");
    let mut out = queue.zeroed::<i32>(4).unwrap();
    let args = [Arg::write(&mut out)];
    // SAFETY: a work-item for each element.
    unsafe { Launch::new(&kernel, &["out"], args).launch(4) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [1, 8, 15, 22]);
}

#[test]
fn fat_objects_and_libraries_link_and_run() {
    let Some(folder) = sources() else { return };
    let folder = folder.path();
    spirv(folder, "scaled");
    bundle(folder, "fill.bc", "spir64-unknown-unknown", "fill.o");
    bundle(folder, "scaled.spv", "spir64-unknown-unknown", "scaled.o");
    bundle(folder, "step.bc", "spir64-unknown-unknown", "step.o");
    bundle(
        folder,
        "unneeded.bc",
        "spir64-unknown-unknown",
        "unneeded.o",
    );
    tool(
        folder,
        "ar",
        "rcs libdevice.a host.o unneeded.o step.o scaled.o",
    );
    let made = folder.join("all.syclbin");
    for line in [
        "-fsyclbin fill.o libdevice.a -o all.syclbin",
        "-fsyclbin fill.cpp libdevice.a -o all.syclbin",
        "-fsyclbin -fsycl-targets=spir64,spir64_x86_64 fill.bc scaled.o step.bc -o all.syclbin",
    ] {
        assert_eq!(run(folder, line), Ok(String::new()), "{line}");
        assert_runs(&made);
    }
    let bytes = std::fs::read(&made).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    let imports = |module: &syclbin::AbstractModule<'_>| {
        module.kernel_names().next().is_some()
            && module.metadata.set(set::IMPORTED_SYMBOLS).is_some()
    };
    assert!(!file.modules.iter().any(imports), "native code is linked");
}

#[test]
fn packaged_bitcode_is_compiled() {
    let Some(folder) = sources() else { return };
    let folder = folder.path();
    let Some(packager) = packager() else {
        common::say_skipped(
            "there is no packager of LLVM, and SYCLBIN_LLVM names no directory with it",
        );
        return;
    };
    let image = |name: &str| {
        format!("--image=file={name}.bc,triple=spir64-unknown-unknown,arch=generic,kind=sycl")
    };
    let line = ["fill", "scaled", "step"].map(image).join(" ");
    tool(
        folder,
        packager.to_str().unwrap(),
        &format!("-o all.bin {line}"),
    );
    let section = "--add-section .llvm.offloading=all.bin host.o all.o";
    tool(folder, "objcopy", section);
    assert_eq!(
        run(folder, "-fsyclbin all.o -o all.syclbin"),
        Ok(String::new())
    );
    assert_runs(&folder.join("all.syclbin"));
}

#[test]
fn objects_without_device_code_are_errors() {
    let Some(folder) = sources() else { return };
    let folder = folder.path();
    bundle(folder, "fill.bc", "amdgcn-amd-amdhsa", "amd.o");
    tool(folder, "ar", "rcs libhost.a host.o");
    std::fs::write(folder.join("bad.bc"), b"BC\xc0\xde").unwrap();
    for (line, expected) in [
        ("host.o", "'host.o' contains no device code"),
        ("libhost.a", "no member of 'libhost.a' contains device code"),
        ("amd.o", "LLVM bitcode for amdgcn-amd-amdhsa"),
        ("bad.bc", "'bad.bc'"),
        (
            "fill.bc",
            "undefined symbols in the device code: scaled(int) [_Z6scaledi]",
        ),
    ] {
        let error = run(folder, &format!("-fsyclbin {line} -o not.syclbin")).unwrap_err();
        assert!(error.contains(expected), "{error}");
        assert!(!folder.join("not.syclbin").exists());
    }
}
