// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `cargo syclbin new` and `cargo syclbin init` create is built, and runs on the CPU.

use std::fs;
use std::path::Path;
use std::process::Command;

use cargo_syclbin::project::existing::Existing;
use cargo_syclbin::project::{Source, init, new};

use super::user_crate::workspace;
use crate::common;
use crate::common::registry::Registry;

/// Builds the program, and compares its output where there is a device.
fn runs(directory: &Path) {
    let cargo = |word: &str| {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap());
        command
            .args([word, "--quiet"])
            .current_dir(directory)
            .envs(Registry::get().shared_builds())
            .env("SYCLBIN_DEVICE", "cpu");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        (String::from_utf8(output.stdout).unwrap(), said)
    };
    let (_, warnings) = cargo("build");
    assert_eq!(warnings, "");
    if common::queue().is_some() {
        let (said, _) = cargo("run");
        assert!(
            said.contains("(cpu") && said.ends_with(": y[0] = 4\n"),
            "{said}"
        );
    }
}

#[test]
fn new_program_builds_and_runs() {
    let root = tempfile::tempdir().unwrap();
    let options = new::Options {
        name: "new-program".to_owned(),
        source: Source::default(),
        existing: Existing::default(),
    };
    new::run(&options, root.path()).unwrap();
    runs(&root.path().join("new-program"));
}

#[test]
fn init_adds_a_kernel_that_runs() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(root.path().join(name), text).unwrap();
    fs::create_dir(root.path().join("src")).unwrap();
    let head = "[package]\nname = \"old-program\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    write("Cargo.toml", head);
    write("src/main.rs", "fn main() {}\n");
    Registry::get().configure(&root.path().join(".cargo"));
    let summary = init::run(&Source::default(), root.path()).unwrap();
    let (_, code) = summary.text.split_once("add to src/main.rs:\n").unwrap();
    let main = "fn main() -> syclbin_rt::Result<()> {\n    saxpy()\n}\n";
    write("src/main.rs", &format!("{code}{main}"));
    runs(root.path());
}

#[test]
fn existing_sources_become_a_program() {
    let root = tempfile::tempdir().unwrap();
    let kernels = workspace().join("tests/end-to-end/tests/kernels");
    let old = root.path().join("old");
    fs::create_dir_all(old.join("src")).unwrap();
    for name in ["kinds", "ranges"] {
        let header = old.join(name).with_extension("hpp");
        fs::copy(kernels.join(name).with_extension("cpp"), header).unwrap();
    }
    // The copies find the headers beside the originals, and those in other directories.
    let (one, two) = (old.join("src/one.cpp"), old.join("src/two.cpp"));
    fs::write(one, "#include \"../kinds.hpp\"\n").unwrap();
    fs::write(two, "#include RANGES\n").unwrap();
    let options = new::Options {
        name: "ported".to_owned(),
        source: Source::default(),
        existing: Existing {
            sources: vec!["old/src/one.cpp".into(), "old/src/two.cpp".into()],
            flags: ["-DRANGES=<ranges.hpp>", "-Iold"].map(str::to_owned).into(),
        },
    };
    new::run(&options, root.path()).unwrap();
    let program = root.path().join("ported");
    let build = || {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap());
        // `cargo check` would compile the dependencies again.
        command.args(["build", "--quiet"]).current_dir(&program);
        command.envs(Registry::get().shared_builds());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let said = build();
    assert!(!said.contains("unused"), "{said}");
    // All drafts compile too.
    let main = program.join("src/main.rs");
    let draft = fs::read_to_string(&main).unwrap();
    let is_code = |line: &&str| !["/*", "*/"].contains(&line.trim());
    let code: Vec<_> = draft.lines().filter(is_code).collect();
    assert!(draft.lines().count() > code.len() + 20, "{draft}");
    fs::write(&main, code.join("\n")).unwrap();
    build();
}
