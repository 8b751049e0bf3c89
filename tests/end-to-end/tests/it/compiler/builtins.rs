// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX calls SYCL's built-in functions. Kernels that call them, run by the simulated driver, compute what Rust does.
#![allow(unsafe_code, reason = "it calls functions of a C library")]

#[allow(dead_code, reason = "the tests of simulated-cuda use the rest")]
#[path = "../../../../simulated-cuda/tests/it/driver/mod.rs"]
mod driver;

use std::path::Path;
use std::process::Command;

use driver::{context, download, function, launch, load, ok, synchronize, upload};
use syclbin::{ImageKind, IrType};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

use crate::common;
use crate::common::clang::{program, said};

/// Work-items in a work-group, and of all.
const GROUP: u32 = 32;
const COUNT: usize = 128;

/// A module that has `kernel`, and the kernel, compiled in this way.
struct Compiled {
    texts: Vec<String>,
}

impl Compiled {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/builtins.cpp");
        let mut command = Command::new(program());
        command
            .args(["-fsyclbin=object", "-O3", "--compile-ptx=sm_80"])
            .args(["-o", "k.syclbin"])
            .arg(source)
            .current_dir(folder.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let bytes = std::fs::read(folder.path().join("k.syclbin")).unwrap();
        let file = syclbin::read::parse(&bytes).unwrap();
        let images = file.modules.iter().flat_map(|module| &module.images);
        let is_ptx = |kind: ImageKind<'_>| {
            matches!(
                kind,
                ImageKind::Ir {
                    ty: IrType::Ptx,
                    ..
                }
            )
        };
        let texts = images.filter(|image| is_ptx(image.kind()));
        let texts = texts.map(|image| String::from_utf8(image.bytes.to_vec()).unwrap());
        Self {
            texts: texts.collect(),
        }
    }

    fn calls(&self) -> usize {
        let calls = |text: &String| text.matches("\tcall.uni ").count();
        self.texts.iter().map(calls).sum()
    }

    /// Runs a kernel over all work-items.
    fn run(&self, kernel: &str, [grid, block]: [[u32; 3]; 2], arguments: &[&[u8]]) {
        let name = format!("__sycl_kernel_{kernel}");
        let entry = format!(".entry {name}(");
        let text = self.texts.iter().find(|text| text.contains(&entry));
        let kernel = function(load(text.unwrap()), &name);
        ok(launch(kernel, grid, block, 4096, arguments));
        ok(synchronize());
    }

    fn run_line(&self, kernel: &str, arguments: &[&[u8]]) {
        let groups = u32::try_from(COUNT).unwrap() / GROUP;
        self.run(kernel, [[groups, 1, 1], [GROUP, 1, 1]], arguments);
    }
}

/// Whether code for NVIDIA's GPUs can be compiled here.
fn is_installed() -> bool {
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref()).unwrap();
    if home.newest(Component::Nvidia).is_none() {
        let required = std::env::var("SYCLBIN_REQUIRE_DEVICE").as_deref() == Ok("1");
        assert!(
            !required,
            "SYCLBIN_REQUIRE_DEVICE=1, and component nvidia is not installed"
        );
        common::say_skipped("component nvidia is not installed");
        return false;
    }
    true
}

fn numbers() -> Vec<i32> {
    let numbers = (0..COUNT).map(|i| i32::try_from(i * 37 % 101).unwrap());
    numbers.collect()
}

#[test]
fn built_in_functions_compute_what_rust_does() {
    if !is_installed() {
        return;
    }
    context();
    let compiled = Compiled::new();
    assert!(compiled.calls() > 50, "{}", compiled.calls());
    mathematics(&compiled);
    functions(&compiled);
    tables(&compiled);
    atomics(&compiled);
    positions(&compiled);
}

fn mathematics(compiled: &Compiled) {
    let input: Vec<f32> = numbers().iter().map(|n| *n as f32 * 0.75).collect();
    let (from, to) = (upload(&input), upload(&[0f32; COUNT]));
    let arguments = [&from.to_ne_bytes()[..], &to.to_ne_bytes()];
    compiled.run_line("mathematics", &arguments);
    for (found, x) in download::<f32>(to, COUNT).into_iter().zip(&input) {
        let expected = sum(*x);
        assert!(
            (found - expected).abs() < 1e-3 * expected.abs().max(1.0),
            "{found} {expected}"
        );
    }
}

/// What the kernel computes.
fn sum(mut x: f32) -> f32 {
    let mut sum = 0f32;
    for _ in 0..5 {
        sum += x.sqrt() + (x + 1.0).sqrt().recip() + x.sin() * (-x).exp2();
        sum = sum.mul_add(0.5, x.floor()) + x.min(2.0) + sum.abs();
        x += sum.clamp(-1.0, 1.0) + 0.25;
    }
    sum
}

fn functions(compiled: &Compiled) {
    let input = numbers();
    // double first = 3; short second = 300; signed char third = -7
    let mut pair = [0u8; 16];
    pair[..8].copy_from_slice(&3f64.to_ne_bytes());
    pair[8..10].copy_from_slice(&300i16.to_ne_bytes());
    pair[10..11].copy_from_slice(&(-7i8).to_ne_bytes());
    let (from, to) = (upload(&input), upload(&[0i64; 3 * COUNT]));
    let arguments = [&pair[..], &from.to_ne_bytes(), &to.to_ne_bytes()];
    compiled.run_line("functions", &arguments);
    let found = download::<i64>(to, 3 * COUNT);
    for (found, n) in found.chunks(3).zip(&input) {
        assert_eq!(found, computed(*n));
    }
}

/// What the kernel computes.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as C++ does"
)]
fn computed(n: i32) -> [i64; 3] {
    let (mut first, mut second, mut third) = (3f64, 300i16, -7i8);
    let over = (n * 3) as u8;
    for step in 0..4 {
        first *= f64::from(over);
        second = second.wrapping_add(i16::from(n as i8));
        third = third.wrapping_sub(over as i8);
        if (n + step) & 1 == 1 {
            third = third.wrapping_neg();
        }
    }
    let early = |n: i32, mut seed: i64| {
        if n < 0 {
            return seed;
        }
        for i in 0..n {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(i64::from(i));
            if seed % 7 == 0 {
                return seed.wrapping_sub(i64::from(n));
            }
        }
        seed ^ i64::from(n)
    };
    let number = early(n, first as i64).wrapping_add(early(-n, 5));
    [number, i64::from(second), i64::from(third)]
}

fn tables(compiled: &Compiled) {
    let (input, table) = (numbers(), [3, 1, 4, 1, 5, 9, 2, 6]);
    let table_bytes: Vec<u8> = table.iter().copied().flat_map(i32::to_ne_bytes).collect();
    let (from, to) = (upload(&input), upload(&[0i32; COUNT]));
    let arguments = [&table_bytes[..], &from.to_ne_bytes(), &to.to_ne_bytes()];
    compiled.run_line("tables", &arguments);
    for (found, n) in download::<i32>(to, COUNT).into_iter().zip(&input) {
        let chosen = |index: i32| table[usize::try_from(index & 7).unwrap()];
        let add = |sum: i32, step: i32| sum.wrapping_mul(3).wrapping_add(chosen(n + step));
        assert_eq!(found, (0..8).fold(0, add));
    }
}

fn atomics(compiled: &Compiled) {
    let input: Vec<u32> = numbers().iter().map(|n| n.unsigned_abs()).collect();
    let mut expected = [0u32; 16];
    for value in &input {
        expected[usize::try_from(*value % 16).unwrap()] += value;
    }
    let product = |product: i32, n: &u32| product.wrapping_mul((n | 1).cast_signed());
    let product = input.iter().fold(1, product);
    let [from, bins] = [upload(&input), upload(&[0u32; 16])];
    let [total, extremes] = [upload(&[0u32]), upload(&[i32::MIN, i32::MAX, 1])];
    let all = [from, bins, total, extremes].map(u64::to_ne_bytes);
    let arguments = all.each_ref().map(|bytes| &bytes[..]);
    compiled.run_line("atomics", &arguments);
    assert_eq!(download::<u32>(bins, 16), expected);
    assert_eq!(download::<u32>(total, 1), [input.iter().sum::<u32>()]);
    let most = input.iter().max().unwrap().cast_signed();
    let least = input.iter().min().unwrap().cast_signed();
    assert_eq!(download::<i32>(extremes, 3), [most, least, product]);
}

fn positions(compiled: &Compiled) {
    let to = upload(&[0i32; 128]);
    // SYCL's last dimension is the fastest, and so x: 2 by 2 work-groups of 4 by 8.
    compiled.run("positions", [[2, 2, 1], [8, 4, 1]], &[&to.to_ne_bytes()]);
    for (place, found) in (0..).zip(download::<i32>(to, 128)) {
        let [row, column] = [place / 16, place % 16];
        let of = |at: i32, size: i32| at * 10 + at % size + at / size * size + 2;
        assert_eq!(found, of(row, 4) * 100 + of(column, 8), "{row} {column}");
    }
}
