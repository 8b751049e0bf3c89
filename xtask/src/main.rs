// SPDX-License-Identifier: MIT OR Apache-2.0
//! Development tasks of this repository: `cargo xtask COMMAND`. No product logic lives here.

mod api;
mod bench;
mod damage;
mod drivers;
mod examples;
mod files;
mod gpu;
mod licences;
mod nvcc;
mod nvidia;
mod packages;
mod platforms;
mod prose;
mod random;
mod separate;
mod simulated_cuda;
mod steps;

use std::process::ExitCode;

struct Task {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> steps::Result<()>,
}

const TASKS: [Task; 23] = [
    Task {
        name: "demo",
        help: "install the toolchain if it is missing, then build and run examples/saxpy",
        run: |arguments| none(arguments, steps::demo),
    },
    Task {
        name: "examples",
        help: "run the examples, on the best device and on simulated CUDA, and check what they print",
        run: |arguments| none(arguments, steps::examples),
    },
    Task {
        name: "test",
        help: "everything a change must pass: fmt, clippy, docs, tests, kernels on a device",
        run: |arguments| none(arguments, steps::test),
    },
    Task {
        name: "lint",
        help: "the part of `test` that runs nothing: fmt, clippy, docs",
        run: |arguments| none(arguments, steps::lint),
    },
    Task {
        name: "prose",
        help: "count hard English, and fail when there is more than before; --files, --write",
        run: prose::run,
    },
    Task {
        name: "api",
        help: "compare the public API of each published library with xtask/api; --write records it",
        run: api::run,
    },
    Task {
        name: "licences",
        help: "check licences of sources and dependencies; --write adds lines and writes THIRD-PARTY.md",
        run: licences::run,
    },
    Task {
        name: "oracle",
        help: "have the reference SYCL runtime judge our files, and read what it writes",
        run: |arguments| none(arguments, steps::oracle),
    },
    Task {
        name: "submit",
        help: "build the program of the reference runtime that `cargo bench -p syclbin-rt` measures",
        run: |arguments| none(arguments, steps::submit),
    },
    Task {
        name: "toolchain",
        help: "install what `cargo syclbin toolchain install` does, with the program as it is here",
        run: |arguments| none(arguments, steps::install_toolchain),
    },
    Task {
        name: "bench",
        help: "run all benchmarks or the named sections, and write BENCHMARKS.md; --short, --full, --render",
        run: bench::run,
    },
    Task {
        name: "stress",
        help: "launches, threads, buffers and modules by the million; with --short, a hundredth",
        run: steps::stress,
    },
    Task {
        name: "gpu",
        help: "`gpu pack` builds a directory that any GPU machine runs and reports on; also run, check, record",
        run: gpu::run,
    },
    Task {
        name: "drivers",
        help: "run a pack on PoCL, rusticl, AMD's compiler and Intel's drivers; --driver NAME for one",
        run: drivers::run,
    },
    Task {
        name: "platforms",
        help: "run programs for Windows under Wine and for aarch64 under QEMU, check other targets",
        run: platforms::run,
    },
    Task {
        name: "nvcc",
        help: "fetch the nvcc that prepares the baseline of the GPU benchmark (101 MB), and print its path",
        run: |arguments| none(arguments, steps::nvcc),
    },
    Task {
        name: "nvidia-files",
        help: "make the files in tests/files/nvidia anew; --ptx and --cuda name folders",
        run: nvidia::files,
    },
    Task {
        name: "signatures",
        help: "call random kernels by their stubs; --count, --seed, --first, --simulated-cuda (too)",
        run: random::signatures,
    },
    Task {
        name: "differential",
        help: "compare what random kernels compute with Rust; takes what `signatures` does",
        run: random::differential,
    },
    Task {
        name: "corrupt",
        help: "cut every test file at every byte, and give each byte every value; about an hour",
        run: |arguments| none(arguments, damage::corrupt),
    },
    Task {
        name: "fuzz",
        help: "run each fuzz target for --minutes N (default 1), or divide --hours N among them",
        run: damage::fuzz,
    },
    Task {
        name: "miri",
        help: "interpret tests that need no driver, and the exit of a process in many schedules; minutes",
        run: |arguments| none(arguments, damage::miri),
    },
    Task {
        name: "packages",
        help: "package the last commit twice, and compare the archives",
        run: |arguments| none(arguments, packages::compare),
    },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let task = arguments
        .next()
        .and_then(|name| TASKS.iter().find(|task| task.name == name));
    let Some(task) = task else {
        eprintln!("usage: cargo xtask COMMAND\n");
        for task in &TASKS {
            eprintln!("  {:<12} {}", task.name, task.help);
        }
        return ExitCode::from(2);
    };
    match (task.run)(&arguments.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a task that takes no arguments.
fn none(arguments: &[String], run: fn() -> steps::Result<()>) -> steps::Result<()> {
    match arguments.first() {
        None => run(),
        Some(argument) => Err(format!("`{argument}`: this command takes no arguments")),
    }
}
