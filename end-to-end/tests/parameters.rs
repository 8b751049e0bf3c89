//! Kernels with parameters that no file of `testfiles/` has, compiled, loaded and launched.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]
#![allow(clippy::unwrap_used, clippy::panic)] // a test may

use std::path::Path;
use std::process::Command;

use syclbin_rt::{AccessorRange, Arg, Device, Launch, Module, NdRange, Queue, Result};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

fn load() -> Result<(Queue, Module)> {
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref()).unwrap();
    let clang = home.newest(Component::Compiler);
    let clang = clang
        .expect("the tests need `cargo xtask toolchain`")
        .entry();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parameters.syclbin");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parameters.cpp");
    let output = Command::new(clang)
        .args(["-fsycl", "-fsyclbin=object", "-o"])
        .args([&file, &source])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let queue = Device::best()?.queue()?;
    // SAFETY: a compiler made the file.
    let module = unsafe { Module::load(&queue, &std::fs::read(file).unwrap())? };
    Ok((queue, module))
}

#[test]
fn accessors_of_two_and_three_dimensions_are_in_sycls_order() -> Result<()> {
    let (queue, module) = load()?;
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
fn a_local_accessor_of_two_dimensions_is_in_sycls_order() -> Result<()> {
    let (queue, module) = load()?;
    let mut out = queue.zeroed::<i32>(32)?;
    let args = [Arg::local_accessor::<i32>([4, 8]), Arg::write(&mut out)];
    let range = NdRange::new([4, 8]).local([4, 8]);
    // SAFETY: one element of the tile and of the buffer for each work-item.
    unsafe { Launch::new(&module.kernel("_ZTS6Turned"), &["tile", "o"], args).launch(range)? };
    assert_eq!(queue.download(&out)?, (0..32).rev().collect::<Vec<i32>>());
    Ok(())
}

#[test]
fn a_half_and_a_vector_of_three_go_by_value() -> Result<()> {
    let (queue, module) = load()?;
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
