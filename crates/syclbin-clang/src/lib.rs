// SPDX-License-Identifier: MIT OR Apache-2.0
//! `syclbin-clang`: a drop-in replacement for `clang++ -fsycl -fsyclbin`, based on DPC++'s compiler library.
//!
//! It accepts clang's command line, compiles sources, joins them with SYCLBIN files and objects, and writes one file.
//! It uses clang's exit codes, and passes clang's diagnostics unchanged to standard error. The compiler library
//! contains 250 MB of LLVM and may crash, so it runs in this separate program instead of in the caller's process.
//!
//! | module | purpose |
//! |---|---|
//! | `command_line` | parses options, and selects those for the library |
//! | `make` | creates the requested files |
//! | `steps` | runs the processes that a request needs, in parallel |
//! | `compile` | compiles a source to modules |
//! | `describe` | records the declarations and dimensions of kernels |
//! | `library` | finds, checks and calls the compiler library; contains all unsafe code |
//! | `lower` | lowers specialization constants, because the library does not, and repairs signed conversions |
//! | `link` | joins the modules of all inputs into one file without undefined imports |
//! | `native` | compiles SPIR-V and PTX to native code for processors and GPUs |
//! | `nvidia` | compiles sources to PTX for NVIDIA GPUs |

mod command_line;
mod compile;
mod describe;
mod library;
mod link;
mod lower;
mod make;
mod native;
mod nvidia;
mod steps;

use std::io::Write as _;
use std::process::ExitCode;

use command_line::options::Request;
use command_line::response_file;
use syclbin::AbstractModule;

/// Runs the program with the arguments of this process and returns its exit code.
pub fn main() -> ExitCode {
    let Err(failure) = run() else {
        return ExitCode::SUCCESS;
    };
    // Clang's diagnostics are printed unchanged. This program's own messages get a prefix.
    let mut stderr = std::io::stderr().lock();
    let _ = match &failure {
        Failure::Diagnostics(text) => writeln!(stderr, "{}", text.trim_end()),
        Failure::Own(text) => writeln!(stderr, "syclbin-clang: error: {text}"),
        Failure::Reported(code) => return ExitCode::from(*code),
    };
    ExitCode::FAILURE
}

fn run() -> Result<()> {
    let arguments = response_file::expand(std::env::args_os().skip(1))?;
    match Request::parse(arguments)? {
        Request::Make(options) => make::make(&options),
        Request::BuildForCpu {
            spirv,
            output,
            options,
        } => native::build_for_cpu(&spirv, &output, &options),
        Request::Print(text) => {
            // A failed write is not an error: the reader may have closed the pipe.
            let _ = std::io::stdout().lock().write_all(text.as_bytes());
            Ok(())
        }
    }
}

/// Applies all rewrites of device code to a module, for fuzzers. Refused code stays unchanged.
#[doc(hidden)]
pub fn rewrite(module: &mut AbstractModule<'_>) {
    for image in &mut module.images {
        let ptx = std::str::from_utf8(&image.bytes).map(lower::lower_ptx);
        let repaired = match ptx {
            Ok(Ok(Some(lowered))) => {
                lowered.constants.write(&mut module.metadata);
                Some(lowered.code)
            }
            _ => lower::signed_bools::repair(&image.bytes),
        };
        if let Some(code) = repaired {
            image.bytes = code.into();
        }
    }
    let _ = lower::lower_module(module);
}

/// The reason why no file was created.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Failure {
    /// Clang's diagnostics about the source.
    Diagnostics(String),
    /// A message from this program.
    Own(String),
    /// The error has already been reported. Contains the exit code.
    Reported(u8),
}

type Result<T, E = Failure> = std::result::Result<T, E>;

/// Returns a function that puts `what` before an error.
fn context<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> Failure {
    move |error| Failure::Own(format!("{what}: {error}"))
}

/// Returns an error with this program's own message.
fn own<T>(text: impl Into<String>) -> Result<T> {
    Err(Failure::Own(text.into()))
}
