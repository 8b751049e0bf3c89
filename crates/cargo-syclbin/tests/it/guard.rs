// SPDX-License-Identifier: MIT OR Apache-2.0
//! `guard` runs a command once for each side of the buffers. The tests of `syclbin-rt` cover the detection itself.

use std::process::{Command, Output};

fn guard(command: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_cargo-syclbin"));
    program.arg("guard").args(command);
    // The shell must not complain about a missing locale.
    program.env("LC_ALL", "C").env_remove("SYCLBIN_DEVICE");
    program.output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn command_runs_for_each_side() {
    let output = guard(&["sh", "-c", "echo $SYCLBIN_GUARD $SYCLBIN_DEVICE"]);
    assert_eq!(output.stdout, b"end cpu\nstart cpu\n");
    let expected = "guarding the end of each buffer\nguarding the start of each buffer\n\
                    the command succeeded both times\n";
    assert_eq!(errors(&output), expected);
    assert!(output.status.success());
}

#[test]
fn command_runs_once_for_races() {
    let output = guard(&["--races", "sh", "-c", "echo $SYCLBIN_GUARD $SYCLBIN_DEVICE"]);
    assert_eq!(output.stdout, b"races cpu\n");
    assert_eq!(errors(&output), "");
    assert!(output.status.success());
}

#[test]
fn failed_run_is_named() {
    let output = guard(&["sh", "-c", "test $SYCLBIN_GUARD = end"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = errors(&output);
    assert!(
        errors.contains("only the run that guards the start"),
        "{errors}"
    );
}

#[test]
fn missing_program_is_named() {
    let output = guard(&["no-such-program"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = errors(&output);
    assert!(
        errors.contains("cannot start no-such-program: "),
        "{errors}"
    );
}
