// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels with parameters that no file of `tests/files/` has, compiled, loaded and launched.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use syclbin_rt::{
    AccessorRange, Addressing, Arg, Device, ErrorKind, Filtering, Launch, Module, NdRange, Queue,
    Result, Sampler,
};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

use crate::common;

/// The file that most tests load.
static OPTIMIZED: LazyLock<Vec<u8>> = LazyLock::new(|| compile("-O2"));

fn compile(option: &str) -> Vec<u8> {
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref()).unwrap();
    let clang = home.newest(Component::Compiler);
    let clang = clang
        .expect("the tests need `cargo xtask toolchain`")
        .entry();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parameters.syclbin");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/parameters.cpp");
    let output = Command::new(clang)
        .args(["-fsycl", "-fsyclbin=object", option, "-o"])
        .args([&file, &source])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    std::fs::read(file).unwrap()
}

fn load(bytes: &[u8]) -> Result<(Queue, Module)> {
    let queue = Device::best()?.queue()?;
    // SAFETY: a compiler made the file.
    let module = unsafe { Module::load(&queue, bytes)? };
    Ok((queue, module))
}

#[test]
fn accessors_follow_sycl_dimension_order() -> Result<()> {
    let (queue, module) = load(&OPTIMIZED)?;
    let numbers: Vec<i32> = (0..6 * 16).collect();
    let input = queue.upload(&numbers)?;
    let mut out = queue.zeroed::<i32>(36)?;
    // Four rows of eight, from row 1 and column 2 of 16 on.
    let window = AccessorRange::new([6, 16]).part([1, 2], [4, 8]);
    let args = [Arg::write(&mut out), Arg::read_accessor(&input, window)];
    // SAFETY: the kernel writes 36 numbers, and reads inside of the window.
    unsafe { Launch::new(&module.kernel("_ZTS6Window"), &["o", "in"], args).launch([4, 8])? };
    let mut expected: Vec<i32> = (0..4)
        .flat_map(|row| (0..8).map(move |column| (row + 1) * 16 + column + 2))
        .collect();
    expected.extend([4, 8, 1, 2]);
    assert_eq!(queue.download(&out)?, expected);

    let mut out = queue.zeroed::<i32>(24)?;
    let args = [Arg::write_accessor(&mut out, [2, 3, 4])];
    // SAFETY: one element for each work-item.
    unsafe { Launch::new(&module.kernel("_ZTS4Cube"), &["out"], args).launch([2, 3, 4])? };
    let expected: Vec<i32> = (0..24)
        .map(|i| i / 12 * 100 + i / 4 % 3 * 10 + i % 4)
        .collect();
    assert_eq!(queue.download(&out)?, expected);
    Ok(())
}

#[test]
fn local_accessor_follows_sycl_dimension_order() -> Result<()> {
    let (queue, module) = load(&OPTIMIZED)?;
    let mut out = queue.zeroed::<i32>(32)?;
    let args = [Arg::local_accessor::<i32>([4, 8]), Arg::write(&mut out)];
    let range = NdRange::new([4, 8]).local([4, 8]);
    // SAFETY: one element of the tile and of the buffer for each work-item.
    unsafe { Launch::new(&module.kernel("_ZTS6Turned"), &["tile", "o"], args).launch(range)? };
    assert_eq!(queue.download(&out)?, (0..32).rev().collect::<Vec<i32>>());
    Ok(())
}

#[test]
fn half_and_vector_are_passed_by_value() -> Result<()> {
    let (queue, module) = load(&OPTIMIZED)?;
    let mut out = queue.zeroed::<f32>(4)?;
    let args = [
        Arg::value(0x3c00u16), // 1 in half precision
        Arg::value([5.0f32, 6.0, 7.0, 0.0]),
        Arg::bool(true),
        Arg::write(&mut out),
    ];
    // SAFETY: it writes four numbers.
    unsafe { Launch::new(&module.kernel("values"), &["h", "v", "b", "out"], args).launch(1)? };
    assert_eq!(queue.download(&out)?, [1.0, 5.0, 7.0, 1.0]);
    Ok(())
}

/// A sampler, unless the device has none, which is to be said in so many words.
fn sampler(queue: &Queue) -> Result<Option<Sampler>> {
    match Sampler::new(queue, Addressing::Repeat, Filtering::Linear, true) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            let device = queue.device();
            assert_eq!(
                error.to_string(),
                format!(
                    "samplers require CL_DEVICE_IMAGE_SUPPORT, which {device} does not support"
                )
            );
            common::say_skipped(&error.to_string());
            Ok(None)
        }
        made => made.map(Some),
    }
}

#[test]
fn a_sampler_is_passed_between_other_arguments() -> Result<()> {
    let (queue, module) = load(&OPTIMIZED)?;
    let Some(sampler) = sampler(&queue)? else {
        return Ok(());
    };
    let kernel = module.kernel("sampled");
    let names = &["in", "s", "out", "factor"];
    let input = queue.upload(&[1i32, 2, 3])?;
    let mut out = queue.zeroed::<i32>(3)?;
    let args = [
        Arg::read(&input),
        Arg::sampler(&sampler),
        Arg::write(&mut out),
        Arg::scalar(5i32),
    ];
    // SAFETY: three elements for three work-items.
    let event = unsafe { Launch::new(&kernel, names, args).launch(3)? };
    // The driver keeps it for the kernel.
    drop(sampler);
    event.wait()?;
    assert_eq!(queue.download(&out)?, [5, 10, 15]);

    // A driver would take eight bytes for the handle of a sampler.
    for wrong in [Arg::scalar(0x1234_5678u64), Arg::read(&input)] {
        let args = [
            Arg::read(&input),
            wrong,
            Arg::write(&mut out),
            Arg::scalar(5i32),
        ];
        // SAFETY: refused before the driver sees it.
        let launched = unsafe { Launch::new(&kernel, names, args).launch(3) };
        let error = launched.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Launch, "{error}");
        let text = error.to_string();
        assert!(
            text.contains("argument 1 (s) is ") && text.ends_with("expects a sampler"),
            "{text}"
        );
    }
    Ok(())
}

#[test]
fn kernel_handler_reaches_functions_and_lambdas() -> Result<()> {
    // Without optimization a lambda has an argument for it; with it, the compiler removes that.
    for (option, bytes) in [("-O0", &compile("-O0")), ("-O2", &*OPTIMIZED)] {
        let (queue, module) = load(bytes)?;
        let input = queue.upload(&[1i32, 2, 3, 4])?;
        let mut out = queue.zeroed::<i32>(4)?;
        let names = &["in", "h", "out", "factor"];
        let args = [
            Arg::read(&input),
            Arg::kernel_handler(),
            Arg::write(&mut out),
            Arg::scalar(-1i32),
        ];
        // SAFETY: four elements for four work-items.
        unsafe { Launch::new(&module.kernel("handled"), names, args).launch(4)? };
        assert_eq!(queue.download(&out)?, [-1, -2, -3, -4], "{option}");
        let args = [Arg::write(&mut out), Arg::kernel_handler()];
        let kernel = module.kernel("_ZTS7Handled");
        // SAFETY: as above.
        unsafe { Launch::new(&kernel, &["o", "h"], args).launch(4)? };
        assert_eq!(queue.download(&out)?, [3; 4], "{option}");
    }
    Ok(())
}
