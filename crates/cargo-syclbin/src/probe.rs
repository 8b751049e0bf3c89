// SPDX-License-Identifier: MIT OR Apache-2.0
//! The child process of `cargo syclbin doctor FILE`: it loads a file module by module, and a driver may crash it.

use std::io::{self, Read as _, Write as _};

use cargo_syclbin::doctor::file::{
    Answers, DeviceReport, ImageReport, Outcome, Part, Position, Step,
};
use cargo_syclbin::doctor::{KERNEL, Ran, VALUE};
use syclbin::property::{key, set};
use syclbin::read::File;
use syclbin::{AbstractModule, Container, State, Syclbin};
use syclbin_rt::{Arg, Device, ImageChoice, Module, Queue};

/// Loads the file on standard input from `start` on, and writes each [`Step`] to standard output.
///
/// # Errors
///
/// Fails if standard output cannot be written.
pub(crate) fn run(start: Position) -> io::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    match probe(&bytes, start) {
        Err(Stop::Output(error)) => Err(error),
        Err(Stop::Failed(reason)) => say(&Step::Failed(reason)),
        Ok(()) => say(&Step::Done),
    }
}

/// Why a trial stops early.
enum Stop {
    Output(io::Error),
    Failed(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn failed(reason: impl ToString) -> Stop {
    Stop::Failed(reason.to_string())
}

fn probe(bytes: &[u8], start: Position) -> Result<(), Stop> {
    let file = File::parse(bytes).map_err(failed)?;
    let model = file.to_model().map_err(failed)?;
    // Version 2 holds whatever is said of images without SYCLBIN.
    let container = match file.container() {
        Container::Images => Container::Version2,
        other => other,
    };
    let choice = Device::choose_for(bytes).map_err(failed)?;
    say(&Step::Device(DeviceReport::new(&choice)))?;
    let queue = choice.device().queue().map_err(failed)?;
    for index in start.module..model.modules.len() {
        let behind = if index == start.module {
            start.kernel
        } else {
            0
        };
        let written = |model| syclbin::write::to_vec(&model, container).map_err(failed);
        let (module, others) = divided(&model, index);
        say(&Step::Trying(Part::module(index, Vec::new())))?;
        let refused = |error| {
            let part = Part::module(index, Vec::new());
            say(&Step::Tried(
                part.failed(Outcome::Refused, reason(&error, index)),
            ))
        };
        match load(&queue, &written(module)?, &written(others)?) {
            Ok(module) => match module.build() {
                Err(error) if image(&module, index).is_none() => refused(error)?,
                _ => kernels(&module, index, behind)?,
            },
            Err(error) => refused(error)?,
        }
    }
    Ok(())
}

#[allow(unsafe_code, reason = "loading code is unsafe")]
fn load(queue: &Queue, module: &[u8], others: &[u8]) -> syclbin_rt::Result<Module> {
    let builder = Module::builder(queue).link(others);
    // SAFETY: this process exists to find out what a driver does with code that may be bad. It launches no kernel,
    // holds nothing of the user's, and its parent expects it to crash.
    unsafe { builder.load(module) }
}

/// Divides a file: the module alone, and all others to link with. Both keep the indices by filling gaps with empty
/// modules. Both are objects, because executables are not linked with other files.
fn divided<'a>(file: &Syclbin<'a>, index: usize) -> (Syclbin<'a>, Syclbin<'a>) {
    let only = |keep: &dyn Fn(usize) -> bool| {
        let modules = file.modules.iter().enumerate();
        let module = |(index, module): (usize, &AbstractModule<'a>)| {
            if keep(index) {
                module.clone()
            } else {
                AbstractModule::default()
            }
        };
        let mut part = Syclbin {
            modules: modules.map(module).collect(),
            ..file.clone()
        };
        let state = State::Object.number();
        part.global.insert(set::GLOBAL, key::STATE, state);
        part
    };
    (only(&|other| other == index), only(&|other| other != index))
}

/// Returns the images of module `index`, if one of them runs.
fn image(module: &Module, index: usize) -> Option<ImageChoice> {
    let mut choices = module.images();
    choices.find(|choice| choice.module() == index && choice.image().is_some())
}

fn kernels(module: &Module, index: usize, behind: usize) -> io::Result<()> {
    let choice = image(module, index);
    let images = choice.as_ref().map(ImageReport::all);
    say(&Step::Tried(Part::module(
        index,
        images.unwrap_or_default(),
    )))?;
    for symbol in module.kernel_names().skip(behind) {
        say(&Step::Trying(Part::kernel(symbol, None)))?;
        let kernel = module.kernel(symbol);
        let answers = kernel.and_then(|kernel| {
            let info = kernel.attributes()?;
            Ok(Answers::new(&info, kernel.required_local_size()))
        });
        say(&Step::Tried(match answers {
            Ok(answers) => Part::kernel(symbol, Some(answers)),
            Err(error) => Part::kernel(symbol, None).failed(Outcome::Refused, error.to_string()),
        }))?;
    }
    Ok(())
}

/// Returns why module `index` cannot be used, without what the error says of the empty modules.
fn reason(error: &syclbin_rt::Error, index: usize) -> String {
    if error.reasons().is_empty() {
        return error.to_string();
    }
    let module = format!("module {index} ");
    let reasons = error
        .reasons()
        .iter()
        .filter(|reason| reason.starts_with(&module));
    reasons.map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Writes a step. It begins on a line of its own, as drivers may write to standard output too.
fn say(step: &Step) -> io::Result<()> {
    let mut output = io::stdout().lock();
    write!(output, "\n{}\n", step.line())?;
    output.flush()
}

/// Runs the trial kernel of the SYCLBIN file on standard input, on the device that a program with this file would
/// get. Returns the answer that the doctor parses with [`Ran::read`].
pub(crate) fn trial() -> String {
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
