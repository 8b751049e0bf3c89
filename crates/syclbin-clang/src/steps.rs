// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs steps, the processes that a request needs, in parallel. `-v` and `-###` print the steps in clang's format.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use syclbin_build::process::{self, COMPILE_LIMIT_VARIABLE};
use syclbin_rt::__private::in_parallel;

use crate::command_line::options::Show;
use crate::native::ocloc;
use crate::nvidia::without_notes;
use crate::{Failure, Result, own};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) variables: Vec<(&'static str, String)>,
    /// The source or module that the step processes, for messages.
    pub(crate) subject: String,
    /// The index of an earlier step that compiles the same source. If both steps produce the same messages, they are
    /// printed only once.
    pub(crate) like: Option<usize>,
    /// The consequence of a failure, if the request can continue without the output of this step. The failure is then
    /// reported as a warning.
    pub(crate) if_it_fails: Option<&'static str>,
    /// The Intel GPU, if the step runs ocloc. Such a step has a time limit, and its messages are extracted from
    /// standard output, where ocloc mixes them with irrelevant lines.
    pub(crate) gpu: Option<String>,
}

impl Step {
    /// Creates a step that runs this program on `subject`.
    pub(crate) fn of_own(subject: &str, arguments: Vec<String>) -> Result<Self> {
        Ok(Self::new(this_program()?, subject, arguments))
    }

    pub(crate) fn new(program: PathBuf, subject: &str, arguments: Vec<String>) -> Self {
        Self {
            program,
            arguments,
            subject: subject.to_owned(),
            ..Self::default()
        }
    }

    /// Formats the step like clang: on one line, with every word quoted.
    fn line(&self) -> String {
        let variables = self.variables.iter();
        let variables = variables.map(|(name, value)| format!(" {name}={}", quoted(value)));
        let program = self.program.to_string_lossy().into_owned();
        let words = [&program].into_iter().chain(&self.arguments);
        let words = words.map(|word| format!(" {}", quoted(word)));
        variables.chain(words).collect()
    }

    pub(crate) fn show(&self, show: Show) {
        if show != Show::Nothing {
            let _ = writeln!(std::io::stderr().lock(), "{}", self.line());
        }
    }

    fn is_own(&self) -> bool {
        std::env::current_exe().is_ok_and(|own| own == self.program)
    }

    fn run(&self) -> Result<Output> {
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(variables);
        let program = self.program.display();
        let limit = process::compile_limit(std::env::var_os(COMPILE_LIMIT_VARIABLE));
        let output = match self.gpu {
            // Some versions of ocloc hang on some kernels.
            Some(_) => process::output(command, limit),
            None => command.output().map(Some),
        };
        match output {
            Ok(Some(output)) => Ok(output),
            Ok(None) => own(format!(
                "{program} did not finish {} within {} s; try another version of ocloc, remove this target, or set \
                 {COMPILE_LIMIT_VARIABLE} to a higher number",
                self.subject,
                limit.as_secs(),
            )),
            Err(error) => own(format!("cannot start {program}: {error}")),
        }
    }

    /// Warns that this step failed. Prints nothing if `like` failed too, because the error is then in the source, and
    /// `like` reports it.
    fn warn(&self, output: &Output, like: Option<&Output>, consequence: &str) {
        if like.is_some_and(|like| !like.status.success()) {
            return;
        }
        let said = without_notes(&String::from_utf8_lossy(&output.stderr));
        let reason = match output.status.code() {
            Some(_) => {
                let mut lines = said.lines();
                lines.find(|line| line.contains("error: ")).unwrap_or(&said)
            }
            None => "the compiler crashed",
        };
        let reason = reason.trim().trim_start_matches("syclbin-clang: error: ");
        self.warn_that(reason, consequence);
    }

    /// Warns that this step produced no output.
    fn warn_that(&self, reason: &str, consequence: &str) {
        let _ = writeln!(
            std::io::stderr().lock(),
            "syclbin-clang: warning: cannot compile {}: {reason}; {consequence}",
            self.subject
        );
    }

    /// Copies the messages in `output` to `stderr`, and returns an error if the step failed. Omits the messages if
    /// `like` produced the same ones, or if `like` failed, because the error is then in the source.
    fn finish(
        &self,
        output: &Output,
        like: Option<&Output>,
        stderr: &mut impl std::io::Write,
    ) -> Result<()> {
        let words = |output: &Output| {
            let mut words = output.stderr.clone();
            if self.is_own() {
                // The library prints some notes directly instead of writing them to its log, so they are removed here.
                words = without_notes(&String::from_utf8_lossy(&words)).into_bytes();
            }
            let succeeded = output.status.success();
            if let Some(gpu) = &self.gpu {
                words.extend(ocloc::messages(&output.stdout, gpu, succeeded));
            } else if !succeeded {
                words.extend(&output.stdout);
            }
            words
        };
        let is_said = |like: &Output| !like.status.success() || words(like) == words(output);
        if !like.is_some_and(is_said) {
            let _ = stderr.write_all(&words(output));
        }
        if output.status.success() {
            return Ok(());
        }
        let (program, subject) = (self.program.display(), &self.subject);
        let code = match output.status.code() {
            Some(code) => {
                // If the step runs this program, it has already reported the error.
                if !self.is_own() {
                    let _ = writeln!(
                        stderr,
                        "syclbin-clang: error: {program} exited with {code} on {subject}"
                    );
                }
                u8::try_from(code).unwrap_or(1)
            }
            None => {
                let _ = writeln!(
                    stderr,
                    "syclbin-clang: error: {program} crashed on {subject} ({}); to reproduce it:\n{}",
                    output.status,
                    self.line()
                );
                CRASHED
            }
        };
        Err(Failure::Reported(code))
    }
}

pub(crate) fn this_program() -> Result<PathBuf> {
    std::env::current_exe().or_else(|error| {
        own(format!(
            "cannot determine the path of this program: {error}; start it by its full path"
        ))
    })
}

/// The exit code if a step crashed, the same as clang's.
pub(crate) const CRASHED: u8 = 254;

fn quoted(word: &str) -> String {
    let mut quoted = word.to_owned();
    // The backslash comes first, because each replacement adds backslashes.
    for special in ["\\", "\"", "$", "`"] {
        quoted = quoted.replace(special, &format!("\\{special}"));
    }
    format!("\"{quoted}\"")
}

/// Runs all steps in parallel, with at most one step per processor at a time. Messages appear in the order of the
/// steps. A failed step does not stop the others.
///
/// # Errors
///
/// Returns the error of the first step that failed.
pub(crate) fn run_all(steps: &[Step], show: Show) -> Result<()> {
    let outputs = in_parallel(steps, |step| {
        step.show(show);
        step.run()
    });
    let mut outcome = Ok(());
    for (step, output) in steps.iter().zip(&outputs) {
        let like = step.like.and_then(|index| outputs[index].as_ref().ok());
        let finished = match (output, step.if_it_fails) {
            (Ok(output), Some(consequence)) if !output.status.success() => {
                step.warn(output, like, consequence);
                Ok(())
            }
            (Ok(output), _) => step.finish(output, like, &mut std::io::stderr().lock()),
            (Err(Failure::Own(reason)), Some(consequence)) => {
                step.warn_that(reason, consequence);
                Ok(())
            }
            (Err(failure), _) => Err(failure.clone()),
        };
        outcome = outcome.and(finished);
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Step {
        Step {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            variables: vec![("WHERE", "a b".into())],
            subject: "k.cpp".into(),
            like: None,
            if_it_fails: None,
            gpu: None,
        }
    }

    #[test]
    fn shown_step_can_be_repeated_in_shell() {
        let line = shell("echo \"$WHERE`\"").line();
        assert_eq!(
            line,
            " WHERE=\"a b\" \"/bin/sh\" \"-c\" \"echo \\\"\\$WHERE\\`\\\"\""
        );
    }

    #[test]
    fn a_failed_program_is_named_after_its_output() {
        let step = shell("echo hint; echo bad >&2; exit 3");
        let mut said = Vec::new();
        let outcome = step.finish(&step.run().unwrap(), None, &mut said);
        assert_eq!(outcome, Err(Failure::Reported(3)));
        let expected = "bad\nhint\nsyclbin-clang: error: /bin/sh exited with 3 on k.cpp\n";
        assert_eq!(String::from_utf8(said).unwrap(), expected);
    }

    #[test]
    fn all_steps_run_and_first_failure_counts() {
        let folder = tempfile::tempdir().unwrap();
        let touch = |name: &str| format!("touch '{}'", folder.path().join(name).display());
        let steps = [
            shell(&touch("one")),
            shell("exit 3"),
            shell("exit 4"),
            shell(&touch("two")),
        ];
        assert_eq!(run_all(&steps, Show::Nothing), Err(Failure::Reported(3)));
        assert!(folder.path().join("one").exists() && folder.path().join("two").exists());
        let crash = [shell("kill -SEGV $$")];
        assert_eq!(run_all(&crash, Show::Nothing), Err(Failure::Reported(254)));
        assert_eq!(run_all(&[], Show::Nothing), Ok(()));
        let mut none = shell("");
        none.program = "/no/such/program".into();
        let mut optional = none.clone();
        optional.if_it_fails = Some("other targets are not affected");
        assert!(matches!(
            run_all(&[none], Show::Nothing),
            Err(Failure::Own(_))
        ));
        assert_eq!(run_all(&[optional], Show::Nothing), Ok(()));
    }
}
