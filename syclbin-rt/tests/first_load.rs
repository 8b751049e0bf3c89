//! A process exits while another thread compiles its first kernel: drivers register destructors during that.
//!
//! A program of its own, because the main thread has to exit, and tests run on other threads.
#![allow(clippy::print_stdout, reason = "a test says whether it passed")]

use std::process::{Command, Stdio};
use std::time::Duration;

#[allow(dead_code, reason = "each program uses its part of this")]
mod common;

/// Says to a child after how many milliseconds it exits.
const AFTER: &str = "SYCLBIN_RT_TEST_EXIT_AFTER";
/// What a child exits with.
const STATUS: i32 = 42;

fn main() {
    if let Ok(after) = std::env::var(AFTER) {
        exit_after(Duration::from_millis(after.parse().expect("a number")));
    }
    if common::queue().is_none() {
        return;
    }
    let mut failed = 0;
    for after in 0..40 {
        let program = std::env::current_exe().expect("the path of this program");
        let mut child = Command::new(program);
        // Nothing is compiled that is in a cache.
        child
            .env(AFTER, after.to_string())
            .env("SYCLBIN_CACHE", "off");
        let output = child
            .stdout(Stdio::null())
            .output()
            .expect("this program starts");
        if output.status.code() != Some(STATUS) || !output.stderr.is_empty() {
            failed += 1;
            let printed = String::from_utf8_lossy(&output.stderr);
            println!("exit after {after} ms: {}, {printed}", output.status);
        }
    }
    assert!(failed == 0, "{failed} of 40 exits were not clean");
    println!("test exit_during_first_load_is_clean ... ok");
}

fn exit_after(time: Duration) -> ! {
    let queue = common::queue().expect("the device that the first process found");
    std::thread::spawn(move || {
        common::load(&queue, &common::testfile("vector_ops.object.syclbin"))
    });
    std::thread::sleep(time);
    std::process::exit(STATUS)
}
