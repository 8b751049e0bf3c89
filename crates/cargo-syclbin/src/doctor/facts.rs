// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts about this machine, without judgement.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use syclbin_build::cache::{self, CACHE_VARIABLE};
use syclbin_build::search::{Answers, Detected, Failure, Origin, Search};
use syclbin_toolchain::store::Store;
use syclbin_toolchain::{COMPILER_LIBRARY, Component, HOME_VARIABLE, Home, Installed};

use super::devices::Devices;
use super::trial::{self, Compiled, Ran};
use crate::programs::{self, Invocation};
use crate::toolchain;
use crate::toolchain::manifest::Manifest;
use crate::toolchain::pip;

/// The variable that names the device to use.
const DEVICE_VARIABLE: &str = "SYCLBIN_DEVICE";

/// The directory with the libstdc++ headers of every GCC of the system, in one subdirectory per version.
const HEADERS: &str = "/usr/include/c++";

/// All facts that the report is based on.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The home directory, or why there is none.
    pub home: Result<PathBuf, String>,
    /// Whether `SYCLBIN_HOME` names the home directory.
    pub home_is_set: bool,
    /// Why the pinned wheels do not work on this machine, if they do not.
    pub unsupported: Option<String>,
    /// The compiler that a build would use, and the others.
    pub compilers: Compilers,
    /// The newest installed compiler.
    pub compiler: Option<Compiler>,
    /// The result of compiling a kernel with the compiler that a build would use, if there is one.
    pub trial: Option<Result<Compiled, String>>,
    /// The directory and size in bytes of the build cache; `None` if builds do not use a cache.
    pub cache: Result<Option<(PathBuf, u64)>, String>,
    /// The C++ compiler and standard library of the system.
    pub cpp: Cpp,
    /// The pip that would fetch wheels, or the commands that were tried.
    pub pip: Result<Tool, String>,
    /// uv, which can replace pip.
    pub uv: Option<PathBuf>,
    /// The newest installed CPU device.
    pub cpu_device: Option<CpuDevice>,
    /// The component for compiling to NVIDIA GPUs, if it is installed.
    pub nvidia: Option<Nvidia>,
    /// The value of `SYCLBIN_DEVICE`.
    pub device_variable: Option<String>,
    /// The devices that a program would find.
    pub devices: Devices,
    /// The result of running that kernel on the device that a program would get. If no kernel was compiled, the
    /// shipped kernel runs instead.
    pub run: Result<Ran, String>,
}

/// The result of a search for a compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compilers {
    /// The compiler that a build would use, or why there is none.
    pub taken: Result<Taken, String>,
    /// The candidates before it that were rejected, each with the reason.
    pub passed_over: Vec<String>,
    /// The candidates after it, which are not tried.
    pub behind: Vec<String>,
}

/// The compiler that a build would use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Where it is, and how it was found.
    pub text: String,
    /// The version that it reports.
    pub version: String,
    /// Whether it is the installed compiler.
    pub is_installed: bool,
}

/// An installed compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// Its version.
    pub version: String,
    /// Its `syclbin-clang`.
    pub driver: PathBuf,
    /// The library that it calls.
    pub library: PathBuf,
    /// What is wrong with the installation.
    pub damage: Option<String>,
}

/// An installed CPU device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuDevice {
    /// Its version.
    pub version: String,
    /// Its OpenCL library.
    pub library: PathBuf,
    /// What is wrong with the installation.
    pub damage: Option<String>,
}

/// What compiling for NVIDIA GPUs needs in addition to the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvidia {
    /// Its version.
    pub version: String,
    /// Its directory.
    pub folder: PathBuf,
    /// What is wrong with the installation.
    pub damage: Option<String>,
}

/// The C++ toolchain of the system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpp {
    /// A C++ compiler.
    pub compiler: Option<Tool>,
    /// The newest directory of libstdc++ headers.
    pub headers: Option<PathBuf>,
}

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The command that runs it.
    pub command: String,
    /// The version that it reports, or why it reports none.
    pub version: String,
}

impl Facts {
    /// Examines the machine and the environment of this process.
    #[must_use]
    pub fn gather() -> Self {
        let search = std::env::var_os("PATH");
        let search = search.as_deref();
        let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref());
        let newest = |component| home.as_ref().ok()?.newest(component);
        let compiler = newest(Component::Compiler).map(|installed| Compiler {
            driver: installed.entry(),
            library: installed.folder.join(COMPILER_LIBRARY),
            damage: damage(&installed),
            version: installed.version,
        });
        let (compilers, found) = compilers();
        let trial = found.as_ref().map(trial::compile);
        let run = trial::run(trial.as_ref().and_then(|compiled| compiled.as_ref().ok()));
        Self {
            home_is_set: variable(HOME_VARIABLE).is_some(),
            unsupported: toolchain::supports(std::env::consts::OS, std::env::consts::ARCH)
                .err()
                .map(|error| error.to_string()),
            trial,
            compilers,
            compiler,
            cache: kept(home.as_ref().ok()),
            cpp: Cpp {
                compiler: ["g++", "c++"].iter().find_map(|name| {
                    Invocation::find(&[name], search).map(|found| Tool {
                        command: found.to_string(),
                        version: found.version().unwrap_or_else(|reason| reason),
                    })
                }),
                headers: headers(Path::new(HEADERS)),
            },
            pip: pip::Search::from_env()
                .find()
                .map(|pip| Tool {
                    command: pip.invocation.to_string(),
                    version: pip.version,
                })
                .map_err(|tried| tried.to_string()),
            uv: programs::find("uv", search),
            cpu_device: newest(Component::CpuDevice).map(|installed| CpuDevice {
                library: installed.entry(),
                damage: damage(&installed),
                version: installed.version,
            }),
            nvidia: newest(Component::Nvidia).map(|installed| Nvidia {
                damage: damage(&installed),
                version: installed.version,
                folder: installed.folder,
            }),
            device_variable: variable(DEVICE_VARIABLE),
            devices: Devices::gather(run.as_ref().ok()),
            run,
            home: home
                .map(|home| home.path().to_owned())
                .map_err(|error| error.to_string()),
        }
    }
}

/// Returns the directory and size of the build cache.
fn kept(home: Option<&Home>) -> Result<Option<(PathBuf, u64)>, String> {
    let named = variable(CACHE_VARIABLE).map(OsString::from);
    let folder = cache::folder(named.as_deref(), home)?;
    Ok(folder.map(|folder| {
        let size = Store::new(folder.clone(), cache::LIMIT).size();
        (folder, size)
    }))
}

/// Finds the compiler for a build script that does not call `.compiler(..)`.
fn compilers() -> (Compilers, Option<Detected>) {
    let host = host();
    let search = Search {
        variable: &|name| std::env::var_os(name).filter(|value| !value.is_empty()),
        target: host.clone(),
        host,
        // No cached answers: the doctor reports the current state.
        answers: Answers::default(),
    };
    let outcome = search.run(None);
    let found = outcome.taken.as_ref().ok().cloned();
    let compilers = Compilers {
        behind: match &found {
            Some(found) => search
                .behind(found)
                .iter()
                .map(ToString::to_string)
                .collect(),
            None => Vec::new(),
        },
        taken: match outcome.taken {
            Ok(found) => Ok(Taken {
                text: found.candidate.to_string(),
                version: found.version,
                is_installed: matches!(found.candidate.origin, Origin::Installed { .. }),
            }),
            // Rejected candidates are reported on lines of their own.
            Err(Failure::NotFound { .. }) => Err("none found".to_owned()),
            Err(failure) => Err(syclbin_build::Error::from(failure).to_string()),
        },
        passed_over: outcome
            .passed_over
            .iter()
            .map(ToString::to_string)
            .collect(),
    };
    (compilers, found)
}

/// Returns whether a build script would find a compiler.
#[must_use]
pub fn has_compiler() -> bool {
    compilers().1.is_some()
}

/// Returns the triple of the host, as reported by rustc.
fn host() -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(rustc).arg("-vV").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "))?;
    Some(host.trim().to_owned())
}

/// Returns the value of an environment variable. An empty value counts as unset.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(|value| value.to_string_lossy().into_owned())
}

fn damage(installed: &Installed) -> Option<String> {
    match Manifest::read(&installed.folder) {
        Ok(manifest) => manifest.damage(&installed.folder, |_| false),
        Err(problem) => Some(problem),
    }
}

/// Returns the newest directory below `root` that holds C++ headers.
fn headers(root: &Path) -> Option<PathBuf> {
    let folders = std::fs::read_dir(root).into_iter().flatten().flatten();
    folders
        .map(|entry| entry.path())
        .filter(|folder| folder.join("vector").is_file())
        .max_by_key(|folder| major(folder))
}

/// Returns the major version in the name of a directory, such as 12 or 13.2.0.
fn major(folder: &Path) -> u64 {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_headers_are_found_by_number() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(headers(root.path()), None);
        for version in ["9", "12", "13.2.0"] {
            std::fs::create_dir(root.path().join(version)).unwrap();
        }
        assert_eq!(
            headers(root.path()),
            None,
            "empty directories hold no headers"
        );
        for version in ["9", "12"] {
            std::fs::write(root.path().join(version).join("vector"), "").unwrap();
        }
        assert_eq!(headers(root.path()), Some(root.path().join("12")));
    }
}
