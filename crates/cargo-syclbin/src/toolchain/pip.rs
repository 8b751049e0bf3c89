// SPDX-License-Identifier: MIT OR Apache-2.0
//! The user's own pip, which fetches the wheels.
//!
//! The user's pip knows their proxy, mirror and certificates. This program contains no HTTP code that would have to
//! be kept secure. It still checks every file that pip fetches.
//!
//! The candidates, in order: `python3 -m pip`, `python -m pip`, `pip3`, `pip`, `uv tool run pip`. The variable
//! `SYCLBIN_PIP` replaces them all. It holds the path of a program, or words separated by spaces, like `python3.12
//! -m pip`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;
use std::process::Stdio;

use super::pins::{WheelPin, listing};
use crate::error::{Error, Result};
use crate::programs::Invocation;

/// The variable that names the pip to use.
pub const VARIABLE: &str = "SYCLBIN_PIP";

const CANDIDATES: [&[&str]; 5] = [
    &["python3", "-m", "pip"],
    &["python", "-m", "pip"],
    &["pip3"],
    &["pip"],
    &UV,
];

/// uv lacks a `pip download` command, but it can run pip.
const UV: [&str; 4] = ["uv", "tool", "run", "pip"];

/// The platform of the pinned wheels. It does not depend on the Python that runs pip, since the wheels contain no
/// Python.
const PLATFORM: [&str; 14] = [
    "--no-deps",
    "--only-binary=:all:",
    "--platform",
    "manylinux_2_28_x86_64",
    // pip 23.2 accepts only wheels for the platforms that it is given, not for older ones.
    "--platform",
    "manylinux_2_17_x86_64",
    "--platform",
    "manylinux_2_12_x86_64",
    "--python-version",
    "3.12",
    "--implementation",
    "py",
    "--abi",
    "none",
];

/// Where to look for pip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The value of `SYCLBIN_PIP`.
    pub explicit: Option<OsString>,
    /// The value of `PATH`.
    pub path: Option<OsString>,
}

/// A pip that answers when asked for its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pip {
    /// The command that runs it.
    pub invocation: Invocation,
    /// The version that it reports.
    pub version: String,
}

/// The commands that are not a usable pip on this machine, each with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried(Vec<(String, String)>);

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (command, reason)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}`{command}`: {reason}")?;
        }
        Ok(())
    }
}

impl Search {
    /// Reads the variables of this process.
    #[must_use]
    pub fn from_env() -> Self {
        Self {
            explicit: std::env::var_os(VARIABLE).filter(|value| !value.is_empty()),
            path: std::env::var_os("PATH"),
        }
    }

    /// Returns the first pip that answers when asked for its version.
    ///
    /// # Errors
    ///
    /// When none answers. The error lists what was tried.
    pub fn find(&self) -> std::result::Result<Pip, Tried> {
        let search = self.path.as_deref();
        if let Some(explicit) = &self.explicit {
            let shown = format!("{VARIABLE}={}", explicit.to_string_lossy());
            return answer(explicit_invocation(explicit, search))
                .map_err(|reason| Tried(vec![(shown, reason)]));
        }
        let mut tried = Vec::new();
        for words in CANDIDATES {
            match answer(Invocation::find(words, search)) {
                Ok(pip) => return Ok(pip),
                Err(reason) => tried.push((words.join(" "), reason)),
            }
        }
        Err(Tried(tried))
    }
}

impl Pip {
    /// Downloads `wheels` into a directory. Pip's own output goes to standard error.
    ///
    /// pip fetches each wheel into `temporary` first. By default it would use the system's temporary directory,
    /// which is often too small. A killed pip would also leave hundreds of megabytes there for good.
    ///
    /// # Errors
    ///
    /// When pip does not start, or ends with an error.
    pub fn download(&self, wheels: &[&WheelPin], folder: &Path, temporary: &Path) -> Result<()> {
        let mut command = self.invocation.command();
        command.env("TMPDIR", temporary);
        command.arg("download").args(PLATFORM);
        command.arg("--disable-pip-version-check");
        command.arg("--dest").arg(folder);
        command.args(
            wheels
                .iter()
                .map(|wheel| format!("{}=={}", wheel.name, wheel.version)),
        );
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
    // Checks for a path first, because a path may contain spaces.
    if Path::new(explicit).is_file() {
        return Some(Invocation {
            program: explicit.into(),
            leading: Vec::new(),
        });
    }
    let words = explicit.to_string_lossy();
    let words: Vec<&str> = words.split_whitespace().collect();
    Invocation::find(&words, search)
}

fn answer(invocation: Option<Invocation>) -> std::result::Result<Pip, String> {
    let invocation = invocation.ok_or_else(|| "not found".to_owned())?;
    // uv itself is asked, not its pip: uv would have to fetch pip first, and the doctor, which must not fetch
    // anything, asks too.
    let asked = if invocation.leading == UV[1..] {
        Invocation {
            program: invocation.program.clone(),
            leading: Vec::new(),
        }
    } else {
        invocation.clone()
    };
    let version = asked.version()?;
    Ok(Pip {
        invocation,
        version,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_pip_error_lists_all_candidates() {
        let tried = Search::default().find().unwrap_err().to_string();
        for words in CANDIDATES {
            let expected = format!("`{}`: not found", words.join(" "));
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
        let tried = search.find().unwrap_err().to_string();
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
}
