// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles files of `tests/files` and of the tests, as a user's build script would.

#[path = "tests/scenarios/files.rs"]
mod scenarios;

use syclbin_build::Build;
use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

fn main() {
    scenarios::compile();
    // For all devices: most tests run on whichever is asked for.
    Build::new()
        .source("../files/vector_ops.cpp")
        .compile("vector_ops");
    for (folder, name) in [
        ("../files", "functor"),
        ("../files", "work_group"),
        ("../files", "constants"),
        ("tests/kernels", "kinds"),
        ("tests/kernels", "local_types"),
        ("tests/kernels", "numbers"),
        ("tests/kernels", "races"),
        ("tests/kernels", "rest"),
        ("tests/kernels", "variables"),
        ("tests/kernels", "structs"),
        ("tests/kernels", "slim"),
        ("tests/kernels", "scratch"),
        ("tests/kernels", "aligned"),
        ("tests/kernels", "signs"),
        ("tests/kernels", "bfloat16"),
        ("tests/kernels", "reductions"),
    ] {
        Build::new()
            .source(format!("{folder}/{name}.cpp"))
            .compile(name);
    }
    Build::new()
        .source("tests/kernels/count_ones.cpp")
        .source("tests/kernels/count_tens.cpp")
        .compile("counters");
    Build::new()
        .source("tests/kernels/count_ones.cpp")
        .source("tests/kernels/double_assert.cpp")
        .compile("double_assert");
    Build::new()
        .source("tests/kernels/library_types.cpp")
        .flag("-std=c++20")
        .compile("library_types");
    // Programs as SYCL's users write them.
    for name in ["captures", "functions", "ranges"] {
        let build = Build::new()
            .source(format!("tests/kernels/{name}.cpp"))
            .flag("-std=c++20");
        // Other files have these forms, too.
        let build = if name == "ranges" {
            build.flag("-fsycl-range-rounding=on")
        } else {
            build
        };
        build.compile(name);
    }
    // Patterns of real code bases that once had no stub. Images are for devices of OpenCL.
    for (name, targets) in [
        ("glm", None),
        ("names", None),
        ("spaces", None),
        ("tensor", None),
        ("described", None),
        ("samp", Some("spir64")),
    ] {
        let build = Build::new()
            .source(format!("tests/patterns/{name}.cpp"))
            .flag("-std=c++20")
            .flag("-Wno-deprecated-declarations");
        let build = targets
            .into_iter()
            .fold(build, |build, target| build.targets([target]));
        build.compile(name);
    }
    // Whole programs, of which each has a `main`.
    Build::new()
        .sources("tests/programs/*.cpp")
        .flag("-std=c++20")
        // One of them uses a function that SYCL 2020 deprecates.
        .flag("-Wno-deprecated-declarations")
        .compile("programs");
    // A file with stubs, and others that a program loads in its place.
    for (macros, name) in [
        (None, "replaced"),
        (Some("OTHER_CODE"), "replaced_code"),
        (Some("OTHER_TYPES"), "replaced_types"),
        (Some("LACKING"), "replaced_lacking"),
    ] {
        let build = Build::new().source("tests/kernels/replaced.cpp");
        let build = macros
            .into_iter()
            .fold(build, |build, name| build.define(name, None));
        build.compile(name);
    }
    // It has a constant of an enumeration of 8 bits, which is not lowered in PTX.
    Build::new()
        .source("tests/kernels/specialized.cpp")
        .targets(["spir64"])
        .compile("specialized");
    // Images are for devices of OpenCL.
    for name in ["images", "bindless"] {
        Build::new()
            .source(format!("tests/kernels/{name}.cpp"))
            .targets(["spir64"])
            .compile(name);
    }
    // NVIDIA's GPUs have sub-groups of 32 only.
    Build::new()
        .source("tests/kernels/sub_groups.cpp")
        .targets(["spir64"])
        .compile("sub_groups");
    Build::new()
        .source("tests/kernels/virtual.cpp")
        .targets(["spir64"])
        .compile("virtual");
    // Native code cannot take the conversions from another module.
    Build::new()
        .source("tests/kernels/bfloat16.cpp")
        .targets(["spir64", "spir64_x86_64"])
        .compile("bfloat16_native");
    // A kernel of one that calls a function of the other, and two that need nothing of each other.
    Build::new()
        .source("../files/import_side.cpp")
        .source("../files/export_side.cpp")
        .compile("linked");
    // The same two, linked by the build: on request, and for native code.
    Build::new()
        .source("../files/import_side.cpp")
        .source("../files/export_side.cpp")
        .targets(["spir64"])
        .link(true)
        .compile("linked_now");
    Build::new()
        .source("../files/import_side.cpp")
        .source("../files/export_side.cpp")
        .targets(["spir64", "spir64_x86_64"])
        .compile("linked_native");
    // The same two in files of their own, which a program links.
    Build::new()
        .source("../files/import_side.cpp")
        .link_at_load(true)
        .compile("importing");
    Build::new()
        .source("../files/export_side.cpp")
        .link_at_load(true)
        .compile("exporting");
    Build::new()
        .source("../files/vector_ops.cpp")
        .targets(["spir64", "spir64_x86_64"])
        .compile("native");
    Build::new()
        .source("../files/vector_ops.cpp")
        .source("../files/export_side.cpp")
        .source("../files/work_group.cpp")
        .compile("several");
    Build::new()
        .sources("tests/kernels/assert*.cpp")
        .source("tests/kernels/split_asserts.cpp")
        .compile("asserting");
    Build::new()
        .source("tests/kernels/asserting.cpp")
        .native_assert(true)
        .compile("asserting_native");
    // What C++20 computes is in the code.
    for targets in [&["spir64"][..], &["spir64_x86_64"]] {
        let build = Build::new().source("../files/made/initial.cpp");
        let name = ["initial", "initial_native"][usize::from(targets == ["spir64_x86_64"])];
        build
            .flag("-std=c++20")
            .targets(targets.iter().copied())
            .compile(name);
    }
    if has_nvidia() {
        for_nvidia();
    }
}

/// Whether the component is installed that makes code for NVIDIA's GPUs.
fn has_nvidia() -> bool {
    println!("cargo::rerun-if-env-changed={HOME_VARIABLE}");
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref()).expect("a home folder");
    let versions = home.versions(Component::Nvidia);
    // A directory that is not there would have this run each time.
    let watched = [versions.as_path(), home.path()];
    if let Some(watched) = watched.into_iter().find(|folder| folder.is_dir()) {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    home.newest(Component::Nvidia).is_some()
}

/// What `tests/it/compiler/nvidia.rs` looks at.
fn for_nvidia() {
    for name in [
        "constants",
        "export_side",
        "functor",
        "globals",
        "import_side",
        "structs",
        "vector_ops",
        "work_group",
    ] {
        Build::new()
            .source(format!("../files/{name}.cpp"))
            .targets(["spir64", "nvidia_gpu_sm_80", "nvidia_gpu_sm_90"])
            .link_at_load(name.ends_with("_side"))
            .compile(&format!("nvidia_{name}"));
    }
    let targets = ["spir64", "nvidia_gpu_sm_80", "nvidia_gpu_sm_90"];
    for (name, more) in [
        ("nvidia_linked", &["spir64_x86_64"][..]),
        ("nvidia_alone", &[]),
    ] {
        Build::new()
            .source("../files/import_side.cpp")
            .source("../files/export_side.cpp")
            .targets(targets.iter().chain(more))
            .compile(name);
    }
}
