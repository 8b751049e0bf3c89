// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of files that a build script no longer builds, and of those that it does.

use std::time::SystemTime;

use syclbin_build::listing;

use crate::script::{COMPILE, Package};

/// Compiles its source if that has no `broken` in it.
const UNLESS_BROKEN: &str = "grep -q broken \"$source\" && exit 1; ";

/// Builds these, each of a source of its own, and ends well whatever happens.
fn build(package: &Package, names: &[&str]) {
    let each = names.iter().map(|name| {
        let folder = format!("kernels/{name}/vector_ops.cpp");
        if !package.path(&folder).exists() {
            package.write(&folder, "");
        }
        format!("source {folder}\ntry_compile {name}\n")
    });
    let steps: String = each.collect();
    let fake = format!("{UNLESS_BROKEN}{COMPILE}");
    package.script(&steps, &fake).run().succeeded();
}

fn listed(package: &Package) -> Vec<String> {
    let found = listing::read(&package.out_dir()).unwrap();
    found.into_keys().collect()
}

/// When the file and its note were written.
fn written(package: &Package, name: &str) -> [SystemTime; 2] {
    let note = package.out_dir().join(format!("syclbin/.sources-{name}"));
    [package.made(name), note].map(|path| path.metadata().unwrap().modified().unwrap())
}

#[test]
fn abandoned_file_is_neither_listed_nor_found() {
    let package = Package::new();
    build(&package, &["a", "b"]);
    let before = written(&package, "b");
    build(&package, &["b", "c"]);
    assert_eq!(listed(&package), ["b", "c"]);
    assert!(!package.made("a").exists());
    assert_eq!(written(&package, "b"), before);
    build(&package, &["b", "c"]);
    assert_eq!(package.left(), ["b.syclbin", "c.syclbin"], "and gone");
    assert_eq!(written(&package, "b"), before);
    build(&package, &["a"]);
    assert_eq!(listed(&package), ["a"]);
}

#[test]
fn rebuilt_files_are_not_rewritten() {
    let package = Package::new();
    let names = ["a", "b", "c"];
    build(&package, &names);
    let before = names.map(|name| written(&package, name));
    for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
        build(&package, &order);
        assert_eq!(names.map(|name| written(&package, name)), before);
        assert_eq!(package.left(), ["a.syclbin", "b.syclbin", "c.syclbin"]);
    }
}

#[test]
fn failed_build_leaves_all_files_unchanged() {
    let package = Package::new();
    let names = ["a", "b", "c", "d"];
    build(&package, &names);
    let before = names.map(|name| written(&package, name));
    let unchanged = |what: &str| {
        assert_eq!(names.map(|name| written(&package, name)), before, "{what}");
    };
    package.write("kernels/b/vector_ops.cpp", "broken");
    // A script that fails ends here.
    build(&package, &["a", "b"]);
    unchanged("after one that was built");
    build(&package, &["b"]);
    unchanged("before any was built");
    build(&package, &["a", "b", "c", "d"]);
    unchanged("in a script that goes on");
    let steps = "source kernels/a/vector_ops.cpp\ntry_compile a\ntry_compile no_source";
    package.script(steps, COMPILE).run().succeeded();
    unchanged("and after a mistake in the script");
    package.write("kernels/b/vector_ops.cpp", "");
    build(&package, &names);
    unchanged("and the next time");
    build(&package, &["b"]);
    assert_eq!(listed(&package), ["b"]);
}

/// What does not compile is something that the script wants.
#[test]
fn file_that_fails_to_compile_stays() {
    let package = Package::new();
    build(&package, &["a", "b"]);
    package.write("kernels/a/vector_ops.cpp", "broken");
    build(&package, &["a", "b"]);
    assert_eq!(package.left(), ["a.syclbin", "b.syclbin"]);
    assert_eq!(listed(&package), ["a", "b"]);
}

#[test]
fn on_docs_rs_it_is_the_same() {
    let package = Package::new();
    build(&package, &["a", "b"]);
    let docs = |steps| {
        let script = package.script(steps, "exit 1").env("DOCS_RS", "1");
        script.run().succeeded();
    };
    docs("source kernels/vector_ops.cpp\ncompile c");
    assert_eq!(listed(&package), ["c"]);
    docs("source kernels/vector_ops.cpp\ncompile d");
    assert_eq!(package.left(), [".abandoned", "d.syclbin"]);
}

#[test]
fn two_files_of_one_name_are_refused() {
    let package = Package::new();
    package.write("a/vector_ops.cpp", "");
    package.write("b/vector_ops.cpp", "");
    let steps =
        "source a/vector_ops.cpp\ntry_compile same\nsource b/vector_ops.cpp\ncompile same\n";
    let said = package.script(steps, COMPILE).run().failed();
    let expected = "the build script builds two files named \"same\"";
    assert!(said.contains(expected), "{said}");
}
