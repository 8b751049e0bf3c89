// SPDX-License-Identifier: MIT OR Apache-2.0
//! The child processes of `cargo syclbin doctor`, which a driver may crash: one loads a file module by module, the
//! other runs the trial kernel.

use std::error::Error;
use std::io::{self, Read as _, Write as _};

use cargo_syclbin::doctor::file::{DeviceReport, ImageReport, Step};
use cargo_syclbin::doctor::{KERNEL, Ran, VALUE};
use serde_json::{Value, json};
use syclbin::property::{key, set};
use syclbin::read::File;
use syclbin::{AbstractModule, Container, State, Syclbin};
use syclbin_rt::{Arg, Device, ImageChoice, Module, Queue};

/// Loads the file on standard input, starting at this module and kernel, and writes each [`Step`] to standard output.
///
/// # Errors
///
/// Fails if standard input cannot be read or standard output cannot be written to.
pub(crate) fn run(module: usize, kernel: usize) -> io::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    let failed = probe(&bytes, module, kernel).err();
    // If writing to standard output failed, this call fails too.
    say(&failed.map_or(Step::Done, |error| Step::Failed(error.to_string())))
}

fn probe(bytes: &[u8], first: usize, kernel: usize) -> Result<(), Box<dyn Error>> {
    let file = File::parse(bytes)?;
    let mut model = file.to_model()?;
    // Mark the modules as objects, because executables are not linked with other files.
    let state = State::Object.number();
    model.global.insert(set::GLOBAL, key::STATE, state);
    // Version 2 can store all metadata of bare device images.
    let container = match file.container() {
        Container::Images => Container::Version2,
        other => other,
    };
    let choice = Device::choose_for(bytes)?;
    let device = &choice.device;
    say(&Step::Device(DeviceReport {
        name: device.name().to_owned(),
        platform: device.platform().to_owned(),
        driver_version: device.driver_version().to_owned(),
        reason: choice.reason,
        skipped: choice.skipped,
    }))?;
    let queue = device.queue()?;
    for index in first..model.modules.len() {
        let behind = if index == first { kernel } else { 0 };
        let written = |model| syclbin::write::to_vec(&model, container);
        let (module, others) = divided(&model, index);
        say(&Step::Module(index))?;
        let loaded = load(&queue, &written(module)?, &written(others)?);
        let usable = loaded.and_then(|module| match module.build() {
            // Without such a reason, only some of its kernels are refused.
            Err(error) if !reason(&error, index).is_empty() => Err(error),
            _ => Ok(module),
        });
        match usable {
            Ok(module) => kernels(&module, index, behind)?,
            Err(error) => say(&Step::Refused(reason(&error, index)))?,
        }
    }
    Ok(())
}

#[allow(unsafe_code, reason = "loading code is unsafe")]
fn load(queue: &Queue, module: &[u8], others: &[u8]) -> syclbin_rt::Result<Module> {
    let builder = Module::builder(queue).link(others);
    // SAFETY: this process exists to test a driver with code that may be invalid. It launches no kernel, holds no
    // user data, and its parent expects it to crash.
    unsafe { builder.load(module) }
}

/// Separates module `index` from the modules to link it with. Empty modules fill the gaps, so the indices do not
/// change.
fn divided<'a>(file: &Syclbin<'a>, index: usize) -> (Syclbin<'a>, Syclbin<'a>) {
    let (mut alone, mut others) = (file.clone(), file.clone());
    alone.modules = vec![AbstractModule::default(); file.modules.len()];
    std::mem::swap(&mut alone.modules[index], &mut others.modules[index]);
    (alone, others)
}

/// Returns the image choice for module `index`, if the device can use one of its images.
fn image(module: &Module, index: usize) -> Option<ImageChoice> {
    let mut choices = module.images();
    choices.find(|choice| choice.module() == index && choice.image().is_some())
}

fn kernels(module: &Module, index: usize, behind: usize) -> io::Result<()> {
    let choice = image(module, index);
    let verdicts = choice.iter().flat_map(ImageChoice::verdicts).enumerate();
    let images = verdicts.map(|(number, (description, verdict))| ImageReport {
        description: description.to_owned(),
        chosen: choice.as_ref().and_then(ImageChoice::image) == Some(number),
        verdict: verdict.to_owned(),
    });
    say(&Step::Built(images.collect()))?;
    for symbol in module.kernel_names().skip(behind) {
        say(&Step::Kernel(symbol.to_owned()))?;
        let refused = |error: syclbin_rt::Error| Step::Refused(error.to_string());
        say(&attributes(module, symbol).map_or_else(refused, Step::Created))?;
    }
    Ok(())
}

fn attributes(module: &Module, symbol: &str) -> syclbin_rt::Result<Value> {
    let kernel = module.kernel(symbol)?;
    let attributes = kernel.attributes()?;
    Ok(json!({
        "max_work_group_size": attributes.max_work_group_size,
        "preferred_work_group_size_multiple": attributes.preferred_work_group_size_multiple,
        "required_work_group_size": kernel.required_local_size(),
        "max_sub_group_size": attributes.max_sub_group_size,
        "required_sub_group_size": attributes.required_sub_group_size,
        "registers": attributes.registers,
        "private_memory_bytes": attributes.private_memory_bytes,
        "spill_memory_bytes": attributes.spill_memory_bytes,
        "local_memory_bytes": attributes.local_memory_bytes,
    }))
}

/// Returns why module `index` cannot be used, without the errors about the empty modules.
fn reason(error: &syclbin_rt::Error, index: usize) -> String {
    if error.reasons().is_empty() {
        return error.to_string();
    }
    let module = format!("module {index} ");
    let reasons = error.reasons().iter().map(String::as_str);
    let reasons = reasons.filter(|reason| reason.starts_with(&module));
    reasons.collect::<Vec<_>>().join("\n")
}

/// Writes a step on a new line, because drivers may write to standard output too.
fn say(step: &Step) -> io::Result<()> {
    let mut output = io::stdout().lock();
    write!(output, "\n{}\n", json!(step))?;
    output.flush()
}

/// Reads a SYCLBIN file from standard input, and runs its trial kernel on the device that a program would choose for
/// that file. Returns the result as JSON.
pub(crate) fn trial() -> String {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    let ran = read.map_err(|error| error.to_string());
    let ran = ran.and_then(|_| launch(&bytes).map_err(|error| error.to_string()));
    json!(ran).to_string()
}

#[allow(
    unsafe_code,
    reason = "loading and launching a kernel is unsafe, but the trial kernel is part of this program"
)]
fn launch(bytes: &[u8]) -> syclbin_rt::Result<Ran> {
    let choice = Device::choose_for(bytes)?;
    let queue = choice.device.queue()?;
    // SAFETY: the doctor has just compiled the file, or it was shipped with this program.
    let module = unsafe { Module::load(&queue, bytes)? };
    let mut out = queue.upload(&[0i32])?;
    let arguments = [Arg::write(&mut out)];
    // SAFETY: the kernel writes one `int` through its only argument.
    unsafe { module.kernel(KERNEL)?.launch(arguments).launch(1)? };
    Ok(Ran {
        device: choice.device.to_string(),
        reason: choice.reason,
        skipped: choice.skipped,
        is_right: queue.download(&out)? == [VALUE],
    })
}
