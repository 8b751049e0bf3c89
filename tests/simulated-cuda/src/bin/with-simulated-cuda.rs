// SPDX-License-Identifier: MIT OR Apache-2.0
//! `with-simulated-cuda COMMAND ARGUMENTS...`: runs a command whose `libcuda.so` is the simulation,
//! and ends as it ends. The library lies beside this program, where Cargo puts both.

use std::ffi::OsString;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const LIBRARY: &str = "libsimulated_cuda.so";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("with-simulated-cuda: {error}");
            ExitCode::from(127)
        }
    }
}

fn run() -> Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let usage = "give a command to run: with-simulated-cuda COMMAND ARGUMENTS...";
    let program = arguments
        .next()
        .ok_or_else(|| Error::new(ErrorKind::InvalidInput, usage))?;
    let folder = folder(&library()?)?;
    let mut paths = folder.into_os_string();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
        paths.push(":");
        paths.push(others);
    }
    let status = Command::new(&program)
        .args(arguments)
        .env("LD_LIBRARY_PATH", paths)
        .status()
        .map_err(|error| Error::new(error.kind(), format!("{}: {error}", program.display())))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    // A command that a signal ended has no code.
    Ok(ExitCode::from(code.unwrap_or(1)))
}

/// The library: where Cargo builds it, which is newer than its copy after tests, or beside this
/// program.
fn library() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let places = ["deps", ""].map(|folder| program.with_file_name(folder).join(LIBRARY));
    let found = places.into_iter().find(|path| path.exists());
    found.ok_or_else(|| {
        let what = format!(
            "{LIBRARY} is not beside {}; `cargo build -p simulated-cuda` makes it",
            program.display()
        );
        Error::new(ErrorKind::NotFound, what)
    })
}

/// A folder beside the library in which that has the names of a driver.
fn folder(library: &Path) -> Result<PathBuf> {
    let folder = library.with_file_name("simulated-cuda-driver");
    std::fs::create_dir_all(&folder)?;
    for name in ["libcuda.so", "libcuda.so.1"] {
        let link = folder.join(name);
        if std::fs::read_link(&link).is_ok_and(|target| target == library) {
            continue;
        }
        // Several may do this at once: each makes a link of its own and puts it in place.
        let mut own = OsString::from(&link);
        own.push(format!(".{}", std::process::id()));
        std::os::unix::fs::symlink(library, &own)?;
        std::fs::rename(&own, &link)?;
    }
    Ok(folder)
}
