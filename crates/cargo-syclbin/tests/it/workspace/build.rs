// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin build`.

use super::{World, stderr, stdout};

/// Both packages report a file that is as it should be.
const FRESH: &str = "report one k/a.syclbin fresh ''; report two k/b.syclbin fresh ''";

#[test]
fn kernel_packages_build_in_a_separate_directory() {
    let world = World::new();
    let output = world.run(&["build", "--commit", "--", "--features", "fast"], FRESH);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let asked = world.read("asked");
    let asked: Vec<_> = asked.lines().collect();
    assert_eq!(asked[..3], ["check", "--quiet", "--keep-going"]);
    let folder = world.path("target/syclbin");
    assert!(asked.contains(&folder.to_str().unwrap()), "{asked:?}");
    let packages: Vec<_> = asked.iter().filter(|word| word.contains('#')).collect();
    assert_eq!(packages.len(), 2, "{asked:?}");
    assert!(
        !asked.iter().any(|word| word.contains("plain")),
        "{asked:?}"
    );
    let mut pairs = asked.windows(2);
    assert!(
        pairs.any(|pair| pair == ["--features", "fast"]),
        "{asked:?}"
    );
    let (one, two) = (world.path("one"), world.path("two"));
    let orders = format!("commit\n{}\n{}", one.display(), two.display());
    assert_eq!(world.read("orders"), orders);
    let output = world.run(&["build", "--check", "-p", "two"], FRESH);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(world.read("orders"), format!("check\n{}", two.display()));
}

#[test]
fn check_lists_files_and_fails_if_stale() {
    let world = World::new();
    let reports = "report one k/a.syclbin fresh ''; report two k/b.syclbin stale 'k/b.cpp changed'";
    // What rustc says of missing kernels is not news.
    let script = format!("{reports}; echo 'error: rustc' >&2; exit 101");
    let output = world.run(&["syclbin", "build", "--check"], &script);
    assert_eq!(output.status.code(), Some(1));
    let expected = "fresh    one/k/a.syclbin\nstale    two/k/b.syclbin: k/b.cpp changed\n";
    assert_eq!(stdout(&output), expected);
    let expected = "error: files are stale; run `cargo syclbin build --commit` and commit them\n";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn scripts_that_did_not_run_are_errors() {
    let world = World::new();
    let script = "report one k/a.syclbin fresh ''; echo 'error: no such feature' >&2; exit 101";
    for order in ["--check", "--commit"] {
        let output = world.run(&["build", order], script);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(stdout(&output), "fresh    one/k/a.syclbin\n");
        let said = stderr(&output);
        assert!(said.contains("error: no such feature\n"), "{said}");
        assert!(said.contains("error: Cargo failed"), "{said}");
    }
}

#[test]
fn failed_script_is_an_error_despite_its_reports() {
    let world = World::new();
    for failure in [
        "build script logged errors",
        "failed to run custom build command for `one`",
    ] {
        let script = format!(
            "report one k/a.syclbin fresh ''; report two '' none ''; echo 'error: {failure}' >&2; exit 101"
        );
        let output = world.run(&["build", "--check"], &script);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(failure));
    }
}

#[test]
fn packages_without_prebuilt_files_get_a_hint() {
    let world = World::new();
    let script = "report one '' none ''; report two '' none ''; exit 101";
    let output = world.run(&["build", "--check"], script);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("add one with .prebuilt("));
}

#[test]
fn a_wrong_selection_is_named() {
    let world = World::new();
    for (words, expected) in [
        (vec!["-p", "three"], "the workspace has no package three"),
        (vec!["-p", "plain"], "no package here builds kernels"),
        (
            vec!["--manifest-path", "/nowhere/Cargo.toml"],
            "cannot read the workspace: ",
        ),
    ] {
        let output = world.run(&[&["build", "--check"], &words[..]].concat(), "exit 3");
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    for words in [&["build"][..], &["build", "--check", "--commit"]] {
        assert_eq!(world.run(words, "").status.code(), Some(2));
    }
}
