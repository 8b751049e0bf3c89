// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds that Cargo.toml describes.

use crate::script::{COMPILE, Package};

fn package(table: &str) -> Package {
    let package = Package::new();
    package.write("Cargo.toml", &format!("[package]\nname = \"p\"\n{table}"));
    package
}

#[test]
fn manifest_table_is_compiled_like_code() {
    let package = package(
        "[package.metadata.syclbin.both]\n\
         sources = [\"kernels/vector_ops.cpp\", \"kernels/work_group.cpp\"]\n\
         include = [\"inc dir\"]\ndefine = { N = 4, NAME = \"x y\", FAST = true }\n\
         flags = [\"-std=c++20\"]\nlink-at-load = true\nwarnings = false\n\
         targets = [\"spir64\", \"spir64_x86_64\"]\n\
         [package.metadata.syclbin.one]\nsources = [\"kernels/functor.cpp\", \"more/*.cpp\"]\n",
    );
    package.write("kernels/work_group.cpp", "");
    package.write("kernels/functor.cpp", "");
    package.write("more/structs.cpp", "");
    let ran = package.script("manifest", COMPILE).run().succeeded();
    assert!(package.made("both").exists() && package.made("one").exists());
    assert!(ran.said("rerun-if-changed").contains(&"Cargo.toml"));
    assert!(ran.said("rerun-if-changed").contains(&"more"));
    assert_eq!(
        package.recorded("structs").last().unwrap(),
        "more/structs.cpp"
    );
    let given = package.recorded("work_group");
    for argument in [
        "-Iinc dir",
        "-DN=4",
        "-DNAME=x y",
        "-DFAST",
        "-std=c++20",
        "-Wno-everything",
        "-fsycl-targets=spir64,spir64_x86_64",
        "-fsyclbin=object",
    ] {
        assert!(given.iter().any(|one| one == argument), "{argument}");
    }
    assert!(!package.recorded("functor").iter().any(|one| one == "-DN=4"));
}

#[test]
fn manifest_mistake_names_line_and_reruns_script() {
    let package = package("[package.metadata.syclbin.a]\nsorces = []\n");
    let ran = package.script("manifest", COMPILE).run();
    let said = ran.failed();
    assert!(
        said.starts_with("Cargo.toml:4: [package.metadata.syclbin.a] has an unknown key `sorces`"),
        "{said}"
    );
    assert!(ran.said("rerun-if-changed").contains(&"Cargo.toml"));
}

#[test]
fn missing_manifest_table_error_shows_an_example() {
    let package = package("");
    let ran = package.script("manifest", COMPILE).run();
    let said = ran.failed();
    assert!(
        said.starts_with("Cargo.toml has no table [package.metadata.syclbin.NAME]; add one"),
        "{said}"
    );
    let bad = package.write(
        "Cargo.toml",
        "[package]\nname = \"p\"\n[package.metadata.syclbin.\"a b\"]\nsources = \
        [\"kernels/vector_ops.cpp\"]\n",
    );
    assert!(bad.exists());
    let ran = package.script("manifest", COMPILE).run();
    assert!(
        ran.failed().contains("`a b` is not a valid name"),
        "{ran:?}"
    );
}
