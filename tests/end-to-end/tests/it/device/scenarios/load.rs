// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loading: one kernel from files of every state, and what a device must have for it.

use syclbin::{ImageKind, IrType, State};
use syclbin_rt::{Aspect, ErrorKind, NdRange, Queue};

use crate::common::{spirv_queue, takes_native};

syclbin_rt::include_syclbin! { pub mod basic_input = "basic_input"; }
syclbin_rt::include_syclbin! { pub mod basic_object = "basic_object"; }
syclbin_rt::include_syclbin! { pub mod basic_executable = "basic_executable"; }
syclbin_rt::include_syclbin! { pub mod basic_native = "basic_native"; }
syclbin_rt::include_syclbin! { pub mod basic_both = "basic_both"; }
syclbin_rt::include_syclbin! { mod optional_input = "optional_input"; }
syclbin_rt::include_syclbin! { mod optional_object = "optional_object"; }
syclbin_rt::include_syclbin! { mod optional_executable = "optional_executable"; }
syclbin_rt::include_syclbin! { mod optional_native = "optional_native"; }

const ITEMS: usize = 1024;

/// What a kernel of two arguments writes, in work-groups of 16.
macro_rules! written {
    ($queue:ident, $file:ident, $kernel:ident($first:expr)) => {{
        let kernels = $file::Module::load(&$queue).unwrap();
        let mut out = $queue.zeroed::<f32>(ITEMS).unwrap();
        let launch = kernels.$kernel($first, &mut out);
        // SAFETY: a work-item for each element.
        unsafe { launch.launch(NdRange::new(ITEMS).local(16)) }.unwrap();
        $queue.download(&out).unwrap()
    }};
}

macro_rules! ten {
    ($queue:ident, $kernels:ident.$kernel:ident) => {{
        let mut out = $queue.zeroed::<i32>(10).unwrap();
        // SAFETY: it writes ten elements.
        let launched = unsafe { $kernels.$kernel(&mut out, 10).launch(()) };
        launched.map(|_| $queue.download(&out).unwrap())
    }};
}

/// Runs the kernels of a file, each of which needs other aspects.
macro_rules! check_optional {
    ($queue:ident, $file:ident) => {
        let kernels = $file::Module::load(&$queue).unwrap();
        let halved = ten!($queue, kernels.halved);
        let of_gpus = ten!($queue, kernels.of_gpus);
        let whole = ten!($queue, kernels.whole);
        check_optional(&$queue, stringify!($file), whole, halved, of_gpus);
    };
}

#[test]
fn kernel_runs_from_every_kind_of_file() {
    let Some(queue) = spirv_queue() else { return };
    for (file, written) in [
        ("input", written!(queue, basic_input, iota(2.25))),
        ("object", written!(queue, basic_object, iota(2.25))),
        ("executable", written!(queue, basic_executable, iota(2.25))),
        ("native object", written!(queue, basic_both, iota(2.25))),
    ] {
        check_iota(file, &written);
    }
}

fn check_iota(file: &str, written: &[f32]) {
    let mut numbers = (0u16..).zip(written);
    let wrong = numbers.find(|(i, value)| (2.25 + f32::from(*i) - **value).abs() > 1e-3);
    assert_eq!((written.len(), wrong), (ITEMS, None), "{file}");
}

#[test]
fn kernels_run_from_native_code_alone() {
    let Some(queue) = spirv_queue() else { return };
    let kernels = basic_native::Module::load(&queue);
    if !takes_native(kernels.and_then(|kernels| kernels.build())) {
        return;
    }
    check_iota("native", &written!(queue, basic_native, iota(2.25)));
    let expected: Vec<f32> = (0u16..1024).map(f32::from).collect();
    assert_eq!(written!(queue, basic_native, indices(9.5)), expected);
    check_optional!(queue, optional_native);
}

#[test]
fn unread_argument_must_still_be_given() {
    let Some(queue) = spirv_queue() else { return };
    let expected: Vec<f32> = (0u16..1024).map(f32::from).collect();
    assert_eq!(written!(queue, basic_input, indices(9.5)), expected);
    assert_eq!(written!(queue, basic_object, indices(9.5)), expected);
    assert_eq!(written!(queue, basic_executable, indices(9.5)), expected);
}

/// What came of a kernel that writes ten numbers.
type Ten = Result<Vec<i32>, syclbin_rt::Error>;

fn check_optional(queue: &Queue, file: &str, whole: Ten, halved: Ten, of_gpus: Ten) {
    assert_eq!(whole.unwrap(), (0..10).collect::<Vec<_>>(), "{file}");
    for (kernel, done, aspect, expected) in [
        (
            "halved",
            halved,
            Aspect::FP64,
            [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
        ),
        (
            "of_gpus",
            of_gpus,
            Aspect::GPU,
            [0, -1, -2, -3, -4, -5, -6, -7, -8, -9],
        ),
    ] {
        if queue.device().has(aspect) {
            assert_eq!(done.unwrap(), expected, "{file}");
            continue;
        }
        let error = done.unwrap_err();
        assert!(
            error.kind() == ErrorKind::Unavailable && error.to_string().contains("does not run on")
        );
        let text = error.to_string();
        let reason = format!("it requires aspect {aspect}, which the device does not support");
        assert!(
            text.contains(kernel) && text.contains(&reason),
            "{file}: {text}"
        );
    }
}

#[test]
fn kernel_is_missing_without_its_aspects() {
    let Some(queue) = spirv_queue() else { return };
    check_optional!(queue, optional_input);
    check_optional!(queue, optional_object);
    check_optional!(queue, optional_executable);
}

#[test]
fn file_has_its_state_and_one_image() {
    for (bytes, state, native) in [
        (basic_input::SYCLBIN, State::Input, false),
        (basic_object::SYCLBIN, State::Object, false),
        (basic_executable::SYCLBIN, State::Executable, false),
        (basic_native::SYCLBIN, State::Executable, true),
    ] {
        let file = syclbin::read::parse(bytes).unwrap();
        assert_eq!(file.state(), Some(state));
        assert_eq!(file.modules.len(), 1);
        let module = &file.modules[0];
        let names: Vec<&str> = module.kernel_names().collect();
        assert_eq!(names, ["__sycl_kernel_iota", "__sycl_kernel_indices"]);
        assert_eq!(module.images.len(), 1);
        match module.images[0].kind() {
            ImageKind::Ir { ty, .. } => assert!(!native && ty == IrType::SpirV),
            ImageKind::Native { arch, target } => {
                assert!(native && !arch.is_empty());
                assert!(target.starts_with("spir64_x86_64"), "{target}");
            }
        }
    }
}
