// SPDX-License-Identifier: MIT OR Apache-2.0
//! zig, the linker of packs. It knows the symbols of every glibc.
//!
//! A program does not start with a glibc older than the one it was linked with, so `cargo-zigbuild` makes Cargo link
//! with zig. Both are pinned wheels from PyPI, fetched once per target directory.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_syclbin::toolchain::pip::Search;

use super::at;
use crate::steps::{Result, step};

/// The packages to fetch, with the hashes of their wheels for x86-64 Linux.
const REQUIREMENTS: &str = "\
ziglang==0.17.1 --hash=sha256:ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54
cargo-zigbuild==0.24.0 --hash=sha256:484412e39e4c6039474535ce97ee75a22bab22d58233056f8ec8a8f9034bb957
";
/// Must change with [`REQUIREMENTS`].
const DIRECTORY: &str = "zig-0.17.1-0.24.0";

pub(super) struct Zig {
    directory: PathBuf,
}

impl Zig {
    /// Returns the linker in `target`, and fetches it with the user's pip if it is missing.
    pub(super) fn get(target: &Path) -> Result<Self> {
        let directory = target.join(DIRECTORY);
        if !directory.exists() {
            fetch(target, &directory).map_err(|error| {
                format!(
                    "cannot fetch zig, which links programs for an old glibc: {error}; \
                     install {} into {} by `pip install --target`",
                    requirements().join(" and "),
                    directory.display()
                )
            })?;
        }
        Ok(Self { directory })
    }

    /// Returns Cargo with this linker. The first argument must be the subcommand.
    pub(super) fn cargo(&self) -> Command {
        let mut command = Command::new(self.directory.join("bin/cargo-zigbuild"));
        let cargo = std::env::var_os("CARGO");
        command
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .env("CARGO", cargo.as_deref().unwrap_or(OsStr::new("cargo")))
            .env(
                "CARGO_ZIGBUILD_ZIG_PATH",
                self.directory.join("ziglang/zig"),
            )
            .env("CARGO_ZIGBUILD_CACHE_DIR", self.directory.join("wrappers"))
            .env("ZIG_GLOBAL_CACHE_DIR", self.directory.join("cache"));
        command
    }
}

fn requirements() -> Vec<&'static str> {
    let lines = REQUIREMENTS.lines();
    lines.filter_map(|line| line.split(' ').next()).collect()
}

/// Fetches both wheels into `directory`. It appears only once it is complete.
fn fetch(target: &Path, directory: &Path) -> Result<()> {
    std::fs::create_dir_all(target).map_err(|error| at(target, error))?;
    let work = tempfile::tempdir_in(target).map_err(|error| at(target, error))?;
    let list = work.path().join("requirements.txt");
    std::fs::write(&list, REQUIREMENTS).map_err(|error| at(&list, error))?;
    let pip = Search::from_env().find()?;
    let unpacked = work.path().join("unpacked");
    let mut command = pip.command();
    command
        .args([
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ])
        .args(["--require-hashes", "--only-binary=:all:", "--target"])
        .arg(&unpacked)
        .arg("--requirement")
        .arg(&list)
        .env("PIP_ROOT_USER_ACTION", "ignore")
        .env("TMPDIR", work.path());
    step("zig", &mut command)?;
    match std::fs::rename(&unpacked, directory) {
        // Another process has fetched them in the meantime.
        Err(_) if directory.exists() => Ok(()),
        renamed => renamed.map_err(|error| at(directory, error)),
    }
}
