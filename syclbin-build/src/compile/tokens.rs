// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits the number of parallel compilers with tokens from Cargo's jobserver. Without a jobserver, the limit is
//! `NUM_JOBS`, or else the number of cores.
//!
//! The crate `jobserver` is not used, because its `Client::from_env` is unsafe: it takes ownership of file descriptors
//! by number. This module reopens the descriptors by path instead.

use std::ffi::OsStr;
use std::num::NonZero;

/// The tokens for additional processes. A build script owns one token while Cargo runs it, and must request and return
/// all others.
pub(crate) struct Tokens {
    source: Source,
    /// The tokens held now, excluding this process's own token.
    held: Vec<u8>,
}

enum Source {
    #[cfg(unix)]
    Jobserver(unix::Pipe),
    /// This many tokens in addition to the process's own token.
    Count(usize),
}

/// The environment variables that may describe a jobserver, in order of preference.
const VARIABLES: [&str; 3] = ["CARGO_MAKEFLAGS", "MAKEFLAGS", "MFLAGS"];

impl Tokens {
    /// Connects to the jobserver that the environment describes. Without a jobserver, uses `NUM_JOBS`, or else the
    /// number of cores. These variables are not reported to Cargo, because the number of processes does not affect the
    /// result.
    pub(crate) fn of_environment() -> Self {
        let flags = VARIABLES.into_iter().find_map(std::env::var_os);
        let jobs = std::env::var("NUM_JOBS").ok();
        Self::new(flags.as_deref(), jobs.as_deref())
    }

    fn new(flags: Option<&OsStr>, jobs: Option<&str>) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let jobs = jobs.and_then(|text| text.parse().ok());
        let source = Source::Count(jobs.unwrap_or_else(cores).saturating_sub(1));
        #[cfg(unix)]
        let source = match flags.and_then(OsStr::to_str).and_then(jobserver) {
            // If the jobserver is unreachable, this process may use only its own token.
            Some(named) => unix::Pipe::open(named).map_or(Source::Count(0), Source::Jobserver),
            None => source,
        };
        #[cfg(not(unix))]
        let _ = flags;
        Self {
            source,
            held: Vec::new(),
        }
    }

    /// Takes another token if one is available. Never waits.
    pub(crate) fn take(&mut self) -> bool {
        let token = match &mut self.source {
            #[cfg(unix)]
            Source::Jobserver(pipe) => pipe.take(),
            Source::Count(count) => (self.held.len() < *count).then_some(0),
        };
        self.held.extend(token);
        token.is_some()
    }

    /// Returns tokens until at most `count` are held, in addition to the process's own token.
    pub(crate) fn keep(&mut self, count: usize) {
        while self.held.len() > count {
            let Some(token) = self.held.pop() else { return };
            match &mut self.source {
                #[cfg(unix)]
                Source::Jobserver(pipe) => pipe.give_back(token),
                Source::Count(_) => _ = token,
            }
        }
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        self.keep(0);
    }
}

/// Returns the jobserver's address from `MAKEFLAGS`: `fifo:PATH`, or two file descriptors.
#[cfg(unix)]
fn jobserver(flags: &str) -> Option<&str> {
    // Makefile variables follow `--`.
    let flags = flags.split(" -- ").next().unwrap_or_default();
    let words = flags.split_whitespace().rev();
    let mut named = words.filter_map(|word| {
        word.strip_prefix("--jobserver-auth=")
            .or_else(|| word.strip_prefix("--jobserver-fds="))
    });
    named.next()
}

#[cfg(unix)]
mod unix {
    use std::fs::{File, OpenOptions};
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
    use std::path::PathBuf;

    use rustix::fs::OFlags;

    /// A pipe that contains one byte for each available token.
    pub(super) struct Pipe {
        read: File,
        write: File,
    }

    impl Pipe {
        /// Opens the pipe again, with non-blocking reads. The original open file is shared with make and other
        /// processes, for which reads must still block.
        pub(super) fn open(named: &str) -> Option<Self> {
            let (read, write) = match named.strip_prefix("fifo:") {
                Some(path) => (PathBuf::from(path), PathBuf::from(path)),
                None => {
                    let (read, write) = named.split_once(',')?;
                    (descriptor(read)?, descriptor(write)?)
                }
            };
            let no_wait = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
            // The other end may be closed at the moment, and a blocking `open` would wait for it.
            let open = |options: &mut OpenOptions, path: PathBuf| {
                options.custom_flags(no_wait).open(path).ok()
            };
            let read = open(File::options().read(true), read)?;
            let write = open(File::options().write(true), write)?;
            // An outdated descriptor number may refer to another file by now.
            let is_pipe = |file: &File| {
                let metadata = file.metadata();
                metadata.is_ok_and(|metadata| metadata.file_type().is_fifo())
            };
            (is_pipe(&read) && is_pipe(&write)).then_some(Self { read, write })
        }

        pub(super) fn take(&mut self) -> Option<u8> {
            let mut token = [0];
            self.read.read_exact(&mut token).ok()?;
            Some(token[0])
        }

        pub(super) fn give_back(&mut self, token: u8) {
            // The token came from the pipe, so the pipe has space for it. If the pipe is gone, no process waits for
            // tokens.
            let _ = self.write.write_all(&[token]);
        }
    }

    /// Returns a path for reopening one of this process's file descriptors. On Linux, the reopened file has separate
    /// status flags. Returns `None` on other systems: reopening only duplicates the descriptor there, so taking a token
    /// could block forever.
    fn descriptor(number: &str) -> Option<PathBuf> {
        let number: u32 = number.parse().ok()?;
        cfg!(target_os = "linux").then(|| PathBuf::from(format!("/proc/self/fd/{number}")))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn num_jobs_limits_processes_without_a_jobserver() {
        for (jobs, expected) in [("1", 0), ("3", 2), ("0", 0)] {
            let mut tokens = Tokens::new(None, Some(jobs));
            for _ in 0..expected {
                assert!(tokens.take(), "{jobs}");
            }
            assert!(!tokens.take(), "{jobs}");
            tokens.keep(0);
            assert_eq!(tokens.take(), expected > 0, "{jobs}");
        }
        let none = Tokens::new(Some(OsStr::new("-j4 V=1")), Some("nonsense"));
        let cores = std::thread::available_parallelism().unwrap().get();
        assert!(matches!(none.source, Source::Count(count) if count + 1 == cores));
    }

    #[test]
    fn only_pipes_are_a_jobserver() {
        let file = tempfile::tempfile().unwrap();
        let (read, write) = std::io::pipe().unwrap();
        let (file, read, write) = (file.as_raw_fd(), read.as_raw_fd(), write.as_raw_fd());
        for (read, write, is_pipe) in [
            (read, write, true),
            (file, write, false),
            (read, file, false),
        ] {
            let flags = format!("-j --jobserver-auth={read},{write}");
            let tokens = Tokens::new(Some(OsStr::new(&flags)), Some("3"));
            assert_eq!(matches!(tokens.source, Source::Count(0)), !is_pipe);
        }
    }

    #[test]
    fn pipe_tokens_are_taken_and_returned() {
        use std::io::{Read as _, Write as _};
        let (mut read, mut write) = std::io::pipe().unwrap();
        write.write_all(b"ab").unwrap();
        let flags = format!(
            "-j --jobserver-fds=90,91 --jobserver-auth={},{} -- X=--jobserver-auth=1,2",
            read.as_raw_fd(),
            write.as_raw_fd()
        );
        let mut tokens = Tokens::new(Some(OsStr::new(&flags)), Some("64"));
        assert!(tokens.take() && tokens.take());
        assert!(!tokens.take(), "it does not wait for a third");
        drop(tokens);
        let mut back = [0; 2];
        read.read_exact(&mut back).unwrap();
        back.sort_unstable();
        assert_eq!(&back, b"ab");
    }

    #[test]
    fn unusable_jobserver_leaves_the_own_token() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let number = file.as_file().as_raw_fd();
        for named in [
            "-2,-2".to_owned(),
            "9999,9998".to_owned(),
            "fifo:/nowhere".to_owned(),
            format!("fifo:{}", file.path().display()),
            format!("{number},{number}"),
            "nonsense".to_owned(),
        ] {
            let flags = format!("--jobserver-auth={named}");
            let mut tokens = Tokens::new(Some(OsStr::new(&flags)), Some("64"));
            assert!(!tokens.take(), "{named}");
        }
        assert_eq!(file.as_file().metadata().unwrap().len(), 0);
    }
}
