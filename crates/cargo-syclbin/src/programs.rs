// SPDX-License-Identifier: MIT OR Apache-2.0
//! Other programs on this machine: where they are, and which version they report.
//!
//! This module searches `PATH` itself and does not leave that to the operating system. Errors can then say what was
//! tried, and tests can use a search path of their own.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the first executable file called `name` in the directories of `search`, a value of `PATH`.
///
/// Like a shell, it does not search for a `name` that contains a directory.
#[must_use]
pub fn find(name: &str, search: Option<&OsStr>) -> Option<PathBuf> {
    if name.contains(std::path::MAIN_SEPARATOR) {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    std::env::split_paths(search?)
        // To a shell, an empty entry means the current directory, which is not a safe place to run pip from.
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(|folder| folder.join(name))
        .find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
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
    pub fn find(words: &[&str], search: Option<&OsStr>) -> Option<Self> {
        let (name, leading) = words.split_first()?;
        Some(Self {
            program: find(name, search)?,
            leading: leading.iter().map(|&word| word.to_owned()).collect(),
        })
    }

    /// Creates a process that runs it, not yet started.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.leading);
        command
    }

    /// Returns the first line that it prints when asked for its version.
    ///
    /// # Errors
    ///
    /// Why the version is unknown: the program did not start, failed, or printed nothing.
    pub fn version(&self) -> Result<String, String> {
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

/// Returns the lines of some output that are not empty.
fn lines(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    let lines = text.lines().map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program.display())?;
        for word in &self.leading {
            write!(f, " {word}")?;
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_search_path_only() {
        let shell = find("sh", Some(OsStr::new("/nowhere:/bin:/usr/bin"))).unwrap();
        assert!(shell.is_absolute());
        assert_eq!(find("sh", Some(OsStr::new("/nowhere"))), None);
        assert_eq!(find("sh", Some(OsStr::new(""))), None);
        assert_eq!(find("sh", None), None);
    }

    #[test]
    fn non_executable_file_is_not_a_program() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("pip"), "text").unwrap();
        assert_eq!(find("pip", Some(folder.path().as_os_str())), None);
    }

    #[test]
    fn a_failing_program_answers_with_its_own_words() {
        let mut shell = Invocation::find(&["sh", "-c"], Some(OsStr::new("/bin:/usr/bin"))).unwrap();
        shell
            .leading
            .push("echo 'No module named pip' >&2; exit 1".to_owned());
        assert_eq!(shell.version().unwrap_err(), "No module named pip");
        shell.leading[1] = "echo; echo pip 23; exit 0".to_owned();
        assert_eq!(shell.version().unwrap(), "pip 23");
    }
}
