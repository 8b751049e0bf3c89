// SPDX-License-Identifier: MIT OR Apache-2.0
//! Projects that make and CMake build with `syclbin-clang`: `examples/other-builds`, whose program runs
//! the kernels.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::common;
use crate::common::clang;

/// A copy of the example without its program.
fn project() -> tempfile::TempDir {
    let example = example();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("kernels")).unwrap();
    for name in [
        "Makefile",
        "CMakeLists.txt",
        "kernels/kernel.hpp",
        "kernels/scale.cpp",
        "kernels/shift.cpp",
    ] {
        std::fs::copy(example.join(name), folder.path().join(name)).unwrap();
    }
    folder
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/other-builds")
}

/// Whether there is such a program; where not, the skip is printed.
fn is_there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output();
    if there.is_ok_and(|output| output.status.success()) {
        return true;
    }
    common::say_skipped(&format!("{program} is not installed"));
    false
}

fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    let output = command
        .env("SYCLBIN_CLANG", clang::program())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = clang::said(&output);
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {said}{error}"
    );
    said
}

/// What the compiler and the linker made since then.
fn made(folder: &Path, before: SystemTime) -> Vec<String> {
    let files = std::fs::read_dir(folder.join("build")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let made = files.filter(|path| path.extension().is_some_and(|suffix| suffix == "syclbin"));
    let made = made.filter(|path| path.metadata().unwrap().modified().unwrap() > before);
    let names = made.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Makes a source newer than all that was built. What is built from then on is newer than the time that
/// is returned.
fn touch(folder: &Path, name: &str) -> SystemTime {
    let now = SystemTime::now();
    let file = std::fs::File::open(folder.join(name)).unwrap();
    file.set_modified(now).unwrap();
    now
}

/// Runs the example's program on the file that was built.
fn run_program(folder: &Path) {
    if common::queue().is_none() {
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_load-file"))
        .arg(folder.join("build/kernels.syclbin"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", clang::said(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains("values    3, 5, 7, 9, 11, 13, 15, 17"),
        "{said}"
    );
}

/// Builds, runs, and builds again with nothing changed and a header changed.
fn follows_changes(folder: &Path, build: &dyn Fn()) {
    build();
    run_program(folder);
    let all = ["kernels", "scale", "shift"];
    let before = touch(folder, "kernels/scale.cpp");
    build();
    assert_eq!(
        made(folder, before),
        ["kernels", "scale"],
        "a source changed"
    );
    // The files have the bytes they had, and are new all the same.
    let before = touch(folder, "kernels/kernel.hpp");
    build();
    assert_eq!(made(folder, before), all, "a header changed");
    let before = SystemTime::now();
    build();
    assert_eq!(made(folder, before), [""; 0], "nothing changed");
}

#[test]
fn make_builds_and_follows_changes() {
    if !is_there("make") {
        return;
    }
    let folder = project();
    let folder = folder.path();
    follows_changes(folder, &|| drop(run(folder, "make", &["-j2"])));
    assert!(run(folder, "make", &[]).contains("up to date"));
}

#[test]
fn cmake_builds_and_follows_changes() {
    if !is_there("cmake") {
        return;
    }
    for (generator, program) in [("Unix Makefiles", "make"), ("Ninja", "ninja")] {
        if !is_there(program) {
            continue;
        }
        let folder = project();
        let folder = folder.path();
        let compiler = format!("-DSYCLBIN_CLANG={}", clang::program().display());
        run(
            folder,
            "cmake",
            &["-B", "build", "-G", generator, &compiler],
        );
        follows_changes(folder, &|| {
            drop(run(folder, "cmake", &["--build", "build"]));
        });
    }
}
