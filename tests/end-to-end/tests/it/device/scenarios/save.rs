// SPDX-License-Identifier: MIT OR Apache-2.0
//! Saving: what was loaded becomes a file, and that is loaded and saved again.

use syclbin::metadata::ModuleMetadata;
use syclbin::{ImageKind, State, Syclbin};
use syclbin_rt::{Arg, Launch, Module, NdRange, Queue};

use super::load::{basic_both, basic_executable, basic_input};
use crate::common::spirv_queue;

syclbin_rt::include_syclbin! { mod lambda = "lambda"; }
syclbin_rt::include_syclbin! { mod constants = "constants_input"; }

fn load(queue: &Queue, bytes: &[u8]) -> Module {
    // SAFETY: a compiler made it, or a driver of what one made.
    unsafe { Module::load(queue, bytes) }.unwrap()
}

fn read(bytes: &[u8]) -> Syclbin<'_> {
    syclbin::read::parse(bytes).unwrap()
}

fn check_iota(queue: &Queue, module: &Module) {
    let kernel = module.kernel("iota");
    let mut out = queue.zeroed::<f32>(1024).unwrap();
    let args = [Arg::scalar(2.25f32), Arg::write(&mut out)];
    let launch = Launch::new(&kernel, &["start", "out"], args);
    // SAFETY: a work-item for each element.
    unsafe { launch.launch(NdRange::new(1024).local(16)) }.unwrap();
    let written = queue.download(&out).unwrap();
    let mut numbers = (0u16..).zip(&written);
    let wrong = numbers.find(|(i, value)| (2.25 + f32::from(*i) - **value).abs() > 1e-3);
    assert_eq!(wrong, None);
}

/// What a file says of each of its images: whether it is native, and for what.
fn architectures(bytes: &[u8]) -> Vec<Option<String>> {
    let file = read(bytes);
    let images = file.modules.iter().flat_map(|module| &module.images);
    images
        .map(|image| match image.kind() {
            ImageKind::Native { arch, .. } => Some(arch.to_owned()),
            ImageKind::Ir { .. } => None,
        })
        .collect()
}

#[test]
fn saved_module_can_be_saved_again() {
    let Some(queue) = spirv_queue() else { return };
    let first = load(&queue, basic_executable::SYCLBIN)
        .to_syclbin()
        .unwrap();
    let again = load(&queue, &first);
    check_iota(&queue, &again);
    let second = again.to_syclbin().unwrap();
    check_iota(&queue, &load(&queue, &second));
    let (first, second) = (read(&first), read(&second));
    assert_eq!(first.state(), Some(State::Executable));
    assert_eq!(second.state(), Some(State::Executable));
    assert_eq!(first.modules[0].metadata, second.modules[0].metadata);
}

#[test]
fn multi_target_module_is_saved() {
    let Some(queue) = spirv_queue() else { return };
    let saved = load(&queue, basic_both::SYCLBIN).to_syclbin().unwrap();
    check_iota(&queue, &load(&queue, &saved));
}

#[test]
fn driver_compiled_spirv_is_saved_as_native() {
    let Some(queue) = spirv_queue() else { return };
    let saved = load(&queue, basic_input::SYCLBIN).to_syclbin().unwrap();
    let images = architectures(&saved);
    assert!(!images.is_empty() && images.iter().all(Option::is_some));
    check_iota(&queue, &load(&queue, &saved));
}

#[test]
fn saved_architecture_survives_another_save() {
    let Some(queue) = spirv_queue() else { return };
    let first = load(&queue, lambda::SYCLBIN).to_syclbin().unwrap();
    let second = load(&queue, &first).to_syclbin().unwrap();
    for saved in [&first, &second] {
        let named = architectures(saved);
        assert!(named.iter().flatten().all(|arch| !arch.is_empty()) && !named.is_empty());
        assert_eq!(named, architectures(&first));
    }
}

#[test]
fn unnamed_kernel_is_in_a_saved_module() {
    let Some(queue) = spirv_queue() else { return };
    let module = load(&queue, lambda::SYCLBIN);
    let again = load(&queue, &module.to_syclbin().unwrap());
    let names = |module: &Module| module.kernel_names().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(names(&again), names(&module));
    let name = names(&again)[0].clone();
    let kernel = again.kernel(&name);
    let mut out = queue.zeroed::<i32>(8).unwrap();
    let launch = Launch::new(&kernel, &["out"], [Arg::write(&mut out)]);
    // SAFETY: a work-item for each element.
    unsafe { launch.launch(NdRange::new(8).local(8)) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [0, 3, 6, 9, 12, 15, 18, 21]);
}

#[test]
fn constant_values_are_in_a_saved_module() {
    let Some(queue) = spirv_queue() else { return };
    let embedded = read(constants::SYCLBIN);
    let metadata = ModuleMetadata::read(&embedded.modules[0].metadata).unwrap();
    let mut names = metadata.specialization.constants.names();
    let a = names.find(|name| name.ends_with("_ZL1a")).unwrap();
    let builder = Module::builder(&queue).specialization_constant(a, 12_345i32);
    // SAFETY: a compiler made it.
    let module = unsafe { builder.load(constants::SYCLBIN) }.unwrap();
    let saved = module.to_syclbin().unwrap();
    let again = load(&queue, &saved);
    let kernel = again.kernel("both");
    let mut out = queue.zeroed::<i32>(2).unwrap();
    let args = [Arg::write(&mut out), Arg::kernel_handler()];
    let launch = Launch::new(&kernel, &["out", "h"], args);
    // SAFETY: it writes two numbers.
    unsafe { launch.launch(1) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [12_345, 1024]);
    let file = read(&saved);
    let metadata = ModuleMetadata::read(&file.modules[0].metadata).unwrap();
    let values = metadata.specialization.set_values.unwrap();
    assert!(
        values
            .windows(4)
            .any(|bytes| bytes == 12_345i32.to_le_bytes())
    );
}
