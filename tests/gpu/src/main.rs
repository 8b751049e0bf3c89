// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gpu-report run`: runs a pack and writes the report. `run.sh` in a pack calls it. See the library.
//!
//! It exits with 0 if everything passed, with 1 if not, and with 2 if there is no report.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use gpu_report::Device;
use gpu_report::run::{Options, run};

/// Runs syclbin's tests, examples and benchmarks on a device, and reports what works
#[derive(Parser)]
#[command(name = "gpu-report", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a pack; write report.json and report.md
    #[command(name = "run", override_usage = "./run.sh [OPTIONS]")]
    Run(Run),
    /// Print the device that a program uses, as JSON
    Device,
}

#[derive(Args)]
struct Run {
    /// The directory of the pack
    #[arg(long, hide = true)]
    pack: PathBuf,
    /// The device, as SYCLBIN_DEVICE names it: cuda:gpu:0, opencl:gpu:0, a part of a name [default: the best]
    #[arg(long)]
    device: Option<String>,
    /// The time limit of the whole run
    #[arg(long, default_value_t = 9.0, value_parser = minutes)]
    minutes: f64,
    /// The directory for the report
    #[arg(long, default_value = ".")]
    out: PathBuf,
    /// Do less work in benchmarks, which makes their figures meaningless
    #[arg(long)]
    quick: bool,
    /// Rerun a test executable that crashes, up to three times, and report the crash
    #[arg(long)]
    repeat_crashes: bool,
    /// Run only steps whose name begins with this; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Set a variable for all steps; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    set: Vec<(String, String)>,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse().ok();
    let minutes = minutes.filter(|minutes| (0.01..=10_000.0).contains(minutes));
    minutes.ok_or_else(|| "expected a number of minutes, such as 9".to_owned())
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(arguments) => {
            let describer = match std::env::current_exe() {
                Ok(program) => program,
                Err(error) => return fail(&error),
            };
            let report = run(&Options {
                describer,
                pack: arguments.pack,
                out: arguments.out,
                device: arguments.device,
                limit: Duration::from_secs_f64(60.0 * arguments.minutes),
                quick: arguments.quick,
                repeat_crashes: arguments.repeat_crashes,
                only: arguments.only,
                set: arguments.set,
            });
            match report {
                Ok(report) if report.passed => ExitCode::SUCCESS,
                Ok(_) => ExitCode::FAILURE,
                Err(error) => fail(&error),
            }
        }
        Command::Device => match Device::choose() {
            Ok(device) => print(&device),
            Err(error) => fail(&error),
        },
    }
}

fn print(device: &Device) -> ExitCode {
    match serde_json::to_string(device) {
        Ok(json) => {
            #[allow(clippy::print_stdout, reason = "this is the answer")]
            {
                println!("{json}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error),
    }
}

fn fail(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::from(2)
}
