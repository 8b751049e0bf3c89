// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tests share: the device, the compiler, and processes that run one test.

pub(crate) mod clang;
pub(crate) mod registry;

use std::io::Write as _;
use std::process::Command;

use syclbin_rt::{Device, Queue};

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
