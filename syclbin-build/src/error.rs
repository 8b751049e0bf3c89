// SPDX-License-Identifier: MIT OR Apache-2.0
//! Build errors. Each message states what failed, why, and what to do.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use syclbin_toolchain::{GET_COMPILER, HAS_COMPONENTS, INSTALL_COMMAND};

use crate::compile::diagnostics::hints;
use crate::process::COMPILE_LIMIT_VARIABLE;
use crate::search::{Origin, Problem, RejectedCandidate};

/// The reason why a build produced no SYCLBIN file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// [`Build::compile`](crate::Build::compile) was called outside of a build script.
    #[error("OUT_DIR is not set; call syclbin-build from a build script (build.rs)")]
    NoOutDir,
    /// The name is empty or contains characters other than letters, digits, `_` and `-`.
    #[error(
        "`{0}` is not a valid name for a SYCLBIN file; use ASCII letters, digits, `_` and `-`, as in compile(\"saxpy\")"
    )]
    Name(String),
    /// Neither [`Build::source`](crate::Build::source) nor [`Build::sources`](crate::Build::sources) was called.
    #[error("no source was given; add one with .source(\"kernels/NAME.cpp\")")]
    NoSource,
    /// `-fsycl-device-only` was passed to [`Build::flag`](crate::Build::flag). With this flag, compilers write LLVM
    /// bitcode instead of SYCLBIN.
    #[error(
        "cannot use -fsycl-device-only: with it, clang++ writes LLVM bitcode instead of a SYCLBIN file; remove it, \
         because a build compiles only device code anyway"
    )]
    DeviceOnly,
    /// Cargo.toml cannot be read, or describes a build incorrectly. See
    /// [`Build::from_manifest`](crate::Build::from_manifest).
    #[error("{}{} {problem}", .path.display(), .line.map_or_else(String::new, |line| format!(":{line}:")))]
    Manifest {
        /// The path of Cargo.toml.
        path: PathBuf,
        /// The line number of the mistake, starting at 1. `None` if the problem is not on a specific line.
        line: Option<usize>,
        /// The problem, and how to correct it.
        problem: String,
    },
    /// A pattern passed to [`Build::sources`](crate::Build::sources) is invalid or matches no visible file.
    #[error("pattern \"{pattern}\" {problem}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The problem, and how to correct it.
        problem: String,
    },
    /// A source does not exist or cannot be read.
    #[error(
        "cannot read source {}: {source}; paths are relative to the directory that contains Cargo.toml",
        .path.display()
    )]
    Source {
        /// The source.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A source or header changed while `cargo syclbin build --commit` compiled it, so it is unknown which version the
    /// compiler read.
    #[error("{} changed while it was being compiled; run the command again", .0.display())]
    Changed(PathBuf),
    /// The compiler that the user named is unusable.
    #[error("{}", unusable(.0))]
    Unusable(Box<RejectedCandidate>),
    /// No usable compiler was found.
    #[error(
        "no SYCL compiler was found {}; {GET_COMPILER}, or set SYCLBIN_CLANG to a DPC++ \
         clang++ that supports -fsyclbin{}",
        .home.as_ref().map_or_else(|| "on PATH".to_owned(), |home| format!("in {} or on PATH", home.display())),
        listed(.passed_over)
    )]
    NoCompiler {
        /// The directory of installed compilers. `None` if it cannot be determined.
        home: Option<PathBuf>,
        /// The candidates that were found but are unusable.
        passed_over: Vec<RejectedCandidate>,
    },
    /// The directory of installed compilers cannot be determined.
    #[error(transparent)]
    NoHome(#[from] syclbin_toolchain::NoHome),
    /// The compiler could not be started.
    #[error(
        "cannot start {}: {source}; `cargo syclbin doctor` shows the one that a build uses",
        .program.display()
    )]
    Start {
        /// The compiler.
        program: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The compiler found errors in the source. [`Error::diagnostics`] returns them.
    #[error("{} does not compile; see the compiler's errors{}", .source_file.display(), hints(.diagnostics))]
    Compile {
        /// The source.
        source_file: PathBuf,
        /// The compiler's diagnostics, unchanged.
        diagnostics: String,
    },
    /// The compiler crashed.
    #[error(
        "the compiler crashed ({how}) while compiling {}; this is a bug in the compiler (it crashes if a kernel \
         function has a parameter of an incomplete type) or a problem with the machine (such as too little memory or \
         disk space). To reproduce it:\n  {command}",
        .source_file.display()
    )]
    Crash {
        /// The source.
        source_file: PathBuf,
        /// The exit status of the compiler.
        how: ExitStatus,
        /// A command that reproduces the crash.
        command: String,
        /// The diagnostics that the compiler wrote before the crash.
        diagnostics: String,
    },
    /// The compiler exceeded the time limit.
    #[error(
        "the compiler did not finish within {} s while compiling {} and was stopped; allow more time with {}. To \
         reproduce it:\n  {command}",
        .limit.as_secs(),
        .source_file.display(),
        COMPILE_LIMIT_VARIABLE
    )]
    Hangs {
        /// The source.
        source_file: PathBuf,
        /// The time limit.
        limit: Duration,
        /// A command that repeats the compilation.
        command: String,
        /// The diagnostics that the compiler wrote before it was stopped.
        diagnostics: String,
    },
    /// At least one of several sources failed to compile. [`Error::diagnostics`] returns the compiler's diagnostics.
    #[error("{}{summary}{}", each(.failures), hints(.diagnostics))]
    Sources {
        /// The error of each source that failed.
        failures: Vec<Error>,
        /// The compiler's diagnostics, without duplicates.
        diagnostics: String,
        /// The number of errors and warnings, and the sources that failed to compile.
        summary: String,
    },
    /// Device code uses functions or variables that no source defines.
    #[error("{}", undefined(.0))]
    Undefined(Vec<Undefined>),
    /// The build script has already built a file with this name.
    #[error("the build script builds two files named {0:?}; choose another name for one of them")]
    Twice(String),
    /// The path of a source contains a line break.
    #[error(
        "the path of source {0:?} contains a line break, which build scripts cannot pass to Cargo; rename the file"
    )]
    LineBreak(PathBuf),
    /// The compiler wrote a file that cannot be read as SYCLBIN.
    #[error(
        "{} wrote no usable SYCLBIN file for {}: {problem}; check that this compiler is a DPC++ clang++ that \
         supports -fsyclbin (2025.2 or newer)",
        .program.display(),
        .source_file.display()
    )]
    Output {
        /// The compiler.
        program: PathBuf,
        /// The source.
        source_file: PathBuf,
        /// The problem with the file.
        problem: String,
    },
    /// `syclbin-clang` did not record kernel descriptions, because it is from another release.
    #[error("{} recorded no kernel descriptions for {}, because it is from another release; run `{INSTALL_COMMAND}`, \
        or remove it from SYCLBIN_CLANG", .program.display(), .source_file.display())]
    OtherRelease {
        /// The compiler.
        program: PathBuf,
        /// The source.
        source_file: PathBuf,
    },
    /// The file that [`Build::prebuilt`](crate::Build::prebuilt) names is unreadable or damaged.
    #[error("prebuilt file {} {problem}; regenerate it with `cargo syclbin build --commit` on a machine with a \
        compiler", .path.display())]
    Prebuilt {
        /// The prebuilt file.
        path: PathBuf,
        /// The problem with the prebuilt file.
        problem: String,
    },
    /// There is neither a compiler nor a prebuilt file.
    #[error("{compiler}\nand the prebuilt file {} does not exist either; `cargo syclbin build --commit` writes it on a \
        machine with a compiler", .path.display())]
    PrebuiltMissing {
        /// The prebuilt file that does not exist.
        path: PathBuf,
        /// Why no compiler was found.
        compiler: Box<Error>,
    },
    /// The compiler's output cannot be represented as SYCLBIN.
    #[error(
        "cannot create the SYCLBIN file: {0}; try another compiler (set SYCLBIN_CLANG to its path), \
         and please report this bug"
    )]
    Format(#[from] syclbin::write::Error),
    /// A file or directory could not be written, or could not be read back.
    #[error("cannot write {}: {source}; check the permissions and the free space of its directory", .path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl Error {
    /// Returns a closure that turns a failure to write `path` into an error.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Write { path, source }
    }

    /// Returns the compiler's diagnostics unchanged, or an empty string if there are none. The error message does not
    /// include them.
    ///
    /// [`Build::compile`](crate::Build::compile) prints them before the message. After
    /// [`Build::try_compile`](crate::Build::try_compile), print them yourself:
    ///
    /// ```no_run
    /// // build.rs
    /// # let build = syclbin_build::Build::new();
    /// if let Err(error) = build.try_compile("saxpy") {
    ///     eprintln!("{}error: {error}", error.diagnostics());
    /// }
    /// ```
    #[must_use]
    pub fn diagnostics(&self) -> &str {
        match self {
            Self::Compile { diagnostics, .. }
            | Self::Crash { diagnostics, .. }
            | Self::Hangs { diagnostics, .. }
            | Self::Sources { diagnostics, .. } => diagnostics,
            _ => "",
        }
    }
}

/// A symbol that device code imports and no module exports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undefined {
    /// The symbol.
    pub symbol: String,
    /// Its C++ name, or the symbol if it cannot be demangled.
    pub name: String,
    /// The sources that use it.
    pub sources: Vec<PathBuf>,
}

fn undefined(all: &[Undefined]) -> String {
    let mut text = "device code uses symbols that no source defines:".to_owned();
    for one in all {
        let sources = one.sources.iter().map(|path| path.display().to_string());
        let sources = sources.collect::<Vec<_>>().join(", ");
        let symbol = if one.name == one.symbol {
            String::new()
        } else {
            format!(" ({})", one.symbol)
        };
        text += &format!("\n  {}{symbol}, used in {sources}", one.name);
    }
    text.push_str(
        "\nadd the sources that define them with .source(\"...\"), and mark both their declarations and their \
         definitions SYCL_EXTERNAL, without `inline`; if another SYCLBIN file defines them, use .link_at_load(true)",
    );
    text
}

/// Lists the failures that the compiler's diagnostics do not include.
fn each(failures: &[Error]) -> String {
    let told = |failure: &&Error| !matches!(failure, Error::Compile { .. });
    let each = failures.iter().filter(told);
    each.map(|failure| format!("{failure}\n")).collect()
}

fn unusable(only: &RejectedCandidate) -> String {
    if let Problem::NoTemporary(_) = only.problem {
        return only.to_string();
    }
    let without = match &only.candidate.origin {
        Origin::Variable { name, .. } => format!("unset {name}"),
        _ => "remove this setting".to_owned(),
    };
    if !HAS_COMPONENTS {
        return format!("{only}; {without}");
    }
    format!("{only}; {without} to use the compiler that `{INSTALL_COMMAND}` installs")
}

fn listed(passed_over: &[RejectedCandidate]) -> String {
    if passed_over.is_empty() {
        return String::new();
    }
    let each = passed_over.iter().map(|one| format!("\n  {one}"));
    ". These compilers are unusable:".to_owned() + &each.collect::<String>()
}

/// The result of a build.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_and_compiler_errors_name_a_remedy() {
        let source = || io::Error::from(io::ErrorKind::PermissionDenied);

        for (error, way_out) in [
            (
                Error::Start {
                    program: "icpx".into(),
                    source: source(),
                },
                "; `cargo syclbin doctor` shows the one that a build uses",
            ),
            (
                Error::Write {
                    path: "out".into(),
                    source: source(),
                },
                "; check the permissions and the free space of its directory",
            ),
            (
                Error::Format(syclbin::write::Error::Nul("a".to_owned())),
                "; try another compiler (set SYCLBIN_CLANG to its path), and please report this bug",
            ),
        ] {
            let said = error.to_string();
            assert!(said.ends_with(way_out), "{said}");
        }
    }
}
