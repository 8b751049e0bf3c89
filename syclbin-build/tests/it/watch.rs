// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that a program compiles again while it runs, as often as it asks.

use std::fs;
use std::time::Duration;

use crate::script::{COMPILE, Package, Ran};

/// What the calls of `poll` return, a line each.
fn polled(package: &Package, steps: &str, fake_clang: &str) -> String {
    // Files that are as new as a compile are compiled again.
    std::thread::sleep(Duration::from_millis(30));
    let steps =
        format!("include include\nsource kernels/vector_ops.cpp\nwatch made.syclbin\n{steps}");
    let fake_clang = format!(
        "[ -z \"$depfile\" ] || echo \"x: $source include/a.hpp\" >\"$depfile\"; {fake_clang}; {COMPILE}"
    );
    let ran: Ran = package.script(&steps, &fake_clang).run().succeeded();
    assert_eq!(ran.stderr, "");
    ran.stdout
}

fn package() -> Package {
    let package = Package::new();
    package.write("include/a.hpp", "good");
    package
}

#[test]
fn changes_compile_once_they_were_seen_twice() {
    let package = package();
    let steps = "poll\npoll\nwrite include/a.hpp other\npoll\npoll\npoll\n\
        write kernels/vector_ops.cpp one\npoll\nwrite kernels/vector_ops.cpp another\npoll\npoll\npoll";
    let said = polled(&package, steps, "echo x >>\"$FAKE_CLANG_RECORD/runs\"");
    let expected = [
        "compiled []",
        "nothing", // a header changes
        "nothing",
        "compiled []",
        "nothing", // the source changes twice
        "nothing",
        "nothing",
        "compiled []",
        "nothing",
    ];
    // Cargo is not told anything.
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    let runs = fs::read_to_string(package.record().join("runs")).unwrap();
    assert_eq!(
        runs.lines().count(),
        6,
        "each compile is for code and declarations"
    );
    assert!(package.path("made.syclbin").is_file());
}

#[test]
fn failed_compile_keeps_file_and_waits_for_header() {
    let package = package();
    let steps = "poll\nwrite include/a.hpp wrong\npoll\npoll\npoll\nwrite include/a.hpp good again\npoll\npoll";
    let fake = "echo \"$source:1:1: warning: careful\" >&2; \
        grep -q wrong include/a.hpp && { echo 'include/a.hpp:1:1: error: no' >&2; exit 1; }";
    let said = polled(&package, steps, fake);
    let expected = "compiled [kernels/vector_ops.cpp:1:1: warning: careful\n]\nnothing\n\
        failed [kernels/vector_ops.cpp:1:1: warning: careful\ninclude/a.hpp:1:1: error: no\n]\
        kernels/vector_ops.cpp does not compile; see the compiler's errors\nnothing\nnothing\n\
        compiled [kernels/vector_ops.cpp:1:1: warning: careful\n]\n";
    assert_eq!(said, expected);
    assert!(package.path("made.syclbin").is_file());
    let left = fs::read_dir(package.path("")).unwrap().count();
    assert_eq!(left, 3, "only the file, and the directories of its sources");
}

#[test]
fn missing_header_compiles_once_it_exists() {
    let package = package();
    let steps = "poll\npoll\nwrite include/b.hpp new\npoll\npoll\npoll";
    let fake = "[ -e include/b.hpp ] || { echo \"$source:1:10: fatal error: 'b.hpp' file not found\" >&2; exit 1; }";
    let said = polled(&package, steps, fake);
    let first: Vec<_> = said
        .lines()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(first[0], "failed", "{said}");
    assert_eq!(said.matches("nothing").count(), 3, "{said}");
    assert!(said.ends_with("nothing\ncompiled []\nnothing\n"), "{said}");
}

#[test]
fn new_file_of_pattern_is_compiled() {
    let package = package();
    package.write("kernels/functor.cpp", "");
    std::thread::sleep(Duration::from_millis(30));
    package.write("kernels/deep/a.hpp", "");
    for (pattern, new) in [("*", "structs"), ("**/*", "deep/structs")] {
        let steps = format!(
            "sources kernels/{pattern}.cpp\nwatch made.syclbin\npoll\npoll\nwrite kernels/{new}.cpp new\npoll\npoll\npoll"
        );
        let ran = package.script(&steps, COMPILE).run().succeeded();
        let expected = [
            "compiled []",
            "nothing",
            "nothing",
            "compiled []",
            "nothing",
        ];
        assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn watch_without_sources_fails_at_once() {
    let package = package();
    let ran = package
        .script("watch made.syclbin\npoll\npoll", COMPILE)
        .run()
        .succeeded();
    let error = "failed []no source was given; add one with .source(\"kernels/NAME.cpp\")";
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), [error, "nothing"]);
}
