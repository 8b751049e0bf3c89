//! What `Build::precompiled_headers` takes for granted of the installed compiler, and that it finds the
//! headers `<syclbin/...>` by itself, as a makefile would have it.
#![allow(clippy::unwrap_used, clippy::panic)] // a test may

use std::path::Path;
use std::process::{Command, Output};

use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

const KERNEL: &str = "#include \"own.hpp\"\n#include <syclbin/kernel.hpp>\n\
    SYCLBIN_KERNEL(1) void k(int *out) { out[0] = OWN; }\n";

/// A command that compiles k.cpp in `folder` to `output`.
fn clang(folder: &Path, output: &str) -> Command {
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref()).unwrap();
    let installed = home.newest(Component::Compiler);
    let program = installed
        .expect("the tests need `cargo xtask toolchain`")
        .entry();
    let mut command = Command::new(program);
    command
        .args(["-fsycl", "-fsyclbin", "-O2", "-o", output, "k.cpp"])
        .current_dir(folder);
    command
}

fn compiled(folder: &Path, precompiled: Option<&Path>) -> Vec<u8> {
    let mut command = clang(folder, "k.syclbin");
    if let Some(precompiled) = precompiled {
        command.arg(option(precompiled));
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    std::fs::read(folder.join("k.syclbin")).unwrap()
}

fn option(precompiled: &Path) -> String {
    format!("--persistent-auto-pch={}", precompiled.display())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with the kernel, and its header.
fn package() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.cpp"), KERNEL).unwrap();
    std::fs::write(folder.path().join("own.hpp"), "#define OWN 1\n").unwrap();
    folder
}

#[test]
fn the_compiler_finds_our_headers_by_itself() {
    let folder = package();
    let mut command = clang(folder.path(), "k.syclbin");
    let output = command.args(["-MD", "-MF", "k.d"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output), "", "headers of the system warn of nothing");
    let list = std::fs::read_to_string(folder.path().join("k.d")).unwrap();
    assert!(list.contains("/include/syclbin/kernel.hpp"), "{list}");
}

#[test]
fn a_changed_header_is_seen_whatever_its_time_says() {
    let folder = package();
    let precompiled = folder.path().join("precompiled");
    let header = folder.path().join("own.hpp");
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1 << 30);
    for value in 1..4 {
        std::fs::write(&header, format!("#define OWN {value}\n")).unwrap();
        let file = std::fs::File::options().write(true).open(&header).unwrap();
        file.set_modified(long_ago).unwrap();
        let expected = compiled(folder.path(), None);
        for turn in ["made", "used"] {
            let found = compiled(folder.path(), Some(&precompiled));
            assert!(found == expected, "{value}, {turn}");
        }
    }
}

#[test]
fn several_compilers_share_a_folder() {
    let folder = package();
    let precompiled = folder.path().join("precompiled");
    let names: Vec<_> = (0..4).map(|index| format!("{index}.syclbin")).collect();
    let started: Vec<_> = names
        .iter()
        .map(|name| {
            let mut command = clang(folder.path(), name);
            command.arg(option(&precompiled)).spawn().unwrap()
        })
        .collect();
    for mut one in started {
        assert!(one.wait().unwrap().success());
    }
    let expected = compiled(folder.path(), None);
    for name in names {
        assert!(std::fs::read(folder.path().join(&name)).unwrap() == expected);
    }
    for entry in std::fs::read_dir(&precompiled).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.starts_with("llvmcache-"), "{name} is left");
    }
}

#[test]
fn a_file_that_does_not_fit_any_more_is_called_precompiled_in_the_error() {
    // A comment does not count for the name of the file, but the size of the header does: the compiler
    // fails, and the build compiles without because of this word.
    let folder = package();
    let precompiled = folder.path().join("precompiled");
    compiled(folder.path(), Some(&precompiled));
    let longer = "// a comment\n#define OWN 1\n";
    std::fs::write(folder.path().join("own.hpp"), longer).unwrap();
    let mut command = clang(folder.path(), "k.syclbin");
    let output = command.arg(option(&precompiled)).output().unwrap();
    assert!(
        !output.status.success(),
        "the fallback is not needed any more"
    );
    assert!(said(&output).contains("precompiled"), "{}", said(&output));
}
