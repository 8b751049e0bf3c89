//! Facts: what was found on this machine, without judgement.

use std::path::{Path, PathBuf};
use std::time::Duration;

use syclbin_toolchain::{COMPILER_LIBRARY, Component, HOME_VARIABLE, Home, Installed};

use super::devices::Devices;
use super::trial;
use crate::programs::{self, Invocation};
use crate::toolchain;
use crate::toolchain::manifest::Manifest;
use crate::toolchain::pip::Search;

/// The variable that names a clang++ with SYCL support.
const CLANG_VARIABLE: &str = "SYCLBIN_CLANG";

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
    /// The compiler that `SYCLBIN_CLANG` names.
    pub explicit: Option<Explicit>,
    /// Intel's own compiler, if it is in the search path.
    pub icpx: Option<PathBuf>,
    /// The newest installed compiler.
    pub compiler: Option<Compiler>,
    /// What came of compiling a kernel with the compiler that a build would take, if there is one.
    pub trial: Option<Result<Duration, String>>,
    /// The C++ compiler and standard library of the system.
    pub cpp: Cpp,
    /// The pip that would fetch wheels, or what was tried.
    pub pip: Result<Tool, String>,
    /// uv, which can stand in for pip.
    pub uv: Option<PathBuf>,
    /// The newest installed CPU device.
    pub cpu_device: Option<CpuDevice>,
    /// The value of `SYCLBIN_DEVICE`.
    pub device_variable: Option<String>,
    /// The devices that a program would find.
    pub devices: Devices,
}

/// The compiler that `SYCLBIN_CLANG` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explicit {
    /// The value of the variable.
    pub value: String,
    /// Where that program is.
    pub found: Option<PathBuf>,
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
        let explicit = variable(CLANG_VARIABLE).map(|value| Explicit {
            found: programs::find(&value, search),
            value,
        });
        let compiler = newest(Component::Compiler).map(|installed| Compiler {
            driver: installed.entry(),
            library: installed.folder.join(COMPILER_LIBRARY),
            damage: damage(&installed),
            version: installed.version,
        });
        let taken = match &explicit {
            Some(explicit) => explicit.found.as_ref(),
            None => compiler.as_ref().map(|compiler| &compiler.driver),
        };
        Self {
            home_is_set: variable(HOME_VARIABLE).is_some(),
            unsupported: toolchain::supports(std::env::consts::OS, std::env::consts::ARCH)
                .err()
                .map(|error| error.to_string()),
            trial: taken.map(|clang| trial::compile(clang)),
            explicit,
            icpx: programs::find("icpx", search),
            compiler,
            cpp: Cpp {
                compiler: ["g++", "c++"].iter().find_map(|name| {
                    Invocation::find(&[name], search).map(|found| Tool {
                        command: found.to_string(),
                        version: found.version().unwrap_or_else(|reason| reason),
                    })
                }),
                headers: headers(Path::new(HEADERS)),
            },
            pip: Search::from_env()
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
            device_variable: variable(DEVICE_VARIABLE),
            devices: Devices::gather(),
            home: home
                .map(|home| home.path().to_owned())
                .map_err(|error| error.to_string()),
        }
    }
}

/// The value of an environment variable; an empty one counts as unset.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(|value| value.to_string_lossy().into_owned())
}

fn damage(installed: &Installed) -> Option<String> {
    match Manifest::read(&installed.folder) {
        Ok(manifest) => manifest.damage(&installed.folder, None),
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
