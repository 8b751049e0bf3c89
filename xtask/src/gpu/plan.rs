// SPDX-License-Identifier: MIT OR Apache-2.0
//! The steps of a pack, with their order and time limits.

use gpu_report::plan::{Kind, Plan, Step};

use super::cargo::{self, Executable};
use crate::examples::EXAMPLES;

/// The tests of `end-to-end` that need no compiler.
const ON_ANY_DEVICE: &str = "device::";

/// The tool by NVIDIA that checks running kernels for memory errors and races.
const SANITIZER: &str = "compute-sanitizer";
/// The tests to run under the sanitizer: some of each kind of kernel. More would take minutes.
const SANITIZED: [&str; 3] = [
    "device::kernels::",
    "device::scratch::",
    "device::types::structs::",
];

pub(super) fn plan(commit: String, executables: &[Executable]) -> Plan {
    let mut steps = vec![doctor()];
    steps.extend(tests(executables));
    steps.extend(examples());
    steps.push(benchmark());
    steps.push(stress());
    steps.push(intel_gpus());
    if executables
        .iter()
        .any(|executable| executable.name == FAULTS)
    {
        steps.push(failing_calls());
    }
    steps.push(kernels());
    steps.extend(["memcheck", "racecheck"].map(sanitizer));
    Plan { commit, steps }
}

fn doctor() -> Step {
    let mut step = Step::new("doctor", Kind::Information, "bin/cargo-syclbin", 60);
    step.arguments = words("syclbin doctor");
    step
}

fn tests(executables: &[Executable]) -> Vec<Step> {
    let tests = executables
        .iter()
        .filter(|executable| executable.kind == cargo::Kind::Tests);
    let steps = tests.map(|executable| {
        let name = &executable.name;
        let program = format!("bin/{name}");
        let mut step = Step::new(&format!("tests {name}"), Kind::Tests, &program, 300);
        if name.starts_with("end-to-end") {
            step.arguments = words(ON_ANY_DEVICE);
        }
        step
    });
    steps.collect()
}

fn examples() -> Vec<Step> {
    let examples = EXAMPLES.iter().filter(|example| !example.uses_images());
    let steps = examples.map(|example| {
        let name = example.name;
        let program = format!("bin/{name}");
        let mut step = Step::new(&format!("example {name}"), Kind::Program, &program, 150);
        step.expects = Some(example.expected.to_owned());
        step.needs = example.needs.map(str::to_owned);
        step.less = words(&example.small.join(" "));
        step.arguments = words(match name {
            "blur" => "{pack}/before.png {work}/after.png",
            "mandelbrot" => "{work}/mandelbrot.png",
            _ => "",
        });
        step
    });
    steps.collect()
}

/// The name of the step that measures an NVIDIA GPU.
pub(super) const BENCHMARK: &str = "benchmark";

fn benchmark() -> Step {
    let program = "bin/syclbin-rt-bench-gpu";
    let mut step = Step::new(BENCHMARK, Kind::Benchmark, program, 120);
    step.arguments = words("--bench --json {figures}");
    step.less = words("small");
    let kernels = (
        "SYCLBIN_GPU_BENCH_KERNELS".to_owned(),
        "{pack}/kernels".to_owned(),
    );
    step.environment.extend([kernels]);
    step
}

fn stress() -> Step {
    let mut step = Step::new("stress", Kind::Program, "bin/stress", 200);
    step.arguments = words("--short");
    step
}

/// The name of the step that compiles every kernel of this repository.
pub(crate) const KERNELS: &str = "every kernel";

fn kernels() -> Step {
    let mut step = Step::new(KERNELS, Kind::Program, "bin/stress", 300);
    step.arguments = words("kernels {pack}/files {pack}/modules");
    step
}

/// The name of the step that tests the differences between Intel's GPUs.
pub(crate) const INTEL_GPUS: &str = "Intel's GPUs";

fn intel_gpus() -> Step {
    let mut step = Step::new(INTEL_GPUS, Kind::Tests, "bin/syclbin-rt-it", 90);
    step.arguments = words("intel_gpus::");
    step
}

/// The name of the step in which driver calls fail.
pub(crate) const FAILING_CALLS: &str = "failing calls";
/// The OpenCL library that makes the calls fail.
pub(super) const FAULTS: &str = "libfaults.so";

fn failing_calls() -> Step {
    let mut step = Step::new(FAILING_CALLS, Kind::Program, "bin/exercise", 150);
    step.arguments = words("short");
    let library = (
        "OPENCL_DYLIB_PATH".to_owned(),
        format!("{{pack}}/bin/{FAULTS}"),
    );
    step.environment.extend([library]);
    step
}

fn sanitizer(tool: &str) -> Step {
    let program = "bin/end-to-end-it";
    let mut step = Step::new(&format!("{SANITIZER} {tool}"), Kind::Tests, program, 90);
    step.arguments = SANITIZED.map(str::to_owned).into();
    // Tests provoke API errors on purpose, so these errors are not findings.
    let options = format!("{SANITIZER} --tool {tool} --report-api-errors no --error-exitcode 86");
    step.under = words(&options);
    step.cuda_only = true;
    step
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
