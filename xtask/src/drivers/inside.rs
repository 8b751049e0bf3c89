// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process with another root directory, in a mount namespace and without a network.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

pub(super) const MOUNTED: [&str; 6] = ["proc", "dev", "sys", "tmp", "pack", "out"];

/// Mounts the directories that a program needs, and executes the runner of the pack. All mounts end with the process.
const ENTER: &str = r#"set -e
root=$1 pack=$2 out=$3
shift 3
for directory in proc dev sys; do mount --rbind "/$directory" "$root/$directory"; done
mount -t tmpfs tmpfs "$root/tmp"
[ ! -d /dev/dri ] || mount -t tmpfs tmpfs "$root/dev/dri"
mount --bind "$pack" "$root/pack"
mount --bind "$out" "$root/out"
exec chroot "$root" /pack/bin/gpu-report run --pack /pack --out /out "$@""#;

pub(super) const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Returns the command that runs `pack` in `root` and writes to `out`. The caller appends options of the runner.
pub(super) fn command(root: &Path, pack: &Path, out: &Path) -> Command {
    let mut command = unshare();
    command.args(["/bin/sh", "-c", ENTER, "drivers"]);
    command.arg(root).arg(pack).arg(out);
    command.env_clear().env("PATH", PATH);
    command
}

/// Checks whether this machine can run a program in another root.
pub(super) fn check() -> Result<(), String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("the packages of drivers are for x86-64 Linux".to_owned());
    }
    let mut command = unshare();
    command.args(["/bin/sh", "-c", "mount -t tmpfs tmpfs /tmp"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("neither root nor user namespaces are allowed here".to_owned()),
        Err(error) => Err(format!("unshare: {error}")),
    }
}

/// Returns the command that gives a process its own mounts and an empty network.
pub(super) fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--net", "--propagation", "private"]);
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root {
        command.arg("--map-root-user");
    }
    command.arg("--");
    command
}
