//! Precompiled headers: when the compiler is told of them, and what a damaged one does.
#![cfg(unix)] // the compiler is a shell script
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // a test may

mod script;

use script::{COMPILE, Package};

const STEPS: &str = "precompiled\nsource kernels/vector_ops.cpp\ncompile vector_ops";
const OPTION: &str = "--persistent-auto-pch=";

/// A compiler that knows the option, when it is asked about it.
const TAKES: &str = "";
/// One that does not, as clang puts it.
const REFUSES: &str = "case \"$*\" in *--persistent-auto-pch=*) echo \"clang: error: unknown argument\" >&2; exit 1 ;; esac";

fn given(package: &Package) -> Option<String> {
    let arguments = package.recorded("vector_ops");
    arguments.into_iter().find(|one| one.starts_with(OPTION))
}

#[test]
fn a_compiler_that_takes_the_option_gets_a_folder_of_the_cache() {
    let package = Package::new();
    let home = package.path("home");
    let script = package.script(STEPS, COMPILE).env("SYCLBIN_HOME", &home);
    script.env("FAKE_CLANG_PROBE", TAKES).run().succeeded();
    let folder = format!("{OPTION}{}", home.join("precompiled").display());
    assert_eq!(given(&package), Some(folder));
}

#[test]
fn a_compiler_without_the_option_compiles_as_ever() {
    let package = Package::new();
    let script = package.script(STEPS, COMPILE);
    let ran = script.env("FAKE_CLANG_PROBE", REFUSES).run().succeeded();
    assert_eq!(given(&package), None);
    assert!(ran.said("warning").is_empty(), "{ran:?}");
}

#[test]
fn who_does_not_ask_for_them_gets_none() {
    let package = Package::new();
    package.run(COMPILE).succeeded();
    assert_eq!(given(&package), None);
    assert!(!package.questions().contains(OPTION));
}

#[test]
fn a_damaged_file_is_removed_and_the_source_compiled_without() {
    for dies in [
        "echo \"fatal error: malformed block record in PCH file: 'x'\" >&2; exit 1",
        "kill -ABRT $$",
    ] {
        let package = Package::new();
        let home = package.path("home");
        let damaged = package.write("home/precompiled/llvmcache-x", "damaged");
        let compile = format!(
            "if grep -q -e {OPTION} \"$FAKE_CLANG_RECORD/$name$debug\"; then {dies}; fi; {COMPILE}"
        );
        let script = package.script(STEPS, &compile).env("SYCLBIN_HOME", &home);
        script.run().succeeded();
        assert!(package.made("vector_ops").exists());
        assert!(!damaged.exists());
    }
}

#[test]
fn an_error_in_the_source_is_told_at_once() {
    let package = Package::new();
    let compile = "echo x >>\"$FAKE_CLANG_RECORD/runs$debug\"; echo 'kernels/vector_ops.cpp:1:1: error: no' >&2; exit 1";
    let ran = package.script(STEPS, compile).run();
    assert!(ran.failed().contains("1:1: error: no"), "{ran:?}");
    assert_eq!(package.recorded("runs"), ["x"]);
}
