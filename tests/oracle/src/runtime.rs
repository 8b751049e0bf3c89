// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference SYCL runtime on this machine: `libsycl` and its headers, once a target directory.
//!
//! It is a part of the wheel that the compiler component is installed from, so the pin is the same
//! and so is the code that fetches and checks it. It needs no other file of a wheel: it reaches
//! OpenCL by opening `libOpenCL.so.1`, and the installed CPU device exports that whole API.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use cargo_syclbin::toolchain::pins::{ALL, WheelPin};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home, INSTALL_COMMAND, Installed};

use crate::Result;
use crate::wheels::{Wheels, at};

/// The library, below the data directory of the wheel and below the directory of a [`Runtime`].
const LIBRARY: &str = "lib/libsycl.so.9";
const HEADERS: &str = "include/";

/// The runtime, and the installed components it works with.
pub(crate) struct Runtime {
    /// Where `include` and `lib` lie; also the place of what is built against them.
    pub(crate) folder: PathBuf,
    /// The program that compiles kernels.
    pub(crate) clang: PathBuf,
    cpu_device: PathBuf,
}

impl Runtime {
    /// The runtime in `oracle`, fetched with the user's pip if it is not there yet.
    pub(crate) fn get(oracle: &Path) -> Result<Self> {
        let pin = ALL
            .iter()
            .flat_map(|component| &component.wheels)
            .find(|pin| pin.name == "intel-sycl-rt")
            .ok_or("no component is made of intel-sycl-rt")?;
        let folder = oracle.join(pin.stem());
        if !folder.exists() {
            let wheels = Wheels {
                pins: &[pin],
                target: place,
                needed: &[LIBRARY, "LICENSE.txt", "include/sycl/sycl.hpp"],
            };
            wheels.fetch(oracle, &folder)?;
        }
        let explicit = std::env::var_os(HOME_VARIABLE);
        let home = Home::locate(explicit.as_deref()).map_err(|error| error.to_string())?;
        let cpu_device = installed(&home, Component::CpuDevice)?.entry();
        let link = folder.join("lib/libOpenCL.so.1");
        replace_link(&cpu_device, &link).map_err(|error| at(&link, &error))?;
        Ok(Self {
            folder,
            clang: installed(&home, Component::Compiler)?.entry(),
            cpu_device,
        })
    }

    /// The library to link to.
    pub(crate) fn library(&self) -> PathBuf {
        self.folder.join(LIBRARY)
    }

    /// The directory for `#include <sycl/sycl.hpp>`.
    pub(crate) fn headers(&self) -> PathBuf {
        self.folder.join(HEADERS)
    }

    /// What a program needs in its environment to find the runtime, and the runtime the CPU device.
    pub(crate) fn environment(&self) -> Result<[(&'static str, OsString); 2]> {
        // The last has the library that it compiles source with; without it, it says that it cannot.
        let compiler =
            parent(&self.clang).and_then(|programs| Some(parent(&programs)?.join("lib")));
        let folders = [
            Some(self.folder.join("lib")),
            parent(&self.cpu_device),
            compiler,
        ];
        let path = std::env::join_paths(folders.into_iter().flatten())
            .map_err(|error| format!("LD_LIBRARY_PATH: {error}"))?;
        Ok([
            ("LD_LIBRARY_PATH", path),
            ("ONEAPI_DEVICE_SELECTOR", "opencl:cpu".into()),
        ])
    }
}

fn parent(file: &Path) -> Option<PathBuf> {
    file.parent().map(Path::to_owned)
}

fn installed(home: &Home, component: Component) -> Result<Installed> {
    home.newest(component).ok_or_else(|| {
        format!(
            "no {} in {}; run `{INSTALL_COMMAND}`",
            component.name(),
            home.path().display()
        )
    })
}

/// Where a member of the wheel goes: the library, the headers and the licence.
fn place(pin: &WheelPin, member: &str) -> Option<String> {
    let data = format!("{}.data/data/", pin.stem());
    let licence = format!("{}.dist-info/LICENSE.txt", pin.stem());
    match member.strip_prefix(&data) {
        Some(path) if path == LIBRARY || path.starts_with(HEADERS) => Some(path.to_owned()),
        None if member == licence => Some("LICENSE.txt".to_owned()),
        _ => None,
    }
}

/// Another home may hold the CPU device now, so the link is made anew.
#[cfg(unix)]
fn replace_link(library: &Path, link: &Path) -> io::Result<()> {
    match std::fs::remove_file(link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => std::os::unix::fs::symlink(library, link),
    }
}

#[cfg(not(unix))]
fn replace_link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::other("the reference runtime is for Linux"))
}
