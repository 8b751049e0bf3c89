// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gathers the facts about this machine that the doctor reports. The module [`report`](super::report) rates them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use syclbin_build::cache;
use syclbin_build::search::{Detected, Search};
use syclbin_rt::{Device, DeviceKind};
use syclbin_toolchain::file::paths_in;
use syclbin_toolchain::store::{self, CACHE_VARIABLE, Store};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home, version_order};

use super::intel_gpu;
use super::report::{Item, good, note};
use super::trial::{self, Compiled, Ran};
use crate::toolchain;
use crate::toolchain::list::Row;
use crate::toolchain::pip;
use crate::ui::Size;

/// The variable that selects a device.
pub const DEVICE_VARIABLE: &str = "SYCLBIN_DEVICE";

/// The directory of the C++ headers, with one subdirectory per version. It is relative to the compiler's directory on
/// Windows, and to `/` elsewhere.
const HEADERS: &str = "usr/include/c++";

pub(super) struct Facts {
    /// The home directory, or why there is none.
    pub(super) home: String,
    /// Why the component `compiler` is not available for this system; `None` if it is.
    pub(super) unsupported: Option<String>,
    /// The compiler that a build would use, or why there is none.
    pub(super) taken: Result<Detected, String>,
    /// The rejected candidates that precede the compiler in the search, each with the reason.
    pub(super) skipped: Vec<String>,
    /// The newest installed version of the component `compiler`.
    pub(super) compiler: Option<Row>,
    /// The result of compiling a kernel with `taken`; `None` if no compiler was found.
    pub(super) trial: Option<Result<Compiled, String>>,
    /// The directory and size of the build cache, or why builds do not use one.
    pub(super) cache: String,
    /// The newest directory of C++ headers, or the directory that was searched without success.
    pub(super) cpp_headers: Result<PathBuf, PathBuf>,
    /// The pip that would fetch wheels, with its version, or the commands that were tried.
    pub(super) pip: Result<String, String>,
    /// The newest installed version of the component `cpu-device`.
    pub(super) cpu_device: Option<Row>,
    /// The component that compiles for NVIDIA GPUs, if it is installed.
    pub(super) nvidia: Option<Row>,
    /// The value of `SYCLBIN_DEVICE`; `None` if it is unset or empty.
    pub(super) device_variable: Option<String>,
    /// The devices that programs can use, or why they cannot be listed.
    pub(super) devices: Result<Vec<Item>, String>,
    /// Why this machine's Intel GPU is missing from `devices`; `None` if it is listed or does not exist.
    pub(super) intel_gpu: Option<Item>,
    /// The result of running the compiled kernel, or else the shipped kernel, on the device that a program would use.
    pub(super) run: Result<Ran, String>,
}

impl Facts {
    pub(super) fn gather() -> Self {
        let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref());
        let newest = |component| {
            let installed = home.as_ref().ok()?.newest(component)?;
            Some(Row::of(component, installed.folder))
        };
        let (taken, skipped) = compilers();
        let trial = taken.as_ref().ok();
        let trial = trial.map(|compiler| trial::compile(compiler, trial::COMPILE_LIMIT));
        let run = trial::run(trial.as_ref().and_then(|compiled| compiled.as_ref().ok()));
        let all = match &run {
            // The same driver might also terminate this process.
            Err(problem) => Err(format!(
                "not listed, because running a kernel failed: {problem}"
            )),
            Ok(_) => Device::all().map_err(|error| error.to_string()),
        };
        let is_intel_gpu = |device: &Device| {
            device.kind() == DeviceKind::Gpu && device.platform().starts_with("Intel")
        };
        let intel_gpu = match &all {
            Ok(all) if all.iter().any(is_intel_gpu) => None,
            _ if run.is_err() => None,
            _ => intel_gpu::problem(Path::new("/")),
        };
        let run = run.flatten();
        let unsupported = toolchain::pins_of(&[Component::Compiler]);
        let compiler = newest(Component::Compiler);
        let root = match &compiler {
            Some(compiler) if cfg!(windows) => &compiler.folder,
            _ => Path::new("/"),
        };
        let pip = pip::Search::from_env().find();
        let directory = root.join(HEADERS);
        let cpp_headers = headers(&directory).ok_or(directory);
        Self {
            unsupported: unsupported.err().map(|error| error.to_string()),
            trial,
            taken,
            skipped,
            compiler,
            cache: cache(home.as_ref().ok()),
            cpp_headers,
            pip: pip.map(|pip| format!("{pip} ({})", pip.version)),
            cpu_device: newest(Component::CpuDevice),
            nvidia: newest(Component::Nvidia),
            device_variable: variable(DEVICE_VARIABLE),
            devices: all.map(|all| describe(&all, run.as_ref().ok())),
            intel_gpu,
            run,
            home: match (home, variable(HOME_VARIABLE)) {
                (Ok(home), None) => home.path().display().to_string(),
                (Ok(home), Some(_)) => format!("{} ({HOME_VARIABLE})", home.path().display()),
                (Err(error), _) => error.to_string(),
            },
        }
    }
}

/// Describes each device, and marks the device that ran the trial kernel.
fn describe(all: &[Device], run: Option<&Ran>) -> Vec<Item> {
    // Sub-devices are not listed, so a sub-device counts as its parent device.
    let is_chosen = |device: &Device| {
        let name = device.to_string();
        run.is_some_and(|run| run.device == name || run.device.ends_with(&format!(" of {name}")))
    };
    let chosen = all.iter().position(is_chosen);
    let describe = |(index, device): (usize, &Device)| {
        let platform = (!device.takes_ptx()).then(|| format!("{} ", device.platform()));
        let platform = platform.unwrap_or_default();
        let (name, kind, driver) = (device.name(), device.kind(), device.driver_version());
        let library = device.library();
        let text = format!("{index}: {name} ({kind}), {platform}{driver}, {library}");
        match run.filter(|_| chosen == Some(index)) {
            Some(run) => good("device", format!("{text} (chosen: {})", run.reason)),
            None if device.takes_ptx() => note("device", format!("{text} (accepts PTX)")),
            None if device.takes_spirv() => note("device", text),
            None => note("device", format!("{text} (accepts neither SPIR-V nor PTX)")),
        }
    };
    all.iter().enumerate().map(describe).collect()
}

fn cache(home: Option<&Home>) -> String {
    match store::directory(variable_os(CACHE_VARIABLE).as_deref(), home, cache::NAME) {
        Ok(Some(folder)) => {
            let size = Store::new(folder.clone(), cache::LIMIT).size();
            format!("{} ({})", folder.display(), Size(size))
        }
        Ok(None) => "none".to_owned(),
        Err(problem) => problem,
    }
}

/// Finds the compiler that a build script uses unless it calls `.compiler(..)`. Also returns the rejected candidates,
/// each with the reason.
fn compilers() -> (Result<Detected, String>, Vec<String>) {
    let host = host();
    let search = Search {
        variable: &variable_os,
        target: host.clone(),
        host,
    };
    let mut passed_over = Vec::new();
    let taken = search.run(None, &mut passed_over);
    let taken = taken.map_err(|error| match error {
        // Rejected candidates are reported on separate lines.
        syclbin_build::Error::NoCompiler { .. } => "none found".to_owned(),
        error => error.to_string(),
    });
    (taken, passed_over.iter().map(ToString::to_string).collect())
}

/// Returns whether a build script would find a compiler.
pub fn has_compiler() -> bool {
    compilers().0.is_ok()
}

/// Returns the host triple that rustc reports.
fn host() -> Option<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(rustc).arg("-vV").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "))?;
    Some(host.trim().to_owned())
}

/// Returns the value of an environment variable. An empty value counts as unset.
pub(super) fn variable_os(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn variable(name: &str) -> Option<String> {
    variable_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Returns the newest directory below `root` that contains C++ headers.
fn headers(root: &Path) -> Option<PathBuf> {
    let folders = paths_in(root).filter(|folder| folder.join("vector").is_file());
    folders.max_by_key(|folder| version_order(&folder.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn devices_name_platform_driver_and_library() {
        let all = match Device::all() {
            Ok(all) => all,
            Err(error) => {
                let is_required =
                    std::env::var("SYCLBIN_REQUIRE_DEVICE").is_ok_and(|one| one == "1");
                assert!(!is_required, "{error}");
                // Not kept back, as `eprintln!` would be.
                let _ = writeln!(std::io::stderr(), "skipped: {error}");
                return;
            }
        };
        let described = describe(&all, None);
        assert_eq!(described.len(), all.len());
        for (device, item) in all.iter().zip(described) {
            let text = item.text;
            assert!(
                text.contains(&device.driver_version().to_string()),
                "{text}"
            );
            assert!(
                text.ends_with(')') || text.ends_with(&device.library().to_string()),
                "{text}"
            );
            let platform = format!("({}), {} ", device.kind(), device.platform());
            assert_eq!(text.contains(&platform), !device.takes_ptx(), "{text}");
            assert_eq!(text.contains("(accepts PTX)"), device.takes_ptx(), "{text}");
            let takes_nothing = !device.takes_ptx() && !device.takes_spirv();
            assert_eq!(text.contains("(accepts neither"), takes_nothing, "{text}");
        }
    }

    #[test]
    fn host_is_the_triple_of_rustc() {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut command = std::process::Command::new(rustc);
        let output = command.args(["--print", "host-tuple"]).output().unwrap();
        let expected = String::from_utf8(output.stdout).unwrap();
        assert_eq!(host().as_deref(), Some(expected.trim()));
    }

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
