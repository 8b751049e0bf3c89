// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs programs, and collects their output in files. A program that exceeds its time limit is stopped, on Linux
//! together with the processes that it started. Shared with `syclbin-clang` and `cargo-syclbin`.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// The maximum number of output bytes to read. Diagnostics are shorter.
const MOST_SAID: u64 = 16 << 20;

pub const COMPILE_LIMIT_VARIABLE: &str = "SYCLBIN_COMPILE_SECONDS";

/// The default time limit of compilers: much longer than any kernel takes to compile, yet short enough for users to
/// wait.
const COMPILE_LIMIT: Duration = Duration::from_secs(600);

/// Returns a time limit: `value` in seconds, or `default` if `value` is not a positive integer.
pub fn time_limit(value: Option<OsString>, default: Duration) -> Duration {
    value
        .and_then(|value| value.to_str()?.trim().parse().ok())
        .filter(|seconds| *seconds > 0)
        .map_or(default, Duration::from_secs)
}

/// Returns the time limit of compilers. `value` is the value of [`COMPILE_LIMIT_VARIABLE`].
pub fn compile_limit(value: Option<OsString>) -> Duration {
    time_limit(value, COMPILE_LIMIT)
}

/// A running program, which is stopped when this value is dropped.
pub struct Process {
    child: Child,
    stderr: File,
    started: Instant,
}

impl Process {
    /// Starts `command`. Redirect its output to files, because a pipe would stay open as long as any orphaned child
    /// process runs.
    ///
    /// # Errors
    ///
    /// Fails if the program cannot be started.
    pub fn start(
        mut command: Command,
        stdin: impl Into<Stdio>,
        stdout: impl Into<Stdio>,
        stderr: File,
    ) -> io::Result<Self> {
        let to_stderr = stderr.try_clone()?;
        command.stdin(stdin).stdout(stdout).stderr(to_stderr);
        Ok(Self {
            child: command.spawn()?,
            stderr,
            started: Instant::now(),
        })
    }

    /// Returns the exit status if the program has ended.
    ///
    /// # Errors
    ///
    /// Fails if the operating system cannot report the status.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    pub(crate) fn runs_for(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the standard error output. Call this only after the program has ended, because reading moves the file
    /// position at which the program writes.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn said(&mut self) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&read(&mut self.stderr)?).into_owned())
    }

    /// Stops the program and, on Linux, the processes that it started.
    pub fn stop(&mut self) {
        if matches!(self.ended(), Ok(Some(_))) {
            return;
        }
        #[cfg(target_os = "linux")]
        tree::kill(self.child.id());
        // Ignores errors: the program may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs a program without input until it ends, and returns its output. Returns `None` if the program reached `limit`
/// and was [stopped](Process::stop).
///
/// # Errors
///
/// Fails if the process cannot be started or waited for.
pub fn output(command: Command, limit: Duration) -> io::Result<Option<Output>> {
    let (mut stdout, mut stderr) = (with_room()?, with_room()?);
    let (to_stdout, to_stderr) = (stdout.try_clone()?, stderr.try_clone()?);
    let mut process = Process::start(command, Stdio::null(), to_stdout, to_stderr)?;
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = process.ended()? {
            return Ok(Some(Output {
                status,
                stdout: read(&mut stdout)?,
                stderr: read(&mut stderr)?,
            }));
        }
        if process.runs_for() >= limit {
            process.stop();
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Creates a temporary file, and checks that something can be written to it: many programs ignore a full disk.
fn with_room() -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(&[0])?;
    file.set_len(0)?;
    file.rewind()?;
    Ok(file)
}

fn read(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MOST_SAID).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Kills a process and its descendants. Does not use a process group: Ctrl-C would not reach a compiler in a separate
/// group, so users could not interrupt a compiler that hangs.
#[cfg(target_os = "linux")]
mod tree {
    use rustix::process::{Pid, Signal, kill_process};

    /// Suspends all processes before killing any, so that none starts another in the meantime and no process ID is
    /// reused for an unrelated process.
    pub(super) fn kill(root: u32) {
        let mut found = Vec::new();
        freeze(root, &mut found);
        for process in found.into_iter().rev() {
            let _ = kill_process(process, Signal::KILL);
        }
    }

    fn freeze(process: u32, found: &mut Vec<Pid>) {
        let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else {
            return;
        };
        if found.contains(&pid) || kill_process(pid, Signal::STOP).is_err() {
            return;
        }
        found.push(pid);
        for child in children(process) {
            freeze(child, found);
        }
    }

    fn children(parent: u32) -> Vec<u32> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        numbers
            .filter(|process| parent_of(*process) == Some(parent))
            .collect()
    }

    fn parent_of(process: u32) -> Option<u32> {
        let text = std::fs::read(format!("/proc/{process}/stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        // The format is `12 (name) S 7 ...`. The name may contain spaces and parentheses, so the last `)` ends it.
        let (_, after) = text.rsplit_once(')')?;
        after.split_whitespace().nth(1)?.parse().ok()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Option<Output> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        output(command, limit).expect("a shell runs")
    }

    #[test]
    fn time_limit_is_a_positive_integer() {
        for (value, expected) in [(" 7 ", 7), ("0", 9), ("-1", 9), ("soon", 9)] {
            let limit = time_limit(Some(value.into()), Duration::from_secs(9));
            assert_eq!(limit, Duration::from_secs(expected), "{value}");
        }
    }

    #[test]
    fn hanging_process_is_killed() {
        assert_eq!(sh("exec sleep 600", Duration::from_millis(50)), None);
    }

    #[test]
    fn output_within_the_limit_is_whole() {
        // More than a pipe can hold.
        let script = "seq 50000; seq 50000 >&2; exit 3";
        let output = sh(script, Duration::from_secs(600)).expect("it ends");
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(output.stdout.len(), 288_894);
        assert_eq!(output.stdout, output.stderr);
    }

    #[test]
    fn what_a_program_started_is_stopped_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("pids");
        let mut command = Command::new("/bin/sh");
        // A child, and a grandchild.
        let script =
            "sleep 1000 & echo $! >>\"$0\"; sh -c 'sleep 1000 & echo $! >>\"$0\"; wait' \"$0\"";
        command.args(["-c", script]).arg(&list);
        let mut process = Process::start(
            command,
            Stdio::null(),
            Stdio::null(),
            tempfile::tempfile().unwrap(),
        )
        .unwrap();
        let started: Vec<u32> = loop {
            let text = std::fs::read_to_string(&list).unwrap_or_default();
            if text.ends_with('\n') && text.lines().count() == 2 {
                break text.lines().map(|line| line.parse().unwrap()).collect();
            }
            assert!(process.ended().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(1));
        };
        process.stop();
        for process in started {
            // A dead process counts as gone even if its new parent has not reaped it yet.
            let is_gone = || {
                let status = std::fs::read_to_string(format!("/proc/{process}/stat"));
                status.map_or(true, |text| text.contains(") Z "))
            };
            while !is_gone() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
