// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all tests share: the device they run on, and the files they load.
#![allow(clippy::panic, reason = "what is missing here fails the test")]

use std::io::Write as _;
use std::process::Command;

use syclbin_rt::{Device, ErrorKind, ImageChoice, Kernel, Module, Queue, QueueOptions, Result};

/// A queue of the best device.
///
/// Without a device the skip is printed and the test should return; with
/// `SYCLBIN_REQUIRE_DEVICE=1` that is a failure.
pub(crate) fn queue() -> Option<Queue> {
    let required = std::env::var_os("SYCLBIN_REQUIRE_DEVICE").is_some_and(|value| value == "1");
    match Device::best().and_then(|device| device.queue()) {
        Ok(queue) => Some(queue),
        Err(error) => {
            assert!(!required, "SYCLBIN_REQUIRE_DEVICE=1, but {error}");
            say_skipped(&error.to_string());
            None
        }
    }
}

/// The same for tests of what only devices of OpenCL have: native code for processors, and a cache of
/// what their drivers compiled.
pub(crate) fn opencl_queue() -> Option<Queue> {
    if on_cuda() {
        say_skipped("it is about OpenCL, and the device is one of CUDA");
        return None;
    }
    queue()
}

/// A queue as `options` say, where there is a device that has such.
pub(crate) fn queue_with(options: QueueOptions) -> Result<Option<Queue>> {
    let Some(queue) = queue() else {
        return Ok(None);
    };
    match queue.device().queue_with(options) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            say_skipped(&error.to_string());
            Ok(None)
        }
        queue => queue.map(Some),
    }
}

/// Whether the tests run on a device of CUDA.
pub(crate) fn on_cuda() -> bool {
    std::env::var("SYCLBIN_DEVICE").is_ok_and(|selector| selector.starts_with("cuda"))
}

/// Returns whether the message reports that the driver could not allocate a buffer.
pub(crate) fn says_allocation_failed(message: &str) -> bool {
    let cuda = ["cuMemAlloc", "cuMemAllocAsync"];
    match on_cuda() {
        true => cuda.iter().any(|call| {
            message.starts_with(&format!("{call} failed with CUDA_ERROR_OUT_OF_MEMORY (2)"))
        }),
        false => message.starts_with("clCreateBuffer failed with CL_"),
    }
}

/// Says that a test does not run here. `eprintln!` would be kept back, as the test passes.
pub(crate) fn say_skipped(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // In one piece, as other tests print too.
    let line = format!("skipped {test}: {reason}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// The bytes of a test file: for devices of CUDA those of its twin that has PTX as well.
pub(crate) fn testfile(name: &str) -> Vec<u8> {
    let twin = format!("nvidia/{name}");
    let has_twin = on_cuda() && test_files::path(&twin).is_file();
    test_files::read(if has_twin { &twin } else { name })
}

/// Runs this program again, with one test: `test` of the module whose `module_path!()` is given.
pub(crate) fn child(module: &str, test: &str) -> Command {
    // Names of tests do not begin with the crate, as paths of modules do.
    let name = match module.split_once("::") {
        Some((_, module)) => format!("{module}::{test}"),
        None => test.to_owned(),
    };
    let mut command = Command::new(std::env::current_exe().expect("the path of this program"));
    command.args(["--exact", &name, "--nocapture"]);
    command
}

/// Runs a child. It must run its test, and the test must pass.
pub(crate) fn assert_passes(child: &mut Command) {
    let output = child.output().expect("the test program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{errors}"
    );
}

/// The bytes of a changed file.
pub(crate) fn written(file: &syclbin::Syclbin<'_>) -> Vec<u8> {
    syclbin::write::to_vec(file, syclbin::Container::default()).expect("it can be written")
}

/// Loads a file of the test files, or one that was made of them.
#[allow(unsafe_code, reason = "loading code is unsafe")]
pub(crate) fn load(queue: &Queue, bytes: &[u8]) -> Result<Module> {
    // SAFETY: the tests change what surrounds the code, and the code is what compilers made.
    unsafe { Module::load(queue, bytes) }
}

/// Builds what the device takes of a module, and returns its choices.
pub(crate) fn choices(module: &Module) -> Vec<ImageChoice> {
    // Some tests are about what is refused.
    let _ = module.build();
    module.images().collect()
}

/// One kernel of a file of the test files.
pub(crate) fn kernel(queue: &Queue, file: &str, name: &str) -> Result<Kernel> {
    load(queue, &testfile(file))?.kernel(name)
}
