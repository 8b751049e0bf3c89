//! `syclbin-clang`: a drop-in for `clang++ -fsycl -fsyclbin` over DPC++'s compiler library.
//!
//! It takes clang's command line, compiles sources, joins them with SYCLBIN files, writes one SYCLBIN
//! file, and ends with clang's exit code; clang's own diagnostics appear on standard error as clang
//! wrote them. The library is 250 MB of LLVM that may crash: this process is what it may take with it.
//!
//! | module | noun |
//! |---|---|
//! | `command_line` | the options, and which of them are the library's |
//! | `make` | from a command line to the files it asks for, in `steps` |
//! | `compile` | one source to modules |
//! | `library` | the compiler library: found, checked, called. The only unsafe code |
//! | `lower` | specialization constants, which the library leaves to the linker |
//! | `link` | the modules of all inputs in one file that has all it imports |
//! | `native` | SPIR-V and PTX compiled for processors and GPUs |
//! | `nvidia`, `inline` | PTX for NVIDIA's GPUs, and calls in it that are inlined |

mod command_line;
mod compile;
mod inline;
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
use command_line::{help, response_file};

/// Runs the program with the arguments of this process, and returns its exit code.
pub fn main() -> ExitCode {
    let Err(failure) = run() else {
        return ExitCode::SUCCESS;
    };
    // A diagnostic of clang stands for itself; what this program has to say is marked as its own.
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
        Request::Version => {
            let (own, library) = (env!("CARGO_PKG_VERSION"), library::VERSION);
            print(&format!("syclbin-clang version {own} (DPC++ {library})\n"));
            Ok(())
        }
        Request::Help => {
            print(help::HELP);
            Ok(())
        }
    }
}

fn print(text: &str) {
    // A reader that went away is not an error of ours.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Why there is no file.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    /// What clang said of the source.
    Diagnostics(String),
    /// What this program says.
    Own(String),
    /// A process of ours said it, and ended with this code.
    Reported(u8),
}

type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error of this program's own.
fn own<T>(text: impl Into<String>) -> Result<T> {
    Err(Failure::Own(text.into()))
}
