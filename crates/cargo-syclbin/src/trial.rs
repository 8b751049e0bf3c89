// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the doctor's trial kernel in a separate process, because a driver may crash or hang.

use std::io::Read as _;

use cargo_syclbin::doctor::{KERNEL, Ran, VALUE};
use syclbin_rt::{Arg, Device, Module};

/// Runs the trial kernel of the SYCLBIN file on standard input, on the device that a program with this file would
/// get. Returns the answer that the doctor parses with [`Ran::read`].
pub(crate) fn run() -> String {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    let outcome = read
        .map_err(|error| error.to_string())
        .and_then(|_| launch(&bytes).map_err(|error| error.to_string()));
    Ran::answer(&outcome)
}

#[allow(
    unsafe_code,
    reason = "loading and launching a kernel is unsafe; this one is known"
)]
fn launch(bytes: &[u8]) -> syclbin_rt::Result<Ran> {
    let choice = Device::choose_for(bytes)?;
    let queue = choice.device().queue()?;
    // SAFETY: the doctor's compiler has just made the file, or it was shipped with this program.
    let module = unsafe { Module::load(&queue, bytes)? };
    let mut out = queue.upload(&[0i32])?;
    let arguments = [Arg::write(&mut out)];
    // SAFETY: the kernel writes one `int` through its only argument.
    unsafe { module.kernel(KERNEL)?.launch(arguments).launch(1)? };
    let [value] = queue.download(&out)?[..] else {
        return Ok(Ran::new(&choice, None));
    };
    Ok(Ran::new(
        &choice,
        Some(value).filter(|value| *value == VALUE),
    ))
}
