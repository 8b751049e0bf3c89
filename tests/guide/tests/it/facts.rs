// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts that the code and several documents state.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::root;

/// The variables that only tests inside of crates use.
const OF_TESTS: [&str; 2] = ["SYCLBIN_NO_SUCH_VARIABLE", "SYCLBIN_RT_TEST_CHILD"];

#[test]
fn the_guide_lists_every_environment_variable() {
    let mut variables = BTreeSet::new();
    for directory in ["syclbin-build", "syclbin-rt", "crates"] {
        read_variables(&root().join(directory), &mut variables);
    }
    assert!(variables.len() > 10, "{variables:?}");
    let page = fs::read_to_string(root().join("book/src/environment.md")).unwrap();
    variables.retain(|variable| !OF_TESTS.contains(&&**variable));
    variables.retain(|variable| !page.contains(&format!("`{variable}")));
    assert!(variables.is_empty(), "environment.md lacks {variables:?}");
}

/// Adds the names in quotation marks of all Rust files below `src` directories.
fn read_variables(directory: &Path, variables: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_variables(&path, variables);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && path.iter().any(|part| part == "src")
        {
            let text = fs::read_to_string(&path).unwrap();
            let quoted = text.split('"').filter(|part| {
                let is_name = |letter: char| letter.is_ascii_uppercase() || letter == '_';
                part.starts_with("SYCLBIN_") && part.chars().all(is_name)
            });
            variables.extend(quoted.map(str::to_owned));
        }
    }
}

#[test]
fn documents_name_the_rust_version_of_the_workspace() {
    let version = env!("CARGO_PKG_RUST_VERSION");
    for name in ["README.md", "book/src/install.md"] {
        let text = fs::read_to_string(root().join(name)).unwrap();
        let stated: BTreeSet<&str> = text
            .split("Rust 1.")
            .skip(1)
            .map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap())
            .collect();
        let expected = BTreeSet::from([version.split('.').nth(1).unwrap()]);
        assert_eq!(stated, expected, "{name}");
    }
}

/// `performance.md` advises against `get_global_linear_id()` in one dimension.
#[test]
fn first_kernels_follow_the_advice_of_the_guide() {
    for name in [
        "README.md",
        "book/src/first-program.md",
        "crates/cargo-syclbin/templates/saxpy.cpp",
        "examples/saxpy/kernels/saxpy.cpp",
    ] {
        let text = fs::read_to_string(root().join(name)).unwrap();
        assert!(text.contains("get_global_id(0)"), "{name}");
        assert!(!text.contains("get_global_linear_id"), "{name}");
    }
}
