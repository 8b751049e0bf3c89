// SPDX-License-Identifier: MIT OR Apache-2.0
//! `syclbin-clang` with several inputs, several targets, response files, and what is not right.
#![allow(unsafe_code)] // loading a file and launching a kernel are unsafe

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use syclbin::property::set;
use syclbin::{ImageKind, State, Syclbin};
use syclbin_rt::{Arg, Launch, Module};
use syclbin_tools::verify::Severity;

use crate::common;
use crate::common::clang::{self, clang, said};

/// What the sources below begin with.
const HEADER: &str = "#pragma once
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#define KERNEL extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY( \\
    (sycl::ext::oneapi::experimental::single_task_kernel))
SYCL_EXTERNAL int twice(int);
";
const ONE: &str = "#include \"h.hpp\"
SYCL_EXTERNAL int twice(int x) { return 2 * x; }
KERNEL void one(int *p) { *p = 1; }
KERNEL void other(int *p) { *p = 3; }
";
const TWO: &str = "#include \"h.hpp\"\nKERNEL void two(int *p) { *p = 2; }\n";
const IMPORTS: &str = "#include \"h.hpp\"\nKERNEL void four(int *p) { *p = twice(2); }\n";

/// A directory with those sources.
fn sources() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("h.hpp", HEADER),
        ("one.cpp", ONE),
        ("two.cpp", TWO),
        ("imports.cpp", IMPORTS),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Runs the program in a directory, with arguments that have no blanks.
fn run(folder: &Path, line: &str) -> Result<String, String> {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let output = clang(&arguments, folder);
    match output.status.code() {
        Some(0) => Ok(said(&output)),
        Some(1) => Err(said(&output)),
        other => panic!("{line}: {other:?}: {}", said(&output)),
    }
}

fn parsed(folder: &Path, name: &str) -> Syclbin<'static> {
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    let mut findings = syclbin_tools::verify::verify(&bytes);
    findings.retain(|finding| finding.severity == Severity::Error);
    assert!(findings.is_empty(), "{name}: {findings:?}");
    file.into_owned()
}

/// All files of a directory and what they hold.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    let files = files.filter(|file| file.file_type().unwrap().is_file());
    files
        .map(|file| {
            let name = file.file_name().into_string().unwrap();
            (name, std::fs::read(file.path()).unwrap())
        })
        .collect()
}

#[test]
fn separate_and_joint_compiles_make_equal_files() {
    let folder = sources();
    let folder = folder.path();
    run(
        folder,
        "-fsyclbin -O2 -MMD -MP one.cpp two.cpp -o k.syclbin",
    )
    .unwrap();
    let rule = std::fs::read_to_string(folder.join("k.d")).unwrap();
    assert_eq!(
        rule,
        "k.syclbin: \\\n  one.cpp \\\n  h.hpp \\\n  two.cpp\nh.hpp:\n"
    );
    for name in ["one", "two"] {
        run(
            folder,
            &format!("-c -fsyclbin=object -O2 {name}.cpp -o {name}.syclbin"),
        )
        .unwrap();
    }
    run(
        folder,
        "-fsycl-link one.syclbin two.syclbin -o linked.syclbin",
    )
    .unwrap();
    run(folder, "-fsyclbin -O2 one.syclbin two.cpp -o mixed.syclbin").unwrap();
    let bytes = std::fs::read(folder.join("k.syclbin")).unwrap();
    for other in ["linked.syclbin", "mixed.syclbin"] {
        assert_eq!(std::fs::read(folder.join(other)).unwrap(), bytes, "{other}");
    }
    let file = parsed(folder, "k.syclbin");
    assert_eq!(file.state(), Some(State::Executable));
    let kernels: Vec<_> = file.kernel_names().collect();
    let expected = ["one", "other", "two"].map(|name| format!("__sycl_kernel_{name}"));
    assert_eq!(kernels, expected);

    let Some(queue) = common::queue() else { return };
    // SAFETY: the compiler made the file just now.
    let module = unsafe { Module::load(&queue, &bytes) }.unwrap();
    for (name, expected) in [("one", 1), ("two", 2), ("other", 3)] {
        let kernel = module.kernel(name);
        let mut out = queue.zeroed::<i32>(1).unwrap();
        let launch = Launch::new(&kernel, &["p"], [Arg::write(&mut out)]);
        // SAFETY: one work-item writes the one element.
        unsafe { launch.launch(1) }.unwrap();
        assert_eq!(queue.download(&out).unwrap(), [expected], "{name}");
    }
}

#[test]
fn functions_stay_linkable_and_executables_need_all() {
    let folder = sources();
    let folder = folder.path();
    for state in ["input", "object", "executable"] {
        let line = format!("-fsyclbin={state} imports.cpp one.cpp -o k.syclbin");
        run(folder, &line).unwrap();
        let file = parsed(folder, "k.syclbin");
        let [imports, exports] = [set::IMPORTED_SYMBOLS, set::EXPORTED_SYMBOLS].map(|set| {
            let sets = file.modules.iter().filter_map(|m| m.metadata.set(set));
            sets.flat_map(|set| set.names().map(str::to_owned))
                .collect::<Vec<_>>()
        });
        assert_eq!(
            (imports, exports),
            (vec!["_Z5twicei".into()], vec!["_Z5twicei".into()])
        );
    }
    run(folder, "-fsyclbin=object imports.cpp -o imports.syclbin").unwrap();
    for line in [
        "-fsyclbin imports.cpp two.cpp -o not.syclbin",
        "-fsyclbin imports.syclbin -o not.syclbin",
    ] {
        let error = run(folder, line).unwrap_err();
        assert!(
            error.contains("twice(int) [_Z5twicei], used in imports."),
            "{error}"
        );
        assert!(!folder.join("not.syclbin").exists());
    }
}

#[test]
fn duplicate_definition_error_names_both_sources() {
    let folder = sources();
    let folder = folder.path();
    std::fs::write(folder.join("again.cpp"), TWO).unwrap();
    let error = run(folder, "-fsyclbin two.cpp again.cpp").unwrap_err();
    assert!(
        error.contains("kernel two is defined in both 'two.cpp' and 'again.cpp'"),
        "{error}"
    );
    let function = ONE.lines().take(2).collect::<Vec<_>>().join("\n");
    std::fs::write(folder.join("again.cpp"), function).unwrap();
    let error = run(folder, "-fsyclbin=object one.cpp again.cpp").unwrap_err();
    assert!(
        error.contains("twice(int) is defined in both 'one.cpp' and 'again.cpp'"),
        "{error}"
    );
}

#[test]
fn errors_keep_the_order_of_sources() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let text = format!("int {name}() {{ return unknown_{name}; }}\n");
        std::fs::write(folder.path().join(format!("{name}.cpp")), text).unwrap();
    }
    let before = contents(folder.path());
    let error = run(folder.path(), "-fsyclbin -MD a.cpp b.cpp -o k.syclbin").unwrap_err();
    let [a, b] = ["a", "b"].map(|name| {
        let expected =
            format!("{name}.cpp:1:18: error: use of undeclared identifier 'unknown_{name}'");
        error.find(&expected).unwrap_or_else(|| panic!("{error}"))
    });
    assert!(a < b);
    assert!(!error.contains("syclbin-clang"), "{error}");
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn kernels_are_divided_into_modules_as_asked() {
    let folder = sources();
    let folder = folder.path();
    for (split, executable, object) in [
        ("per_kernel", 3, 4), // the exported function has one of its own
        ("per_source", 2, 2),
        ("auto", 2, 2),
        ("off", 2, 2),
    ] {
        let split = format!("-fsycl-device-code-split={split}");
        run(folder, &format!("-fsyclbin=object {split} one.cpp two.cpp")).unwrap();
        assert_eq!(parsed(folder, "a.syclbin").modules.len(), object, "{split}");
        let mut modules = 0;
        for source in ["one.cpp", "two.cpp"] {
            run(folder, &format!("-fsyclbin {split} {source}")).unwrap();
            modules += parsed(folder, "a.syclbin").modules.len();
        }
        assert_eq!(modules, executable, "{split}");
    }
}

#[test]
fn several_targets_are_images_of_one_file() {
    if common::queue().is_none() {
        return; // the CPU device compiles for itself
    }
    let folder = sources();
    let folder = folder.path();
    run(
        folder,
        "-fsyclbin -fsycl-targets=spir64,spir64_x86_64 one.cpp two.cpp",
    )
    .unwrap();
    let both = parsed(folder, "a.syclbin");
    assert_eq!(both.modules.len(), 2);
    let saved = test_files::path("vector_ops.executable.syclbin");
    let saved = std::fs::read(saved).unwrap();
    let saved = syclbin::read::parse(&saved).unwrap();
    for module in &both.modules {
        let [spirv, native] = module.images.as_slice() else {
            panic!("{} images", module.images.len());
        };
        assert!(spirv.spirv().is_some());
        let target = "spir64_x86_64-unknown-unknown";
        let arch = "x86_64";
        assert_eq!(native.kind(), ImageKind::Native { arch, target });
        // The form that the reference runtime saves: an ELF file of this class and machine.
        assert_eq!(native.bytes[..20], saved.modules[0].images[0].bytes[..20]);
    }
    run(folder, "-fsyclbin --offload-arch=avx2 two.cpp").unwrap();
    let native = parsed(folder, "a.syclbin");
    assert_eq!(native.modules[0].images.len(), 1);
    let ImageKind::Native { arch, .. } = native.modules[0].images[0].kind() else {
        panic!("SPIR-V was left");
    };
    assert_eq!(arch, "core-avx2");
    // Objects have SPIR-V, from which linking makes the rest.
    run(folder, "-c -fsyclbin=object one.cpp -o one.syclbin").unwrap();
    run(
        folder,
        "-fsycl-link -fsycl-targets=spir64_x86_64 one.syclbin",
    )
    .unwrap();
    assert!(parsed(folder, "a.syclbin").modules[0].images[0].native);

    let error = run(
        folder,
        "-fsyclbin -fsycl-targets=spir64_x86_64 -Xsycl-target-backend --bo=-no-such two.cpp",
    );
    assert!(error.unwrap_err().contains("CL_INVALID_BUILD_OPTIONS"));
    // Each source is code of its own if it is not relocatable.
    let error = run(folder, "-fsyclbin -fno-gpu-rdc imports.cpp one.cpp").unwrap_err();
    assert!(error.contains("twice(int)"), "{error}");
    run(folder, "-fsyclbin -fgpu-rdc imports.cpp one.cpp").unwrap();
    // Native code of a module holds what it calls of another. Its SPIR-V is linked too.
    for targets in ["spir64,spir64_x86_64", "spir64_x86_64"] {
        let line = format!("-fsyclbin -fsycl-targets={targets} imports.cpp one.cpp");
        assert_eq!(run(folder, &line).unwrap(), "");
        let file = parsed(folder, "a.syclbin");
        let images: Vec<_> = file.modules.iter().map(|m| m.images.len()).collect();
        assert_eq!(images, [targets.split(',').count(); 2]);
        assert!(
            file.modules
                .iter()
                .all(|m| m.images.iter().any(|image| image.native))
        );
    }
}

/// A stand-in for ocloc that records its arguments and makes an empty archive. Like ocloc, it adds a suffix for one
/// GPU.
const OCLOC: &str = "#!/bin/sh
printf '%s\\n' \"$@\" >> \"$(dirname \"$0\")/arguments\"
while [ $# -gt 0 ]; do
  case \"$1\" in -file) in=$2;; -output) out=$2;; -device) gpus=$2;; esac
  shift
done
case \"$gpus\" in *,*) ;; *) out=$out.bin;; esac
grep -q . \"$(dirname \"$0\")/fails\" 2>/dev/null && { echo 'Invalid device'; exit 3; }
test -s \"$in\" && printf '!<arch>\\n' > \"$out\"
";

#[cfg(unix)]
#[test]
fn intel_gpus_are_compiled_for_by_ocloc() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = sources();
    let folder = folder.path();
    let bin = folder.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let with_path = |path: &Path, line: &str| {
        let mut command = Command::new(clang::program());
        command.args(line.split_whitespace()).current_dir(folder);
        let output = command.env("PATH", path).output().unwrap();
        (output.status.code(), said(&output))
    };
    let line =
        "-fsyclbin -fsycl-targets=spir64,intel_gpu_pvc,intel_gpu_bmg_g21 two.cpp -o k.syclbin";
    let (code, error) = with_path(&folder.join("nowhere"), line);
    assert_eq!(code, Some(1));
    assert!(
        error.contains("ocloc was not found on PATH; install it"),
        "{error}"
    );

    std::fs::write(bin.join("ocloc"), OCLOC).unwrap();
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bin.join("ocloc"), executable).unwrap();
    let path = std::env::join_paths([bin.as_path(), "/usr/bin".as_ref(), "/bin".as_ref()]).unwrap();
    let path = Path::new(&path);
    let (code, said) = with_path(path, line);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let file = parsed(folder, "k.syclbin");
    let requirement = |module: &syclbin::AbstractModule<'_>| {
        let value = module
            .metadata
            .get(set::DEVICE_REQUIREMENTS, "compile_target");
        value.and_then(|value| value.as_str()).map(str::to_owned)
    };
    let targets: Vec<_> = file.modules.iter().map(requirement).collect();
    let expected = ["intel_gpu_bmg_g21", "intel_gpu_pvc"].map(|name| Some(name.to_owned()));
    assert_eq!(targets[0], None);
    assert_eq!(targets[1..], expected);
    let target = "spir64_gen-unknown-unknown";
    let kind = file.modules[2].images[0].kind();
    assert_eq!(
        kind,
        ImageKind::Native {
            arch: "pvc",
            target
        }
    );
    let arguments = std::fs::read_to_string(bin.join("arguments")).unwrap();
    for expected in [
        "-spirv_input\n",
        "-output_no_suffix\n",
        "-device\npvc\n",
        "-device\nbmg_g21\n",
    ] {
        assert!(arguments.contains(expected), "{arguments}");
    }

    std::fs::remove_file(bin.join("arguments")).unwrap();
    let response = "-fsyclbin=object -fsycl-targets=spir64_gen two.cpp -o k.syclbin \
        -Xsycl-target-backend=spir64_gen \"-device pvc,dg2 -options '-cl-opt-disable'\"";
    std::fs::write(folder.join("args"), response).unwrap();
    assert_eq!(with_path(path, "@args"), (Some(0), String::new()));
    let arguments = std::fs::read_to_string(bin.join("arguments")).unwrap();
    assert!(arguments.contains("-device\npvc,dg2\n"), "{arguments}");
    let options = "-options\n-library-compilation -cl-opt-disable\n";
    assert!(arguments.contains(options), "{arguments}");
    assert_eq!(requirement(&parsed(folder, "k.syclbin").modules[0]), None);

    std::fs::write(bin.join("fails"), "x").unwrap();
    let (code, said) = with_path(path, line);
    assert_eq!(code, Some(3));
    let ended = "bin/ocloc exited with 3 on kernel two for GPU bmg_g21\n";
    assert!(
        said.starts_with("Invalid device\n") && said.contains(ended),
        "{said}"
    );
}

#[test]
fn steps_are_shown_and_optionally_run() {
    let folder = sources();
    let folder = folder.path();
    let before = contents(folder);
    let steps = run(
        folder,
        "-### -fsyclbin -O2 -MD one.cpp two.cpp -o k.syclbin",
    )
    .unwrap();
    let lines: Vec<_> = steps.lines().collect();
    assert_eq!(lines.len(), 2, "{steps}");
    for (line, source) in lines.iter().zip(["one.cpp", "two.cpp"]) {
        assert!(
            line.contains("\"-fsyclbin=object\" \"-O2\" \"-MD\""),
            "{line}"
        );
        assert!(line.ends_with(&format!("\"--\" \"{source}\"")), "{line}");
    }
    assert_eq!(contents(folder), before);
    let said = run(folder, "-v -fsyclbin -O2 one.cpp two.cpp -o k.syclbin").unwrap();
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(folder.join("k.syclbin").exists());

    // A line is a command: a shell does what was shown.
    let step = run(
        folder,
        "-### -fsyclbin=object -DQ=\"'$x'\" -MD two.cpp -o t.syclbin",
    )
    .unwrap();
    let shell = Command::new("sh")
        .args(["-c", &step])
        .current_dir(folder)
        .status();
    assert!(shell.unwrap().success());
    assert!(folder.join("t.syclbin").exists() && folder.join("t.d").exists());
}

#[test]
fn arguments_come_from_response_files_as_well() {
    let folder = sources();
    let folder = folder.path();
    let outer = "-fsyclbin 'two.cpp' @inner\n-o \"with blank.syclbin\"";
    std::fs::write(folder.join("outer"), outer).unwrap();
    std::fs::write(folder.join("inner"), "-O2 -DTEXT=\\\"a\\ b\\\"\n").unwrap();
    run(folder, "@outer").unwrap();
    assert!(folder.join("with blank.syclbin").exists());
}

#[test]
fn linker_options_get_a_warning_without_effect() {
    let folder = sources();
    let folder = folder.path();
    run(folder, "-fsyclbin two.cpp -o plain.syclbin").unwrap();
    let usual = "-fPIC -pthread -DNDEBUG -std=gnu++20 -march=native -m64 -pipe -x c++ --sysroot=/";
    let said = run(folder, &format!("-fsyclbin {usual} two.cpp -o k.syclbin")).unwrap();
    assert_eq!(said, "");
    let unused = "-L/usr/lib -lm -Wl,--as-needed -shared";
    let said = run(folder, &format!("-fsyclbin {unused} two.cpp -o l.syclbin")).unwrap();
    for option in unused.split(' ') {
        let expected = format!("warning: argument unused during compilation: '{option}'\n");
        assert!(said.contains(&expected), "{said}");
    }
    let plain = std::fs::read(folder.join("plain.syclbin")).unwrap();
    for name in ["k.syclbin", "l.syclbin"] {
        assert_eq!(std::fs::read(folder.join(name)).unwrap(), plain, "{name}");
    }
    assert!(
        run(folder, "-fsyclbin -Werror -lm two.cpp")
            .unwrap_err()
            .contains("'-lm'")
    );
}

#[test]
fn mistakes_are_named_and_files_stay_unchanged() {
    let folder = sources();
    let folder = folder.path();
    run(folder, "-fsyclbin=object two.cpp -o object.syclbin").unwrap();
    run(folder, "-fsyclbin two.cpp -o executable.syclbin").unwrap();
    let whole = std::fs::read(folder.join("object.syclbin")).unwrap();
    std::fs::write(folder.join("damaged.syclbin"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(folder.join("text.syclbin"), "text").unwrap();
    std::fs::write(folder.join("circle"), "-O2 @circle").unwrap();
    std::fs::write(folder.join("two.o"), "x").unwrap();
    std::fs::create_dir(folder.join("folder")).unwrap();
    let before = contents(folder);
    for (line, expected) in [
        ("@none", "cannot read response file 'none'"),
        ("@circle", "response file 'circle' includes itself"),
        ("-fsyclbin none.cpp", "cannot read input 'none.cpp'"),
        ("-fsyclbin folder", "cannot read input 'folder'"),
        (
            "-fsyclbin two.o",
            "'two.o' is neither a source, a SYCLBIN file nor an object",
        ),
        (
            "-fsyclbin two.cpp -o none/k.syclbin",
            "directory 'none' does not exist; create it",
        ),
        (
            "-fsyclbin two.cpp -o folder",
            "output 'folder' is a directory",
        ),
        (
            "-fsyclbin two.cpp -o two.cpp",
            "output 'two.cpp' is also input 'two.cpp'",
        ),
        (
            "-fsyclbin two.cpp -o ./folder/../two.cpp",
            "is also input 'two.cpp'",
        ),
        (
            "-fsyclbin two.cpp -MD -MF two.cpp",
            "depfile 'two.cpp' is also input",
        ),
        (
            "-fsyclbin two.cpp -MD -MF k -o k",
            "depfile 'k' is also the output",
        ),
        (
            "-fsyclbin two.cpp -MD -MF none/k.d",
            "cannot write depfile 'none/k.d'",
        ),
        (
            "-fsyclbin one.cpp two.cpp -MD -MF k.d",
            "-MF k.d: clang++ would keep",
        ),
        (
            "-fsyclbin two.cpp ./two.cpp",
            "input './two.cpp' is repeated",
        ),
        (
            "-fsyclbin damaged.syclbin",
            "'damaged.syclbin' is not a valid SYCLBIN file",
        ),
        (
            "-fsyclbin text.syclbin one.cpp",
            "'text.syclbin' is not a valid SYCLBIN file",
        ),
        (
            "-fsyclbin executable.syclbin",
            "'executable.syclbin' is an executable",
        ),
        (
            "-fsyclbin=input object.syclbin",
            "cannot be converted back to input",
        ),
        (
            "-fsycl-link object.syclbin one.cpp",
            "'one.cpp' is a source",
        ),
        (
            "-fsyclbin --no-such-option two.cpp",
            "unknown argument: '--no-such-option'",
        ),
        (
            "-fsyclbin -undef two.cpp",
            "option '-undef' is not supported by the compiler library",
        ),
        (
            "-fsyclbin -fcoverage-mapping two.cpp",
            "option '-fcoverage-mapping' is not supported",
        ),
        (
            "-fsyclbin=object -fno-sycl-allow-device-image-dependencies two.cpp",
            "not allowed with",
        ),
        (
            "-fsyclbin -fsycl-targets=amdgcn-amd-amdhsa two.cpp",
            "set SYCLBIN_CLANG to a DPC++ clang++",
        ),
    ] {
        let error = run(folder, line).expect_err(line);
        assert!(error.contains(expected), "{line}: {error}");
        assert!(contents(folder) == before, "{line}: files changed");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_takes_the_file_as_well() {
    let folder = sources();
    let folder = folder.path();
    run(folder, "-fsyclbin two.cpp -o k.syclbin").unwrap();
    let pipe = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let reader = std::thread::spawn(move || std::fs::read(pipe).unwrap());
    // A limit, so that waiting for a second reader is a failure here.
    let output = Command::new("timeout")
        .arg("300")
        .arg(clang::program())
        .args(["-fsyclbin", "two.cpp", "-o", "pipe"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let expected = std::fs::read(folder.join("k.syclbin")).unwrap();
    assert!(reader.join().unwrap() == expected);
}

#[test]
fn help_names_every_topic() {
    let output = clang(&["--help"], Path::new("/"));
    let text = String::from_utf8(output.stdout).unwrap();
    for topic in [
        "Output:",
        "Sources:",
        "Language and code:",
        "Targets:",
        "Asserts:",
        "Rules for make:",
        "This program:",
    ] {
        assert!(text.contains(topic), "{topic}");
    }
}

#[test]
fn c_library_types_compile_in_device_code() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let source = "#include <sycl/sycl.hpp>
        struct Log { FILE *file; time_t time; clock_t ticks; div_t quotient; };
        int keep(Log log, va_list *arguments);
        extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(
            (sycl::ext::oneapi::experimental::single_task_kernel)) void k(int *p) { *p = 1; }\n";
    std::fs::write(folder.join("k.cpp"), source).unwrap();
    run(folder, "-fsyclbin k.cpp").unwrap();
}
