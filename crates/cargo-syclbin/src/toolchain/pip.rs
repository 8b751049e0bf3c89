//! The user's own pip, which fetches the wheels.
//!
//! Theirs, because it knows their proxy, their mirror and their certificates, and because a program
//! that speaks no HTTP has no such code to keep safe. What it brings is checked here all the same.
//!
//! Tried in this order: `python3 -m pip`, `python -m pip`, `pip3`, `pip`, `uv tool run pip`. The
//! variable `SYCLBIN_PIP` replaces them all: it holds the path of a program, or words separated by
//! spaces, like `python3.12 -m pip`.

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

/// uv has no `pip download` of its own, but runs pip.
const UV: [&str; 4] = ["uv", "tool", "run", "pip"];

/// The platform of the pinned wheels, whatever Python runs pip: they hold no Python at all.
const PLATFORM: [&str; 14] = [
    "--no-deps",
    "--only-binary=:all:",
    "--platform",
    "manylinux_2_28_x86_64",
    // pip 23.2 takes no wheel of an older platform than those it is told.
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

/// A pip that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pip {
    /// How to call it.
    pub invocation: Invocation,
    /// What it says its version is.
    pub version: String,
}

/// The commands that are no pip here, each with the reason.
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
    /// The variables of this process.
    #[must_use]
    pub fn from_env() -> Self {
        Self {
            explicit: std::env::var_os(VARIABLE).filter(|value| !value.is_empty()),
            path: std::env::var_os("PATH"),
        }
    }

    /// The first pip that answers when asked for its version.
    ///
    /// # Errors
    ///
    /// What was tried, when none does.
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
    /// Downloads `wheels` into `folder`, with pip's own words on standard error.
    ///
    /// pip fetches each into `temporary` first. Left to itself it would use the system's temporary
    /// folder, which is often too small for this, and a killed one would leave hundreds of megabytes
    /// there for good.
    ///
    /// # Errors
    ///
    /// When pip does not start or does not end well.
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
        // Standard output is for answers; standard input stays open for a mirror's password.
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
    // A path first: it may well have spaces in it.
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
    // uv answers for itself: it would have to fetch pip before it could ask it, and the doctor,
    // which fetches nothing, asks too.
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
    fn all_that_was_tried_is_named_when_there_is_no_pip() {
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
        // `true` says nothing, so it is no pip.
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
    fn a_program_with_a_space_in_its_path_is_one_word() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("my pip");
        std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
        let found = explicit_invocation(link.as_os_str(), None).unwrap();
        assert_eq!((found.program, found.leading.len()), (link, 0));
    }
}
