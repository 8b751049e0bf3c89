// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commands about files, as users run them: `doctor`, `inspect`, `verify`, `convert`, `extract`, `expand`, `stubs`.

mod convert;
mod doctor;
mod expand;
mod extract;
mod inspect;
mod pack;
mod schema;
mod verify;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The names of all test files that are SYCLBIN.
fn all() -> Vec<String> {
    let files = [
        test_files::reference(),
        test_files::all("nvidia", ".syclbin"),
    ];
    files.into_iter().flatten().map(|(name, _)| name).collect()
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-syclbin"));
    command.args(words).current_dir(test_files::directory());
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(variable);
    }
    command
}

fn run(words: &[&str]) -> Output {
    command(words).output().unwrap()
}

/// Runs the program with `bytes` as its standard input.
fn run_with(words: &[&str], bytes: &[u8]) -> Output {
    let mut child = command(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    child.wait_with_output().unwrap()
}

/// What a run that must go well prints.
fn answer(words: &[&str]) -> String {
    let output = run(words);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{words:?}: {}",
        stderr(&output)
    );
    assert_eq!(stderr(&output), "", "{words:?}");
    stdout(&output)
}

/// What a run that must fail complains of.
fn complaint(words: &[&str]) -> String {
    let output = run(words);
    assert_eq!(output.status.code(), Some(1), "{words:?}");
    assert_eq!(stdout(&output), "", "{words:?}");
    stderr(&output)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// `path` as an argument.
fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    for words in [
        &["inspect"][..],
        &["inspect", "a", "b"],
        &["inspect", "a", "--format", "xml"],
        &["verify"],
        &["verify", "a", "--deny", "notes"],
        &["convert", "a"],
        &["convert", "a", "-o", "b", "--container", "v3"],
        &["convert", "a", "-o", "b", "--state", "linked"],
        &["extract"],
        &["extract", "a", "--list", "--syclbin", "b"],
        &["extract", "a", "--syclbin", "-"],
        &["extract", "a", "-o", "-"],
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert_eq!(stdout(&output), "", "{words:?}");
    }
}

#[cfg(unix)]
#[test]
fn hostile_file_name_is_escaped_everywhere() {
    /// It would clear the screen.
    const HOSTILE: &str = "\u{1b}[2J.o";
    let folder = tempfile::tempdir().unwrap();
    for found in [false, true] {
        for words in [
            &["inspect", HOSTILE][..],
            &["verify", HOSTILE],
            &["convert", HOSTILE, "-o", "x"],
            &["extract", HOSTILE],
        ] {
            let output = command(words).current_dir(&folder).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{words:?}");
            let text = stdout(&output) + &stderr(&output);
            assert!(
                text.contains("\\u{1b}[2J.o") && !text.contains('\u{1b}'),
                "{text:?}"
            );
        }
        if !found {
            // A program without device code.
            let program = env!("CARGO_BIN_EXE_cargo-syclbin");
            std::os::unix::fs::symlink(program, folder.path().join(HOSTILE)).unwrap();
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn unwritable_standard_error_does_not_panic() {
    for words in [
        &["inspect", "none.syclbin"][..],
        &["verify", "none.syclbin"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let status = command(words).stderr(full.unwrap()).status().unwrap();
        assert_eq!(status.code(), Some(1), "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_standard_output_is_reported_once() {
    for words in [
        &["inspect", "globals.object.syclbin"][..],
        &["convert", "globals.object.syclbin", "-o", "-"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let mut command = command(words);
        let output = command.stdout(full.unwrap()).stderr(Stdio::piped());
        let output = output.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let text = stderr(&output);
        assert_eq!(text.matches("No space left").count(), 1, "{text}");
    }
}

#[test]
fn closed_output_pipe_is_not_a_failure() {
    for words in [
        &["inspect", "-"][..],
        &["verify", "-"],
        &["convert", "-", "-o", "-"],
        &["extract", "-", "--list"],
    ] {
        let mut child = command(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Closed before the program has read the file that it writes about.
        drop(child.stdout.take());
        let bytes = test_files::read("globals.object.syclbin");
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert_eq!(stderr(&output), "", "{words:?}");
    }
}

#[test]
fn each_command_names_a_missing_file() {
    for words in [
        &["inspect", "none.syclbin"][..],
        &["verify", "none.syclbin"],
        &["convert", "none.syclbin", "-o", "x"],
        &["extract", "none.syclbin"],
    ] {
        let text = complaint(words);
        assert!(
            text.starts_with("error: cannot read none.syclbin: "),
            "{text}"
        );
    }
}
