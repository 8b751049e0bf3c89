//! What can go wrong in a command: each with the paths it is about and a way out.

use std::io;
use std::path::PathBuf;

use syclbin_toolchain::{Component, INSTALL_COMMAND, NoHome};

use crate::ui::Size;

/// A result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a command of `cargo syclbin` failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No home folder is known.
    #[error(transparent)]
    NoHome(#[from] NoHome),

    /// The pinned wheels hold programs for another platform.
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

    /// The compiler driver does not lie beside this program.
    #[error(
        "{} not found, the compiler component needs it; `cargo install cargo-syclbin` installs it \
         beside cargo-syclbin, and in a checkout of the repository `cargo build -p cargo-syclbin` \
         builds both",
        looked.display()
    )]
    NoDriver {
        /// Where it was looked for.
        looked: PathBuf,
    },

    /// This program does not know where it lies itself.
    #[error(
        "cannot tell where this program lies ({cause}), and syclbin-clang is taken from beside it; \
         start it by its full path"
    )]
    NoProgram {
        /// What the system said.
        cause: io::Error,
    },

    /// The lock of the home folder could not be taken.
    #[error(
        "cannot lock {}: {cause}; set SYCLBIN_HOME to a folder on a local disk",
        file.display()
    )]
    Lock {
        /// The lock file.
        file: PathBuf,
        /// What the system said.
        cause: io::Error,
    },

    /// No pip was found to fetch wheels with.
    #[error(
        "no pip found to fetch the wheels with (tried {tried}); install pip or uv, set SYCLBIN_PIP \
         to the command of yours, or copy the wheels into a folder and pass --wheels DIR:{wheels}"
    )]
    NoPip {
        /// What was tried and why each did not do.
        tried: String,
        /// The wheels in question, one a line.
        wheels: String,
    },

    /// pip could not be started or ended with an error, which it printed itself.
    #[error(
        "`{command}` failed ({status}); check the network, your pip settings (PIP_INDEX_URL) and the \
         room on the disk, or copy the wheels into a folder and pass --wheels DIR:{wheels}"
    )]
    PipFailed {
        /// The command that was run.
        command: String,
        /// How it ended.
        status: String,
        /// The wheels in question, one a line.
        wheels: String,
    },

    /// Wheels that should lie in a folder do not.
    #[error("{} lacks these wheels; copy them there:{wheels}", folder.display())]
    MissingWheels {
        /// The folder of `--wheels`, or the one pip was told to fill.
        folder: PathBuf,
        /// The wheels in question, one a line.
        wheels: String,
    },

    /// A wheel is not as long as the pinned one.
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

    /// A wheel is not the pinned one.
    #[error(
        "{} has SHA-256 {found}, the pinned wheel has {expected}; delete it and fetch it again, and \
         if it stays so distrust where it comes from",
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

    /// A wheel does not hold what its pin says.
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
        /// The file or folder.
        file: PathBuf,
        /// What the system said.
        cause: io::Error,
    },

    /// A file or folder could not be written.
    #[error(
        "cannot write {}: {cause}; installing needs {} ({needed} bytes) in {}: make room there and \
         make it writable, or set SYCLBIN_HOME to another folder",
        file.display(), Size(*needed), home.display()
    )]
    Write {
        /// The file or folder.
        file: PathBuf,
        /// The home folder.
        home: PathBuf,
        /// What the whole installation takes at its peak, in bytes.
        needed: u64,
        /// What the system said.
        cause: io::Error,
    },

    /// A component could not be removed.
    #[error(
        "cannot remove {}: {cause}; check who owns it, or delete {} by hand",
        file.display(), home.display()
    )]
    Remove {
        /// The file or folder.
        file: PathBuf,
        /// The home folder.
        home: PathBuf,
        /// What the system said.
        cause: io::Error,
    },

    /// A component is asked for that is not installed.
    #[error(
        "{} is not installed in {}; run `{INSTALL_COMMAND} --component {}`",
        component.name(), home.display(), component.name()
    )]
    NotInstalled {
        /// The component.
        component: Component,
        /// The home folder.
        home: PathBuf,
    },

    /// A file does not read as SYCLBIN.
    #[error("{}: {cause}; {remedy}", file.display())]
    NotSyclbin {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, and where.
        cause: Box<syclbin::Error>,
        /// What it seems to be, or who says more.
        remedy: String,
    },

    /// A file could hold no device images, or is damaged.
    #[error("{}: {cause}", file.display())]
    Extract {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, and where.
        cause: Box<syclbin::Error>,
    },

    /// No image of a file fits into SYCLBIN.
    #[error("{}: no image in it can be packaged as SYCLBIN:{notes}", file.display())]
    NothingToPackage {
        /// The file.
        file: PathBuf,
        /// What each image lacks, one a line.
        notes: String,
    },

    /// A file is in the way.
    #[error("{} exists; --force overwrites it, and nothing was written", file.display())]
    Exists {
        /// The file.
        file: PathBuf,
    },

    /// A result could not be saved.
    #[error("cannot write {}: {cause}", file.display())]
    Save {
        /// The file or folder.
        file: PathBuf,
        /// What the system said.
        cause: io::Error,
    },

    /// A container cannot hold what a file has.
    #[error("{}: {cause}; --drop-unknown leaves out what the container cannot hold", file.display())]
    Convert {
        /// The file.
        file: PathBuf,
        /// What it has.
        cause: Box<syclbin::write::Error>,
    },

    /// A file has what SYCLBIN cannot spell.
    #[error("{}: {cause}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// What it has.
        cause: Box<syclbin::write::Error>,
    },

    /// `include_syclbin!` would refuse a file.
    #[error("{}: no Rust code can be made of it: {}", file.display(), problems.join("\n  "))]
    Expand {
        /// The file.
        file: PathBuf,
        /// All that is wrong.
        problems: Vec<String>,
    },

    /// Cargo finds no workspace.
    #[error("Cargo finds no workspace: {0}")]
    Workspace(String),

    /// A package that is not in the workspace.
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

    /// What a Cargo.toml says of kernels has a mistake.
    #[error(transparent)]
    Manifest(syclbin_build::Error),

    /// Cargo could not be run.
    #[error("cannot run {program}: {cause}; set CARGO to the path of Cargo")]
    Cargo {
        /// What was to be run.
        program: String,
        /// What the system said.
        cause: io::Error,
    },

    /// Standard output could not be written.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}
