// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gpu check`: runs a pack isolated from this machine: in another directory, without Cargo, without a network and
//! with an empty environment.
//!
//! It runs on the installed CPU device, and on the simulated CUDA driver. A failed step fails the check.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gpu_report::Report;
use gpu_report::report::StepReport;
use syclbin_toolchain::{HOME_VARIABLE, Home};

use super::pack::SCRIPT;
use super::plan::BENCHMARK;
use super::{at, pack};
use crate::simulated_cuda;
use crate::steps::{Result, skipped, timed};

/// The program that gives a process an empty network.
const UNSHARE: &str = "/usr/bin/unshare";

/// Runs copies of the pack in `directory`. Returns the report of the CPU device.
pub(crate) fn run(directory: &Path) -> Result<Report> {
    let report = cpu(directory)?;
    let machine = Machine::new(directory)?;
    let mut cuda = simulated_cuda::with(&machine.command("cuda:gpu:0"))?;
    // This driver is new enough for the benchmark's baseline.
    cuda.env_clear()
        .env(simulated_cuda::SETTINGS, "driver=13000,devices=2");
    let simulated = run_pack(&mut cuda, &machine.directory)?;
    expect(&simulated, true)?;
    // A benchmark that finds no device is skipped.
    let mut steps = simulated.steps.iter();
    let is_measured = |step: &StepReport| step.name == BENCHMARK && step.figures.is_some();
    if !steps.any(is_measured) {
        return Err(format!(
            "the step `{BENCHMARK}` measured nothing on simulated CUDA"
        ));
    }
    Ok(report)
}

/// Runs a copy of the pack in `directory` on the installed CPU device.
pub(crate) fn cpu(directory: &Path) -> Result<Report> {
    let machine = Machine::new(directory)?;
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref());
    let home = home.map_err(|error| error.to_string())?;
    let mut cpu = machine.command("opencl:cpu:0");
    cpu.env_clear().env(HOME_VARIABLE, home.path());
    let report = run_pack(&mut cpu, &machine.directory)?;
    expect(&report, false)?;
    Ok(report)
}

/// The environment in which a copy of a pack runs.
struct Machine {
    /// Keeps the temporary directory until the run is over.
    _work: tempfile::TempDir,
    script: PathBuf,
    /// The current directory of the script.
    directory: PathBuf,
    has_no_network: bool,
}

impl Machine {
    fn new(pack: &Path) -> Result<Self> {
        let work = tempfile::tempdir()
            .map_err(|error| format!("cannot create a temporary directory: {error}"))?;
        // Scripts and programs must handle a path with a space.
        let copy = work.path().join("a pack");
        pack::copy_all(pack, &copy)?;
        let elsewhere = work.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).map_err(|error| at(&elsewhere, error))?;
        Ok(Self {
            _work: work,
            script: copy.join(SCRIPT),
            directory: elsewhere,
            has_no_network: can_unshare(),
        })
    }

    fn command(&self, device: &str) -> Command {
        const SHELL: &str = "/bin/sh";
        let mut command = Command::new(if self.has_no_network { UNSHARE } else { SHELL });
        if self.has_no_network {
            command.args(["-n", SHELL]);
        }
        command
            .arg(&self.script)
            .args(["--quick", "--minutes", "15", "--device", device])
            .current_dir(&self.directory);
        command
    }
}

/// Runs a pack, and returns its report from `directory`. The report must agree with the exit status.
pub(crate) fn run_pack(command: &mut Command, directory: &Path) -> Result<Report> {
    let path = directory.join("report.json");
    // Remove the report of an earlier run.
    let _ = std::fs::remove_file(&path);
    let status = timed("running the pack without this machine", || {
        command.status().map_err(|error| at(directory, error))
    })?;
    let report = Report::read(&path);
    let report = report.map_err(|error| format!("the pack ended with {status}: {error}"))?;
    if status.success() == report.passed {
        Ok(report)
    } else {
        Err(format!(
            "the pack ended with {status}, unlike its report says"
        ))
    }
}

/// Checks that all steps passed on the requested device.
fn expect(report: &Report, simulated: bool) -> Result<()> {
    let device = report.device.as_ref().ok_or("the report names no device")?;
    if device.simulated != simulated {
        return Err(format!(
            "the report says {device}, which is not what it ran on"
        ));
    }
    if !report.complete || report.steps.is_empty() {
        return Err("the report is not complete".to_owned());
    }
    if report.passed {
        Ok(())
    } else {
        Err(format!("the pack did not pass on {device}; see above"))
    }
}

/// Returns whether this machine allows a process to have its own network.
fn can_unshare() -> bool {
    let mut command = Command::new(UNSHARE);
    command.args(["-n", "/bin/true"]).stderr(Stdio::null());
    let can = command.status().is_ok_and(|status| status.success());
    if !can {
        skipped(
            "a pack without a network",
            "`unshare -n` is not allowed here",
        );
    }
    can
}
