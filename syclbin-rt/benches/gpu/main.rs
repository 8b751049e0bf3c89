// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernels and launches cost on an NVIDIA GPU, beside CUDA by `nvcc` and raw driver calls, in the
//! same run.
//!
//! ```text
//! gpu --bench [small] [--json FILE]    # measure; `small` has tiny sizes, whose times mean nothing
//! gpu prepare DIR [sm_80,sm_90]        # compile all kernels into DIR, on a machine without a GPU
//! ```
//!
//! The program runs outside of Cargo: it embeds its sources. benches/README.md says what it measures and
//! how, and documents the JSON file.
//!
//! | module | noun |
//! |---|---|
//! | [`arguments`] | the command line |
//! | [`directory`], [`cuda`], [`nvcc`] | compiled kernels, those of the baseline, and their compiler |
//! | [`problem`] | a kernel with its arguments, and the result it must have |
//! | [`ours`], [`theirs`] | a problem run by `syclbin-rt`, and by raw driver calls |
//! | [`contest`] | contestants that take turns |
//! | [`work`] | the problems, and a copy |
//! | [`launches`], [`first`] | what is measured beside kernels |
//! | [`report`] | the table and the JSON file |
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a program for people to read"
)]
#![allow(
    unsafe_code,
    reason = "launching a kernel is unsafe, and so are raw calls"
)]

mod arguments;
mod contest;
mod cuda;
mod directory;
mod first;
mod launches;
mod nvcc;
mod ours;
mod problem;
mod report;
mod theirs;
mod work;

use std::process::ExitCode;

use syclbin_rt::{Architecture, Device, Queue};

use arguments::{Arguments, Sizes};
use cuda::Baseline;
use directory::Directory;
use report::Report;
use theirs::Raw;

/// The error is a sentence for the reader.
type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let done = match Arguments::parse(std::env::args().skip(1)) {
        // A test runner asks for tests, of which there are none.
        Ok(Arguments::Nothing) => Ok(()),
        Ok(Arguments::Prepare { directory, archs }) => directory::prepare(&directory, &archs),
        Ok(Arguments::First { contestant, file }) => first::child(&contestant, &file),
        Ok(Arguments::Measure { sizes, json }) => match device() {
            Ok(device) => measure(&device, sizes, json.as_deref()),
            Err(reason) => {
                println!("nothing is measured on NVIDIA GPUs: {reason}");
                Ok(())
            }
        },
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The device that is measured. The baseline always uses CUDA's first GPU.
const DEVICE: &str = "cuda:gpu:0";

/// Returns [`DEVICE`], or why it is not measured.
fn device() -> Result<Device> {
    let device = Device::select(DEVICE).map_err(words)?;
    let selector = std::env::var("SYCLBIN_DEVICE").unwrap_or_default();
    let is_selected = || Device::select(&selector).is_ok_and(|selected| selected == device);
    if selector.trim().is_empty() || is_selected() {
        Ok(device)
    } else {
        Err(format!(
            "SYCLBIN_DEVICE={selector} does not select {DEVICE}"
        ))
    }
}

/// A measurement: adds its rows to the report.
type Part = fn(&Bench, &mut Report) -> Result<()>;

/// What every measurement uses.
struct Bench {
    sizes: &'static Sizes,
    queue: Queue,
    raw: Raw,
    directory: Directory,
    /// The kernels of `nvcc`, or why there are none.
    baseline: Result<Baseline>,
    arch: String,
}

impl Bench {
    /// Work-groups of 256 work-items that fill the device, for kernels that take any number.
    fn groups(&self) -> u32 {
        let most = self.sizes.elements.div_ceil(512);
        most.min(self.queue.device().compute_units() * 8)
    }
}

fn measure(device: &Device, sizes: &'static Sizes, json: Option<&std::path::Path>) -> Result<()> {
    let arch = device.architecture().and_then(Architecture::name);
    let arch = arch.and_then(|name| name.strip_prefix("nvidia_gpu_"));
    let arch = arch
        .ok_or("cannot tell the architecture of the GPU")?
        .to_owned();
    let directory = Directory::find(&arch)?;
    let raw = Raw::open()?;
    let bench = Bench {
        sizes,
        queue: device.queue().map_err(words)?,
        baseline: Baseline::find(&directory, &raw, &arch),
        raw,
        directory,
        arch,
    };
    let mut report = Report::new(device, &bench);
    report.begin();
    let parts: [(&str, Part); 8] = [
        ("copy", work::copy),
        ("saxpy", work::saxpy),
        ("reduction", work::reduction),
        ("histogram", work::histogram),
        ("matmul", work::matmul),
        ("nbody", work::nbody),
        ("launch", launches::measure),
        ("first result", first::measure),
    ];
    for (name, part) in parts {
        if let Err(error) = part(&bench, &mut report) {
            report.failed(format!("{name}: {error}"));
        }
        // A later part may crash or hang.
        if let Some(json) = json {
            report.write(json)?;
        }
    }
    report.end()
}

fn words(error: impl ToString) -> String {
    error.to_string()
}
