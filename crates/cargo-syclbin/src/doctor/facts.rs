//! Facts: what was found on this machine, without judgement.

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

/// Where the libstdc++ headers of every GCC of the system lie, in a folder per version.
const HEADERS: &str = "/usr/include/c++";

/// Everything the report is made from.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The home folder, or why there is none.
    pub home: Result<PathBuf, String>,
    /// Whether `SYCLBIN_HOME` names the home folder.
    pub home_is_set: bool,
    /// Why the pinned wheels are of no use here, if they are not.
    pub unsupported: Option<String>,
    /// The compiler that a build would take, and what it would not.
    pub compilers: Compilers,
    /// The newest installed compiler.
    pub compiler: Option<Compiler>,
    /// What came of compiling a kernel with the compiler that a build would take, if there is one.
    pub trial: Option<Result<Compiled, String>>,
    /// Where builds keep what they compiled, and how many bytes that is; `None` if they do not.
    pub cache: Result<Option<(PathBuf, u64)>, String>,
    /// The C++ compiler and standard library of the system.
    pub cpp: Cpp,
    /// The pip that would fetch wheels, or what was tried.
    pub pip: Result<Tool, String>,
    /// uv, which can stand in for pip.
    pub uv: Option<PathBuf>,
    /// The newest installed CPU device.
    pub cpu_device: Option<CpuDevice>,
    /// What is installed for compiling to NVIDIA's GPUs.
    pub nvidia: Option<Nvidia>,
    /// The value of `SYCLBIN_DEVICE`.
    pub device_variable: Option<String>,
    /// The devices that a program would find.
    pub devices: Devices,
    /// What came of running that kernel, or the one that is shipped where none was compiled, on the device
    /// that a program would get.
    pub run: Result<Ran, String>,
}

/// What a search for a compiler came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compilers {
    /// The compiler that a build would take, or why there is none.
    pub taken: Result<Taken, String>,
    /// What comes before it and does not do, each with the reason.
    pub passed_over: Vec<String>,
    /// What comes after it and is not asked.
    pub behind: Vec<String>,
}

/// The compiler that a build would take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Where it is, and how it was found.
    pub text: String,
    /// What it says it is.
    pub version: String,
    /// Whether it is the installed one.
    pub is_installed: bool,
}

/// An installed compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// Its version.
    pub version: String,
    /// Its `syclbin-clang`.
    pub driver: PathBuf,
    /// The library it calls.
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

/// What compiling for NVIDIA's GPUs takes beside the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvidia {
    /// Its version.
    pub version: String,
    /// Its folder.
    pub folder: PathBuf,
    /// What is wrong with the installation.
    pub damage: Option<String>,
}

/// C++ as the system has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpp {
    /// A C++ compiler.
    pub compiler: Option<Tool>,
    /// The newest folder of libstdc++ headers.
    pub headers: Option<PathBuf>,
}

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// How it is called.
    pub command: String,
    /// What it says its version is, or why it does not say.
    pub version: String,
}

impl Facts {
    /// Looks at the machine and at the environment of this process.
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

/// Where builds keep what they compiled.
fn kept(home: Option<&Home>) -> Result<Option<(PathBuf, u64)>, String> {
    let named = variable(CACHE_VARIABLE).map(OsString::from);
    let folder = cache::folder(named.as_deref(), home)?;
    Ok(folder.map(|folder| {
        let size = Store::new(folder.clone(), cache::LIMIT).size();
        (folder, size)
    }))
}

/// What a build script of a crate without `.compiler(..)` would come to.
fn compilers() -> (Compilers, Option<Detected>) {
    let host = host();
    let search = Search {
        variable: &|name| std::env::var_os(name).filter(|value| !value.is_empty()),
        target: host.clone(),
        host,
        // Asked anew: whoever calls the doctor wants to know how it is now.
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
            // What was passed over has lines of its own.
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

/// The triple that Cargo compiles on, as rustc tells it.
fn host() -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(rustc).arg("-vV").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "))?;
    Some(host.trim().to_owned())
}

/// The value of an environment variable; an empty one counts as unset.
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

/// The newest folder below `root` that holds C++ headers.
fn headers(root: &Path) -> Option<PathBuf> {
    let folders = std::fs::read_dir(root).into_iter().flatten().flatten();
    folders
        .map(|entry| entry.path())
        .filter(|folder| folder.join("vector").is_file())
        .max_by_key(|folder| major(folder))
}

/// Folders are called by a version: 12, or 13.2.0.
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
        assert_eq!(headers(root.path()), None, "empty folders hold no headers");
        for version in ["9", "12"] {
            std::fs::write(root.path().join(version).join("vector"), "").unwrap();
        }
        assert_eq!(headers(root.path()), Some(root.path().join("12")));
    }
}
