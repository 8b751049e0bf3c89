// SPDX-License-Identifier: MIT OR Apache-2.0
//! Children: the program `exercise` over the library that fails, each with a limit of time.
#![allow(clippy::panic, reason = "what is missing here fails the test")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use syclbin_rt::Device;
use tempfile::TempDir;

/// Far more than any child needs: one that reaches it hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// The driver that calls are passed on to. None where there is none, which is printed.
pub(crate) fn driver() -> Option<String> {
    let required = std::env::var_os("SYCLBIN_REQUIRE_DEVICE").is_some_and(|value| value == "1");
    match library_of_driver() {
        Ok(library) => Some(library),
        Err(reason) => {
            assert!(!required, "SYCLBIN_REQUIRE_DEVICE=1, but {reason}");
            let test = std::thread::current().name().unwrap_or("a test").to_owned();
            // `eprintln!` would be kept back, as the test passes.
            let _ = writeln!(std::io::stderr(), "skipped {test}: {reason}");
            None
        }
    }
}

/// Returns the library of an OpenCL driver for SPIR-V, or the reason why there is none.
fn library_of_driver() -> Result<String, String> {
    let devices = Device::all().map_err(|error| error.to_string())?;
    // The CPU driver by its path, if it is there: it has what the steps use.
    let mut libraries = devices.iter().filter(|device| device.takes_spirv());
    let by_path = libraries
        .clone()
        .find(|device| device.library().contains('/'));
    let device = by_path.or_else(|| libraries.next());
    let device = device.ok_or("no device accepts SPIR-V")?;
    Ok(device.library().to_owned())
}

/// The library, which Cargo builds beside each test of this package.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let name = format!(
        "{}faults{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let path = test.with_file_name(name);
    assert!(path.exists(), "{}: not built", path.display());
    path
}

/// Runs `exercise` with these arguments, and returns what it says. Fails if it says that something
/// is wrong, ends in another way, or does not end.
pub(crate) fn run(driver: &str, arguments: &[&str], fault: &str) -> String {
    run_as(driver, arguments, fault, None)
}

/// The same, with a device that says it is an Intel GPU if there is a file for the record.
pub(crate) fn run_as(driver: &str, arguments: &[&str], fault: &str, gpu: Option<&Path>) -> String {
    let folder = TempDir::new().expect("a folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_exercise"))
        .args(arguments)
        .env("OPENCL_DYLIB_PATH", library())
        .env(faults::DRIVER_VARIABLE, driver)
        .env(faults::FAULT_VARIABLE, fault)
        .envs(gpu.map(|record| (faults::GPU_VARIABLE, record)))
        .env("SYCLBIN_CACHE", folder.path().join("cache"))
        // Nothing is installed there, so that there is one driver only.
        .env("SYCLBIN_HOME", folder.path())
        .env_remove("SYCLBIN_DEVICE")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut stderr = child.stderr.take().expect("a pipe");
    let read = |pipe: &mut dyn std::io::Read| {
        let mut text = Vec::new();
        let _ = pipe.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    let (said, wrong, status) = std::thread::scope(|scope| {
        let said = scope.spawn(|| read(&mut stdout));
        let wrong = scope.spawn(|| read(&mut stderr));
        let start = Instant::now();
        let status = loop {
            match child.try_wait().expect("the child") {
                Some(status) => break Some(status),
                None if start.elapsed() > LIMIT => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let said = said.join().expect("what it said");
        (said, wrong.join().expect("what was wrong"), status)
    });
    let last = said.lines().last().unwrap_or("the start");
    match status {
        None => panic!("{arguments:?} {fault}: hangs after {last}\n{wrong}"),
        // A GPU takes none of the CPU's native code, so the step that saves and loads a module fails.
        Some(status) if gpu.is_some() && status.code().is_some() => {}
        Some(status) => assert!(
            status.success(),
            "{arguments:?} {fault}: {status} after {last}\n{wrong}"
        ),
    }
    said
}

/// Functions, and how often each is called.
pub(crate) type Calls = Vec<(String, u64)>;

/// How often each function is called: when devices are looked for, and in all that follows.
pub(crate) fn calls(driver: &str) -> (Calls, Calls) {
    let said = run(driver, &["calls"], "");
    let of = |kind: &str| {
        let lines = said.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let lines = lines.filter(|words| words.len() == 3 && words[0] == kind);
        let count = |words: Vec<&str>| (words[1].to_owned(), words[2].parse().expect("a number"));
        lines.map(count).collect::<Calls>()
    };
    (of("found"), of("calls"))
}
