// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long `include_syclbin!` takes to write the module of a file with 1,000 kernels, and of the
//! test files.
//!
//! The peer is the same tokens read by `syn`, which is what any macro pays that gets them. A ratio
//! below 1 says that writing the code takes less than reading it once.
//!
//! `--json FILE` writes the nanoseconds for the first file, and `--file FILE` keeps it, for `cargo xtask bench`.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a program for people to read

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use proc_macro2::TokenStream;
use syclbin::{AbstractModule, State, Syclbin};

const KERNELS: usize = 1000;

/// Kernels as they are in programs: numbers, buffers, a struct by value and by pointer.
fn many() -> Vec<u8> {
    let mut module = AbstractModule::default();
    let definition = "struct Particle { float mass; /* 0 */ double position[3]; /* 8 */ \
        sycl::vec<float, 4> velocity; /* 32 */ } /* size 48, align 16 */";
    let mut declared = test_files::Declared::default().types(&[definition]);
    for number in 0..KERNELS {
        let symbol = format!("__sycl_kernel_step_{number}");
        module.add_kernel_name(symbol.clone());
        let declaration = format!(
            "void step_{number}(Particle proto, const Particle *in, float *out, const int *index, unsigned int n)"
        );
        declared = declared.kernel(&symbol, &declaration);
    }
    declared.record(&mut module);
    let mut file = Syclbin::new(State::Executable);
    file.modules.push(module);
    syclbin::write::to_vec(&file, syclbin::Container::default()).unwrap()
}

/// The shortest of some runs: the others were disturbed.
fn shortest(mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..10).map(time).min().unwrap_or_default()
}

/// Returns how long expanding a file takes, and how long `syn` takes to read the code.
fn measure(name: &str, path: &str) -> [Duration; 2] {
    let input = format!("mod kernels = {path:?};");
    let expand = || {
        let tokens: TokenStream = input.parse().unwrap();
        syclbin_expand::include(tokens)
    };
    let code = expand();
    let text = code.to_string();
    assert!(!text.contains("compile_error"), "{text}");
    let parse = shortest(|| {
        black_box(syn::parse2::<syn::File>(code.clone()).unwrap());
    });
    let expand = shortest(|| {
        black_box(expand());
    });
    let ratio = expand.as_secs_f64() / parse.as_secs_f64();
    println!(
        "{name:<28} {:>9.3} ms   {:>9.3} ms   {ratio:>5.2}",
        expand.as_secs_f64() * 1e3,
        parse.as_secs_f64() * 1e3
    );
    [expand, parse]
}

fn main() {
    println!(
        "{:<28} {:>12}   {:>12}   ratio",
        "file", "expand", "syn reads it"
    );
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        let index = arguments.iter().position(|argument| argument == name)?;
        Some(PathBuf::from(&arguments[index + 1]))
    };
    let directory = tempfile::tempdir().unwrap();
    let path = option("--file").unwrap_or_else(|| directory.path().join("many.syclbin"));
    std::fs::write(&path, many()).unwrap();
    let [expand, parse] = measure(&format!("{KERNELS} kernels"), path.to_str().unwrap());
    if let Some(report) = option("--json") {
        let (expand, syn) = (expand.as_nanos(), parse.as_nanos());
        let text = format!("{{\"expand\": {expand}, \"syn\": {syn}}}\n");
        std::fs::write(report, text).unwrap();
    }
    for name in ["structs.object.syclbin", "vector_ops.object.syclbin"] {
        measure(name, test_files::path(name).to_str().unwrap());
    }
}
