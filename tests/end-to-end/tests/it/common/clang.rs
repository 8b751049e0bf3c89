// SPDX-License-Identifier: MIT OR Apache-2.0
//! The installed `syclbin-clang`, called as CMake or make would call `clang++`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

/// The program.
pub(crate) fn program() -> PathBuf {
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref()).unwrap();
    let installed = home.newest(Component::Compiler);
    installed
        .expect("the tests need `cargo xtask toolchain`")
        .entry()
}

/// Runs it in a directory.
pub(crate) fn clang(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(folder);
    command.output().unwrap()
}

/// What it said on standard error.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
