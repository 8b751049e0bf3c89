// SPDX-License-Identifier: MIT OR Apache-2.0
//! A home directory that cannot be written, or not to the end.

use std::fs;
#[cfg(unix)]
use std::io::Write as _;

use cargo_syclbin::error::Error;

use super::world::World;

#[test]
fn impossible_home_is_named_with_remedy() {
    let world = World::new();
    // A file where the home directory should be: even root cannot write below that.
    fs::write(world.home.path(), "").unwrap();
    let error = world.install().unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Home { .. }), "{text}");
    for expected in [world.home.path().to_str().unwrap(), "SYCLBIN_HOME"] {
        assert!(text.contains(expected), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn read_only_home_is_reported_but_usable() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    fs::create_dir(world.home.path()).unwrap();
    let allow = |mode| fs::set_permissions(world.home.path(), PermissionsExt::from_mode(mode));
    allow(0o555).unwrap();
    if fs::write(world.home.path().join("probe"), "").is_ok() {
        let _ = writeln!(std::io::stderr(), "skipped: this user may write everywhere"); // not kept back
        allow(0o755).unwrap();
        return;
    }
    let error = world.install().unwrap_err();
    assert!(matches!(error, Error::Home { .. }), "{error}");
    allow(0o755).unwrap();
    world.install().unwrap();
    allow(0o555).unwrap();
    assert!(world.install().is_ok());
    allow(0o755).unwrap();
}

/// A full disk, played by a limit on the size of files: the write in question fails alike.
#[cfg(unix)]
#[test]
fn full_disk_leaves_nothing_and_names_file() {
    use std::process::{Command, Stdio};
    let world = World::new();
    let install = super::interrupted::command(&world, u64::MAX);
    let mut limited = Command::new("bash");
    // 100 kB, less than the largest member; the signal would end the process before the error.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 100 && exec \"$@\"", "bash"]);
    limited.arg(install.get_program()).args(install.get_args());
    limited.envs(
        install
            .get_envs()
            .filter_map(|(key, value)| Some((key, value?))),
    );
    let Ok(output) = limited.stdout(Stdio::null()).output() else {
        let _ = writeln!(std::io::stderr(), "skipped: no bash"); // not kept back
        return;
    };
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(text.contains("libimf.so"), "{text}");
    assert_eq!(world.in_home(), [""; 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn white_space_in_home_is_refused_with_remedy() {
    let mut world = World::new();
    let home = world.root().join("a home");
    world.home = syclbin_toolchain::Home::locate(Some(home.as_os_str())).unwrap();
    let error = world.install().unwrap_err();
    assert!(matches!(error, Error::Unsuitable(_)), "{error}");
    assert!(error.to_string().contains("SYCLBIN_HOME"), "{error}");
    assert!(!home.exists());
}

/// The mount is in a namespace of the child process only.
#[cfg(target_os = "linux")]
#[test]
fn home_mounted_noexec_is_refused() {
    use std::process::Command;
    let world = World::new();
    fs::create_dir(world.home.path()).unwrap();
    let install = super::interrupted::command(&world, u64::MAX);
    let mount = "mount -t tmpfs -o noexec tmpfs \"$0\"";
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]);
        command.arg(world.home.path());
        command
    };
    if !unshare(mount)
        .output()
        .is_ok_and(|tried| tried.status.success())
    {
        let _ = writeln!(std::io::stderr(), "skipped: this user may not mount"); // not kept back
        return;
    }
    let mut mounted = unshare(&format!("{mount} && exec \"$@\""));
    mounted.arg(install.get_program()).args(install.get_args());
    mounted.envs(
        install
            .get_envs()
            .filter_map(|(key, value)| Some((key, value?))),
    );
    let output = mounted.output().unwrap();
    let text = [output.stderr, output.stdout].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(!output.status.success());
    assert!(text.contains("NotExecutable"), "{text}");
    assert_eq!(world.in_home(), [""; 0]);
}
