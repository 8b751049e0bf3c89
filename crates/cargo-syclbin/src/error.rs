// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors of all commands. Each message names the affected paths and suggests a remedy.

use std::env::consts::{ARCH, OS};
use std::io;
use std::path::{Path, PathBuf};

use syclbin::__private::lines;
use syclbin_toolchain::{
    COMPILE_ON_LINUX, Component, GET_CPU_DRIVER, INSTALL_COMMAND, NoHome, UnsuitableDirectory,
};

/// A result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The error of a `cargo syclbin` command. The first path of a variant is the affected file or directory.
#[allow(missing_docs, reason = "the field names are self-explanatory")]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The home directory is unknown.
    #[error(transparent)]
    NoHome(#[from] NoHome),

    /// A component cannot be installed in the home directory.
    #[error(transparent)]
    Unsuitable(#[from] UnsuitableDirectory),

    #[error(
        "cannot execute programs in {0}, probably because its file system is mounted noexec; set SYCLBIN_HOME to a \
         directory on another file system"
    )]
    NotExecutable(PathBuf),

    /// The component is not available for this system. `None` if no component is available.
    #[error("{}", unavailable(*.0))]
    Platform(Option<Component>),

    #[error(
        "cannot find {0}, which the compiler component needs; `cargo install cargo-syclbin` installs it beside \
         cargo-syclbin, and in a checkout of the repository `cargo build -p cargo-syclbin` builds both"
    )]
    NoDriver(PathBuf),

    #[error("cannot determine the path of this program: {0}; start it by its full path")]
    NoProgram(io::Error),

    #[error("cannot start this program again for a trial: {0}; free memory or end other processes")]
    Child(io::Error),

    #[error("cannot lock {0}: {1}; set SYCLBIN_HOME to a directory on a local disk")]
    Lock(PathBuf, io::Error),

    /// No pip was found to fetch wheels with. `tried` lists the rejected commands, each with the reason.
    #[error(
        "found no pip to fetch the wheels with (tried {tried}); install pip or uv, set SYCLBIN_PIP to your pip \
         command, or copy the wheels into a directory and pass --wheels DIR:{wheels}"
    )]
    NoPip { tried: String, wheels: String },

    /// pip could not be started, or failed and printed its own error. The strings are the command with its status, and
    /// the wheels.
    #[error(
        "{0}; check the network, your pip settings (PIP_INDEX_URL) and the free disk space, or copy the wheels into a \
         directory and pass --wheels DIR:{1}"
    )]
    PipFailed(String, String),

    /// A directory lacks wheels. The string lists them, one per line.
    #[error("{0} lacks these wheels; copy them there:{1}")]
    MissingWheels(PathBuf, String),

    #[error(
        "{file} contains {found}, but the pinned wheel contains {expected}; the file is truncated or from another \
         build: delete it and fetch it again; if it is still wrong, do not trust its source"
    )]
    WrongWheel {
        file: PathBuf,
        expected: String,
        found: String,
    },

    #[error("{0}: {1}; the pin for this wheel is wrong; please report this")]
    WheelContent(PathBuf, String),

    #[error("cannot read {0}: {1}")]
    Read(PathBuf, io::Error),

    /// A file in the home directory cannot be written or removed.
    #[error(
        "cannot write or remove {file}: {cause}; free space in {home} and make it writable, or set SYCLBIN_HOME to \
         another directory"
    )]
    Home {
        file: PathBuf,
        home: PathBuf,
        cause: io::Error,
    },

    #[error(
        "{} is not installed in {}; run `{INSTALL_COMMAND} --component {}`",
        .1.name(), .0.display(), .1.name()
    )]
    NotInstalled(PathBuf, Component),

    /// The string describes the apparent format of the file, or suggests a command for it.
    #[error("{0}: {1}; {2}")]
    NotSyclbin(PathBuf, Box<syclbin::Error>, String),

    /// A file cannot be read or written in the requested format.
    #[error("{0}: {1}")]
    Format(PathBuf, AnyError),

    /// The string explains why the images cannot be packaged, in one or more lines.
    #[error("cannot package the images of {0} as SYCLBIN:\n  {1}")]
    LeftOut(PathBuf, String),

    /// This option of `pack` cannot be combined with SYCLBIN output.
    #[error(
        "{0} cannot write a SYCLBIN file, but the output name ends in .syclbin; choose another name"
    )]
    PackSyclbin(&'static str),

    #[error("{0} already exists, so nothing was written; use --force to overwrite it")]
    Exists(PathBuf),

    #[error("cannot write {0}: {1}")]
    Save(PathBuf, io::Error),

    /// `include_syclbin!` would reject the file or the items, for these reasons.
    #[error("cannot generate Rust code from {}: {}", .0.display(), lines(.1))]
    Expand(PathBuf, Vec<String>),

    #[error("cannot read the workspace: {0}")]
    Workspace(String),

    #[error("the workspace has no package {0}; `cargo metadata --no-deps` lists its packages")]
    NoPackage(String),

    #[error("no package here builds kernels; add syclbin-build to a package's build-dependencies")]
    NothingBuilds,

    /// No build script produced a file to recompile.
    #[error(
        "no build script built a SYCLBIN file; fix the errors above, and run the command again"
    )]
    NothingToWatch,

    /// Sources cannot be compiled, or the kernel description in a Cargo.toml is invalid.
    #[error(transparent)]
    Build(syclbin_build::Error),

    #[error("cannot start {0}: {1}")]
    Start(PathBuf, io::Error),

    #[error("cannot run {0}: {1}; set CARGO to the path of Cargo")]
    Cargo(PathBuf, io::Error),

    /// The strings are the command, Cargo's error message and the remedy.
    #[error("`cargo {0}` failed: {1}\n{2}; nothing was written")]
    CargoFailed(String, String, &'static str),

    #[error(
        "{0} is not a checkout of syclbin: it lacks syclbin-rt/Cargo.toml or syclbin-build/Cargo.toml; pass the \
         top-level directory of a checkout"
    )]
    NotCheckout(PathBuf),

    /// The first string lists the existing files, and the second suggests a remedy.
    #[error("nothing was written, because this already exists: {0}; {1}")]
    Occupied(String, &'static str),

    #[error(
        "{0} is not in a crate; change to a crate's directory, or create a crate with `cargo syclbin new NAME`"
    )]
    NoCrate(PathBuf),

    #[error("cannot determine the current directory: {0}; change to a directory that exists")]
    NoDirectory(io::Error),

    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

impl Error {
    /// Returns a function that adds `path` to an error from a reader or writer.
    pub(crate) fn format<E: Into<AnyError>>(path: &Path) -> impl FnOnce(E) -> Self {
        |cause| Self::Format(path.into(), cause.into())
    }
}

/// Formats the message of [`Error::Platform`].
fn unavailable(component: Option<Component>) -> String {
    let compiler = "set SYCLBIN_CLANG to a DPC++ clang++ that supports -fsyclbin";
    let compile = format!("{COMPILE_ON_LINUX}, or {compiler}");
    let remedy = match component {
        Some(Component::CpuDevice) => GET_CPU_DRIVER.to_owned(),
        Some(_) => compile,
        None => format!("{GET_CPU_DRIVER}; {compile}"),
    };
    let what = component.map(|component| format!("{} is not", component.name()));
    let what = what.as_deref().unwrap_or("no component is");
    format!("{what} available for {ARCH} {OS}; {remedy}")
}
