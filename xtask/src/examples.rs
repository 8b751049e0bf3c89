// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the examples, and compares their output with the expected output.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::simulated_cuda;
use crate::steps::{Result, SELECTION, cargo, step, target_folder, timed};

pub(crate) struct Example {
    pub(crate) name: &'static str,
    /// The output if the device and Rust agree.
    pub(crate) expected: &'static str,
    /// Arguments that make the work small enough for a simulation.
    pub(crate) small: &'static [&'static str],
    /// A capability that some devices lack, as named in the example's error.
    pub(crate) needs: Option<&'static str>,
}

pub(crate) const EXAMPLES: [Example; 9] = [
    Example {
        name: "saxpy",
        expected: "elements  1000000, all as Rust computes them",
        small: &[],
        needs: None,
    },
    Example {
        name: "blur",
        expected: "radius 6  320 x 200 pixels as Rust computes them",
        small: &[],
        needs: None,
    },
    Example {
        name: "histogram",
        expected: "all bins as Rust counts them",
        small: &[],
        needs: None,
    },
    Example {
        name: "mandelbrot",
        expected: "those compared as Rust computes them",
        small: &["40"],
        needs: None,
    },
    Example {
        name: "matmul",
        expected: "agree     up to",
        small: &["100", "120", "140"],
        needs: None,
    },
    Example {
        name: "nbody",
        expected: "after 4 steps as in Rust",
        small: &["10"],
        needs: Some("usm_shared_allocations"),
    },
    Example {
        name: "particles",
        expected: "positions  as in Rust",
        small: &[],
        needs: None,
    },
    Example {
        name: "pipeline",
        expected: "16 chunks of 65536, steps as Rust counts them",
        small: &[],
        needs: None,
    },
    Example {
        name: "rotate",
        expected: "320 x 200, as Rust interpolates them",
        small: &[],
        needs: None,
    },
];

/// Runs all examples on the best device of this machine. They are built without `--release`, as users first try them.
pub(crate) fn run() -> Result<()> {
    build(None)?;
    timed("running examples", || {
        let mut examples = EXAMPLES.iter();
        examples.try_for_each(|example| example.check(&mut example.command()?, None))
    })
}

/// Runs all examples on a simulated NVIDIA GPU beside the CPU device: with PTX in their files, with a GPU that is too
/// old for that PTX, and without PTX.
pub(crate) fn run_on_simulated_cuda() -> Result<()> {
    let gpu = "Simulated CUDA device (gpu";
    let cpu = "(cpu";
    for (targets, settings, device) in [
        (None, "", gpu),
        (None, "sm=50", cpu),
        (Some("spir64"), "", cpu),
    ] {
        build(targets)?;
        let check = |example: &Example| {
            let mut command = simulated_cuda::with(&example.command()?)?;
            command.args(example.small);
            command.env(simulated_cuda::SETTINGS, settings);
            // Ignore a device that was chosen for the other tests.
            command.env_remove("SYCLBIN_DEVICE");
            let device = if example.uses_images() { cpu } else { device };
            example.check(&mut command, Some(device))
        };
        timed("running examples beside simulated CUDA", || {
            EXAMPLES.iter().try_for_each(check)
        })?;
    }
    Ok(())
}

fn build(targets: Option<&str>) -> Result<()> {
    step(
        &format!("examples for {}", targets.unwrap_or("all targets")),
        &mut build_command(targets),
    )
}

/// Returns the command that builds the programs of the workspace, including the examples.
pub(crate) fn build_command(targets: Option<&str>) -> Command {
    let mut command = cargo();
    // Build tests too, so that Cargo selects the same features as for tests. Test kernels are not rebuilt.
    command.args(["build", "--quiet"]).args(SELECTION).args([
        "--bins",
        "--tests",
        "--exclude=end-to-end",
        "--exclude=random-kernels-run",
        // It changes the features of no other package.
        "--exclude=xtask",
    ]);
    match targets {
        Some(targets) => command.env("SYCLBIN_TARGETS", targets),
        None => command.env_remove("SYCLBIN_TARGETS"),
    };
    command
}

impl Example {
    /// Returns whether the example uses images. CUDA devices do not support them.
    pub(crate) fn uses_images(&self) -> bool {
        self.name == "rotate"
    }

    /// Returns the program with its arguments. Pictures go to the target directory, because the READMEs show the
    /// pictures in the directories of the examples.
    fn command(&self) -> Result<Command> {
        let target = target_folder()?;
        let mut command = Command::new(target.join("debug").join(self.name));
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let arguments: Vec<OsString> = match self.name {
            "mandelbrot" => vec![target.join("mandelbrot.png").into()],
            "blur" | "rotate" => vec![
                workspace
                    .join("examples")
                    .join(self.name)
                    .join("before.png")
                    .into(),
                target.join("after.png").into(),
            ],
            _ => Vec::new(),
        };
        command.args(arguments).current_dir(workspace);
        Ok(command)
    }

    fn check(&self, command: &mut Command, device: Option<&str>) -> Result<()> {
        let name = self.name;
        match device {
            Some(device) => eprintln!("== {name}, expected on {device}...)"),
            None => eprintln!("== {name}"),
        }
        let trace = target_folder()?.join("pipeline-trace.json");
        let is_traced = name == "pipeline" && device.is_none();
        if is_traced {
            command.env("SYCLBIN_TRACE", &trace);
        }
        let output = command.stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("{name}: {error}"))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        eprint!("{printed}");
        if !output.status.success() {
            return Err(format!("{name} ended with {}", output.status));
        }
        for expected in [Some(self.expected), device].into_iter().flatten() {
            if !printed.contains(expected) {
                return Err(format!("{name} does not print `{expected}`"));
            }
        }
        if is_traced {
            let pairs = overlaps(&trace)?;
            eprintln!("trace     {pairs} times an upload while the kernel ran");
            if pairs == 0 {
                return Err(format!("{}: no upload overlaps a kernel", trace.display()));
            }
        }
        Ok(())
    }
}

/// Returns how many pairs of an upload and a kernel run at the same time in a trace of `pipeline`.
fn overlaps(trace: &Path) -> Result<usize> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", trace.display());
    let text = std::fs::read(trace).map_err(|error| wrong(&error))?;
    let trace: Value = serde_json::from_slice(&text).map_err(|error| wrong(&error))?;
    let events = trace["traceEvents"].as_array();
    let events = events.ok_or_else(|| wrong(&"it has no list of events"))?;
    let times = |name: &str| -> Vec<(f64, f64)> {
        let named = events.iter().filter(|event| event["name"] == name);
        let times = named.filter_map(|event| {
            let begun = event["ts"].as_f64()?;
            Some((begun, begun + event["dur"].as_f64()?))
        });
        times.collect()
    };
    let kernels = times("collatz");
    let uploads = times("writing a buffer");
    let pairs = uploads.iter().flat_map(|upload| {
        let at_once = move |kernel: &&(f64, f64)| kernel.0 < upload.1 && upload.0 < kernel.1;
        kernels.iter().filter(at_once)
    });
    Ok(pairs.count())
}
