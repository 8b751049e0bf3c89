// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin`: installs the SYCL toolchain, reports what a machine can compile and run, and examines files of
//! compiled kernels.
//!
//! Cargo runs this program as `cargo-syclbin syclbin ...`; it also works without the extra word.
//! It exits with 0 on success, 1 on failure, and 2 for invalid arguments. Answers go to standard output, everything
//! else to standard error.

mod probe;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::TypedValueParser;
use clap::{Parser, Subcommand};

use cargo_syclbin::error::{Error, Result};
use cargo_syclbin::project::{self, init, new};
use cargo_syclbin::toolchain::driver::Driver;
use cargo_syclbin::toolchain::install::{Installer, Source};
use cargo_syclbin::toolchain::pip::Search;
use cargo_syclbin::toolchain::{self, list};
use cargo_syclbin::ui::{Terminal, answer, complain, one_of};
use cargo_syclbin::workspace::Selection;
use cargo_syclbin::{
    build, convert, doctor, expand, extract, guard, inspect, list as files, pack, verify, watch,
};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

/// Install the SYCL compiler for Rust programs, examine the machine, and inspect files of compiled kernels
#[derive(Parser)]
#[command(name = "cargo-syclbin", bin_name = "cargo syclbin", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install, list or remove the SYCL compiler, the CPU device and the tools for NVIDIA GPUs
    #[command(subcommand)]
    Toolchain(Toolchain),
    /// Report what this machine can compile and run, or whether a driver accepts the kernels of a file
    ///
    /// Without a file, compiles a small kernel and runs it on the device that a program would get. Exits with 0 if
    /// both work, and with 1 otherwise.
    Doctor(doctor::Options),
    /// Create a program with a kernel, a build script and a workflow for GitHub Actions
    ///
    /// The program is a package in a new directory with the same name, as with `cargo new`. The package depends on
    /// syclbin-rt and syclbin-build. With --from, it contains a draft of each launch instead of the example.
    New(new::Options),
    /// Add a kernel to the crate in this directory
    ///
    /// Adds the dependencies, kernels/saxpy.cpp, src/kernels.rs, and build.rs if there is none.
    /// Prints what to add to the code. Existing files are not overwritten.
    Init(project::Source),
    /// Write or check the compiled files that a workspace keeps beside its sources
    ///
    /// These are the files that build scripts name with `Build::prebuilt`. The scripts run in a separate
    /// target directory.
    Build(build::Options),
    /// Show every SYCLBIN file that a workspace builds
    ///
    /// Lists the files that Cargo.toml describes and the files that build scripts compile. Builds stale
    /// files first. Exits with 1 if a file is missing.
    List(files::Options),
    /// Recompile kernels each time a source or header is saved
    ///
    /// Runs each package's build script once, as `cargo run` does. Then recompiles changed sources with the arguments
    /// from the build script, and replaces the compiled files in OUT_DIR. A running program can load the new files
    /// with syclbin-rt's `WatchedFile`. If compilation fails, the previous file remains. Stop with Ctrl-C.
    Watch(Selection),
    /// Run a command so that out-of-bounds accesses or races of kernels are errors: `cargo syclbin guard cargo test`
    ///
    /// Runs the command twice, on the CPU device unless SYCLBIN_DEVICE is set: first with an inaccessible page right
    /// after each buffer, then with one right before it. If a kernel accesses such a page, its launch returns an error
    /// that names the kernel, the argument and the byte. Launches wait for their kernels, so the program is slower.
    /// With --races, the command runs once. Each kernel runs twice, the second time with its work-groups in reverse
    /// order, and its launch returns an error if the results differ. Atomic operations on floats, and lists that
    /// work-groups append to, are reported too.
    ///
    /// Requires Linux and Intel's CPU device. Exits with 1 if a run fails.
    Guard(guard::Options),
    /// Show the kernels and images of a SYCLBIN file, and what they need from a device
    Inspect(inspect::Options),
    /// Check SYCLBIN files, and report every problem
    ///
    /// Exits with 1 if there is an error.
    Verify(verify::Options),
    /// Rewrite a SYCLBIN file in another container
    Convert(convert::Options),
    /// Extract device code from objects, executables, archives, bundles and SYCLBIN files
    ///
    /// Exits with 1 if the file contains no device code.
    Extract(extract::Options),
    /// Pack device images into an OffloadBinary, a SYCLBIN file or a host object
    ///
    /// The reverse of `extract`. Accepts the arguments of LLVM's llvm-offload-binary.
    Pack(pack::Options),
    /// Print the Rust signatures and structs that `include_syclbin!` generates from a SYCLBIN file, one line each
    ///
    /// `fn fill::iota` is the method `iota` of `kernels.fill`. `expand` prints the complete code.
    Stubs(expand::Source),
    /// Print the Rust code that `include_syclbin!` generates from a SYCLBIN file
    Expand(expand::Source),
}

#[derive(Subcommand)]
enum Toolchain {
    /// Fetch and install components; components that are already installed are only checked
    ///
    /// The wheels are pinned by SHA-256 and fetched with your own pip, so your index, proxy and
    /// certificates apply. Set SYCLBIN_PIP to use another pip: the path of a program, or a command such as
    /// `python3.12 -m pip`. Set SYCLBIN_HOME to choose the installation directory.
    Install {
        /// Install only this component; may be repeated [default: compiler, cpu-device, and nvidia if there is an
        /// NVIDIA GPU]
        #[arg(long = "component", value_name = "COMPONENT", value_parser = component())]
        components: Vec<Component>,
        /// Use the wheels in this directory instead of fetching them
        #[arg(long, value_name = "DIR")]
        wheels: Option<PathBuf>,
        /// Reinstall components that are already installed
        #[arg(long)]
        force: bool,
    },
    /// Show what is installed, with versions, sizes and licences
    List,
    /// Print the home directory, or a component's directory
    Path {
        /// The component whose directory to print
        #[arg(value_parser = component())]
        component: Option<Component>,
    },
    /// Remove a component, or all of them
    Remove {
        /// The component to remove
        #[arg(value_parser = component(), required_unless_present = "all", conflicts_with = "all")]
        component: Option<Component>,
        /// Remove every component
        #[arg(long)]
        all: bool,
    },
}

fn component() -> impl TypedValueParser<Value = Component> {
    one_of(Component::ALL.map(Component::name), Component::from_name)
}

fn main() -> ExitCode {
    let cli = Cli::parse_from(arguments(std::env::args_os()));
    match run(cli.command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(format_args!("error: {error}"));
            let source = std::error::Error::source(&error);
            for cause in std::iter::successors(source, |cause| cause.source()) {
                complain(format_args!("  because: {cause}"));
            }
            ExitCode::FAILURE
        }
    }
}

/// Returns the arguments without the extra word that Cargo passes.
fn arguments(all: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let words = all.enumerate();
    words.filter_map(|(index, word)| (index != 1 || word != "syclbin").then_some(word))
}

/// Runs a command, and returns whether to exit with 0.
fn run(command: Command) -> Result<bool> {
    match command {
        Command::Toolchain(Toolchain::Install {
            components,
            wheels,
            force,
        }) => install(&components, wheels, force)?,
        Command::Toolchain(Toolchain::List) => {
            let home = home()?;
            answer(&list::render(
                &home,
                &list::rows(&home),
                &toolchain::pins::ALL,
            ))?;
        }
        Command::Toolchain(Toolchain::Path { component }) => {
            let folder = list::path(&home()?, component)?;
            answer(&format!("{}\n", folder.display()))?;
        }
        Command::Toolchain(Toolchain::Remove { component, .. }) => {
            let components = component.map_or(Component::ALL.to_vec(), |one| vec![one]);
            list::remove(&home()?, &components, &Terminal::default())?;
        }
        Command::Doctor(options) if options.trial => answer(&probe::trial())?,
        Command::Doctor(options) => match options.probe[..] {
            [module, kernel] => probe::run(module, kernel)?,
            _ => return doctor::run(&options),
        },
        Command::New(options) => new::run(&options, &current()?)?.print()?,
        Command::Init(source) => init::run(&source, &current()?)?.print()?,
        Command::Build(options) => return build::run(&options),
        Command::List(options) => return files::run(&options),
        Command::Watch(selection) => watch::run(&selection)?,
        Command::Guard(options) => return guard::run(&options),
        Command::Inspect(options) => inspect::run(&options)?,
        Command::Verify(options) => return verify::run(&options),
        Command::Convert(options) => convert::run(&options)?,
        Command::Pack(options) => pack::run(&options)?,
        Command::Stubs(options) => expand::stubs(&options)?,
        Command::Expand(options) => expand::run(&options)?,
        Command::Extract(options) => return extract::run(&options),
    }
    Ok(true)
}

fn install(components: &[Component], wheels: Option<PathBuf>, force: bool) -> Result<()> {
    let chosen = toolchain::pins_of(components)?;
    let installer = Installer {
        home: &home()?,
        source: &wheels.map_or_else(|| Source::Pip(Search::from_env()), Source::Folder),
        driver: &Driver::beside(&std::env::current_exe().map_err(Error::NoProgram)?),
        force,
        progress: &Terminal::default(),
    };
    installer.run(&chosen)?;
    Ok(())
}

fn current() -> Result<PathBuf> {
    std::env::current_dir().map_err(Error::NoDirectory)
}

fn home() -> Result<Home> {
    Ok(Home::locate(std::env::var_os(HOME_VARIABLE).as_deref())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn leading_word_from_cargo_is_dropped_once() {
        let given = |words: &[&str]| -> Vec<OsString> {
            arguments(words.iter().map(OsString::from)).collect()
        };
        assert_eq!(given(&["me", "syclbin", "doctor"]), ["me", "doctor"]);
        assert_eq!(given(&["me", "doctor"]), ["me", "doctor"]);
        assert_eq!(given(&["me", "syclbin", "syclbin"]), ["me", "syclbin"]);
    }
}
