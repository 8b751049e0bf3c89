// SPDX-License-Identifier: MIT OR Apache-2.0
//! The judge: a C++ program over the reference runtime, built here, that loads and runs one file.

use std::path::PathBuf;
use std::process::Command;

use syclbin::State;

use crate::Result;
use crate::program;
use crate::runtime::Runtime;
use crate::wheels::at;

const SOURCE: &str = include_str!("../programs/judge.cpp");

/// The program, built.
pub(crate) struct Judge<'r> {
    runtime: &'r Runtime,
    program: PathBuf,
    /// Where files go, ours and those of the runtime; they stay, to look into a failure.
    files: PathBuf,
}

/// A file to be judged.
pub(crate) struct Job<'j> {
    /// What the file is called, without its extension.
    pub(crate) name: &'j str,
    pub(crate) state: State,
    pub(crate) bytes: &'j [u8],
    /// The kernels to run, each `NAME` or `NAME=SYMBOL`.
    pub(crate) kernels: &'j [String],
}

/// What became of a file.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// The file, for a message.
    file: PathBuf,
    /// What the program printed: see `judge.cpp`.
    lines: Vec<String>,
    /// How the program ended, when not well.
    ended: Option<String>,
    /// What the runtime writes of the bundle that it loaded.
    pub(crate) content: Option<Vec<u8>>,
    /// What it writes of the bundle that it linked or built from it.
    pub(crate) linked: Option<Vec<u8>>,
}

impl<'r> Judge<'r> {
    /// Compiles the program, unless the one there is was made of the same source.
    pub(crate) fn build(runtime: &'r Runtime, files: PathBuf) -> Result<Self> {
        let program = program::compile(runtime, "judge", SOURCE)?;
        if files.exists() {
            std::fs::remove_dir_all(&files).map_err(|error| at(&files, &error))?;
        }
        std::fs::create_dir_all(&files).map_err(|error| at(&files, &error))?;
        Ok(Self {
            runtime,
            program,
            files,
        })
    }

    /// Has the runtime load a file and run kernels of it.
    ///
    /// An error is one of this machine; what the runtime thinks of the file is in the verdict.
    pub(crate) fn run(&self, job: &Job<'_>) -> Result<Verdict> {
        let path = |suffix: &str| self.files.join(format!("{}{suffix}.syclbin", job.name));
        let [file, content, linked] = ["", ".content", ".linked"].map(path);
        std::fs::write(&file, job.bytes).map_err(|error| at(&file, &error))?;
        let state = match job.state {
            State::Input => "input",
            State::Object => "object",
            _ => "executable",
        };
        let output = Command::new(&self.program)
            .arg(state)
            .args([&file, &content, &linked])
            .args(job.kernels)
            .envs(self.runtime.environment()?)
            .output()
            .map_err(|error| at(&self.program, &error))?;
        // What a driver says before it crashes is of no use without the status, and the reverse.
        let ended = (output.status.code() != Some(0)).then(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            format!("{} {}", output.status, said.trim())
        });
        let printed = String::from_utf8_lossy(&output.stdout);
        Ok(Verdict {
            file,
            lines: printed.lines().map(str::to_owned).collect(),
            ended,
            content: std::fs::read(content).ok(),
            linked: std::fs::read(linked).ok(),
        })
    }
}

impl Verdict {
    /// That the file was loaded and each of `kernels` ran with the right results.
    pub(crate) fn runs(&self, kernels: &[String]) -> Result<()> {
        if let Some(line) = self.lines.iter().find(|line| !good(line)) {
            return Err(self.about(line));
        }
        for kernel in kernels {
            let name = kernel.split('=').next().unwrap_or_default();
            if !self.lines.contains(&format!("ok {name}")) {
                let ended = self.ended.as_deref().unwrap_or("without a word on it");
                return Err(self.about(&format!("kernel {name}: the judge ended {ended}")));
            }
        }
        match &self.ended {
            None if self.lines.iter().any(|line| line == "loaded") => Ok(()),
            ended => Err(self.about(&format!("the judge ended: {ended:?}"))),
        }
    }

    /// That the runtime refused the file with a message that has `expected` in it.
    pub(crate) fn is_refused(&self, expected: &str) -> Result<()> {
        match self
            .lines
            .last()
            .and_then(|line| line.strip_prefix("refused: "))
        {
            Some(message) if message.contains(expected) => Ok(()),
            _ => Err(self.about(&format!(
                "expected a refusal with `{expected}`, found {:?}, {:?}",
                self.lines, self.ended
            ))),
        }
    }

    fn about(&self, what: &str) -> String {
        at(&self.file, &what)
    }
}

fn good(line: &str) -> bool {
    line == "loaded" || line.starts_with("ok ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(lines: &[&str], ended: Option<&str>) -> Verdict {
        Verdict {
            file: "a.syclbin".into(),
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
            ended: ended.map(str::to_owned),
            content: None,
            linked: None,
        }
    }

    #[test]
    fn only_right_results_of_all_kernels_count() {
        let kernels = ["a".to_owned(), "b=__sycl_kernel_b".to_owned()];
        let runs = |lines: &[&str], ended| verdict(lines, ended).runs(&kernels);
        assert_eq!(runs(&["loaded", "ok a", "ok b"], None), Ok(()));
        for (lines, ended, expected) in [
            (
                &["loaded", "ok a"][..],
                Some("signal 11"),
                "kernel b: the judge ended signal 11",
            ),
            (&["loaded", "ok a"], None, "kernel b"),
            (&["loaded", "ok a", "ok b"], Some("signal 6"), "signal 6"),
            (
                &["loaded", "ok a", "wrong b: y[3]"],
                Some("1"),
                "wrong b: y[3]",
            ),
            (&["refused: no"], Some("1"), "refused: no"),
            (&[], None, "kernel a"),
        ] {
            let why = runs(lines, ended).unwrap_err();
            assert!(
                why.starts_with("a.syclbin: ") && why.contains(expected),
                "{why}"
            );
        }
        assert!(verdict(&[], None).runs(&[]).is_err(), "nothing was loaded");
    }

    #[test]
    fn a_crash_or_another_message_is_no_refusal() {
        let refused = verdict(&["refused: Unsupported SYCLBIN version 2."], Some("1"));
        assert_eq!(refused.is_refused("SYCLBIN version"), Ok(()));
        assert!(refused.is_refused("magic number").is_err());
        assert!(verdict(&[], Some("signal 11")).is_refused("").is_err());
        assert!(verdict(&["loaded"], None).is_refused("").is_err());
    }
}
