//! The reference SYCL runtime on this machine: `libsycl` and its headers, once a target folder.
//!
//! It is a part of the wheel that the compiler component is installed from, so the pin is the same
//! and so is the code that fetches and checks it. It needs no other file of a wheel: it reaches
//! OpenCL by opening `libOpenCL.so.1`, and the installed CPU device exports that whole API.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cargo_syclbin::toolchain::pins::{COMPILER, WheelPin};
use cargo_syclbin::toolchain::pip::Search;
use cargo_syclbin::toolchain::staging::{Purpose, Staging};
use cargo_syclbin::toolchain::wheel::Wheel;
use cargo_syclbin::ui::{Progress as _, Size, Terminal};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home, INSTALL_COMMAND, Installed};
use zip::ZipArchive;

use crate::steps::Result;

/// The library, below the data folder of the wheel and below [`Runtime::folder`].
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
        let pin = COMPILER
            .wheels
            .iter()
            .find(|pin| pin.name == "intel-sycl-rt")
            .ok_or("the compiler component is no longer made of intel-sycl-rt")?;
        let folder = oracle.join(pin.stem);
        if !folder.exists() {
            fetch(pin, oracle, &folder)?;
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

    /// The folder for `#include <sycl/sycl.hpp>`.
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

/// The sentence for a `file` that could not be read or written.
pub(crate) fn at(file: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", file.display())
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

/// Fetches the wheel, checks it, and unpacks what is needed into `folder`, which appears whole.
fn fetch(pin: &WheelPin, oracle: &Path, folder: &Path) -> Result<()> {
    let progress = Terminal::default();
    progress.line(&format!(
        "fetching {} {} ({}), which comes under: {}; its text will lie in {}",
        pin.name,
        pin.version,
        Size(pin.size),
        pin.licence,
        folder.display()
    ));
    let purpose = Purpose::Install {
        needed: pin.size + UNPACKED,
    };
    let told = |error: cargo_syclbin::error::Error| error.to_string();
    let staging = Staging::open(oracle, purpose, &progress).map_err(told)?;
    if folder.exists() {
        return Ok(()); // by another process, while this one waited for the lock
    }
    let pip = Search::from_env()
        .find()
        .map_err(|tried| format!("no pip to fetch {}: {tried}", pin.file))?;
    let [wheels, temporary, unpacked] =
        ["wheels", "tmp", "unpacked"].map(|name| staging.path().join(name));
    for new in [&wheels, &temporary] {
        staging.create_folder(new).map_err(told)?;
    }
    pip.download(&[pin], &wheels, &temporary).map_err(told)?;
    // Opened for its checks of size and hash. It unpacks single members, and headers are many.
    drop(Wheel::open(pin, &wheels, &progress).map_err(told)?);
    unpack(pin, &wheels.join(pin.file), &unpacked)?;
    staging.rename(&unpacked, folder).map_err(told)
}

/// About what is unpacked, in bytes.
const UNPACKED: u64 = 25_000_000;

fn unpack(pin: &WheelPin, wheel: &Path, folder: &Path) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| at(wheel, error);
    let file = File::open(wheel).map_err(|error| failed(&error))?;
    let mut archive = ZipArchive::new(io::BufReader::new(file)).map_err(|error| failed(&error))?;
    let data = format!("{}.data/data/", pin.stem);
    let licence = format!("{}.dist-info/LICENSE.txt", pin.stem);
    let mut found = Vec::new();
    for index in 0..archive.len() {
        let mut member = archive.by_index(index).map_err(|error| failed(&error))?;
        let path = match member.name().strip_prefix(&data) {
            Some(path) if path == LIBRARY || path.starts_with(HEADERS) => path.to_owned(),
            None if member.name() == licence => "LICENSE.txt".to_owned(),
            _ => continue,
        };
        if member.is_dir() || member.enclosed_name().is_none() {
            continue;
        }
        let target = folder.join(&path);
        let written = parent(&target)
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| io::copy(&mut member, &mut File::create_new(&target)?));
        written.map_err(|error| at(&target, &error))?;
        found.push(path);
    }
    for needed in [LIBRARY, "LICENSE.txt", "include/sycl/sycl.hpp"] {
        if !found.iter().any(|path| path == needed) {
            return Err(failed(&format!("there is no {needed} in it")));
        }
    }
    Ok(())
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
