// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin verify`.

use serde_json::json;

use super::schema::check;
use super::{command, run, run_with, stderr, stdout};

#[test]
fn sound_file_passes_and_damaged_file_fails() {
    let output = run(&["verify", "vector_ops.object.syclbin"]);
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(0), "")
    );
    let last = "\nvector_ops.object.syclbin: good, 1 note\n";
    assert!(stdout(&output).ends_with(last), "{}", stdout(&output));

    let bytes = test_files::read("vector_ops.object.syclbin");
    let output = run_with(&["verify", "-"], &bytes[..bytes.len() - 9]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(
        text.contains("-:0x8: error: OffloadBinary header: "),
        "{text}"
    );
    assert!(text.ends_with("-: bad, 1 error\n"), "{text}");
}

#[test]
fn bad_file_does_not_stop_the_others() {
    let files = ["globals.object.syclbin", "constants.object.syclbin"];
    let output = run(&["verify", files[0], "none.syclbin", files[1]]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(
        text.contains("globals.object.syclbin: good, 1 note\n"),
        "{text}"
    );
    assert!(
        text.contains("constants.object.syclbin: bad, 3 errors, 1 note\n"),
        "{text}"
    );
    let text = stderr(&output);
    assert!(
        text.starts_with("error: cannot read none.syclbin: "),
        "{text}"
    );
}

#[test]
fn warnings_decide_only_when_they_are_denied() {
    // A native image without a target, as files from before July 2025 have it.
    let bytes = {
        use syclbin::property::{key, set};
        use syclbin::{AbstractModule, Container, Image, PropertySets, State, Syclbin, write};
        let mut module = AbstractModule::default();
        module.add_kernel_name("k");
        let mut image = Image::native(
            "x86_64",
            "",
            test_files::read("vector_ops.executable.syclbin"),
        );
        image.metadata = PropertySets::default();
        image
            .metadata
            .insert(set::NATIVE_IMAGE, key::ARCH, "x86_64");
        module.images.push(image);
        let mut file = Syclbin::new(State::Executable);
        file.modules.push(module);
        write::to_vec(&file, Container::default()).unwrap()
    };
    let output = run_with(&["verify", "-"], &bytes);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(
        stdout(&output).contains(": warning: "),
        "{}",
        stdout(&output)
    );
    let verdict = "-: usable, 1 warning\n";
    assert!(stdout(&output).ends_with(verdict), "{}", stdout(&output));
    let output = run_with(&["verify", "--deny", "warnings", "-"], &bytes);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn json_report_has_verdict_and_unreadable_files() {
    let words = [
        "verify",
        "constants.object.syclbin",
        "none",
        "--format",
        "json",
    ];
    let output = run(&words);
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(1), "")
    );
    let report = check("verify", &stdout(&output));
    assert_eq!(report["passed"], json!(false));
    assert_eq!(
        report["files"][0]["findings"][1]["severity"],
        json!("error")
    );
    assert!(report["files"][1]["unreadable"].is_string(), "{report:#}");
}

#[test]
fn findings_have_colour_only_when_forced() {
    let words = ["verify", "constants.object.syclbin"];
    assert!(!stdout(&run(&words)).contains('\u{1b}'));
    let forced = command(&words).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(stdout(&forced).contains("\u{1b}[1m\u{1b}[31merror\u{1b}[0m"));
}
