//! A process that is watched: what it says goes to a file, and it ends in time, with all it started.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What a program says beyond this is left out: it is no diagnostic any more.
const MOST_SAID: u64 = 16 << 20;

/// Names how many seconds a compile may take.
pub(crate) const COMPILE_LIMIT_VARIABLE: &str = "SYCLBIN_COMPILE_SECONDS";

/// Returns the limit that the value of a variable sets in seconds, else `default`.
pub(crate) fn time_limit(value: Option<OsString>, default: Duration) -> Duration {
    value
        .and_then(|value| value.to_str()?.trim().parse().ok())
        .filter(|seconds| *seconds > 0)
        .map_or(default, Duration::from_secs)
}

/// How a process ended that did not exit by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended(pub(crate) ExitStatus);

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&self.0) {
            let name = match signal {
                4 => " (SIGILL)",
                6 => " (SIGABRT)",
                9 => " (SIGKILL)",
                11 => " (SIGSEGV)",
                15 => " (SIGTERM)",
                _ => "",
            };
            return write!(f, "was killed by signal {signal}{name}");
        }
        write!(f, "crashed ({})", self.0)
    }
}

/// A running program. It is stopped when this is dropped.
pub(crate) struct Process {
    child: Child,
    stderr: File,
    started: Instant,
    is_over: bool,
}

impl Process {
    /// Starts `command`. What it says goes to files: a pipe would have us wait for whatever the program
    /// started and left behind.
    pub(crate) fn start(
        mut command: Command,
        stdout: impl Into<Stdio>,
        stderr: File,
    ) -> io::Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr.try_clone()?)
            .spawn()?;
        Ok(Self {
            child,
            stderr,
            started: Instant::now(),
            is_over: false,
        })
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        self.is_over = status.is_some();
        Ok(status)
    }

    pub(crate) fn runs_for(&self) -> Duration {
        self.started.elapsed()
    }

    /// What it has said on its standard error so far.
    pub(crate) fn said(&mut self) -> io::Result<String> {
        text(&mut self.stderr)
    }

    /// Stops it, and what it started as far as that can be found.
    pub(crate) fn stop(&mut self) {
        if self.is_over {
            return;
        }
        #[cfg(target_os = "linux")]
        tree::kill(self.child.id());
        // It may have ended by now, which is all that is wanted.
        let _ = self.child.kill();
        self.is_over = self.child.wait().is_ok();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What a program wrote to `file`.
pub(crate) fn text(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MOST_SAID).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The processes that one started. A process group would find them too, but a compiler in a group of
/// its own would not hear of Ctrl-C, and a hanging one would then hang on with nobody to stop it.
#[cfg(target_os = "linux")]
mod tree {
    use rustix::process::{Pid, Signal, kill_process};

    /// Stops all before any is killed: none starts another meanwhile, and no number is given to a
    /// process that is not meant.
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
        // `12 (name) S 7 ...`, where a name may have blanks and brackets in it.
        let (_, after) = text.rsplit_once(')')?;
        after.split_whitespace().nth(1)?.parse().ok()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_started_is_stopped_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("pids");
        let mut command = Command::new("/bin/sh");
        // A child, and a child of a child.
        let script =
            "sleep 1000 & echo $! >>\"$0\"; sh -c 'sleep 1000 & echo $! >>\"$0\"; wait' \"$0\"";
        command.args(["-c", script]).arg(&list);
        let mut process =
            Process::start(command, Stdio::null(), tempfile::tempfile().unwrap()).unwrap();
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
            // One that is dead and not yet collected by whoever adopted it counts as gone.
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
