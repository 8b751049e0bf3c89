//! Other programs on this machine: where they are, and what they say their version is.
//!
//! Looked up here and not by the operating system, so that an error can say what was tried and a
//! test can offer a search path of its own.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The first executable file called `name` in the folders of `search`, a value of `PATH`.
///
/// A `name` with a folder in it is taken as it is, as a shell would.
#[must_use]
pub fn find(name: &str, search: Option<&OsStr>) -> Option<PathBuf> {
    if name.contains(std::path::MAIN_SEPARATOR) {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    std::env::split_paths(search?)
        // An empty entry means the current folder to a shell; nobody wants pip from there.
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
    /// The program's file.
    pub program: PathBuf,
    /// The arguments that always come first, like `-m pip`.
    pub leading: Vec<String>,
}

impl Invocation {
    /// The words of a command line, its program looked up in `search`.
    #[must_use]
    pub fn find(words: &[&str], search: Option<&OsStr>) -> Option<Self> {
        let (name, leading) = words.split_first()?;
        Some(Self {
            program: find(name, search)?,
            leading: leading.iter().map(|&word| word.to_owned()).collect(),
        })
    }

    /// A process of it, not yet started.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.leading);
        command
    }

    /// The first line it prints when asked for its version.
    ///
    /// # Errors
    ///
    /// Why it could not be asked: it did not start, failed, or printed nothing.
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
                // The last line is where Python names the error, the first where others do.
                [first, .., last] => format!("{first} ... {last}"),
            });
        }
        let first = out.into_iter().next();
        first.ok_or_else(|| "it printed no version".to_owned())
    }
}

/// The lines of some output that hold anything.
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
    fn a_program_is_found_in_the_search_path_only() {
        let shell = find("sh", Some(OsStr::new("/nowhere:/bin:/usr/bin"))).unwrap();
        assert!(shell.is_absolute());
        assert_eq!(find("sh", Some(OsStr::new("/nowhere"))), None);
        assert_eq!(find("sh", Some(OsStr::new(""))), None);
        assert_eq!(find("sh", None), None);
    }

    #[test]
    fn a_file_that_cannot_be_executed_is_no_program() {
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
