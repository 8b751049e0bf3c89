// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commands about a workspace, as users run them: `build`, `list` and `watch`. Cargo is asked about the workspace, and
//! a shell script runs in its place where it would compile: what build scripts do with their orders
//! is tested in `syclbin-build`.

mod build;
mod list;
mod watch;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A workspace of three packages, of which `one` and `two` build kernels.
struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self {
            root: tempfile::tempdir().unwrap(),
        };
        world.write(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"one\", \"two\", \"plain\"]\n",
        );
        for (name, rest) in [
            ("one", "[build-dependencies]\nsyclbin-build = \"0.1\"\n"),
            ("two", "[build-dependencies]\nsyclbin-build = \"0.1\"\n"),
            ("plain", "[dependencies]\nsyclbin-build = \"0.1\"\n"),
        ] {
            let head = "version = \"0.1.0\"\nedition = \"2024\"\n";
            let manifest = format!("[package]\nname = \"{name}\"\n{head}{rest}");
            world.write(&format!("{name}/Cargo.toml"), &manifest);
            world.write(&format!("{name}/src/lib.rs"), "");
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Runs the program; `script` is what Cargo does when it is told to compile. `$orders` is the
    /// directory with the orders, and `report PACKAGE FILE WORD REASON` leaves a report there.
    fn run(&self, words: &[&str], script: &str) -> Output {
        self.command(words, script).output().unwrap()
    }

    fn command(&self, words: &[&str], script: &str) -> Command {
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = metadata ] && exec cargo \"$@\"\n\
             printf '%s\\n' \"$@\" >'{root}/asked'\norders=$SYCLBIN_PREBUILT_ORDERS\n\
             tr '\\0' '\\n' <\"$orders/orders\" >'{root}/orders'\n\
             report() {{ printf '{root}/%s\\0%s\\0%s\\0%s' \"$@\" >\"$orders/report-$1-$3\"; }}\n\
             {script}\n",
            root = self.path("").display().to_string().trim_end_matches('/'),
        );
        let cargo = self.write("cargo.sh", &text);
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-syclbin"));
        command
            .args(words)
            .current_dir(self.path("one"))
            .env("CARGO", cargo)
            .env_remove("CARGO_TARGET_DIR");
        command
    }

    /// Has Cargo say that the script of a package wrote to `PACKAGE/out`.
    fn executed(&self, package: &str) -> String {
        let folder = self.path(package);
        let folder = folder.display();
        format!(
            r#"echo '{{"reason":"build-script-executed","package_id":"path+file://{folder}#0.1.0","linked_libs":[],"linked_paths":[],"cfgs":[],"env":[],"out_dir":"{folder}/out"}}'; "#
        )
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
