// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs programs for aarch64 under QEMU, in a root with PoCL for aarch64.
//!
//! PoCL itself starts `llvm-spirv` and a linker. The kernel may not be configured to run these in QEMU, so a small
//! x86-64 program replaces each of them, and starts the original in QEMU.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::debian::ARM;
use super::inside::{self, unshare};
use super::root::Root;
use syclbin_toolchain::file::find_program;

use crate::files::{at, write};
use crate::steps::{Result, step};

/// The programs that must be on `PATH`, each with its Debian package.
pub(crate) const NEEDED: [(&str, &str); 3] = [
    ("qemu-aarch64-static", "qemu-user-static"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("gcc", "gcc"),
];

/// Prefixes of the names of the programs that PoCL starts, in addition to `ld`.
const STARTED: [&str; 3] = ["llvm-spirv", "ld.bfd", "aarch64-linux-gnu-ld"];

/// The C source of the replacement. Installed as `NAME`, it starts `NAME.real` in QEMU.
const STARTER: &str = r#"#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
  char real[4096] = {0};
  ssize_t length = readlink("/proc/self/exe", real, sizeof real - 6);
  if (length < 0) return 126;
  snprintf(real + length, 6, ".real");
  char *arguments[argc + 2];
  arguments[0] = "/qemu";
  arguments[1] = real;
  for (int i = 1; i <= argc; ++i) arguments[i + 1] = argv[i];
  execv("/qemu", arguments);
  return 127;
}
"#;

/// A shell script that mounts `/proc`, `/dev` and `/sys` in the root `$1`, and runs the program `$2` there in QEMU.
const ENTER: &str = r#"set -e
root=$1 program=$2
shift 2
for directory in proc dev sys; do mount --rbind "/$directory" "$root/$directory"; done
cp "$program" "$root/out/program"
exec chroot "$root" /qemu /out/program "$@""#;

/// Returns the root, or the reason why this machine cannot provide it.
pub(crate) fn root(directory: &Path) -> Result<std::result::Result<Root, String>> {
    if let Err(reason) = inside::check() {
        return Ok(Err(reason));
    }
    let root = match Root::get(directory, &ARM)? {
        Ok(root) => root,
        Err(reason) => return Ok(Err(reason)),
    };
    let qemu = root.path("qemu");
    if qemu.exists() {
        return Ok(Ok(root));
    }
    let [source, starter] = ["starter.c", "starter"].map(|name| directory.join(name));
    write(&source, STARTER)?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-static", "-O1", "-o"])
        .arg(&starter)
        .arg(&source);
    step("the starter of QEMU", &mut gcc)?;
    let programs = root.path("usr/bin");
    let entries = fs::read_dir(&programs).map_err(|error| at(&programs, &error))?;
    let mut started: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    started.retain(|program| {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let is_started = name == "ld" || STARTED.iter().any(|prefix| name.starts_with(prefix));
        is_started && !name.ends_with(".real")
    });
    // Some are links to others, so copy all of them before replacing any.
    for program in started.iter().filter(|program| !real(program).exists()) {
        fs::copy(program, real(program)).map_err(|error| at(program, &error))?;
    }
    for program in &started {
        fs::remove_file(program)
            .and_then(|()| fs::copy(&starter, program))
            .map_err(|error| at(program, &error))?;
    }
    let found = find_program(NEEDED[0].0, std::env::var_os("PATH").as_deref());
    let found = found.ok_or("QEMU is missing")?;
    let part = root.path("qemu.part");
    fs::copy(found, &part)
        .and_then(|_| fs::rename(&part, &qemu))
        .map_err(|error| at(&qemu, &error))?;
    Ok(Ok(root))
}

fn real(program: &Path) -> PathBuf {
    let mut name = program.as_os_str().to_owned();
    name.push(".real");
    name.into()
}

/// Returns the command that runs an aarch64 program in `root`.
pub(crate) fn command(root: &Root, program: &Path) -> Command {
    let mut command = unshare();
    command.args(["/bin/sh", "-c", ENTER, "platforms"]);
    command.arg(root.path("")).arg(program);
    command
        .env_clear()
        .env("PATH", inside::PATH)
        .env("HOME", "/out");
    let driver = "/usr/lib/aarch64-linux-gnu/libpocl.so.2";
    command.env("OPENCL_DYLIB_PATH", driver);
    command
}
