// SPDX-License-Identifier: MIT OR Apache-2.0
//! The user's own pip, which fetches the wheels.
//!
//! The user's pip is already configured for their proxy, mirror and certificates, so this program contains no HTTP
//! code. It still checks every file that pip fetches.
//!
//! The candidates, in order: `python3 -m pip`, `python -m pip`, `pip3`, `pip`, `uv tool run pip`. The variable
//! `SYCLBIN_PIP` replaces them all. It contains the path of a program, or words separated by spaces, such as
//! `python3.12 -m pip`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use syclbin_build::process;
use syclbin_toolchain::file::find_program;

use super::pins::{WheelPin, listing};
use crate::error::{Error, Result};

/// The environment variable that names the pip to use.
pub const VARIABLE: &str = "SYCLBIN_PIP";

const CANDIDATES: [&str; 5] = [
    "python3 -m pip",
    "python -m pip",
    "pip3",
    "pip",
    "uv tool run pip",
];

/// The arguments with which uv runs pip, because uv itself has no `pip download` command.
const UV: [&str; 3] = ["tool", "run", "pip"];

/// The time limit for a program to report its version.
const LIMIT: Duration = Duration::from_secs(30);

/// Options that select the pinned wheels. The wheels contain no Python, so the version of the Python that runs pip does
/// not matter.
const OPTIONS: &str = "--no-deps --only-binary=:all: --python-version 3.12 --implementation py --abi none \
    --disable-pip-version-check";

/// The variables that determine where to find pip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The value of `SYCLBIN_PIP`.
    pub explicit: Option<OsString>,
    /// The value of `PATH`.
    pub path: Option<OsString>,
}

/// A pip that was found on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pip {
    /// The path of the program.
    program: PathBuf,
    /// The arguments that always come first, like `-m pip`.
    leading: Vec<String>,
    /// The version that the program reports: pip's, or uv's if uv runs pip.
    pub version: String,
}

impl Search {
    /// Reads the environment variables of this process.
    pub fn from_env() -> Self {
        Self {
            explicit: std::env::var_os(VARIABLE).filter(|value| !value.is_empty()),
            path: std::env::var_os("PATH"),
        }
    }

    /// Returns the first pip that reports a version.
    ///
    /// # Errors
    ///
    /// Fails if no candidate reports a version. The error lists the candidates.
    pub fn find(&self) -> std::result::Result<Pip, String> {
        let search = self.path.as_deref();
        if let Some(explicit) = &self.explicit {
            let shown = explicit.to_string_lossy();
            let pip = Pip::find(&shown, search);
            return pip.map_err(|reason| format!("`{VARIABLE}={shown}`: {reason}"));
        }
        let mut tried = Vec::new();
        for candidate in CANDIDATES {
            match Pip::find(candidate, search) {
                Ok(pip) => return Ok(pip),
                Err(reason) => tried.push(format!("`{candidate}`: {reason}")),
            }
        }
        Err(tried.join("; "))
    }
}

impl Pip {
    /// Finds the program of a command line in `search`. The other words become its leading arguments.
    fn find(command_line: &str, search: Option<&OsStr>) -> std::result::Result<Self, String> {
        // Check for a path first, because a path may contain spaces.
        if let Some(program) = find_program(command_line, search) {
            return Self::new(program, Vec::new());
        }
        let mut words = command_line.split_whitespace();
        let program = words.next().and_then(|name| find_program(name, search));
        let program = program.ok_or("not found")?;
        Self::new(program, words.map(str::to_owned).collect())
    }

    fn new(program: PathBuf, leading: Vec<String>) -> std::result::Result<Self, String> {
        // Ask uv for its own version: to report pip's version, uv would have to fetch pip, but the doctor must not
        // fetch anything.
        let asked = if leading == UV { 0 } else { leading.len() };
        let mut command = Command::new(&program);
        command.args(&leading[..asked]);
        let version = version(command, LIMIT)?;
        Ok(Self {
            program,
            leading,
            version,
        })
    }

    /// Creates the command without running it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.leading);
        command
    }

    /// Downloads `wheels` into a directory. Pip's own output goes to standard error.
    ///
    /// pip fetches each wheel into `temporary` first. The system's temporary directory is often too small, and a killed
    /// pip would leave hundreds of megabytes there.
    ///
    /// # Errors
    ///
    /// Fails if pip cannot be started, or exits with an error.
    pub fn download(&self, wheels: &[&WheelPin], folder: &Path, temporary: &Path) -> Result<()> {
        let mut command = self.command();
        command.env("TMPDIR", temporary);
        command.arg("download").args(OPTIONS.split(' '));
        // pip 23.2 accepts only wheels for platforms that the command line lists.
        let platforms: BTreeSet<_> = wheels.iter().flat_map(|wheel| wheel.platforms()).collect();
        command.args(platforms.into_iter().flat_map(|name| ["--platform", name]));
        command.arg("--dest").arg(folder);
        let wanted = wheels.iter();
        command.args(wanted.map(|wheel| format!("{}=={}", wheel.name, wheel.version)));
        // Standard output is reserved for results. Pip may ask for a mirror's password on standard input.
        command.stdout(Stdio::from(std::io::stderr()));
        let status = match command.status() {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => status.to_string(),
            Err(cause) => cause.to_string(),
        };
        let failure = format!("`{self} download` failed ({status})");
        Err(Error::PipFailed(failure, listing(wheels)))
    }
}

/// Returns the first line of a program's `--version` output, or the reason why there is none.
fn version(mut command: Command, limit: Duration) -> std::result::Result<String, String> {
    command.arg("--version");
    let output = process::output(command, limit).map_err(|error| error.to_string())?;
    let late = || format!("it printed no version within {} s", limit.as_secs());
    let output = output.ok_or_else(late)?;
    let (out, err) = (lines(&output.stdout), lines(&output.stderr));
    if !output.status.success() {
        return Err(match err.as_slice() {
            [] => output.status.to_string(),
            [only] => only.clone(),
            // Python names the error on the last line, other programs on the first.
            [first, .., last] => format!("{first} ... {last}"),
        });
    }
    out.into_iter().next().ok_or("it printed no version".into())
}

/// Returns the lines of `output` that are not empty.
fn lines(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    let lines = text.lines().map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

impl fmt::Display for Pip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.leading.iter().map(|word| format!(" {word}"));
        write!(f, "{}{}", self.program.display(), words.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_pip_error_lists_all_candidates() {
        let tried = Search::default().find().unwrap_err();
        for candidate in CANDIDATES {
            let expected = format!("`{candidate}`: not found");
            assert!(tried.contains(&expected), "{tried}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_variable_replaces_the_search_and_takes_words() {
        let mut search = Search {
            explicit: Some("sh -c true".into()),
            path: Some("/bin:/usr/bin".into()),
        };
        // `true` prints nothing, so it is not a usable pip.
        let tried = search.find().unwrap_err();
        assert_eq!(tried, "`SYCLBIN_PIP=sh -c true`: it printed no version");
        search.explicit = Some("no-such-pip --isolated".into());
        assert!(
            search
                .find()
                .unwrap_err()
                .to_string()
                .ends_with("not found")
        );
    }

    #[cfg(unix)]
    #[test]
    fn program_path_may_contain_a_space() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("my pip");
        std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
        let search = Search {
            explicit: Some(link.into()),
            path: None,
        };
        // Some shells print no version, but the program runs.
        let found = format!("{:?}", search.find());
        assert!(!found.contains("not found"), "{found}");
    }

    #[cfg(unix)]
    #[test]
    fn a_failing_program_answers_with_its_own_words() {
        let answer = |script| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            version(command, Duration::from_secs(1))
        };
        let failing = answer("echo 'No module named pip' >&2; exit 1");
        assert_eq!(failing.unwrap_err(), "No module named pip");
        assert_eq!(answer("echo; echo pip 23; exit 0").unwrap(), "pip 23");
        let hanging = answer("exec sleep 60").unwrap_err();
        assert_eq!(hanging, "it printed no version within 1 s");
    }
}
