// SPDX-License-Identifier: MIT OR Apache-2.0
//! Defines the layout of the toolchain that `cargo syclbin toolchain install` installs.
//!
//! The installer writes the components. `syclbin-build` looks for the compiler, and `syclbin-rt` looks for the CPU
//! device. All three use this crate, so the layout is defined in one place:
//!
//! ```text
//! HOME/                      $SYCLBIN_HOME, else "syclbin" in the platform's cache directory
//!   compiler/2026.2.0/       one directory per component and version, renamed into place
//!     MANIFEST               marks the installation as complete
//!     bin/syclbin-clang      the compiler driver
//!     lib/libsycl-jit.so     the compiler library that it calls; on Windows bin/sycl-jit.dll
//!     usr/include            C and C++ library headers; only on Windows
//!   cpu-device/2026.2.0/
//!     MANIFEST
//!     lib/libintelocl.so     an OpenCL driver that exports the whole API, without a loader
//!   nvidia/13.5.37/          if there is an NVIDIA GPU, or on request
//!     MANIFEST
//!     bin/ptxas              compiles PTX to native code
//!     bin/nvlink             links the native code of several modules
//!     nvvm/libdevice/libdevice.10.bc   mathematics library for NVIDIA GPUs
//!   oneapi-headers/2026.2.0/   on request
//!     MANIFEST
//!     include/               the headers of oneDPL and oneMKL
//! ```
//!
//! Next to the components are the directories `kernels` and `programs`, in which `syclbin-build` and `syclbin-rt` cache
//! compiled code. The feature `store` provides the code that both caches share.
//!
//! This crate does not start processes. The caller reads `SYCLBIN_HOME`, and [`Home::locate`] also depends on the other
//! [`VARIABLES`]. A build script must tell Cargo about all of them. The crate writes only to cache stores.
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod file;
#[cfg(feature = "store")]
#[doc(hidden)]
pub mod store;
#[doc(hidden)]
pub mod trust;
mod unsuitable;

pub use unsuitable::UnsuitableDirectory;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The environment variable that names the home directory.
pub const HOME_VARIABLE: &str = "SYCLBIN_HOME";

/// The environment variables that determine where [`Home::locate`] looks. Build scripts must report them to Cargo.
pub const VARIABLES: [&str; 3] = [HOME_VARIABLE, "XDG_CACHE_HOME", "HOME"];

/// The file that marks an installation as complete, in the directory of each installed version.
///
/// The installer creates it last, so a directory without it is not a complete installation.
pub const MANIFEST: &str = "MANIFEST";

/// The command that installs the toolchain, for error messages.
pub const INSTALL_COMMAND: &str = "cargo syclbin toolchain install";

/// Whether [`INSTALL_COMMAND`] can install any component on this system.
pub const HAS_COMPONENTS: bool = cfg!(all(
    target_arch = "x86_64",
    any(target_os = "linux", windows)
));

/// How to get a driver that runs kernels on this system's CPU, for error messages.
pub const GET_CPU_DRIVER: &str = if HAS_COMPONENTS {
    "run `cargo syclbin toolchain install` to install a driver that runs kernels on the CPU"
} else {
    "install an OpenCL driver that accepts SPIR-V, such as PoCL for CPUs (Debian's package pocl-opencl-icd)"
};

/// For error messages: how to get a compiler, or compiled kernels where no compiler is available.
pub const GET_COMPILER: &str = if HAS_COMPONENTS {
    "install one with `cargo syclbin toolchain install` (from the crate cargo-syclbin)"
} else {
    COMPILE_ON_LINUX
};

/// How to get compiled kernels where a component is not available, for error messages. This is the start of a list,
/// which the message continues with ", or".
pub const COMPILE_ON_LINUX: &str = "compile the program on x86-64 Linux with `cargo build --target`, commit the file \
     that `cargo syclbin build --commit` writes there";

/// A separately installed part of the toolchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Component {
    /// The SYCL compiler as a library, and the program `syclbin-clang` that calls it.
    Compiler,
    /// An OpenCL driver that runs kernels on the CPU.
    CpuDevice,
    /// The additional files for compiling kernels for NVIDIA GPUs.
    Nvidia,
    /// The headers of oneDPL and oneMKL, which many SYCL programs include.
    OneapiHeaders,
}

impl Component {
    /// Every component, in installation order.
    pub const ALL: [Self; 4] = [
        Self::Compiler,
        Self::CpuDevice,
        Self::Nvidia,
        Self::OneapiHeaders,
    ];

    /// Returns the name that users type, which is also the name of the component's directory: `compiler`, `cpu-device`,
    /// `nvidia`, `oneapi-headers`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compiler => "compiler",
            Self::CpuDevice => "cpu-device",
            Self::Nvidia => "nvidia",
            Self::OneapiHeaders => "oneapi-headers",
        }
    }

    /// Returns the component called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|component| component.name() == name)
    }

    /// Returns the file or directory that the other crates use, relative to the directory of the installed version: the
    /// compiler program, the CPU device's shared library, NVIDIA's assembler, or the include directory.
    pub const fn entry(self) -> &'static str {
        match self {
            Self::Compiler if cfg!(windows) => "bin/syclbin-clang.exe",
            Self::Compiler => "bin/syclbin-clang",
            Self::CpuDevice if cfg!(windows) => "bin/intelocl64.dll",
            Self::CpuDevice => "lib/libintelocl.so",
            Self::Nvidia => "bin/ptxas",
            Self::OneapiHeaders => "include",
        }
    }
}

/// The path of the compiler library in an installation of [`Component::Compiler`].
///
/// On Linux, its parent directory must be called `lib`, because the library looks for other libraries in
/// `$ORIGIN/../lib`.
pub const COMPILER_LIBRARY: &str = if cfg!(windows) {
    "bin/sycl-jit.dll"
} else {
    "lib/libsycl-jit.so"
};

/// The path of the mathematics library for NVIDIA GPUs in an installation of [`Component::Nvidia`], which is laid out
/// like a CUDA installation.
pub const CUDA_MATHEMATICS: &str = "nvvm/libdevice/libdevice.10.bc";

/// The reason why the home directory cannot be determined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoHome {
    /// `SYCLBIN_HOME` is not set, and the platform has no known cache directory.
    #[error(
        "cannot determine the cache directory of this machine; set SYCLBIN_HOME to a directory of your choice"
    )]
    Unknown,
    /// `SYCLBIN_HOME` is relative. Commands, build scripts and the user's program run in different directories, so a
    /// relative path would name a different directory for each.
    #[error("SYCLBIN_HOME={} is relative; set it to an absolute path", .0.display())]
    Relative(PathBuf),
}

/// The directory that contains the installed components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    /// Returns the home directory: `explicit` (the value of `SYCLBIN_HOME`) if it is set and not empty, or otherwise
    /// `syclbin` in the platform's cache directory. The directory need not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if `explicit` is relative, or if it is not set and the platform has no known cache directory
    /// (for example, because `HOME` is not set).
    pub fn locate(explicit: Option<&OsStr>) -> Result<Self, NoHome> {
        let Some(folder) = explicit.filter(|folder| !folder.is_empty()) else {
            let cache = dirs::cache_dir().ok_or(NoHome::Unknown)?;
            return Ok(Self(cache.join("syclbin")));
        };
        let folder = PathBuf::from(folder);
        if !folder.is_absolute() {
            return Err(NoHome::Relative(folder));
        }
        Ok(Self(folder))
    }

    /// Returns the path of the home directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the directory for one version of `component`, whether or not it is installed.
    pub fn folder(&self, component: Component, version: &str) -> PathBuf {
        self.versions(component).join(version)
    }

    /// Returns the parent directory of all installed versions of `component`.
    pub fn versions(&self, component: Component) -> PathBuf {
        self.0.join(component.name())
    }

    /// Returns the newest complete installation of `component`. An unreadable directory counts as empty.
    pub fn newest(&self, component: Component) -> Option<Installed> {
        let installed = file::paths_in(&self.versions(component)).filter_map(|folder| {
            Some(Installed {
                component,
                version: folder.file_name()?.to_str()?.to_owned(),
                folder,
            })
        });
        let complete = installed.filter(Installed::is_whole);
        complete.max_by_key(|installed| version_order(&installed.version))
    }

    /// Returns the homes in which the `syclbin-clang` at `program` looks for other components: the home that contains
    /// it, then the user's home. `explicit` is the value of `SYCLBIN_HOME`, which names the user's home; see
    /// [`locate`](Self::locate).
    pub fn of_compiler(program: &Path, explicit: Option<&OsStr>) -> impl Iterator<Item = Self> {
        // HOME/compiler/VERSION/bin/syclbin-clang
        let own = program.ancestors().nth(4);
        let own = own.and_then(|folder| Self::locate(Some(folder.as_os_str())).ok());
        own.into_iter().chain(Self::locate(explicit).ok())
    }
}

/// A complete installation of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The installed component.
    pub component: Component,
    /// The installed version, which is also the name of the directory.
    pub version: String,
    /// The directory that contains the component's files.
    pub folder: PathBuf,
}

impl Installed {
    /// Returns the file or directory that the other crates use; see [`Component::entry`].
    pub fn entry(&self) -> PathBuf {
        // Windows loads a library only from a path with backslashes, which `components` inserts.
        let path = self.folder.join(self.component.entry());
        path.components().collect()
    }

    fn is_whole(&self) -> bool {
        self.folder.join(MANIFEST).is_file() && self.entry().exists()
    }
}

/// Returns a key that orders versions number by number: 2026.10 is newer than 2026.9.
pub fn version_order(version: &str) -> Vec<u64> {
    let parts = version.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(home: &Home, component: Component, version: &str) {
        let folder = home.folder(component, version);
        let entry = folder.join(component.entry());
        std::fs::create_dir_all(entry.parent().unwrap()).unwrap();
        std::fs::write(entry, "").unwrap();
        std::fs::write(folder.join(MANIFEST), "").unwrap();
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        assert_eq!(
            Home::locate(Some(OsStr::new(""))).ok(),
            Home::locate(None).ok()
        );
        let somewhere = std::env::temp_dir();
        let explicit = Home::locate(Some(somewhere.as_os_str())).unwrap();
        assert_eq!(explicit.path(), somewhere);
    }

    #[test]
    fn a_relative_home_is_refused() {
        let error = Home::locate(Some(OsStr::new("../home"))).unwrap_err();
        assert!(
            error.to_string().contains("SYCLBIN_HOME=../home"),
            "{error}"
        );
    }

    #[test]
    fn advice_contains_the_install_command() {
        for advice in [GET_COMPILER, GET_CPU_DRIVER] {
            assert_eq!(advice.contains(INSTALL_COMMAND), HAS_COMPONENTS, "{advice}");
        }
    }

    #[test]
    fn the_newest_version_is_found_by_number() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::locate(Some(folder.path().as_os_str())).unwrap();
        assert_eq!(home.newest(Component::CpuDevice), None);
        for version in ["2026.9.0", "2026.10.0", "2025.3.3"] {
            install(&home, Component::CpuDevice, version);
        }
        assert_eq!(
            home.newest(Component::CpuDevice).unwrap().version,
            "2026.10.0"
        );
        assert_eq!(home.newest(Component::Compiler), None);
    }

    #[test]
    fn versions_are_ordered_by_number() {
        assert_eq!(version_order("2026.10.0-rc2"), [2026, 10, 0, 2]);
    }

    #[test]
    fn a_folder_without_manifest_is_no_installation() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::locate(Some(folder.path().as_os_str())).unwrap();
        install(&home, Component::Compiler, "2026.2.0");
        std::fs::remove_file(home.folder(Component::Compiler, "2026.2.0").join(MANIFEST)).unwrap();
        assert_eq!(home.newest(Component::Compiler), None);
    }

    #[test]
    fn components_are_found_by_name() {
        let [compiler, driver] = if cfg!(windows) {
            ["bin/syclbin-clang.exe", "bin/intelocl64.dll"]
        } else {
            ["bin/syclbin-clang", "lib/libintelocl.so"]
        };
        for (component, name, entry) in [
            (Component::Compiler, "compiler", compiler),
            (Component::CpuDevice, "cpu-device", driver),
            (Component::Nvidia, "nvidia", "bin/ptxas"),
            (Component::OneapiHeaders, "oneapi-headers", "include"),
        ] {
            assert_eq!(component.name(), name);
            assert_eq!(component.entry(), entry);
            assert_eq!(Component::from_name(name), Some(component));
        }
        assert_eq!(Component::from_name("cuda"), None);
    }

    #[test]
    fn compilers_prefer_their_own_home() {
        let [own, users] = ["own", "users"].map(|name| std::env::temp_dir().join(name));
        let program = own.join("compiler/2026.2.0/bin/syclbin-clang");
        let homes = Home::of_compiler(&program, Some(users.as_os_str()));
        let homes: Vec<PathBuf> = homes.map(|home| home.path().to_owned()).collect();
        assert_eq!(homes, [own, users.clone()]);
        let homes = Home::of_compiler(Path::new("syclbin-clang"), Some(users.as_os_str()));
        let homes: Vec<PathBuf> = homes.map(|home| home.path().to_owned()).collect();
        assert_eq!(homes, [users]);
    }
}
