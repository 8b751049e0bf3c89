// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests share: the device, the compiler, and processes that run one test.

pub(crate) mod clang;
pub(crate) mod registry;

use std::io::Write as _;
use std::process::Command;

use syclbin_rt::{Aspect, Device, Queue};

/// A queue, or `None` without a device; with SYCLBIN_REQUIRE_DEVICE=1 that is a failure.
pub(crate) fn queue() -> Option<Queue> {
    match Device::best().and_then(|device| device.queue()) {
        Ok(queue) => Some(queue),
        Err(error) if std::env::var("SYCLBIN_REQUIRE_DEVICE").as_deref() == Ok("1") => {
            panic!("SYCLBIN_REQUIRE_DEVICE=1, and {error}")
        }
        Err(error) => {
            say_skipped(&error.to_string());
            None
        }
    }
}

/// The same for kernels that were compiled to SPIR-V alone, which devices of CUDA do not take.
pub(crate) fn spirv_queue() -> Option<Queue> {
    let queue = queue()?;
    if !queue.device().takes_spirv() {
        say_skipped("the kernels are SPIR-V, which the device does not take");
        return None;
    }
    Some(queue)
}

/// Returns whether the device lacks an aspect that a kernel of the test needs, and then says so.
pub(crate) fn lacks(queue: &Queue, aspect: Aspect) -> bool {
    let lacks = !queue.device().has(aspect);
    if lacks {
        say_skipped(&format!("the device has no {aspect}"));
    }
    lacks
}

/// Returns whether a launch did not fail for lack of functions of a whole work-group, and says so if it did.
pub(crate) fn has_group_functions<T>(launched: &syclbin_rt::Result<T>) -> bool {
    let lacks =
        |error: &syclbin_rt::Error| error.to_string().contains("it uses work-group functions");
    let lacks = launched.as_ref().is_err_and(lacks);
    if lacks {
        say_skipped("the device has no work-group collective functions");
    }
    !lacks
}

/// Builds a file that has only native code for Intel's CPU device. Returns whether the driver takes it.
pub(crate) fn takes_native(built: syclbin_rt::Result<()>) -> bool {
    const REFUSED: [&str; 2] = [
        "CL_INVALID_BINARY",
        "nothing in this SYCLBIN file can run on",
    ];
    match built {
        Ok(()) => true,
        Err(error)
            if REFUSED
                .iter()
                .any(|reason| error.to_string().contains(reason)) =>
        {
            say_skipped("the driver takes no native code of Intel's CPU device");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Says that a test does not run here. `eprintln!` would be kept back, as the test passes.
pub(crate) fn say_skipped(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // In one piece, as other tests print too.
    let line = format!("skipped {test}: {reason}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Runs this program again, with one test: `test` of the module whose `module_path!()` is given.
pub(crate) fn child(module: &str, test: &str) -> Command {
    // Names of tests do not begin with the crate, as paths of modules do.
    let (_, module) = module.split_once("::").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("{module}::{test}"), "--nocapture"]);
    command
}
