// SPDX-License-Identifier: MIT OR Apache-2.0
//! LLVM's reader as a process: compiled from `llvm_offload_binary.cpp`, asked over a pipe.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::files::Sums;

/// The compiled program.
pub(crate) struct Program(PathBuf);

/// The program with one file in its memory.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Such as `22.1.8`.
    pub(crate) version: String,
    /// The newest version of OffloadBinary it knows.
    pub(crate) newest: String,
}

/// The value of an environment variable, or `default`; arguments may follow a program.
fn words(name: &str, default: &str) -> Vec<String> {
    let value = std::env::var(name).unwrap_or_else(|_| default.to_owned());
    value.split_whitespace().map(str::to_owned).collect()
}

impl Program {
    /// Compiles the program into a directory.
    ///
    /// # Errors
    ///
    /// Why there is none, and what to do about it.
    pub(crate) fn compile(folder: &Path) -> Result<Self, String> {
        let config = std::env::var("LLVM_CONFIG").unwrap_or_else(|_| "llvm-config-22".to_owned());
        let ask = |arguments: &[&str]| {
            let output = Command::new(&config).args(arguments).output();
            let output = output.map_err(|error| {
                format!("{config}: {error}; install llvm-22-dev or set LLVM_CONFIG")
            })?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!("{config} {}: {}", arguments.join(" "), said.trim()));
            }
            let said = String::from_utf8_lossy(&output.stdout);
            Ok(said.split_whitespace().map(str::to_owned).collect())
        };
        let flags: Vec<String> = ask(&["--cxxflags"])?;
        let libraries = ask(&["--ldflags", "--libs", "object", "--system-libs"])?;
        let libdir = ask(&["--libdir"])?.concat();

        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/llvm_offload_binary.cpp");
        let program = folder.join("llvm_offload_binary");
        let compiler = words("CXX", "g++");
        let (compiler, extra) = compiler.split_first().ok_or("CXX is empty; unset it")?;
        let output = Command::new(compiler)
            .args(extra)
            .args(["-O2", "-DNDEBUG"])
            .args(&flags)
            .args(words("CXXFLAGS", ""))
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .args(&libraries)
            .arg(OsString::from(format!("-Wl,-rpath,{libdir}")))
            .args(words("LDFLAGS", ""))
            .output()
            .map_err(|error| format!("{compiler}: {error}; set CXX to a C++ compiler"))?;
        if output.status.success() {
            return Ok(Self(program));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{compiler} failed:\n{}", said.trim()))
    }

    /// Starts the program on `file`.
    pub(crate) fn start(&self, file: &Path) -> Result<Process, String> {
        let mut child = Command::new(&self.0)
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", self.0.display()))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.ok_or("no pipe from the program")?);
        let mut process = Process {
            child,
            input,
            output,
            version: String::new(),
            newest: String::new(),
        };
        let line = process.line()?;
        let (version, newest) = line.split_once(' ').ok_or_else(|| line.clone())?;
        process.version = version.to_owned();
        process.newest = newest.to_owned();
        Ok(process)
    }
}

impl Process {
    /// Has the program do `command` (`open` or `walk`) so many times: nanoseconds for all, and what
    /// it saw.
    ///
    /// # Errors
    ///
    /// What LLVM said of the file.
    pub(crate) fn ask(&mut self, command: &str, times: u64) -> Result<(u64, Sums), String> {
        let input = self.input.as_mut().ok_or("the program's input is closed")?;
        writeln!(input, "{command} {times}")
            .and_then(|()| input.flush())
            .map_err(|error| format!("the program does not listen: {error}"))?;
        let line = self.line()?;
        if let Some(error) = line.strip_prefix("error ") {
            return Err(error.to_owned());
        }
        let numbers: Result<Vec<u64>, _> = line.split(' ').map(str::parse).collect();
        match numbers.as_deref() {
            Ok([taken, entries, images, strings]) => {
                let (entries, images, strings) = (*entries, *images, *strings);
                let sums = Sums {
                    entries,
                    images,
                    strings,
                };
                Ok((*taken, sums))
            }
            _ => Err(format!("the program said `{line}`")),
        }
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err("the program ended".to_owned()),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(format!("the program says nothing: {error}")),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.input.take()); // the program ends at the end of its input
        // Nothing is left to do about a program that ended badly.
        let _ = self.child.wait();
    }
}
