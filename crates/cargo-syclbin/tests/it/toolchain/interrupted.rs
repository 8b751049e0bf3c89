// SPDX-License-Identifier: MIT OR Apache-2.0
//! Installations that are killed, and several at once.
//!
//! The process to be killed is this test program itself, asked to run [`child`] alone.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cargo_syclbin::toolchain::install::Outcome::{Installed, Present};
use cargo_syclbin::toolchain::install::Source;
use cargo_syclbin::ui::Progress;
use syclbin_toolchain::Component;

use super::fetch::{bring_all, pip};
use super::world::{Silent, World};

const ROOT: &str = "SYCLBIN_TEST_ROOT";
const STOP: &str = "SYCLBIN_TEST_STOP_AFTER";

/// Stops for good after so many bytes of work, having left a file that says so.
struct Stopping<'a> {
    left: AtomicU64,
    sign: &'a Path,
}

impl Progress for Stopping<'_> {
    fn line(&self, _: &str) {}
    fn begin(&self, _: &str, _: u64) {}
    fn end(&self) {}
    fn advance(&self, bytes: u64) {
        if self.left.fetch_sub(bytes, Ordering::Relaxed) <= bytes {
            std::fs::write(self.sign, "").unwrap();
            loop {
                std::thread::sleep(Duration::from_secs(60));
            }
        }
    }
}

#[test]
#[ignore = "the other tests run it, in a process of its own"]
fn child() {
    let (Ok(root), Ok(stop)) = (std::env::var(ROOT), std::env::var(STOP)) else {
        return;
    };
    let world = World::at(Path::new(&root));
    let progress = Stopping {
        left: AtomicU64::new(stop.parse().unwrap()),
        sign: &world.root().join("stopped"),
    };
    let source = Source::Folder(world.wheels());
    world.install_from(&source, false, &progress).unwrap();
}

/// A process that installs in `world` and stops after `bytes` of work.
pub(crate) fn command(world: &World, bytes: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "toolchain::interrupted::child",
            "--ignored",
            "--nocapture",
        ])
        .env(ROOT, world.root())
        .env(STOP, bytes.to_string())
        .stdout(Stdio::null());
    command
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(
            begun.elapsed() < Duration::from_secs(300),
            "{what} never came"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A process that stopped in the middle of its work. Dropped, it is killed with SIGKILL.
struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Starts a process and waits until it stopped.
fn stopped(world: &World, bytes: u64) -> Stopped {
    let child = Stopped(command(world, bytes).spawn().unwrap());
    let sign = world.root().join("stopped");
    wait_until("the sign", || sign.exists());
    std::fs::remove_file(sign).unwrap();
    child
}

#[test]
fn a_killed_installation_leaves_nothing_that_looks_installed() {
    let world = World::new();
    let wheels: u64 = {
        let distinct = [
            &world.pins[0].wheels[0],
            &world.pins[0].wheels[1],
            &world.pins[1].wheels[0],
        ];
        distinct.iter().map(|wheel| wheel.size).sum()
    };
    let compiler = world.pins[0].unpacked_size();
    // While checking, at the first byte unpacked, and in the second component.
    for (bytes, finished) in [(1, 0), (wheels + 1, 0), (wheels + compiler + 1, 1)] {
        drop(stopped(&world, bytes));
        let both = [Component::Compiler, Component::CpuDevice];
        let found = both.map(|component| usize::from(world.home.newest(component).is_some()));
        assert_eq!(found, [finished, 0], "after {bytes} bytes");
        assert!(world.in_home().contains(&".staging".to_owned()));
    }
    assert_eq!(world.install().unwrap(), [Present, Installed]);
    assert_eq!(world.in_home().len(), 2, "what the killed one left is gone");
}

#[test]
fn two_installations_at_once_do_the_work_once() {
    let world = World::new();
    let source = pip(&world, &format!("sleep 0.2\n{}", bring_all(&world)));
    let install = || world.install_from(&source, false, &Silent).unwrap();
    let (mut one, mut other) = std::thread::scope(|scope| {
        let one = scope.spawn(install);
        let other = scope.spawn(install);
        (one.join().unwrap(), other.join().unwrap())
    });
    if one[0] == Present {
        std::mem::swap(&mut one, &mut other);
    }
    assert_eq!(one, [Installed, Installed]);
    assert_eq!(other, [Present, Present]);
    let calls = std::fs::read_to_string(world.root().join("calls")).unwrap();
    assert_eq!(calls.lines().count(), 1, "{calls}");
}

#[test]
fn waiting_process_gets_lock_of_dead_holder() {
    let world = World::new();
    let holder = stopped(&world, 1);
    let said = std::sync::Mutex::new(Vec::new());
    let listener = Listener(&said);
    let install = || world.install_from(&Source::Folder(world.wheels()), false, &listener);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(install);
        let waits = || {
            said.lock()
                .unwrap()
                .iter()
                .any(|l: &String| l.starts_with("waiting for"))
        };
        wait_until("the line about waiting", waits);
        assert!(!waiting.is_finished());
        assert!(world.home.newest(Component::Compiler).is_none());
        drop(holder);
        assert_eq!(waiting.join().unwrap().unwrap(), [Installed, Installed]);
        let said = said.lock().unwrap();
        let lines = said.iter().filter(|line| line.starts_with("waiting for"));
        assert_eq!(lines.count(), 1, "it says so once");
    });
}

struct Listener<'a>(&'a std::sync::Mutex<Vec<String>>);

impl Progress for Listener<'_> {
    fn line(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}
