// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program from its start to its first result: a process of its own, and the child that it is.

use std::path::Path;

use syclbin_rt::{Arg, Device, Launch, Module};

use crate::stub::{FILE, kernels, told};

/// The first argument of this program where it is one.
pub(crate) const FIRST: &str = "first";

const LEN: usize = 1024;

/// Loads the embedded file or that at `path`, runs saxpy, and says so when the result is right.
pub(crate) fn process(words: &[&str]) -> Result<(), String> {
    let result = match words {
        [] => embedded(),
        ["driver"] => {
            println!("first {}", crate::raw::driver_alone()?);
            return Ok(());
        }
        ["device"] => {
            println!("{}", Device::best().map_err(told)?);
            return Ok(());
        }
        ["save", path] => return save(Path::new(path)),
        [path] => loaded(&std::fs::read(path).map_err(|error| format!("{path}: {error}"))?),
        _ => return Err(format!("{words:?}: a path at most")),
    };
    let (device, y) = result.map_err(told)?;
    if y.iter().any(|value| *value != 4.0) {
        return Err("the result is wrong".to_owned());
    }
    println!("first {device}");
    Ok(())
}

fn embedded() -> syclbin_rt::Result<(String, Vec<f32>)> {
    let queue = Device::best()?.queue()?;
    let kernels = kernels::Module::load(&queue)?;
    let x = queue.upload(&[1.0f32; LEN])?;
    let mut y = queue.upload(&[2.0f32; LEN])?;
    // SAFETY: both buffers hold that many elements.
    unsafe { kernels.saxpy(2.0, &x, &mut y, 1024).launch(LEN)? };
    Ok((queue.device().name().to_owned(), queue.download(&y)?))
}

fn loaded(bytes: &[u8]) -> syclbin_rt::Result<(String, Vec<f32>)> {
    let queue = Device::best()?.queue()?;
    // SAFETY: `save` made the file.
    let module = unsafe { Module::load(&queue, bytes)? };
    let saxpy = module.kernel("saxpy");
    let x = queue.upload(&[1.0f32; LEN])?;
    let mut y = queue.upload(&[2.0f32; LEN])?;
    let args = [
        Arg::scalar(2.0f32),
        Arg::read(&x),
        Arg::write(&mut y),
        Arg::scalar(1024u32),
    ];
    // SAFETY: both buffers hold that many elements, and the arguments are those of saxpy.
    unsafe { Launch::new(&saxpy, &["a", "x", "y", "n"], args).launch(LEN)? };
    Ok((queue.device().name().to_owned(), queue.download(&y)?))
}

/// Writes the file with native code of the device.
fn save(path: &Path) -> Result<(), String> {
    let saved = || {
        let queue = Device::best()?.queue()?;
        // SAFETY: a compiler made the file.
        unsafe { Module::load(&queue, FILE)? }.to_syclbin()
    };
    std::fs::write(path, saved().map_err(told)?).map_err(|error| crate::world::at(path, &error))
}
