// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fetching with a pip, played by shell scripts.
#![cfg(unix)]

use std::fs;

use cargo_syclbin::error::Error;
use cargo_syclbin::toolchain::install::Outcome::{Installed, Present};
use cargo_syclbin::toolchain::install::Source;
use cargo_syclbin::toolchain::pip::Search;

use super::world::{Silent, World};

/// A pip that runs `script` to download. It is called through `sh`, never executed itself: a file
/// that was just written cannot be, while another thread's child still holds it open.
pub(crate) fn pip(world: &World, script: &str) -> Source {
    let path = world.root().join("pip.sh");
    let answer = "[ \"$1\" = --version ] && { echo fake pip 1; exit; }";
    fs::write(&path, format!("{answer}\n{script}\n")).unwrap();
    Source::Pip(Search {
        explicit: Some(format!("sh {}", path.display()).into()),
        path: std::env::var_os("PATH"),
    })
}

/// The script that brings all wheels, and counts its calls in the file `calls`.
pub(crate) fn bring_all(world: &World) -> String {
    let root = world.root().display();
    format!(
        "echo \"$@\" >> {root}/calls\n\
         while [ \"$1\" != --dest ]; do shift; done\n\
         cp {root}/wheels/* \"$2\""
    )
}

#[test]
fn one_pip_call_downloads_all_components() {
    let world = World::new();
    let source = pip(&world, &bring_all(&world));
    let install = || world.install_from(&source, false, &Silent).unwrap();
    assert_eq!(install(), [Installed, Installed]);
    assert_eq!(install(), [Present, Present]);
    let calls = fs::read_to_string(world.root().join("calls")).unwrap();
    assert_eq!(calls.lines().count(), 1, "{calls}");
    assert!(calls.contains("--no-deps --only-binary=:all: "), "{calls}");
    assert!(
        calls.ends_with(" fake-sycl==1.2.3 fake-math==1.2.3 fake-opencl==1.2.3\n"),
        "a wheel of two components is fetched once: {calls}"
    );
    assert_eq!(world.in_home().len(), 2, "the fetched wheels are not kept");
}

#[test]
fn missing_pip_error_names_candidates_and_wheels() {
    let world = World::new();
    let source = Source::Pip(Search::default());
    let error = world.install_from(&source, false, &Silent).unwrap_err();
    let text = error.to_string();
    for expected in [
        "`python3 -m pip`",
        "`uv tool run pip`",
        "SYCLBIN_PIP",
        "--wheels DIR",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(text.contains(world.pins[0].wheels[0].sha256), "{text}");
    assert_eq!(world.in_home(), [""; 0]);
}

#[test]
fn failing_pip_is_reported_with_exit_code() {
    let world = World::new();
    let source = pip(&world, "exit 7");
    let error = world.install_from(&source, false, &Silent).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::PipFailed { .. }), "{text}");
    for expected in ["pip.sh download`", "7", "PIP_INDEX_URL", "--wheels DIR"] {
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(world.in_home(), [""; 0]);
}

#[test]
fn wheels_from_pip_are_checked() {
    let world = World::new();
    let nothing = pip(&world, "exit 0");
    let error = world.install_from(&nothing, false, &Silent).unwrap_err();
    assert!(matches!(error, Error::MissingWheels { .. }), "{error}");

    let lengthen = "for wheel in \"$2\"/fake_math*; do echo >> \"$wheel\"; done";
    let forged = pip(&world, &format!("{}\n{lengthen}", bring_all(&world)));
    let error = world.install_from(&forged, false, &Silent).unwrap_err();
    assert!(matches!(error, Error::WrongWheel { .. }), "{error}");
    assert_eq!(world.in_home(), [""; 0]);
}
