// SPDX-License-Identifier: MIT OR Apache-2.0
//! A contestant's process, seen from the parent.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::contestant::Arguments;

/// The first argument of this program where it is a contestant.
pub(crate) const CONTESTANT: &str = "contestant";

/// A running contestant.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The device it runs on.
    pub(crate) device: String,
}

/// How long some launches took, in nanoseconds a launch.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    /// Until the last of them was in the queue: what a program waits for.
    pub(crate) queued: f64,
    /// Until the last of them had finished.
    pub(crate) finished: f64,
}

impl Taken {
    pub(crate) const UNKNOWN: Self = Self {
        queued: f64::NAN,
        finished: f64::NAN,
    };
}

impl Process {
    /// Starts a contestant.
    ///
    /// # Errors
    ///
    /// What it says of why it cannot take part.
    pub(crate) fn start(command: &mut Command) -> Result<Self, String> {
        let program = command.get_program().to_owned();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.ok_or("no pipe from the program")?);
        let device = String::new();
        let mut process = Self {
            child,
            input,
            output,
            device,
        };
        let line = process.line()?;
        match line.strip_prefix("ready ") {
            Some(device) => process.device = device.trim().to_owned(),
            None => return Err(line.trim_start_matches("error ").to_owned()),
        }
        Ok(process)
    }

    /// Has it launch a kernel so many times.
    pub(crate) fn launch(&mut self, arguments: Arguments, count: u32) -> Result<Taken, String> {
        let input = self.input.as_mut().ok_or("the program's input is closed")?;
        writeln!(input, "{} {count}", arguments.count())
            .and_then(|()| input.flush())
            .map_err(|error| format!("the program does not listen: {error}"))?;
        let line = self.line()?;
        let numbers: Result<Vec<f64>, _> = line.split(' ').map(str::parse).collect();
        match numbers.as_deref() {
            Ok([queued, finished]) => Ok(Taken {
                queued: queued / f64::from(count),
                finished: finished / f64::from(count),
            }),
            _ => Err(line),
        }
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err("the program ended".to_owned()),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(format!("the program says nothing: {error}")),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.input.take()); // the program ends at the end of its input
        // Nothing is left to do about a program that ended badly.
        let _ = self.child.wait();
    }
}

/// The reference runtime's program, and what its environment has to have.
#[derive(Clone)]
pub(crate) struct Reference {
    program: PathBuf,
    environment: Vec<(String, OsString)>,
}

impl Reference {
    /// Has `cargo xtask submit` build it, which fetches the runtime if it is not there yet.
    ///
    /// # Errors
    ///
    /// Why it cannot be had here.
    pub(crate) fn get() -> Result<Self, String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["run", "--quiet", "--package", "xtask", "--", "submit"])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cargo: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let mut lines = said.lines();
        match lines.next() {
            Some(program) if output.status.success() => Ok(Self {
                program: program.into(),
                environment: lines
                    .filter_map(|line| line.split_once('='))
                    .map(|(name, value)| (name.to_owned(), value.into()))
                    .collect(),
            }),
            _ => {
                let said = String::from_utf8_lossy(&output.stderr);
                let last = said.trim().lines().last().unwrap_or_default().to_owned();
                Err(format!(
                    "cargo xtask submit ended with {}: {last}",
                    output.status
                ))
            }
        }
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}
