// SPDX-License-Identifier: MIT OR Apache-2.0
//! A world to install in: made-up wheels, pins that fit them, a driver and an empty home.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use cargo_syclbin::error::Result;
use cargo_syclbin::toolchain::driver::Driver;
use cargo_syclbin::toolchain::install::{Installer, Outcome, Source};
use cargo_syclbin::toolchain::pins::{ComponentPin, WheelPin};
use cargo_syclbin::ui::Progress;
use sha2::{Digest, Sha256};
use syclbin_toolchain::{Component, Home};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silent;

impl Progress for Silent {
    fn line(&self, _: &str) {}
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}

/// A file of a wheel: its path and its content.
type Content<'a> = (&'a str, &'a [u8]);

/// The wheels: name, members below `data/`. Each also has a licence, and an unwanted member.
const WHEELS: [(&str, &[Content<'static>]); 3] = [
    (
        "fake-sycl",
        &[("lib/libsycl-jit.so", b"the compiler library")],
    ),
    ("fake-math", &[("lib/libimf.so", &[7; 300_000])]),
    (
        "fake-opencl",
        &[("lib/libintelocl.so", b"the driver"), ("lib/cl.cfg", b"")],
    ),
];

pub(crate) const LICENCE: &[u8] = b"Made-up Licence 1.0\n";
pub(crate) const VERSION: &str = "1.2.3";

pub(crate) struct World {
    /// Present in the process that made the world, and removed with it.
    _folder: Option<TempDir>,
    root: PathBuf,
    pub(crate) home: Home,
    pub(crate) pins: [ComponentPin; 2],
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        fs::create_dir_all(root.join("wheels")).unwrap();
        fs::create_dir_all(root.join("programs")).unwrap();
        fs::write(root.join("programs/syclbin-clang"), "driver 1").unwrap();
        for (name, members) in WHEELS {
            let stem = stem(name);
            let mut content = vec![
                (
                    format!("{stem}.data/data/lib/unwanted.so"),
                    &b"unwanted"[..],
                ),
                (format!("{stem}.dist-info/LICENSE.txt"), LICENCE),
            ];
            for (path, bytes) in members {
                content.push((format!("{stem}.data/data/{path}"), bytes));
            }
            zip(&root.join("wheels").join(file(name)), &content);
        }
        Self {
            _folder: Some(folder),
            ..Self::at(&root)
        }
    }

    /// The world that another process made in `root`.
    pub(crate) fn at(root: &Path) -> Self {
        let [sycl, math, opencl] = WHEELS.map(|(name, members)| pin(root, name, members));
        Self {
            _folder: None,
            root: root.to_owned(),
            home: Home::locate(Some(root.join("home").as_os_str())).unwrap(),
            pins: [
                component(Component::Compiler, vec![sycl, math.clone()]),
                component(Component::CpuDevice, vec![opencl, math]),
            ],
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn wheels(&self) -> PathBuf {
        self.root.join("wheels")
    }

    pub(crate) fn wheel(&self, name: &str) -> PathBuf {
        self.wheels().join(file(name))
    }

    pub(crate) fn driver(&self) -> PathBuf {
        self.root.join("programs/syclbin-clang")
    }

    pub(crate) fn folder(&self, component: Component) -> PathBuf {
        self.home.folder(component, VERSION)
    }

    /// Installs both components from the directory of wheels.
    pub(crate) fn install(&self) -> Result<Vec<Outcome>> {
        self.install_from(&Source::Folder(self.wheels()), false, &Silent)
    }

    pub(crate) fn install_from(
        &self,
        source: &Source,
        force: bool,
        progress: &dyn Progress,
    ) -> Result<Vec<Outcome>> {
        let installer = Installer {
            home: &self.home,
            source,
            driver: &Driver::beside(&self.driver()),
            force,
            progress,
        };
        installer.run(&self.pins)
    }

    /// A source that would fail if it were asked.
    pub(crate) fn no_source(&self) -> Source {
        Source::Folder(self.root.join("nowhere"))
    }

    /// What lies in the home directory but the lock file; nothing, if the home does not exist.
    pub(crate) fn in_home(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home.path())
            .into_iter()
            .flatten()
            .flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name != ".lock").collect()
    }

    /// Exchanges a wheel for one with other members, and the pin's hash and size with it: as if the
    /// pin had been written carelessly.
    pub(crate) fn repin(&mut self, name: &str, content: &[(String, &[u8])]) {
        zip(&self.wheel(name), content);
        self.change_pin(name, |_| {});
    }

    /// Changes a pin, and lets its hash and size fit the wheel that lies there.
    pub(crate) fn change_pin(&mut self, name: &str, change: impl Fn(&mut WheelPin)) {
        let (sha256, size) = measure(&self.wheel(name));
        let wheels = self.pins.iter_mut().flat_map(|pin| &mut pin.wheels);
        for wheel in wheels.filter(|wheel| wheel.name == name) {
            (wheel.sha256, wheel.size) = (sha256, size);
            change(wheel);
        }
    }
}

pub(crate) fn stem(name: &str) -> String {
    format!("{}-{VERSION}", name.replace('-', "_"))
}

fn file(name: &str) -> String {
    format!("{}-py2.py3-none-any.whl", stem(name))
}

pub(crate) fn zip(path: &Path, content: &[(String, &[u8])]) {
    let mut zip = ZipWriter::new(File::create(path).unwrap());
    for (name, bytes) in content {
        zip.start_file(name.as_str(), SimpleFileOptions::default())
            .unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

fn component(component: Component, wheels: Vec<WheelPin>) -> ComponentPin {
    ComponentPin {
        component,
        version: VERSION,
        wheels,
    }
}

fn pin(root: &Path, name: &'static str, members: &[Content<'static>]) -> WheelPin {
    let (sha256, size) = measure(&root.join("wheels").join(file(name)));
    let data = members.iter().map(|(path, bytes)| {
        let path: &str = format!("data/{path}").leak();
        (path, bytes.len() as u64)
    });
    let licence = ("dist-info/LICENSE.txt", LICENCE.len() as u64);
    WheelPin {
        name,
        version: VERSION,
        file: file(name).leak(),
        sha256,
        size,
        licence: "Made-up Licence 1.0",
        members: data.chain([licence]).collect(),
    }
}

fn measure(wheel: &Path) -> (&'static str, u64) {
    let bytes = fs::read(wheel).unwrap();
    (
        format!("{:x}", Sha256::digest(&bytes)).leak(),
        bytes.len() as u64,
    )
}
