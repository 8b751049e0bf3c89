// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process whose main thread exits while other threads are in a driver: one compiles its first kernel, or all
//! launch the same one, also when thread-local values are dropped. And one whose main thread ends before the others.
//!
//! A program of its own, because tests run on other threads than the main one. It has the `main` of a C program, because
//! `pthread_exit` cannot unwind the `main` of a Rust program.
#![no_main]
#![allow(unsafe_code, reason = "launching without a contract is unsafe")]
#![allow(clippy::print_stdout, reason = "a test says whether it passed")]

use std::cell::RefCell;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use syclbin_rt::{Arg, Kernel, Launch, Queue, Result};

#[allow(dead_code, reason = "each program uses its part of this")]
mod common;

/// Says to a child what it does, and after how many milliseconds it exits.
const TASK: &str = "SYCLBIN_RT_TEST_TASK";
const AFTER: &str = "SYCLBIN_RT_TEST_EXIT_AFTER";
/// What a child exits with.
const STATUS: i32 = 42;
/// A child that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(60);

const FILE: &str = "vector_ops.object.syclbin";
const IOTA: &str = "_ZN18__sycl_kernel_fill4iotaEfPfi";

/// Runs the tests, or ends the main thread as the task of a child.
///
/// Nothing of it is on the stack when `pthread_exit` unwinds.
#[unsafe(no_mangle)]
extern "C-unwind" fn main() -> std::ffi::c_int {
    let task = std::env::var(TASK).ok();
    let ends = task.as_deref() == Some("end");
    drop(task);
    if ends {
        exit_after_the_main_thread();
        unsafe extern "C-unwind" {
            fn pthread_exit(value: *mut std::ffi::c_void) -> !;
        }
        // SAFETY: a function of the C standard library. It unwinds this function only, which has nothing to drop.
        unsafe { pthread_exit(std::ptr::null_mut()) }
    }
    run();
    0
}

fn run() {
    if let (Ok(task), Ok(after)) = (std::env::var(TASK), std::env::var(AFTER)) {
        let after = Duration::from_millis(after.parse().expect("a number"));
        match task.as_str() {
            "load" => exit_during_first_load(after),
            "handler" => exit_with_handler(),
            _ => exit_with_launches(after),
        }
    }
    if common::queue().is_none() {
        return;
    }
    expect("load", "exit_during_first_load_is_clean", 40);
    expect("launch", "launches_of_dropped_thread_locals_end", 10);
    expect("end", "other_threads_outlive_the_main_thread", 1);
    expect("handler", "launches_end_before_exit_handlers", 1);
}

fn expect(task: &str, test: &str, times: u32) {
    let mut failed = 0;
    for after in 0..times {
        let program = std::env::current_exe().expect("the path of this program");
        let mut child = Command::new(program);
        child.env(TASK, task).env(AFTER, after.to_string());
        // Nothing is compiled that is in a cache.
        child.env("SYCLBIN_CACHE", "off");
        let child = child.stdout(Stdio::null()).stderr(Stdio::piped());
        let child = child.spawn().expect("this program starts");
        if let Err(problem) = end(child) {
            failed += 1;
            println!("{task}, exit after {after} ms: {problem}");
        }
    }
    assert!(failed == 0, "{failed} of {times} exits were not clean");
    println!("test {test} ... ok");
}

/// Waits for `child`, which has to exit with [`STATUS`] and print nothing.
fn end(mut child: Child) -> Result<(), String> {
    let begun = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if begun.elapsed() > LONGEST {
            child.kill().expect("it can be stopped");
            return Err("it hangs".to_owned());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().expect("its output");
    if output.status.code() == Some(STATUS) && output.stderr.is_empty() {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}, {printed}", output.status))
}

fn queue() -> Queue {
    common::queue().expect("the device that the first process found")
}

fn exit_during_first_load(after: Duration) -> ! {
    let queue = queue();
    std::thread::spawn(move || common::load(&queue, &common::testfile(FILE)));
    std::thread::sleep(after);
    std::process::exit(STATUS)
}

/// The number of launches of the other thread.
static LAUNCHES: AtomicUsize = AtomicUsize::new(0);

/// Exits while another thread launches. With glibc, no launch may begin once handlers of `exit()` run, because some of
/// them belong to drivers.
fn exit_with_handler() -> ! {
    extern "C" fn check() {
        // The last launch has ended, but may not have been counted.
        std::thread::sleep(Duration::from_millis(20));
        let before = LAUNCHES.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(80));
        if cfg!(target_env = "gnu") && LAUNCHES.load(Ordering::SeqCst) != before {
            eprintln!("a thread launches while handlers run");
        }
    }
    unsafe extern "C" {
        fn atexit(handler: extern "C" fn()) -> std::ffi::c_int;
    }
    let launcher = launcher(&queue());
    std::thread::spawn(move || {
        loop {
            launcher.launch().expect("drivers are still there");
            LAUNCHES.fetch_add(1, Ordering::SeqCst);
        }
    });
    while LAUNCHES.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    // Registered last, so called first.
    // SAFETY: a function of the C standard library, and the handler may run at any time.
    unsafe { atexit(check) };
    std::process::exit(STATUS)
}

struct Launcher {
    queue: Queue,
    kernel: Result<Kernel>,
}

impl Launcher {
    fn launch(&self) -> Result<()> {
        let mut out = self.queue.zeroed::<f32>(4)?;
        for _ in 0..1000 {
            let args = [Arg::scalar(0.0f32), Arg::write(&mut out), Arg::scalar(4i32)];
            let launch = Launch::new(&self.kernel, &["start", "out", "count"], args);
            // SAFETY: it writes as many elements as there are.
            drop(unsafe { launch.launch(4) }?);
        }
        Ok(())
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        self.launch().expect("drivers are still there");
    }
}

thread_local! {
    static LATE: RefCell<Option<Launcher>> = const { RefCell::new(None) };
}

/// Has another thread use the driver when this one has ended, and exit.
fn exit_after_the_main_thread() {
    let launcher = launcher(&queue());
    launcher.launch().expect("a driver");
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        launcher.launch().expect("a driver");
        std::process::exit(STATUS)
    });
}

fn launcher(queue: &Queue) -> Launcher {
    let kernel = common::kernel(queue, FILE, IOTA).expect("the kernel");
    Launcher {
        queue: queue.clone(),
        kernel: Ok(kernel),
    }
}

fn exit_with_launches(after: Duration) -> ! {
    // Touched before anything of the driver, so dropped after it.
    LATE.set(None);
    let queue = queue();
    let kernel = common::kernel(&queue, FILE, IOTA).expect("the kernel");
    let launcher = || Launcher {
        queue: queue.clone(),
        kernel: Ok(kernel.clone()),
    };
    LATE.set(Some(launcher()));
    for _ in 0..2 {
        let launcher = launcher();
        std::thread::spawn(move || {
            loop {
                launcher.launch().expect("drivers are still there");
            }
        });
    }
    std::thread::sleep(after);
    std::process::exit(STATUS)
}
