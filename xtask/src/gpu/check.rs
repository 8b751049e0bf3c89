// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gpu check`: a pack runs where nothing of this machine helps it: elsewhere, without cargo, without
//! a network and with an empty environment.
//!
//! It runs on the installed CPU device, and on the simulated CUDA driver. A step that fails there
//! fails the check.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gpu_report::Report;
use syclbin_toolchain::{HOME_VARIABLE, Home};

use super::pack::SCRIPT;
use super::{at, pack};
use crate::simulated_cuda;
use crate::steps::{Result, timed};

/// The program that gives a process another network, of nothing.
const UNSHARE: &str = "/usr/bin/unshare";

/// Builds a pack in `directory` and runs a copy of it.
pub(super) fn run(directory: &Path) -> Result<()> {
    pack::build(directory)?;
    simulated_cuda::build()?;
    let work = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    // A name that shells and programs may stumble over.
    let copy = work.path().join("a pack");
    pack::copy_all(directory, &copy)?;
    let elsewhere = work.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).map_err(|error| at(&elsewhere, error))?;
    let machine = Machine {
        script: copy.join(SCRIPT),
        directory: elsewhere,
        has_no_network: can_unshare(),
    };
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref());
    let home = home.map_err(|error| error.to_string())?;
    let mut cpu = machine.command("opencl:cpu:0");
    cpu.env_clear().env(HOME_VARIABLE, home.path());
    expect(&machine.run(&mut cpu)?, false)?;
    let mut cuda = simulated_cuda::with(&machine.command("cuda:gpu:0"))?;
    // New enough for the benchmark's baseline.
    cuda.env_clear()
        .env(simulated_cuda::SETTINGS, "driver=13000");
    expect(&machine.run(&mut cuda)?, true)
}

/// Where a pack runs.
struct Machine {
    script: PathBuf,
    /// The current directory of the script.
    directory: PathBuf,
    has_no_network: bool,
}

impl Machine {
    /// The pack on a device.
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

    /// Runs the pack and reads its report, which must agree with the exit status.
    fn run(&self, command: &mut Command) -> Result<Report> {
        let status = timed("running the pack without this machine", || {
            command.status().map_err(|error| at(&self.script, error))
        })?;
        let report = Report::read(&self.directory.join("report.json"));
        let report = report.map_err(|error| error.to_string())?;
        if status.success() == report.passed {
            Ok(report)
        } else {
            Err(format!(
                "{SCRIPT} ended with {status}, unlike its report says"
            ))
        }
    }
}

/// All must have passed, on the device that was asked for.
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

/// Whether a process may have a network of its own here.
fn can_unshare() -> bool {
    let mut command = Command::new(UNSHARE);
    command.args(["-n", "/bin/true"]).stderr(Stdio::null());
    let can = command.status().is_ok_and(|status| status.success());
    if !can {
        eprintln!("skipped: a run without a network, as `unshare -n` is not allowed here");
    }
    can
}
