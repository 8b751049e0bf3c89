// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin watch`, with a compiler that is a shell script.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::{World, stderr, stdout};
use crate::COMPILER;

/// Much longer than a compile takes.
const LIMIT: Duration = Duration::from_secs(120);

/// The program that watches. It ends with the test.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(world: &World) -> Self {
        let compiler = world.write("clang.sh", COMPILER);
        fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
        let mut child = world
            .command(&["watch", "--package", "one"], &world.executed("one"))
            .env("SYCLBIN_CLANG", compiler)
            .env("SYCLBIN_CACHE", "off")
            .env("HEADERS", "k/a.hpp")
            .env("FILES", test_files::directory())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        forward(child.stdout.take().unwrap(), sender.clone());
        forward(child.stderr.take().unwrap(), sender);
        Self { child, lines }
    }

    /// Waits until a line has started with each of `starts`, and returns all lines up to then.
    #[track_caller]
    fn wait_for(&self, starts: &[&str]) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let has = |all: &[String], start: &str| all.iter().any(|line| line.starts_with(start));
        while !starts.iter().all(|start| has(&all, start)) {
            match self.lines.recv_timeout(LIMIT) {
                Ok(line) => all.push(line),
                Err(error) => panic!("{error}: no lines start with {starts:?}: {all:#?}"),
            }
        }
        all
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward(output: impl Read + Send + 'static, to: Sender<String>) {
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if to.send(line).is_err() {
                return;
            }
        }
    });
}

/// Saves a file in one step, as editors do.
fn save(world: &World, name: &str, text: &str) {
    let beside = world.write(&format!("{name}.new"), text);
    fs::rename(beside, world.path(name)).unwrap();
}

fn world() -> World {
    let world = World::new();
    let note = "source=k/a.cpp\0argument=-DN=4\0target=x86_64-unknown-linux-gnu";
    world.write("one/out/syclbin/.sources-made", note);
    world.write("one/k/a.hpp", "");
    world.write("one/k/a.cpp", "vector_ops");
    world
}

#[test]
fn saved_sources_replace_the_file_until_killed() {
    let world = world();
    let mut watching = Watching::start(&world);
    let said = watching.wait_for(&["watching  made (k/a.cpp): one/out/syclbin/made.syclbin"]);
    assert!(
        !said.iter().any(|line| line.starts_with("compiled")),
        "{said:?}"
    );
    let made = || fs::read(world.path("one/out/syclbin/made.syclbin")).unwrap();
    let first = made();
    let kernels = |bytes: &[u8]| -> Vec<String> {
        let file = syclbin::read::parse(bytes).unwrap();
        file.kernel_names().map(str::to_owned).collect()
    };
    assert!(kernels(&first).iter().any(|name| name.contains("saxpy")));
    assert_eq!(world.read("one/defined").lines().next(), Some("-DN=4"));

    save(&world, "one/k/a.cpp", "structs");
    watching.wait_for(&["compiled  made (k/a.cpp) in "]);
    let second = made();
    assert_ne!(kernels(&first), kernels(&second));

    save(&world, "one/k/a.cpp", "mistake");
    let failed = "failed    made (k/a.cpp) after ";
    let said = watching.wait_for(&[failed, "error: k/a.cpp ", "k/a.cpp:1:1: error: not a file"]);
    let kept = |line: &String| line.ends_with("the previous file remains");
    assert!(said.iter().any(kept), "{said:?}");
    assert!(made() == second);

    save(&world, "one/k/a.cpp", "vector_ops");
    watching.wait_for(&["compiled  "]);
    assert!(made() == first);
    save(&world, "one/k/a.hpp", "a header");
    watching.wait_for(&["compiled  "]);

    // The sources and arguments of a build script that ran meanwhile count.
    world.write("one/k/b.cpp", "structs");
    save(&world, "one/out/syclbin/.sources-made", "source=k/b.cpp");
    watching.wait_for(&["compiled  made (k/b.cpp) in "]);
    assert!(made() == second);

    let pid = watching.child.id().to_string();
    // Not SIGINT, which a shell lets its background processes ignore.
    let sent = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(sent.success());
    assert_eq!(watching.child.wait().unwrap().signal(), Some(15));
}

#[test]
fn nothing_to_watch_is_an_error() {
    let world = World::new();
    let message = r#"{"message":"no","level":"error","spans":[],"children":[],"rendered":"error: in build.rs\n"}"#;
    let target = r#"{"name":"build-script-build","kind":["custom-build"],"src_path":"build.rs"}"#;
    let line = format!(
        r#"{{"reason":"compiler-message","package_id":"one","target":{target},"message":{message}}}"#
    );
    let script = format!("echo 'error: a mistake' >&2; printf '%s\\n' '{line}'; exit 101");
    let output = world.run(&["watch"], &script);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    let said = stderr(&output);
    assert!(said.contains("error: a mistake\n"), "{said}");
    assert!(said.contains("error: in build.rs\n"), "{said}");
    let expected = "error: no build script built a SYCLBIN file; fix the errors above, and run the command again\n";
    assert!(said.ends_with(expected), "{said}");

    // The messages of a successful build are only warnings, and are left out.
    let output = world.run(&["watch"], &format!("printf '%s\\n' '{line}'"));
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(!said.contains("in build.rs"), "{said}");
}
