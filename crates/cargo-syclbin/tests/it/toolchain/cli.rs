// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program as users run it, with the real pins but never the network.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program with a home directory and no search path.
fn syclbin(home: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-syclbin"))
        .args(words)
        .env("SYCLBIN_HOME", home)
        .env("PATH", "")
        .env_remove("SYCLBIN_PIP")
        .env_remove("SYCLBIN_CLANG")
        .env_remove("SYCLBIN_DEVICE")
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn runs_with_and_without_cargo() {
    let home = tempfile::tempdir().unwrap();
    for words in [
        &["syclbin", "toolchain", "path"][..],
        &["toolchain", "path"],
    ] {
        let output = syclbin(home.path(), words);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(stdout(&output), format!("{}\n", home.path().display()));
    }
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    let home = tempfile::tempdir().unwrap();
    for words in [
        &[][..],
        &["toolchain", "install", "--component", "linker"],
        &["toolchain", "remove"],
        &["toolchain", "remove", "compiler", "--all"],
    ] {
        let output = syclbin(home.path(), words);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{words:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn missing_component_has_no_path() {
    let home = tempfile::tempdir().unwrap();
    let output = syclbin(home.path(), &["toolchain", "path", "cpu-device"]);
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(1), "")
    );
    let text = stderr(&output);
    assert!(
        text.starts_with("error: cpu-device is not installed in "),
        "{text}"
    );
    assert!(
        text.contains("cargo syclbin toolchain install --component cpu-device"),
        "{text}"
    );
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn licences_are_shown_before_anything_is_fetched() {
    let home = tempfile::tempdir().unwrap();
    let output = syclbin(home.path(), &["syclbin", "toolchain", "install"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    let at = |words: &str| {
        text.find(words)
            .unwrap_or_else(|| panic!("{words} in {text}"))
    };
    assert!(at("Intel End User License Agreement") < at("error: found no pip"));
    assert!(at("Intel Simplified Software License") < at("error: found no pip"));
    assert!(text.contains("cpu-device/2026.2.0/licenses/tbb"), "{text}");
    assert!(
        !text.contains("nvidia"),
        "it is not installed unasked: {text}"
    );
    let install = ["toolchain", "install", "--component", "nvidia"];
    let text = stderr(&syclbin(home.path(), &install));
    assert!(text.contains("NVIDIA Software License Agreement"), "{text}");
    assert!(
        text.contains("nvidia/13.5.37/licenses/nvidia-nvvm") && !text.contains("intel"),
        "{text}"
    );
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_folder_of_other_wheels_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let wheels = home.path().join("wheels");
    std::fs::create_dir(&wheels).unwrap();
    let install = ["toolchain", "install", "--wheels", wheels.to_str().unwrap()];
    let text = stderr(&syclbin(home.path(), &install));
    assert!(text.contains("lacks these wheels"), "{text}");
    for wheel in cargo_syclbin::toolchain::pins::ALL
        .iter()
        .flat_map(|pin| &pin.wheels)
    {
        std::fs::write(wheels.join(wheel.file), "not this").unwrap();
    }
    let output = syclbin(home.path(), &install);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains("contains 8 bytes with SHA-256 ")
            && text.contains("but the pinned wheel contains 172457265 bytes"),
        "{text}"
    );
}

#[test]
fn empty_home_is_listed_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let listed = syclbin(home.path(), &["toolchain", "list"]);
    assert!(stdout(&listed).starts_with("nothing is installed in "));
    let removed = syclbin(home.path(), &["toolchain", "remove", "--all"]);
    assert_eq!(removed.status.code(), Some(0));
}

#[test]
fn doctor_fails_on_bare_machine_with_remedies() {
    let home = tempfile::tempdir().unwrap();
    let output = syclbin(home.path(), &["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("!! compiler"), "{text}");
    assert!(text.contains(" -> "), "{text}");
    let expected = format!("{} (SYCLBIN_HOME)", home.path().display());
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn doctor_fails_if_only_compiling_fails() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-syclbin"));
    command.arg("doctor").env_remove("SYCLBIN_DEVICE");
    let output = command.env("SYCLBIN_CLANG", "no-such-compiler").output();
    let output = output.unwrap();
    let text = stdout(&output);
    assert!(text.contains("!! compiler"), "{text}");
    assert_eq!(output.status.code(), Some(1), "{text}");
    if !text.contains("ok trial        ran ") {
        let is_required = std::env::var("SYCLBIN_REQUIRE_DEVICE").is_ok_and(|one| one == "1");
        assert!(!is_required, "{text}");
        let mut stderr = std::io::stderr();
        let _ = writeln!(stderr, "skipped a part: no kernel ran"); // not kept back
    }
}
