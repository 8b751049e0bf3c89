// SPDX-License-Identifier: MIT OR Apache-2.0
//! The user's own pip, which fetches the wheels.
//!
//! The user's pip is already configured for their proxy, mirror and certificates, so this program contains no HTTP
//! code. It still checks every file that pip fetches.
//!
//! The candidates, in order: `python3 -m pip`, `python -m pip`, `pip3`, `pip`, `uv tool run pip`. The variable
//! `SYCLBIN_PIP` replaces them all. It holds the path of a program, or words separated by spaces, like `python3.12
//! -m pip`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use syclbin_toolchain::file::find_program;

use super::pins::{WheelPin, listing};
use crate::error::{Error, Result};

/// The variable that names the pip to use.
pub const VARIABLE: &str = "SYCLBIN_PIP";

const CANDIDATES: [&str; 5] = [
    "python3 -m pip",
    "python -m pip",
    "pip3",
    "pip",
    "uv tool run pip",
];

/// The arguments with which uv runs pip. uv lacks a `pip download` command.
const UV: [&str; 3] = ["tool", "run", "pip"];

/// Options that select the pinned wheels. The wheels contain no Python, so the version of the Python that runs pip
/// does not matter. pip 23.2 accepts only the listed platforms, so older platforms are listed too.
const OPTIONS: &str = "--no-deps --only-binary=:all: --platform manylinux_2_28_x86_64 \
    --platform manylinux_2_17_x86_64 --platform manylinux_2_12_x86_64 --python-version 3.12 --implementation py \
    --abi none --disable-pip-version-check";

/// The variables that determine where to find pip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The value of `SYCLBIN_PIP`.
    pub explicit: Option<OsString>,
    /// The value of `PATH`.
    pub path: Option<OsString>,
}

/// A pip that reports its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pip {
    /// The command that runs it.
    pub invocation: Invocation,
    /// The version that it reports.
    pub version: String,
}

impl Search {
    /// Reads the environment variables of this process.
    #[must_use]
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
            return answer(explicit_invocation(explicit, search))
                .map_err(|reason| format!("`{VARIABLE}={shown}`: {reason}"));
        }
        let mut tried = Vec::new();
        for candidate in CANDIDATES {
            match answer(Invocation::find(candidate, search)) {
                Ok(pip) => return Ok(pip),
                Err(reason) => tried.push(format!("`{candidate}`: {reason}")),
            }
        }
        Err(tried.join("; "))
    }
}

impl Pip {
    /// Downloads `wheels` into a directory. Pip's own output goes to standard error.
    ///
    /// pip fetches each wheel into `temporary` first. The system's temporary directory is often too small, and a
    /// killed pip would leave hundreds of megabytes there.
    ///
    /// # Errors
    ///
    /// Fails if pip does not start, or ends with an error.
    pub fn download(&self, wheels: &[&WheelPin], folder: &Path, temporary: &Path) -> Result<()> {
        let mut command = self.invocation.command();
        command.env("TMPDIR", temporary);
        command.arg("download").args(OPTIONS.split(' '));
        command.arg("--dest").arg(folder);
        let wanted = wheels.iter();
        command.args(wanted.map(|wheel| format!("{}=={}", wheel.name, wheel.version)));
        // Standard output is reserved for results. Standard input stays open for a mirror's password.
        command.stdout(Stdio::from(std::io::stderr()));
        let status = match command.status() {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => status.to_string(),
            Err(cause) => cause.to_string(),
        };
        Err(Error::PipFailed {
            command: format!("{} download", self.invocation),
            status,
            wheels: listing(wheels),
        })
    }
}

fn explicit_invocation(explicit: &OsStr, search: Option<&OsStr>) -> Option<Invocation> {
    // Check for a path first, because a path may contain spaces.
    if Path::new(explicit).is_file() {
        return Some(Invocation {
            program: explicit.into(),
            leading: Vec::new(),
        });
    }
    Invocation::find(&explicit.to_string_lossy(), search)
}

fn answer(invocation: Option<Invocation>) -> std::result::Result<Pip, String> {
    let invocation = invocation.ok_or_else(|| "not found".to_owned())?;
    // Ask uv for its own version: to report pip's version, uv would have to fetch pip, but the doctor must not fetch
    // anything.
    let mut asked = invocation.clone();
    if asked.leading == UV {
        asked.leading.clear();
    }
    let version = asked.version()?;
    Ok(Pip {
        invocation,
        version,
    })
}

/// A program and its first arguments, as found on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The path of the program.
    pub program: PathBuf,
    /// The arguments that always come first, like `-m pip`.
    pub leading: Vec<String>,
}

impl Invocation {
    /// Finds the program of a command line in `search`, and keeps the other words as its leading arguments.
    #[must_use]
    pub fn find(command_line: &str, search: Option<&OsStr>) -> Option<Self> {
        let mut words = command_line.split_whitespace();
        Some(Self {
            program: find_program(words.next()?, search)?,
            leading: words.map(str::to_owned).collect(),
        })
    }

    /// Creates the command without running it.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.leading);
        command
    }

    /// Returns the first line of the `--version` output.
    ///
    /// # Errors
    ///
    /// Fails if the program does not start, fails or prints nothing.
    pub fn version(&self) -> std::result::Result<String, String> {
        let output = self
            .command()
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let (out, err) = (lines(&output.stdout), lines(&output.stderr));
        if !output.status.success() {
            return Err(match err.as_slice() {
                [] => output.status.to_string(),
                [only] => only.clone(),
                // Python names the error on the last line, other programs on the first.
                [first, .., last] => format!("{first} ... {last}"),
            });
        }
        let first = out.into_iter().next();
        first.ok_or_else(|| "it printed no version".to_owned())
    }
}

/// Returns the lines of `output` that are not empty.
fn lines(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    let lines = text.lines().map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

impl fmt::Display for Invocation {
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
        let found = explicit_invocation(link.as_os_str(), None).unwrap();
        assert_eq!((found.program, found.leading.len()), (link, 0));
    }

    #[test]
    fn a_failing_program_answers_with_its_own_words() {
        let mut shell = Invocation::find("sh -c", Some(OsStr::new("/bin:/usr/bin"))).unwrap();
        shell
            .leading
            .push("echo 'No module named pip' >&2; exit 1".to_owned());
        assert_eq!(shell.version().unwrap_err(), "No module named pip");
        shell.leading[1] = "echo; echo pip 23; exit 0".to_owned();
        assert_eq!(shell.version().unwrap(), "pip 23");
    }
}
