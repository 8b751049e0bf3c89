// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crates as they would be published. `user_crate` builds the README's program from the same archives.

use std::path::Path;
use std::process::Command;

use crate::common::registry::Registry;

/// What a registry shows of a crate.
const FIELDS: [&str; 9] = [
    "categories",
    "description",
    "documentation",
    "homepage",
    "keywords",
    "license",
    "readme",
    "repository",
    "rust-version",
];

#[test]
fn archives_are_complete_without_tests() {
    let registry = Registry::get();
    let directory = tempfile::tempdir().unwrap();
    for name in &registry.published {
        let unpacked = registry.unpack(name, directory.path());
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let [ours, theirs] = [workspace.join(licence), unpacked.join(licence)].map(|path| {
                std::fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
            });
            assert!(ours == theirs, "{name}: {licence}");
        }
        let readme = std::fs::read_to_string(unpacked.join("README.md")).unwrap();
        assert!(readme.starts_with(&format!("# {name}\n")), "{name}");
        let manifest = std::fs::read_to_string(unpacked.join("Cargo.toml")).unwrap();
        for key in FIELDS {
            assert!(manifest.contains(&format!("\n{key} = ")), "{name}: {key}");
        }
        assert_no_tests(&unpacked);
    }
}

fn assert_no_tests(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let is_test = ["tests", "benches"].contains(&stem) || stem.ends_with("_tests");
        assert!(!is_test, "{path:?}");
        if path.is_dir() {
            assert_no_tests(&path);
        }
    }
}

#[test]
fn published_tool_installs_and_inspects_a_file() {
    let registry = Registry::get();
    let directory = tempfile::tempdir().unwrap();
    let mut install = Command::new(std::env::var_os("CARGO").unwrap());
    install
        .args(["install", "--offline", "--debug", "--root", "."])
        .args(["cargo-syclbin", "--version", env!("CARGO_PKG_VERSION")])
        .envs(registry.shared_builds())
        .current_dir(&directory);
    let output = install.output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");

    assert!(directory.path().join("bin/syclbin-clang").is_file());
    let file = test_files::path("vector_ops.object.syclbin");
    let mut inspect = Command::new(directory.path().join("bin/cargo-syclbin"));
    let output = inspect.args(["syclbin", "inspect"]).arg(file).output();
    let report = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(report.contains("saxpy"), "{report}");
}
