// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `syclbin-clang` says when a compiler crashes, and that its lines can be repeated by hand.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::clang::{self, clang, said};

const KERNEL: &str = "#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(
    (sycl::ext::oneapi::experimental::single_task_kernel)) void k(int *p) { *p = 1; }
";
const CRASH: &str = "#pragma clang __debug crash\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.cpp"), KERNEL).unwrap();
    std::fs::write(folder.path().join("crash.cpp"), CRASH).unwrap();
    folder
}

fn shell(line: &str, folder: &Path) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder);
    shell.output().unwrap()
}

/// The temporary directories and files of this program in the directory for temporary files.
fn leftovers(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.starts_with("syclbin-clang-"))
        .collect()
}

#[test]
fn crash_has_the_documented_exit_status() {
    let folder = folder();
    let alone = clang(&["-fsyclbin", "crash.cpp"], folder.path());
    assert!(alone.status.signal().is_some(), "{:?}", alone.status);
    let one_of_two = clang(&["-fsyclbin", "crash.cpp", "k.cpp"], folder.path());
    assert_eq!(one_of_two.status.code(), Some(254));
    assert!(!folder.path().join("a.syclbin").exists());

    let help = clang(&["--help"], folder.path()).stdout;
    let help = String::from_utf8(help).unwrap();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "If the compiler crashes on one of several inputs, or on a native target, the status is 254.",
        "A crash on a single source terminates this program with the same signal.",
    ] {
        assert!(help.contains(said), "{help}");
    }
}

#[test]
fn shown_line_repeats_a_crash() {
    let folder = folder();
    let folder = folder.path();
    let mut command = Command::new(clang::program());
    command.args(["-fsyclbin", "-MD", "crash.cpp", "k.cpp"]);
    let output = command.env("TMPDIR", folder).current_dir(folder).output();
    let text = said(&output.unwrap());
    let (_, line) = text.split_once("to reproduce it:\n").unwrap();
    let again = shell(line.lines().next().unwrap(), folder);
    assert!(
        again.status.signal().is_some() || again.status.code() > Some(128),
        "{:?}: {}",
        again.status,
        said(&again)
    );
    // Without what makes it crash, the same line makes a file in the directory that was kept.
    std::fs::write(folder.join("crash.cpp"), KERNEL).unwrap();
    let again = shell(line.lines().next().unwrap(), folder);
    assert_eq!(again.status.code(), Some(0), "{}", said(&again));
    let [kept] = leftovers(folder).try_into().unwrap();
    assert!(folder.join(kept).join("part-0.syclbin").exists());
}

#[test]
fn input_of_crashed_native_compiler_is_kept() {
    let folder = folder();
    let folder = folder.path();
    let path = with_ocloc(folder, "kill -SEGV $$\n");
    let mut command = Command::new(clang::program());
    command.args(["-fsyclbin", "-fsycl-targets=intel_gpu_pvc", "k.cpp"]);
    command.env("PATH", path).env("TMPDIR", folder);
    let output = command.current_dir(folder).output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(254), "{text}");
    let [kept] = leftovers(folder).try_into().unwrap();
    let input = folder.join(kept).join("0.spv");
    let shown = format!("\"-file\" \"{}\"", input.display());
    assert!(text.contains(&shown), "{text}");
    let code = std::fs::read(input).unwrap();
    assert_eq!(code[..4], 0x0723_0203_u32.to_le_bytes());
}

#[test]
fn shown_steps_work_in_a_shell() {
    let folder = folder();
    let folder = folder.path();
    std::fs::write(folder.join("l.cpp"), KERNEL.replace("k(int", "l(int")).unwrap();
    let path = with_ocloc(folder, "exit 1\n");
    for arguments in [
        "-fsycl-targets=spir64,intel_gpu_pvc k.cpp",
        "--offload-arch=pvc -MD k.cpp l.cpp",
        "-fsycl-targets=spir64,spir64_gen -Xsycl-target-backend=spir64_gen -device=pvc k.cpp",
    ] {
        let mut command = Command::new(clang::program());
        command.args(["-###", "-fsyclbin", "-o", "k.syclbin"]);
        command.args(arguments.split(' ')).current_dir(folder);
        let steps = said(&command.env("PATH", &path).output().unwrap());
        // How many modules there are is not known before.
        let (native, compiles): (Vec<_>, Vec<_>) =
            steps.lines().partition(|line| line.contains("MODULE"));
        assert_eq!(native.len(), 1, "{steps}");
        assert!(!compiles.is_empty(), "{steps}");
        for (index, line) in compiles.into_iter().enumerate() {
            let output = shell(line, folder);
            assert_eq!(output.status.code(), Some(0), "{line}: {}", said(&output));
            let part = folder.join(format!("part-{index}.syclbin"));
            std::fs::remove_file(part).unwrap();
        }
    }
}

/// A PATH with a stand-in for ocloc that does `script`.
fn with_ocloc(folder: &Path, script: &str) -> String {
    let ocloc = folder.join("ocloc");
    std::fs::write(&ocloc, format!("#!/bin/sh\n{script}")).unwrap();
    std::fs::set_permissions(&ocloc, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", folder.display())
}
