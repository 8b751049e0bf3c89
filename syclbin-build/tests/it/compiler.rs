// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the compiler is told, and what becomes of what it makes.

use std::fs;

use crate::script::{self, COMPILE, Package, VECTOR_OPS, fake_clang_program};

/// A command line without the paths that differ from run to run.
fn shape(arguments: &[String]) -> Vec<&str> {
    let mut shape: Vec<&str> = arguments.iter().map(String::as_str).collect();
    for index in 1..shape.len() {
        if ["-o", "-MF", "-isystem", "-include"].contains(&shape[index - 1]) {
            shape[index] = shape[index].rsplit('/').next().unwrap();
        }
    }
    shape
}

#[test]
fn arguments_reach_the_compiler_in_order() {
    let package = Package::new();
    let steps = "include include dir\ndefine N=4\nsource kernels/vector_ops.cpp\ndefine FAST\n\
        flag -std=c++20\nflag -O3\ncompile vector_ops";
    package.script(steps, COMPILE).run().succeeded();
    let given = ["-Iinclude dir", "-DN=4", "-DFAST", "-std=c++20", "-O3"];
    let mut expected = vec![
        "-fsycl",
        "-fsyclbin=executable",
        "--offload-new-driver",
        "-fno-discard-value-names",
        "-fsycl-range-rounding=disable",
        "-O2",
    ];
    expected.extend(given);
    // Behind every directory of the user.
    expected.extend(["-isystem", "include"]);
    expected.extend(["-include", "syclbin_assert.hpp"]);
    expected.extend(["-MD", "-MF", "code.d", "-o", "code.syclbin"]);
    expected.push("kernels/vector_ops.cpp");
    assert_eq!(shape(&package.recorded("vector_ops")), expected);
}

#[test]
fn installed_headers_are_searched_last() {
    let package = Package::new();
    for file in ["MANIFEST", "include/oneapi/mkl.hpp"] {
        package.write(&format!("home/oneapi-headers/2026.2.0/{file}"), "");
    }
    package.script(VECTOR_OPS, COMPILE).run().succeeded();
    for name in ["vector_ops", "vector_ops-debug"] {
        let recorded = package.recorded(name);
        let folders = recorded.iter().zip(&recorded[1..]);
        let folders: Vec<_> = folders
            .filter(|(option, _)| *option == "-isystem")
            .collect();
        let [_, (_, last)] = folders[..] else {
            panic!("{recorded:?}");
        };
        let expected = package.path("home/oneapi-headers/2026.2.0/include");
        assert_eq!(*last, expected.to_str().unwrap());
    }
}

#[test]
fn every_source_has_a_debug_compile() {
    let package = Package::new();
    let steps = "flag -DX\nsource kernels/vector_ops.cpp\ncompile vector_ops";
    package.script(steps, COMPILE).run().succeeded();
    let expected = [
        "-fsycl",
        "-fsyclbin=executable",
        "--offload-new-driver",
        "-fno-discard-value-names",
        "-fsycl-range-rounding=disable",
        "-O2",
        "-DX",
        "-isystem",
        "include",
        "-include",
        "syclbin_assert.hpp",
        "-g",
        "-fstandalone-debug",
        "-Dadd_ir_attributes_function(...)=add_ir_attributes_function(__VA_ARGS__),\
         clang::annotate(\"syclbin: \" #__VA_ARGS__)",
        "-o",
        "debug.syclbin",
        "kernels/vector_ops.cpp",
    ];
    assert_eq!(shape(&package.recorded("vector_ops-debug")), expected);
}

#[test]
fn debug_compile_gets_no_targets() {
    let package = Package::new();
    let steps = "targets spir64 spir64_x86_64\nlink_at_load\nsource kernels/vector_ops.cpp\n\
        compile vector_ops";
    package.script(steps, COMPILE).run().succeeded();
    let has = |name: &str, argument: &str| {
        let recorded = package.recorded(name);
        recorded.iter().any(|one| one == argument)
    };
    let targets = "-fsycl-targets=spir64,spir64_x86_64";
    assert!(has("vector_ops", targets));
    // Native code tells nothing of its kernels.
    assert!(!has("vector_ops-debug", targets));
    assert!(has("vector_ops", "-fsyclbin=object"));
    let made = fs::read(package.made("vector_ops")).unwrap();
    let made = syclbin::read::parse(&made).unwrap();
    assert_eq!(made.state(), Some(syclbin::State::Object));
}

#[test]
fn release_builds_without_code_for_nvidia_warn_once() {
    let package = Package::new();
    let steps = "source kernels/vector_ops.cpp\ntry_compile vector_ops\n\
        source kernels/vector_ops.cpp\ncompile another";
    let release = || package.script(steps, COMPILE).env("PROFILE", "release");
    let ran = release().run().succeeded();
    let [warning] = ran.said("warning")[..] else {
        panic!("{ran:?}");
    };
    assert!(warning.contains("no code for NVIDIA GPUs"), "{warning}");
    // Components do not help this compiler.
    assert!(
        warning.contains("SYCLBIN_TARGETS=spir64,nvptx64-nvidia-cuda"),
        "{warning}"
    );
    for silent in [
        release().env("SYCLBIN_TARGETS", "spir64"),
        package.script(steps, COMPILE).env("PROFILE", "debug"),
    ] {
        assert_eq!(silent.run().succeeded().said("warning"), [""; 0]);
    }
}

#[test]
fn target_options_are_dropped_for_debug_information() {
    let package = Package::new();
    let steps = "targets spir64 nvptx64-nvidia-cuda\nflag -Xsycl-target-backend=nvptx64-nvidia-cuda\n\
        flag --offload-arch=sm_80\nflag --offload-arch=sm_90\nflag -DN=1\n\
        source kernels/vector_ops.cpp\ncompile vector_ops";
    package.script(steps, COMPILE).run().succeeded();
    let code = package.recorded("vector_ops");
    let given = [
        "-fsycl-targets=spir64,nvptx64-nvidia-cuda",
        "-Xsycl-target-backend=nvptx64-nvidia-cuda",
        "--offload-arch=sm_80",
        "--offload-arch=sm_90",
    ];
    let all = given
        .iter()
        .all(|one| code.iter().any(|other| other == one));
    assert!(all, "{code:?}");
    let debug = package.recorded("vector_ops-debug");
    let left = debug
        .iter()
        .filter(|one| one.contains("offload-arch") || one.contains("target"));
    assert_eq!(left.count(), 0, "{debug:?}");
    assert!(debug.iter().any(|one| one == "-DN=1"));
}

#[test]
fn compiled_kernels_arrive_in_out_dir() {
    let package = Package::new();
    package.run(COMPILE).succeeded();
    assert_eq!(package.left(), ["vector_ops.syclbin"]);
    let made = fs::read(package.made("vector_ops")).unwrap();
    let given = fs::read(test_files::path("vector_ops.object.syclbin")).unwrap();
    let made = syclbin::read::parse(&made).unwrap();
    let given = syclbin::read::parse(&given).unwrap();
    assert_eq!(made.state(), Some(syclbin::State::Executable));
    let described = given.modules.into_iter().map(|mut module| {
        test_files::Declared::default().record(&mut module);
        module
    });
    let described: Vec<_> = described.collect();
    assert!(made.modules == described, "the code alone describes it");
}

#[test]
fn several_sources_become_one_file() {
    let package = Package::new();
    package.write("kernels/work_group.cpp", "");
    let steps =
        "source kernels/vector_ops.cpp\nsource kernels/work_group.cpp\ncompile both-of_them2";
    package.script(steps, COMPILE).run().succeeded();
    let bytes = fs::read(package.made("both-of_them2")).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    let names: Vec<_> = file.kernel_names().collect();
    for expected in ["__sycl_kernel_saxpy", "__sycl_kernel_block_sum"] {
        assert!(names.contains(&expected), "{names:?}");
    }
}

#[test]
fn the_same_kernels_make_the_same_bytes() {
    let (first, second) = (Package::new(), Package::new());
    first.run(COMPILE).succeeded();
    second.run(COMPILE).succeeded();
    assert!(
        fs::read(first.made("vector_ops")).unwrap() == fs::read(second.made("vector_ops")).unwrap()
    );
}

#[test]
fn unchanged_result_is_not_written_again() {
    let package = Package::new();
    package.run(COMPILE).succeeded();
    let metadata = || package.made("vector_ops").metadata().unwrap();
    let before = metadata();
    package.run(COMPILE).succeeded();
    assert_eq!(
        metadata().modified().unwrap(),
        before.modified().unwrap(),
        "Cargo would compile again what embeds it"
    );
    use std::os::unix::fs::MetadataExt as _;
    assert_eq!(metadata().ino(), before.ino());
}

#[test]
fn compiler_name_is_found_on_path() {
    let package = Package::new();
    let bin = package.path("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(fake_clang_program(), bin.join("my-clang++")).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = package
        .script(script::VECTOR_OPS, COMPILE)
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("SYCLBIN_CLANG", "my-clang++");
    let ran = script.run().succeeded();
    let program = bin.join("my-clang++");
    assert!(
        ran.said("rerun-if-changed")
            .contains(&program.to_str().unwrap()),
        "{ran:?}"
    );
}

#[test]
fn installed_compiler_is_the_default() {
    let package = Package::new();
    let installed = package.path("home/compiler/2026.2.0");
    package.write("home/compiler/2026.2.0/MANIFEST", "");
    fs::create_dir(installed.join("bin")).unwrap();
    let program = installed.join("bin/syclbin-clang");
    std::os::unix::fs::symlink(fake_clang_program(), &program).unwrap();
    let script = package
        .script(script::VECTOR_OPS, COMPILE)
        .env_remove("SYCLBIN_CLANG")
        .env("SYCLBIN_HOME", package.path("home"));
    let ran = script.run().succeeded();
    let library = installed.join("lib/libsycl-jit.so");
    // The directory of all versions, because a newer one would be used instead.
    let versions = package.path("home/compiler");
    for part in [versions, program, library] {
        assert!(
            ran.said("rerun-if-changed")
                .contains(&part.to_str().unwrap()),
            "{ran:?}"
        );
    }
}

#[test]
fn x86_code_filed_as_spirv_is_kept() {
    let package = Package::new();
    let bytes = fs::read(test_files::path("vector_ops.object.syclbin")).unwrap();
    let mut file = syclbin::read::parse(&bytes).unwrap();
    let elf = b"\x7fELF and so on".to_vec();
    let target = "spir64_x86_64-unknown-unknown";
    let image = syclbin::Image::ir(syclbin::IrType::SpirV, target, elf);
    let module = syclbin::AbstractModule {
        metadata: file.modules[0].metadata.clone(),
        images: vec![image.clone()],
        strings: Vec::new(),
    };
    file.modules.push(module);
    let made = package.path("made.syclbin");
    fs::write(
        &made,
        syclbin::write::to_vec(&file, syclbin::Container::default()).unwrap(),
    )
    .unwrap();
    package
        .run(&format!("made='{}'; {COMPILE}", made.display()))
        .succeeded();
    let bytes = fs::read(package.made("vector_ops")).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    assert_eq!(file.modules.last().unwrap().images, [image]);
}

#[test]
fn files_that_arguments_name_are_tracked() {
    let package = Package::new();
    for name in ["arguments", "more.bc", "unused.bc", "written.dia"] {
        let name = format!("kernels/{name}");
        package.write(&name, "");
    }
    let steps = "flag -ftime-trace\nflag @kernels/arguments\nflag -serialize-diagnostics\nflag kernels/written.dia\nflag -some-option=kernels/more.bc\n\
        flag -DNAME=kernels/unused.bc\nsource kernels/vector_ops.cpp\ncompile vector_ops";
    let ran = package.script(steps, COMPILE).run().succeeded();
    let tracked = ran.said("rerun-if-changed");
    for (name, is_tracked) in [
        ("arguments", true),
        ("more.bc", true),
        ("unused.bc", false),
        ("written.dia", false),
    ] {
        let path = format!("kernels/{name}");
        assert_eq!(tracked.contains(&path.as_str()), is_tracked, "{path}");
    }
}

#[test]
fn variables_that_find_native_compilers_are_tracked() {
    let package = Package::new();
    for (target, is_tracked) in [("spir64_x86_64", true), ("nvptx64-nvidia-cuda", false)] {
        let steps =
            format!("targets spir64 {target}\nsource kernels/vector_ops.cpp\ncompile vector_ops");
        let ran = package.script(&steps, COMPILE).run().succeeded();
        let tracked = ran.said("rerun-if-env-changed");
        let is = tracked.contains(&"OPENCL_DYLIB_PATH");
        assert_eq!(is, is_tracked, "{target}");
    }
}

#[test]
fn watch_gets_variables_of_the_build_script() {
    let package = Package::new();
    let script = package.script(VECTOR_OPS, COMPILE);
    script.env("SYCLBIN_TARGETS", "spir64").run().succeeded();
    let noted = package.out_dir().join("syclbin/.sources-vector_ops");
    let noted = fs::read_to_string(noted).unwrap();
    let words: Vec<_> = noted.split('\0').collect();
    let compiler = format!("compiler={}", crate::script::fake_clang_program().display());
    for word in ["argument=-fsycl-targets=spir64", &compiler] {
        assert!(words.contains(&word), "{word}: {words:?}");
    }
}
