// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of the commands. Each names the paths concerned and a remedy.

use std::io;
use std::path::PathBuf;

use syclbin_toolchain::{Component, INSTALL_COMMAND, NoHome, UnsuitableDirectory};

use crate::ui::Size;

/// A result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a command of `cargo syclbin` failed.
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
        "programs in {} may not be executed, probably because its file system is mounted noexec; set SYCLBIN_HOME to \
         a directory on another file system",
        home.display()
    )]
    NotExecutable {
        /// The home directory.
        home: PathBuf,
    },

    /// The pinned wheels contain programs for another platform.
    #[error(
        "the pinned wheels hold programs for x86-64 Linux, this machine is {arch} {os}; set \
         SYCLBIN_CLANG to the clang++ of your own DPC++ or build from prebuilt .syclbin files, \
         and run kernels on an OpenCL driver of your system"
    )]
    Platform {
        /// The operating system, as Rust calls it.
        os: String,
        /// The processor architecture, as Rust calls it.
        arch: String,
    },

    /// The compiler driver is not beside this program.
    #[error(
        "{} not found, the compiler component needs it; `cargo install cargo-syclbin` installs it \
         beside cargo-syclbin, and in a checkout of the repository `cargo build -p cargo-syclbin` \
         builds both",
        looked.display()
    )]
    NoDriver {
        /// Where it was expected.
        looked: PathBuf,
    },

    /// The path of this program is unknown.
    #[error(
        "cannot find the path of this program ({cause}), and syclbin-clang is beside it; start this program by \
         its full path"
    )]
    NoProgram {
        /// The system's error.
        cause: io::Error,
    },

    /// No child process could be started.
    #[error("cannot start this program again for a trial: {cause}; free memory and processes")]
    Child {
        /// The system's error.
        cause: io::Error,
    },

    /// The lock of the home directory could not be acquired.
    #[error(
        "cannot lock {}: {cause}; set SYCLBIN_HOME to a directory on a local disk",
        file.display()
    )]
    Lock {
        /// The lock file.
        file: PathBuf,
        /// The system's error.
        cause: io::Error,
    },

    /// No pip was found to fetch wheels with.
    #[error(
        "no pip found to fetch the wheels with (tried {tried}); install pip or uv, set SYCLBIN_PIP to your pip \
         command, or copy the wheels into a directory and pass --wheels DIR:{wheels}"
    )]
    NoPip {
        /// The commands that were tried, and why each was rejected.
        tried: String,
        /// The wheels concerned, one per line.
        wheels: String,
    },

    /// pip could not be started, or ended with an error, which it printed itself.
    #[error(
        "`{command}` failed ({status}); check the network, your pip settings (PIP_INDEX_URL) and the free disk \
         space, or copy the wheels into a directory and pass --wheels DIR:{wheels}"
    )]
    PipFailed {
        /// The command that was run.
        command: String,
        /// How it ended.
        status: String,
        /// The wheels concerned, one per line.
        wheels: String,
    },

    /// A directory lacks wheels that should be there.
    #[error("{} lacks these wheels; copy them there:{wheels}", folder.display())]
    MissingWheels {
        /// The directory given with `--wheels`, or the download directory for pip.
        folder: PathBuf,
        /// The wheels concerned, one per line.
        wheels: String,
    },

    /// A wheel has a different size from the pinned wheel.
    #[error(
        "{} has {found} bytes, the pinned wheel has {expected}; the file was cut short or is \
         another build: delete it and fetch it again",
        file.display()
    )]
    WheelSize {
        /// The wheel.
        file: PathBuf,
        /// The pinned size in bytes.
        expected: u64,
        /// Its size in bytes.
        found: u64,
    },

    /// A wheel has a different hash from the pinned wheel.
    #[error(
        "{} has SHA-256 {found}, the pinned wheel has {expected}; delete it and fetch it again; if the hash is \
         wrong again, do not trust its source",
        file.display()
    )]
    WheelHash {
        /// The wheel.
        file: PathBuf,
        /// The pinned hash.
        expected: String,
        /// Its hash.
        found: String,
    },

    /// A wheel does not contain what its pin says.
    #[error("{}: {problem}; the pin of this wheel is wrong, please report it", file.display())]
    WheelContent {
        /// The wheel.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// A file could not be read.
    #[error("cannot read {}: {cause}", file.display())]
    Read {
        /// The file or directory.
        file: PathBuf,
        /// The system's error.
        cause: io::Error,
    },

    /// A file or directory could not be written.
    #[error(
        "cannot write {}: {cause}; installing needs {} ({needed} bytes) in {}: free space there and make it \
         writable, or set SYCLBIN_HOME to another directory",
        file.display(), Size(*needed), home.display()
    )]
    Write {
        /// The file or directory.
        file: PathBuf,
        /// The home directory.
        home: PathBuf,
        /// The peak space that the whole installation takes, in bytes.
        needed: u64,
        /// The system's error.
        cause: io::Error,
    },

    /// A component could not be removed.
    #[error(
        "cannot remove {}: {cause}; check who owns it, or delete {} by hand",
        file.display(), home.display()
    )]
    Remove {
        /// The file or directory.
        file: PathBuf,
        /// The home directory.
        home: PathBuf,
        /// The system's error.
        cause: io::Error,
    },

    /// The requested component is not installed.
    #[error(
        "{} is not installed in {}; run `{INSTALL_COMMAND} --component {}`",
        component.name(), home.display(), component.name()
    )]
    NotInstalled {
        /// The component.
        component: Component,
        /// The home directory.
        home: PathBuf,
    },

    /// A file is not a valid SYCLBIN file.
    #[error("{}: {cause}; {remedy}", file.display())]
    NotSyclbin {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, and where.
        cause: Box<syclbin::Error>,
        /// What the file seems to be, or which command reports more.
        remedy: String,
    },

    /// A file cannot contain device images, or is damaged.
    #[error("{}: {cause}", file.display())]
    Extract {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, and where.
        cause: Box<syclbin::Error>,
    },

    /// No image in a file can be packaged as SYCLBIN.
    #[error("{}: no image in it can be packaged as SYCLBIN:{notes}", file.display())]
    NothingToPackage {
        /// The file.
        file: PathBuf,
        /// What each image lacks, one per line.
        notes: String,
    },

    /// An image cannot be part of a SYCLBIN file.
    #[error("cannot write {}: an image cannot be part of a SYCLBIN file:{notes}", file.display())]
    LeftOut {
        /// The file.
        file: PathBuf,
        /// What each image lacks, one per line.
        notes: String,
    },

    /// An option of `pack` does not go with SYCLBIN.
    #[error(
        "{option} does not write SYCLBIN, which the name of the output asks for; name it other than .syclbin"
    )]
    PackSyclbin {
        /// The option.
        option: &'static str,
    },

    /// A file already exists.
    #[error("{} exists; --force overwrites it, and nothing was written", file.display())]
    Exists {
        /// The file.
        file: PathBuf,
    },

    /// A result could not be written.
    #[error("cannot write {}: {cause}", file.display())]
    Save {
        /// The file or directory.
        file: PathBuf,
        /// The system's error.
        cause: io::Error,
    },

    /// A file has something that the container cannot hold.
    #[error("{}: {cause}; --drop-unknown leaves out what the container cannot hold", file.display())]
    Convert {
        /// The file.
        file: PathBuf,
        /// What the container cannot hold.
        cause: Box<syclbin::write::Error>,
    },

    /// A file has something that SYCLBIN cannot express.
    #[error("{}: {cause}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// What SYCLBIN cannot express.
        cause: Box<syclbin::write::Error>,
    },

    /// `include_syclbin!` would refuse a file.
    #[error("{}: cannot generate Rust code from it: {}", file.display(), problems.join("\n  "))]
    Expand {
        /// The file.
        file: PathBuf,
        /// All problems.
        problems: Vec<String>,
    },

    /// Cargo finds no workspace.
    #[error("Cargo finds no workspace: {0}")]
    Workspace(String),

    /// The workspace has no package of this name.
    #[error("no package of the workspace is called {name}; `cargo metadata --no-deps` lists them")]
    NoPackage {
        /// The name.
        name: String,
    },

    /// No package builds kernels.
    #[error(
        "no package here builds kernels; one that does has syclbin-build among its \
         build-dependencies"
    )]
    NothingBuilds,

    /// No build script has left a file that could be compiled again.
    #[error("no build script has built a file; correct the errors above, and start again")]
    NothingToWatch,

    /// The kernel description in a Cargo.toml has a mistake.
    #[error(transparent)]
    Manifest(syclbin_build::Error),

    /// Cargo could not be run.
    #[error("cannot run {program}: {cause}; set CARGO to the path of Cargo")]
    Cargo {
        /// The program.
        program: String,
        /// The system's error.
        cause: io::Error,
    },

    /// Cargo refused a command.
    #[error("`cargo {command}` failed: {said}\n{remedy}; nothing was written")]
    CargoFailed {
        /// The command.
        command: String,
        /// The error that Cargo printed.
        said: String,
        /// What to do.
        remedy: &'static str,
    },

    /// A directory does not have the crates of syclbin.
    #[error(
        "{} is not a checkout of syclbin: it lacks syclbin-rt/Cargo.toml or syclbin-build/Cargo.toml; \
         name the top directory of a checkout",
        directory.display()
    )]
    NotCheckout {
        /// The directory.
        directory: PathBuf,
    },

    /// A name has letters that the name of a SYCLBIN file cannot have.
    #[error(
        "`{name}` cannot be the name of a SYCLBIN file; use letters of ASCII, digits, `_` and `-`"
    )]
    NotAscii {
        /// The name.
        name: String,
    },

    /// A file that would be written exists.
    #[error("nothing was written, because this exists: {files}; {remedy}")]
    Occupied {
        /// The files.
        files: String,
        /// What to do.
        remedy: &'static str,
    },

    /// A directory is not part of a crate.
    #[error(
        "{} is not in a crate; change to the directory of one, or create one with `cargo syclbin new NAME`",
        directory.display()
    )]
    NoCrate {
        /// The directory.
        directory: PathBuf,
    },

    /// The current directory is unknown.
    #[error("cannot find the current directory: {0}; change to a directory that exists")]
    NoDirectory(io::Error),

    /// Standard output could not be written.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}
