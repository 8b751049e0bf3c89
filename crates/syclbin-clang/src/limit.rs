// SPDX-License-Identifier: MIT OR Apache-2.0
//! A time limit for processes that may never end: some versions of ocloc hang on some kernels.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::process::{Command, Output};
use std::time::Duration;

use syclbin_build::process;

/// The variable that sets the limit in seconds. 0 means no limit.
pub(crate) const LIMIT_VARIABLE: &str = "SYCLBIN_OCLOC_LIMIT";

/// The limit if the variable is not set.
const DEFAULT: Duration = Duration::from_secs(600);

/// Returns the limit that the environment sets, `None` for no limit.
///
/// # Errors
///
/// The value of the variable, if it is not a number of seconds.
pub(crate) fn from_environment() -> Result<Option<Duration>, String> {
    match std::env::var_os(LIMIT_VARIABLE) {
        Some(value) => parse(&value.to_string_lossy()),
        None => Ok(Some(DEFAULT)),
    }
}

fn parse(value: &str) -> Result<Option<Duration>, String> {
    let seconds: u64 = value.trim().parse().map_err(|_| {
        format!("{LIMIT_VARIABLE}={value}: expected a number of seconds, 0 for no limit")
    })?;
    Ok((seconds > 0).then_some(Duration::from_secs(seconds)))
}

/// Runs a process. Returns its output, or `None` if the process was stopped because it ran for longer than `limit`.
///
/// # Errors
///
/// Fails if the process cannot be started or waited for.
pub(crate) fn output(mut command: Command, limit: Option<Duration>) -> io::Result<Option<Output>> {
    let Some(limit) = limit else {
        return command.output().map(Some);
    };
    let files = [tempfile::tempfile()?, tempfile::tempfile()?];
    let Some(status) = process::run(command, &files, limit)? else {
        return Ok(None);
    };
    let read = |mut file: File| -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let [stdout, stderr] = files;
    Ok(Some(Output {
        status,
        stdout: read(stdout)?,
        stderr: read(stderr)?,
    }))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Option<Duration>) -> Option<Output> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        output(command, limit).expect("a shell runs")
    }

    #[test]
    fn hanging_process_is_killed() {
        assert_eq!(sh("exec sleep 600", Some(Duration::from_millis(50))), None);
    }

    #[test]
    fn output_within_the_limit_is_whole() {
        // More than a pipe holds.
        let script = "seq 50000; seq 50000 >&2; exit 3";
        for limit in [None, Some(Duration::from_secs(600))] {
            let output = sh(script, limit).expect("it ends");
            assert_eq!(output.status.code(), Some(3));
            assert_eq!(output.stdout.len(), 288_894);
            assert_eq!(output.stdout, output.stderr);
        }
    }

    #[test]
    fn limit_is_a_number_of_seconds() {
        assert_eq!(parse("0"), Ok(None));
        assert_eq!(parse(" 90 "), Ok(Some(Duration::from_secs(90))));
        let expected = "SYCLBIN_OCLOC_LIMIT=1m: expected a number of seconds, 0 for no limit";
        assert_eq!(parse("1m"), Err(expected.to_owned()));
    }
}
