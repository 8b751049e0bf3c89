// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of the commands. Each names the paths concerned and a remedy.

use std::io;
use std::path::PathBuf;

use syclbin_toolchain::{Component, INSTALL_COMMAND, NoHome, UnsuitableDirectory};

use crate::ui::Size;

/// A result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a command of `cargo syclbin` failed. The first path of a variant is the file or directory concerned.
#[allow(missing_docs, reason = "the names of fields explain themselves")]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The home directory is unknown.
    #[error(transparent)]
    NoHome(#[from] NoHome),

    /// A component does not work in the home directory.
    #[error(transparent)]
    Unsuitable(#[from] UnsuitableDirectory),

    /// Programs in the home directory may not be executed.
    #[error(
        "cannot execute programs in {}, probably because its file system is mounted noexec; set SYCLBIN_HOME to a \
         directory on another file system",
        .0.display()
    )]
    NotExecutable(PathBuf),

    /// The pinned wheels contain programs for another platform. The names are those of Rust.
    #[error(
        "the pinned wheels contain programs for x86-64 Linux, but this machine is {arch} {os}; set SYCLBIN_CLANG to \
         the clang++ of your own DPC++ or build from prebuilt .syclbin files, and run kernels with an OpenCL driver \
         of your system"
    )]
    Platform { os: String, arch: String },

    /// The compiler driver is not beside this program.
    #[error(
        "cannot find {}, which the compiler component needs; `cargo install cargo-syclbin` installs it beside \
         cargo-syclbin, and in a checkout of the repository `cargo build -p cargo-syclbin` builds both",
        .0.display()
    )]
    NoDriver(PathBuf),

    /// The path of this program is unknown.
    #[error(
        "cannot determine the path of this program ({0}), so syclbin-clang, which is beside it, cannot be found; \
         start this program by its full path"
    )]
    NoProgram(io::Error),

    /// No child process could be started.
    #[error("cannot start this program again for a trial: {0}; free memory or end other processes")]
    Child(io::Error),

    /// The lock of the home directory could not be acquired.
    #[error("cannot lock {}: {}; set SYCLBIN_HOME to a directory on a local disk", .0.display(), .1)]
    Lock(PathBuf, io::Error),

    /// No pip was found to fetch wheels with. `tried` says why each command was rejected.
    #[error(
        "found no pip to fetch the wheels with (tried {tried}); install pip or uv, set SYCLBIN_PIP to your pip \
         command, or copy the wheels into a directory and pass --wheels DIR:{wheels}"
    )]
    NoPip { tried: String, wheels: String },

    /// pip could not be started, or ended with an error, which it printed itself.
    #[error(
        "`{command}` failed ({status}); check the network, your pip settings (PIP_INDEX_URL) and the free disk \
         space, or copy the wheels into a directory and pass --wheels DIR:{wheels}"
    )]
    PipFailed {
        command: String,
        status: String,
        wheels: String,
    },

    /// A directory lacks wheels that should be there, which are listed one per line.
    #[error("{} lacks these wheels; copy them there:{}", .0.display(), .1)]
    MissingWheels(PathBuf, String),

    /// A wheel is not the pinned wheel: its size or hash differs.
    #[error(
        "{} has {found}, but the pinned wheel has {expected}; the file is truncated or from another build: delete it and \
         fetch it again; if it is still wrong, do not trust its source",
        file.display()
    )]
    WrongWheel {
        file: PathBuf,
        expected: String,
        found: String,
    },

    /// A wheel does not contain what its pin says.
    #[error("{}: {}; the pin of this wheel is wrong; please report it", .0.display(), .1)]
    WheelContent(PathBuf, String),

    /// A file could not be read.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Read(PathBuf, io::Error),

    /// A file or directory could not be written. `needed` is the peak size of the whole installation in bytes.
    #[error(
        "cannot write {}: {cause}; installing needs {} ({needed} bytes) in {}: free space there and make it \
         writable, or set SYCLBIN_HOME to another directory",
        file.display(), Size(*needed), home.display()
    )]
    Write {
        file: PathBuf,
        home: PathBuf,
        needed: u64,
        cause: io::Error,
    },

    /// A component could not be removed.
    #[error(
        "cannot remove {}: {cause}; check its owner, or delete {} manually",
        file.display(), home.display()
    )]
    Remove {
        file: PathBuf,
        home: PathBuf,
        cause: io::Error,
    },

    /// The requested component is not installed in the home directory.
    #[error(
        "{} is not installed in {}; run `{INSTALL_COMMAND} --component {}`",
        .1.name(), .0.display(), .1.name()
    )]
    NotInstalled(PathBuf, Component),

    /// A file is not a valid SYCLBIN file. The remedy says what the file seems to be, or which command reports more.
    #[error("{}: {cause}; {remedy}", file.display())]
    NotSyclbin {
        file: PathBuf,
        cause: Box<syclbin::Error>,
        remedy: String,
    },

    /// A file cannot be read or written in the wanted format.
    #[error("{}: {}", .0.display(), .1)]
    Format(PathBuf, Box<dyn std::error::Error + Send + Sync>),

    /// A SYCLBIN file cannot hold images. The text says what each image lacks, one per line.
    #[error("cannot package the images of {} as SYCLBIN:{}", .0.display(), .1)]
    LeftOut(PathBuf, String),

    /// This option of `pack` cannot be combined with SYCLBIN output.
    #[error("{0} does not write SYCLBIN, but the output is named .syclbin; choose another name")]
    PackSyclbin(&'static str),

    /// A file already exists.
    #[error("{} already exists, so nothing was written; use --force to overwrite it", .0.display())]
    Exists(PathBuf),

    /// A result could not be written.
    #[error("cannot write {}: {}", .0.display(), .1)]
    Save(PathBuf, io::Error),

    /// A file contains data that the container cannot hold.
    #[error("{}: {}; use --drop-unknown to drop what the container cannot store", .0.display(), .1)]
    Convert(PathBuf, Box<syclbin::write::Error>),

    /// `include_syclbin!` would refuse a file, for these reasons.
    #[error("cannot generate Rust code from {}: {}", .0.display(), .1.join("\n  "))]
    Expand(PathBuf, Vec<String>),

    /// Cargo finds no workspace.
    #[error("Cargo found no workspace: {0}")]
    Workspace(String),

    /// The workspace has no package of this name.
    #[error("the workspace has no package {0}; `cargo metadata --no-deps` lists its packages")]
    NoPackage(String),

    /// No package builds kernels.
    #[error("no package here builds kernels; add syclbin-build to the build-dependencies of one")]
    NothingBuilds,

    /// No build script has left a file that could be compiled again.
    #[error("no build script built a file; fix the errors above, and start again")]
    NothingToWatch,

    /// The kernel description in a Cargo.toml has a mistake.
    #[error(transparent)]
    Manifest(syclbin_build::Error),

    /// Cargo, which has this path, could not be run.
    #[error("cannot run {}: {}; set CARGO to the path of Cargo", .0.display(), .1)]
    Cargo(PathBuf, io::Error),

    /// Cargo refused a command, and printed an error.
    #[error("`cargo {command}` failed: {said}\n{remedy}; nothing was written")]
    CargoFailed {
        command: String,
        said: String,
        remedy: &'static str,
    },

    /// A directory does not contain the syclbin crates.
    #[error(
        "{} is not a checkout of syclbin: it lacks syclbin-rt/Cargo.toml or syclbin-build/Cargo.toml; pass the top \
         directory of a checkout",
        .0.display()
    )]
    NotCheckout(PathBuf),

    /// A name contains characters that are not allowed in the name of a SYCLBIN file.
    #[error("`{0}` is not a valid name for a SYCLBIN file; use ASCII letters, digits, `_` and `-`")]
    NotAscii(String),

    /// Files that would be written exist. A remedy follows.
    #[error("nothing was written, because this already exists: {0}; {1}")]
    Occupied(String, &'static str),

    /// A directory is not part of a crate.
    #[error(
        "{} is not in a crate; change to the directory of one, or create one with `cargo syclbin new NAME`",
        .0.display()
    )]
    NoCrate(PathBuf),

    /// The current directory is unknown.
    #[error("cannot determine the current directory: {0}; change to a directory that exists")]
    NoDirectory(io::Error),

    /// Standard output could not be written.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}
