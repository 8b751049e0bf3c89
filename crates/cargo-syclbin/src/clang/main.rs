//! `syclbin-clang`: a drop-in for `clang++ -fsycl -fsyclbin` over DPC++'s compiler library.
//!
//! It takes clang's command line, compiles sources, joins them with SYCLBIN files, writes one SYCLBIN
//! file, and ends with clang's exit code; clang's own diagnostics appear on standard error as clang
//! wrote them. The library is 250 MB of LLVM that may crash: this process is what it may take with it.
//!
//! | module | noun |
//! |---|---|
//! | [`response_file`] | `@FILE`: arguments in files |
//! | [`options`] | the command line, and which of it is the library's, by [`table`], the options there are |
//! | [`states`], [`targets`], [`warnings`], [`inputs`], [`depfile`] | parts of the command line |
//! | [`make`] | from a command line to the files it asks for, in [`steps`] |
//! | [`parts`] | each input as modules |
//! | [`compile`] | one source to modules |
//! | [`library`] | the compiler library: found, checked, called. Unsafe code |
//! | [`headers`] | the headers of ours, beside the library |
//! | [`lower`] | specialization constants, which the library leaves to whoever links |
//! | [`link`] | the modules of all inputs in one file, whose [`imports`] are all there |
//! | [`native`] | the SPIR-V and PTX of a file compiled for processors and GPUs |
//! | [`nvidia`], [`nvidia_gpu`] | PTX, for NVIDIA's GPUs |
//! | [`device_library`] | a file that the library wants when it makes PTX. The other unsafe code |

mod compile;
mod depfile;
mod device_library;
mod headers;
mod help;
mod imports;
mod inline;
mod inputs;
mod library;
mod link;
mod lower;
mod make;
mod native;
mod nvidia;
mod nvidia_gpu;
mod options;
mod parts;
mod response_file;
mod states;
mod steps;
mod symbols;
mod table;
mod targets;
mod warnings;

use std::io::Write as _;
use std::process::ExitCode;

use options::Request;

fn main() -> ExitCode {
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
