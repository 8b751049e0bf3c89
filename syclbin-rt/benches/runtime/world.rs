// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where things lie: the driver that all contestants use, the kernels, and files of the bench.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

/// Names the OpenCL library, to `cl3` and to `syclbin-rt`.
const LIBRARY_VARIABLE: &str = "OPENCL_DYLIB_PATH";
const DEVICE_VARIABLE: &str = "SYCLBIN_DEVICE";

#[derive(Clone)]
pub(crate) struct World {
    /// The compiled kernels.
    pub(crate) kernels: PathBuf,
    /// For files that no run leaves behind for the next.
    pub(crate) folder: PathBuf,
    /// Whether to do as little as shows that the bench works.
    pub(crate) short: bool,
    environment: Vec<(&'static str, OsString)>,
}

impl World {
    /// The library and the device that the environment names, or else the installed CPU device.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(crate) fn new(short: bool) -> Result<Self, String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime-bench");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(|error| at(&folder, &error))?;
        }
        std::fs::create_dir_all(&folder).map_err(|error| at(&folder, &error))?;
        let named = std::env::var_os(LIBRARY_VARIABLE).filter(|library| !library.is_empty());
        let library = named.map_or_else(installed, Ok)?;
        let device = std::env::var_os(DEVICE_VARIABLE).filter(|device| !device.is_empty());
        let environment = vec![
            (LIBRARY_VARIABLE, library),
            (DEVICE_VARIABLE, device.unwrap_or_else(|| "cpu".into())),
        ];
        Ok(Self {
            kernels: Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("benches/kernels/arguments.syclbin"),
            folder,
            short,
            environment,
        })
    }

    /// So many rounds, or a few in a short run.
    pub(crate) fn rounds(&self, rounds: usize) -> usize {
        if self.short { rounds.min(2) } else { rounds }
    }

    /// This program as a child that is told these words.
    pub(crate) fn child(&self, words: &[&str]) -> Result<Command, String> {
        let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
        let mut command = Command::new(program);
        command.args(words).envs(self.environment());
        Ok(command)
    }

    /// What a child prints, without the newline at the end.
    pub(crate) fn ask(&self, command: &mut Command) -> Result<String, String> {
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = output.output().map_err(|error| error.to_string())?;
        let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        match output.status.success() {
            true => Ok(printed),
            false => Err(printed.trim_start_matches("error ").to_owned()),
        }
    }

    /// What every contestant of this program has in its environment.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&'static str, &OsString)> {
        self.environment.iter().map(|(name, value)| (*name, value))
    }
}

fn installed() -> Result<OsString, String> {
    let explicit = std::env::var_os(HOME_VARIABLE);
    let home = Home::locate(explicit.as_deref()).map_err(|error| error.to_string())?;
    let device = home.newest(Component::CpuDevice).ok_or_else(|| {
        format!(
            "no {} in {}; run `{}`, or name an OpenCL library in {LIBRARY_VARIABLE}",
            Component::CpuDevice.name(),
            home.path().display(),
            syclbin_toolchain::INSTALL_COMMAND
        )
    })?;
    Ok(device.entry().into_os_string())
}

/// The sentence for a `file` that could not be read or written.
pub(crate) fn at(file: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", file.display())
}

/// The numbers that a child printed.
pub(crate) fn numbers<T: FromStr, const N: usize>(said: &str) -> Result<[T; N], String> {
    let numbers: Result<Vec<T>, _> = said.split_whitespace().map(str::parse).collect();
    let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    numbers.ok_or_else(|| format!("`{said}` is not {N} numbers"))
}
