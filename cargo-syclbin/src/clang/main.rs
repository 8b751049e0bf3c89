//! `syclbin-clang`: a drop-in for `clang++ -fsycl -fsyclbin` over DPC++'s compiler library.
//!
//! It takes clang's command line, compiles one source, writes one SYCLBIN file, and ends with
//! clang's exit code; clang's own diagnostics appear on standard error as clang wrote them. The
//! library is 250 MB of LLVM that may crash: this process is what it may take with it.
//!
//! | module | noun |
//! |---|---|
//! | [`options`] | the command line, and which of it is the library's |
//! | [`library`] | the compiler library: found, checked, called. The only unsafe code of this crate |
//! | [`headers`] | the headers of ours, beside the library |
//! | [`lower`] | specialization constants, which the library leaves to whoever links |
//! | [`compile`] | from a command line to the files it asks for |

mod compile;
mod headers;
mod library;
mod lower;
mod options;

use std::io::Write as _;
use std::process::ExitCode;

use options::Request;

fn main() -> ExitCode {
    let outcome = Request::parse(std::env::args_os().skip(1)).and_then(|request| match request {
        Request::Compile(options) => compile::run(&options),
        Request::Version => {
            let (own, library) = (env!("CARGO_PKG_VERSION"), library::VERSION);
            print(&format!("syclbin-clang version {own} (DPC++ {library})\n"));
            Ok(())
        }
        Request::Help => {
            print(options::HELP);
            Ok(())
        }
    });
    let Err(failure) = outcome else {
        return ExitCode::SUCCESS;
    };
    // A diagnostic of clang stands for itself; what this program has to say is marked as its own.
    let mut stderr = std::io::stderr().lock();
    let _ = match &failure {
        Failure::Diagnostics(text) => writeln!(stderr, "{}", text.trim_end()),
        Failure::Own(text) => writeln!(stderr, "syclbin-clang: error: {text}"),
    };
    ExitCode::FAILURE
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
}

type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error of this program's own.
fn own<T>(text: impl Into<String>) -> Result<T> {
    Err(Failure::Own(text.into()))
}
