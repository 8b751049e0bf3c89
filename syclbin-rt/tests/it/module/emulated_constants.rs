// SPDX-License-Identifier: MIT OR Apache-2.0
//! Specialization constants that native code reads from memory, whose address is a hidden argument.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]

use syclbin::metadata::{ArgumentMask, SpecializationConstants};
use syclbin::property::set;
use syclbin_rt::__private::{build_native, native_cpu};
use syclbin_rt::{Arg, Launch, Module, ModuleBuilder, Queue, Result};

use crate::common;
use crate::emulated::{FUNCTION, FUNCTOR, PLAIN, WORDS, constants, file, spirv};

const DEFAULTS: [u32; WORDS] = [70, 0, 80, 90, 100];

/// Returns a queue, and a file for its device with native code and `constants`.
fn bench_with(constants: &SpecializationConstants) -> Result<Option<(Queue, Vec<u8>)>> {
    let Some(queue) = common::queue() else {
        return Ok(None);
    };
    if common::on_cuda() {
        return Ok(Some((queue, file(constants, None))));
    }
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        common::say_skipped("only x86-64 Linux runs native code that names no system");
        return Ok(None);
    }
    let device = match native_cpu() {
        Ok(device) => device,
        Err(error) => {
            common::say_skipped(&error.to_string());
            return Ok(None);
        }
    };
    // SAFETY: the module is well-formed.
    let code = unsafe { build_native(&device, &spirv(), "")? };
    Ok(Some((device.queue()?, file(constants, Some(code)))))
}

fn bench() -> Result<Option<(Queue, Vec<u8>)>> {
    bench_with(&constants())
}

fn load(builder: ModuleBuilder<'_>, bytes: &[u8]) -> Result<Module> {
    // SAFETY: the code is well-formed.
    let module = unsafe { builder.load(bytes)? };
    let choice = common::choices(&module)[0].to_string();
    assert!(choice.contains("accepts this native code"), "{choice}");
    Ok(module)
}

/// Returns what the functor and the function read, which has to be the same.
fn read(module: &Module) -> Result<Vec<u32>> {
    let function = module.kernel(FUNCTION);
    let mut out = module.queue().zeroed::<u32>(WORDS)?;
    let args = [Arg::write(&mut out), Arg::kernel_handler()];
    // SAFETY: the kernel writes that many words.
    unsafe { Launch::new(&function, &["out", "handler"], args).launch(1)? };
    let words = module.queue().download(&out)?;
    assert_eq!(read_by_functor(module)?, words);
    Ok(words)
}

fn read_by_functor(module: &Module) -> Result<Vec<u32>> {
    let functor = module.kernel(FUNCTOR);
    let mut out = module.queue().zeroed::<u32>(WORDS)?;
    // SAFETY: the kernel writes that many words.
    unsafe { Launch::new(&functor, &["out"], [Arg::write(&mut out)]).launch(1)? };
    module.queue().download(&out)
}

#[test]
fn emulated_constants_have_defaults_and_set_values() -> Result<()> {
    let Some((queue, bytes)) = bench()? else {
        return Ok(());
    };
    let builder = || Module::builder(&queue);
    let unset = load(builder(), &bytes)?;
    let radius = builder().specialization_constant("radius", 3u32);
    let radius = load(radius, &bytes)?;
    let triple = builder()
        .specialization_constant("triple", [4u32, 5, 6])
        .specialization_constant("radius", [7u32, 8]);
    let triple = load(triple, &bytes)?;
    for _ in 0..2 {
        assert_eq!(read(&unset)?, DEFAULTS);
        assert_eq!(read(&radius)?, [3, 0, 80, 90, 100]);
        assert_eq!(read(&triple)?, [7, 8, 4, 5, 6]);
    }
    let short = builder().specialization_constant("triple", [0u32; 2]);
    let message = load(short, &bytes).unwrap_err().to_string();
    assert!(
        message.ends_with(
            "triple is 12 bytes long, but the given value is 8 bytes long; pass a value of its type"
        ),
        "{message}"
    );
    Ok(())
}

#[test]
fn file_values_replace_defaults_of_emulated_constants() -> Result<()> {
    let mut constants = constants();
    constants.set_values = Some([71u32, 0, 80, 91, 100].map(u32::to_le_bytes).concat());
    let Some((queue, bytes)) = bench_with(&constants)? else {
        return Ok(());
    };
    let module = load(Module::builder(&queue), &bytes)?;
    assert_eq!(read(&module)?, [71, 0, 80, 91, 100]);
    let module = Module::builder(&queue).specialization_constant("radius", 70u32);
    assert_eq!(read(&load(module, &bytes)?)?, [70, 0, 80, 91, 100]);
    Ok(())
}

#[test]
fn kernels_keep_their_emulated_constants() -> Result<()> {
    let Some((queue, bytes)) = bench()? else {
        return Ok(());
    };
    let kernels = |radius: u32| -> Result<_> {
        let builder = Module::builder(&queue).specialization_constant("radius", radius);
        let module = load(builder, &bytes)?;
        Ok((module.kernel(FUNCTOR), module.kernel(FUNCTION)))
    };
    // The modules are gone before the kernels run.
    let ((functor, _), (_, function)) = (kernels(1)?, kernels(2)?);
    let mut of_functor = queue.zeroed::<u32>(WORDS)?;
    let mut of_function = queue.zeroed::<u32>(WORDS)?;
    let launch = Launch::new(&functor, &["out"], [Arg::write(&mut of_functor)]);
    launch.suggested_local_size(1)?;
    let prepared = launch.prepare(1)?;
    let mut recorder = queue.record();
    let args = [Arg::write(&mut of_function), Arg::kernel_handler()];
    // SAFETY: the kernels write that many words, here and below.
    unsafe { Launch::new(&function, &["out", "handler"], args).record(&mut recorder, 1)? };
    let recording = recorder.finish()?;
    drop((functor, function));
    for _ in 0..2 {
        // SAFETY: as above.
        unsafe { prepared.launch()? };
        recording.replay()?;
    }
    drop((prepared, recording));
    assert_eq!(queue.download(&of_functor)?, [1, 0, 80, 90, 100]);
    assert_eq!(queue.download(&of_function)?, [2, 0, 80, 90, 100]);
    Ok(())
}

#[test]
fn saved_modules_keep_emulated_constants() -> Result<()> {
    let Some((queue, bytes)) = bench()? else {
        return Ok(());
    };
    let module = Module::builder(&queue).specialization_constant("radius", 3u32);
    let saved = load(module, &bytes)?.to_syclbin()?;
    let again = load(Module::builder(&queue), &saved)?;
    // A saved file does not contain the types of parameters, so only a functor can read its constants.
    assert_eq!(read_by_functor(&again)?, [3, 0, 80, 90, 100]);
    let other = Module::builder(&queue).specialization_constant("triple", [9u32; 3]);
    assert_eq!(read_by_functor(&load(other, &saved)?)?, [3, 0, 9, 9, 9]);
    Ok(())
}

#[test]
fn other_kernels_take_no_hidden_argument() -> Result<()> {
    let Some((queue, bytes)) = bench()? else {
        return Ok(());
    };
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    // A kernel whose second argument the compiler removed.
    let mask = ArgumentMask {
        removed: vec![false, true],
    };
    let mut masks = syclbin::metadata::Named::default();
    masks.insert(PLAIN, mask);
    masks.write(&mut file.modules[0].metadata, set::KERNEL_PARAM_OPT);
    let masked = load(Module::builder(&queue), &common::written(&file))?;
    let module = load(Module::builder(&queue), &bytes)?;
    for module in [&module, &masked] {
        let plain = module.kernel(PLAIN);
        let mut out = queue.zeroed::<u32>(1)?;
        let args = [Arg::write(&mut out)];
        // SAFETY: it writes a word.
        unsafe { Launch::new(&plain, &["out"], args).launch(1)? };
        assert_eq!(queue.download(&out)?, [4]);
    }
    let mut out = queue.zeroed::<u32>(1)?;
    let args = [Arg::write(&mut out), Arg::kernel_handler()];
    // SAFETY: it writes a word.
    unsafe { Launch::new(&masked.kernel(PLAIN), &["out", "handler"], args).launch(1)? };
    assert_eq!(queue.download(&out)?, [4]);
    // A function declares its handler.
    let args = [Arg::write(&mut out)];
    // SAFETY: refused before the driver sees it.
    let launched = unsafe { Launch::new(&module.kernel(FUNCTION), &["out"], args).launch(1) };
    assert_eq!(
        launched.unwrap_err().to_string(),
        "kernel emulated: expected 2 arguments, found 1 (out)"
    );
    Ok(())
}
