// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask COMMAND`: runs `demo` and `toolchain` itself, and builds the package `xtask` for every other command.

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// What failed.
type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [command] if command == "demo" => demo(),
        // The tests need each component.
        [command] if command == "toolchain" => {
            build_installer().and_then(|()| run_installer(&["compiler", "cpu-device", "nvidia"]))
        }
        _ => return other(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Installs what a user of this machine would, then builds and runs `examples/saxpy`.
fn demo() -> Result<()> {
    let start = Instant::now();
    build_installer()?;
    // The libraries of the example compile while the compiler is fetched. The build script of the example fails until
    // then, so Cargo leaves out only the example itself.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut build = cargo();
            build.args(["build", "--quiet", "--keep-going", "--package", "saxpy"]);
            build.stderr(Stdio::null()).status()
        });
        run_installer(&[])
    })?;
    step(
        "saxpy",
        cargo().args(["run", "--quiet", "--package", "saxpy"]),
    )?;
    eprintln!("== in all: {:.0?}", start.elapsed());
    Ok(())
}

/// Builds the two programs of `cargo-syclbin`.
fn build_installer() -> Result<()> {
    step(
        "cargo syclbin",
        cargo().args(["build", "--quiet", "--package", "cargo-syclbin"]),
    )
}

/// Has the first of them install these components, or what it installs by default, with the second beside the compiler
/// library.
fn run_installer(components: &[&str]) -> Result<()> {
    // Cargo puts the programs of a workspace into one directory.
    let own = std::env::current_exe().map_err(|error| format!("this program's path: {error}"))?;
    let mut command = Command::new(own.with_file_name("cargo-syclbin"));
    command.args(["syclbin", "toolchain", "install"]);
    for component in components {
        command.args(["--component", component]);
    }
    step("toolchain", &mut command)
}

/// Has Cargo build and run the package that has all other commands.
fn other(arguments: &[OsString]) -> ExitCode {
    let run = ["run", "--quiet", "--package", "xtask", "--"];
    let mut command = cargo();
    match command.args(run).args(arguments).status() {
        Ok(status) => ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)),
        Err(error) => {
            eprintln!("error: {}: {error}", command.get_program().display());
            ExitCode::FAILURE
        }
    }
}

/// Runs a command, and prints its name and the time that it took.
fn step(name: &str, command: &mut Command) -> Result<()> {
    eprintln!("== {name}");
    let start = Instant::now();
    match command.status() {
        Ok(status) if status.success() => {
            eprintln!("== {name}: {:.0?}", start.elapsed());
            Ok(())
        }
        Ok(status) => Err(format!("{name}: {command:?} ended with {status}")),
        Err(error) => Err(format!("{name}: {command:?}: {error}")),
    }
}

/// The cargo that runs this, in the directory of the workspace.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command
}
