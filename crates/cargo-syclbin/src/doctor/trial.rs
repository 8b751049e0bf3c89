// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles and runs a small kernel, because components may fail to work together even if each is installed.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use syclbin_build::search::Detected;
use syclbin_build::{default_targets, process};

use super::child;
use super::facts::variable_os;

/// A kernel that requires the headers of both SYCL and the C++ standard library.
const SOURCE: &str = include_str!("trial.cpp");

/// The same kernel, compiled to SPIR-V and PTX, for machines without a compiler.
const SHIPPED: &[u8] = include_bytes!("trial.syclbin");

/// The name of the trial kernel.
pub const KERNEL: &str = "trial";

/// The value that the trial kernel writes.
pub const VALUE: i32 = 42;

/// The time limit for the compiler. It is generous, because compiling takes many seconds on a busy machine.
pub(super) const COMPILE_LIMIT: Duration = Duration::from_secs(120);
/// The time limit for a run. It is generous, because a driver's first compilation can take seconds.
const RUN_LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) time: Duration,
    /// The bytes of the SYCLBIN file.
    pub(super) file: Vec<u8>,
}

/// A completed run of the trial kernel. The trial process writes a `Result<Ran, String>` as a line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The device that a program would use.
    pub device: String,
    /// Why this device was chosen.
    pub reason: String,
    /// Preferred devices that were skipped because they cannot run all kernels of the file, each with the reason.
    pub skipped: Vec<String>,
    /// Whether the result was correct.
    pub is_right: bool,
}

/// Compiles the kernel with `compiler`, as a build would. Stops the compiler after `limit`.
///
/// # Errors
///
/// Fails if the compiler cannot be run, hangs, reports an error, or does not write a valid file with a kernel.
pub(super) fn compile(compiler: &Detected, limit: Duration) -> Result<Compiled, String> {
    let start = Instant::now();
    let folder = tempfile::tempdir()
        .map_err(|error| format!("cannot create a temporary directory: {error}"))?;
    let source = folder.path().join("trial.cpp");
    let output = folder.path().join("trial.syclbin");
    std::fs::write(&source, SOURCE).map_err(|error| format!("{}: {error}", source.display()))?;
    let mut command = compiler.candidate.command();
    command.args(["-fsycl", "--offload-new-driver", "-O2"]);
    command.args(default_targets::arguments(compiler, &variable_os));
    command.args(["-fsyclbin=executable", "-o"]);
    command.arg(&output).arg(&source);
    let program = compiler.candidate.program.display();
    let result = process::output(command, limit).map_err(|error| format!("{program}: {error}"))?;
    let late = || format!("{program} did not finish within {} s", limit.as_secs());
    let result = result.ok_or_else(late)?;
    if !result.status.success() {
        let said = String::from_utf8_lossy(&result.stderr);
        return Err(format!("{}\n{}", result.status, said.trim_end()));
    }
    let bytes =
        std::fs::read(&output).map_err(|error| format!("the compiler wrote no file: {error}"))?;
    let file = syclbin::read::parse(&bytes).map_err(|error| error.to_string())?;
    if file.kernel_names().next().is_none() {
        return Err("the compiler found no kernel in a source that contains one".to_owned());
    }
    let (time, file) = (start.elapsed(), bytes);
    Ok(Compiled { time, file })
}

/// Runs the kernel of `compiled`, or else the shipped kernel, in a separate process.
///
/// # Errors
///
/// Fails if the process crashes or hangs. The inner result is an error if the process cannot be started or reports an
/// error.
pub(super) fn run(compiled: Option<&Compiled>) -> Result<Result<Ran, String>, String> {
    let file = compiled.map_or(SHIPPED, |compiled| &compiled.file);
    match std::env::current_exe() {
        Ok(program) => run_by(&program, file, RUN_LIMIT),
        Err(error) => Ok(Err(error.to_string())),
    }
}

fn run_by(program: &Path, file: &[u8], limit: Duration) -> Result<Result<Ran, String>, String> {
    let mut command = Command::new(program);
    command.args(["doctor", "--trial"]);
    let mut answer = None;
    let ended = child::run(command, file, limit, |line| {
        let unknown = format!("unexpected output from the trial process: {line:?}");
        answer = Some(serde_json::from_str(line).unwrap_or(Err(unknown)));
    });
    match (ended, answer) {
        (Err(error), _) => Ok(Err(format!("{}: {error}", program.display()))),
        (Ok(ended), Some(answer)) if ended.is_success() => Ok(answer),
        (Ok(ended), _) => Err(ended.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use syclbin_build::search::{Candidate, Origin};

    use super::*;

    fn detected(program: &str) -> Detected {
        Detected {
            candidate: Candidate {
                origin: Origin::Path,
                program: PathBuf::from(program),
                leading: Vec::new(),
                wrapped: None,
            },
            version: String::new(),
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_compiler_that_hangs_fails_the_trial() {
        let mut compiler = detected("/bin/sh");
        compiler.candidate.leading = ["-c", "exec sleep 60"].map(Into::into).to_vec();
        let problem = compile(&compiler, Duration::from_millis(200)).unwrap_err();
        assert_eq!(problem, "/bin/sh did not finish within 0 s");
    }

    #[test]
    fn a_compiler_that_makes_nothing_fails_the_trial() {
        if cfg!(unix) {
            let problem = compile(&detected("/bin/true"), COMPILE_LIMIT).unwrap_err();
            assert!(problem.contains("the compiler wrote no file"), "{problem}");
            let problem = compile(&detected("/bin/false"), COMPILE_LIMIT).unwrap_err();
            assert!(problem.contains("exit status: 1"), "{problem}");
        }
        assert!(compile(&detected("no-such-compiler"), COMPILE_LIMIT).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn crashing_and_hanging_runs_are_reported() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("driver");
        let run = |script: &str| {
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
            run_by(&program, b"file", Duration::from_millis(500))
        };
        let crashed = run("kill -SEGV $$").unwrap_err();
        assert!(
            crashed.starts_with("the driver terminated the process: signal: 11"),
            "{crashed}"
        );
        assert_eq!(
            run("exec sleep 60").unwrap_err(),
            "the driver did not respond within 0 s"
        );
        assert_eq!(
            run("echo nonsense").unwrap().unwrap_err(),
            "unexpected output from the trial process: \"nonsense\""
        );
        assert_eq!(
            run(r#"echo '{"Err":"no device"}'"#).unwrap().unwrap_err(),
            "no device"
        );
        let failed = run(r#"echo '{"Err":"no device"}'; exit 3"#).unwrap_err();
        assert!(failed.contains("exit status: 3"), "{failed}");
    }

    #[test]
    fn shipped_kernel_has_code_for_all_devices() {
        let file = syclbin::read::parse(SHIPPED).unwrap();
        let kinds: Vec<_> = file.modules[0]
            .images
            .iter()
            .map(|image| image.kind())
            .collect();
        assert_eq!(kinds.len(), 2, "{kinds:?}");
        assert!(file.kernel_names().any(|name| name.ends_with(KERNEL)));
    }
}
