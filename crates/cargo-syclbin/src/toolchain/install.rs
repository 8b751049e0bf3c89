// SPDX-License-Identifier: MIT OR Apache-2.0
//! Installing: turns pins into components that are either complete or absent.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use syclbin_toolchain::{Component, Home};

use super::driver::{self, Driver};
use super::manifest::Manifest;
use super::pins::{ComponentPin, WheelPin, listing};
use super::pip::Search;
use super::staging::{Purpose, Staging};
use super::wheel::Wheel;
use crate::error::{Error, Result};
use crate::ui::{Progress, Size};

/// The source of the wheels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The user's pip fetches them.
    Pip(Search),
    /// They are already in a directory.
    Folder(PathBuf),
}

/// The outcome for one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was already complete.
    Present,
    /// It was already there, but with another `syclbin-clang` or other headers of this program, which were
    /// replaced.
    Refreshed,
    /// It was installed.
    Installed,
}

/// One run of the installer.
#[derive(Clone, Copy)]
pub struct Installer<'a> {
    /// The directory that receives the components.
    pub home: &'a Home,
    /// The source of the wheels.
    pub source: &'a Source,
    /// The source of `syclbin-clang`.
    pub driver: &'a Driver,
    /// Whether to reinstall components that are already there.
    pub force: bool,
    /// The receiver of progress messages.
    pub progress: &'a dyn Progress,
}

impl Installer<'_> {
    /// Installs each of `pins` if needed, and returns the outcome of each.
    ///
    /// Wheels are checked before anything is unpacked, and a component appears by one rename. When everything is
    /// already installed, nothing is locked, written or fetched. It then also works on a read-only home directory.
    ///
    /// # Errors
    ///
    /// Fails if a component does not work in the home directory. It also fails if wheels cannot be fetched, are not the
    /// pinned ones, or cannot be unpacked. A component that was complete before stays complete, with one exception: two
    /// renames replace it, and if the process is killed between them, the component is missing and must be reinstalled.
    pub fn run(&self, pins: &[ComponentPin]) -> Result<Vec<Outcome>> {
        for pin in pins {
            pin.component.check_directory(self.home.path())?;
        }
        let mut steps = self.plan(pins);
        if steps.iter().any(|step| *step != Step::Keep) {
            self.check_driver(pins, &steps)?;
            let needed = self.needed(pins, &steps);
            let purpose = Purpose::Install { needed };
            let staging = Staging::open(self.home.path(), purpose, self.progress)?;
            #[cfg(unix)]
            staging.check_executable()?;
            // Plans again: the previous holder of the lock may have done all the work.
            steps = self.plan(pins);
            self.refresh_all(pins, &steps, &staging)?;
            self.install_all(pins, &steps, &staging)?;
            // Its content is not needed any more, and a failure to remove it does not affect the installation.
            drop(staging);
        }
        let outcomes = pins.iter().zip(&steps).map(|(pin, step)| {
            let (verb, outcome) = match step {
                Step::Keep => ("already installed", Outcome::Present),
                Step::Refresh => ("refreshed syclbin-clang of", Outcome::Refreshed),
                Step::Install(_) => ("installed", Outcome::Installed),
            };
            let folder = self.folder(pin);
            self.progress
                .line(&format!("{verb}: {} in {}", title(pin), folder.display()));
            outcome
        });
        Ok(outcomes.collect())
    }

    fn refresh_all(&self, pins: &[ComponentPin], steps: &[Step], staging: &Staging) -> Result<()> {
        for (pin, step) in pins.iter().zip(steps) {
            if *step == Step::Refresh {
                self.refresh(&self.folder(pin), pin.component.entry(), staging)?;
            }
        }
        Ok(())
    }

    /// Replaces the driver, the headers, then their sizes in the manifest, each by a rename. If it is killed in
    /// between, the sizes differ and the next run repeats it.
    fn refresh(&self, folder: &Path, entry: &str, staging: &Staging) -> Result<()> {
        let target = folder.join(entry);
        if let Some(parent) = target.parent() {
            staging.create_folder(parent)?;
        }
        let copy = staging.path().join("driver");
        let size = self.driver.copy_to(&copy, staging)?;
        staging.rename(&copy, &target)?;
        // Reads the manifest again with the lock held; `step` could read it before.
        let mut manifest = Manifest::read(folder)
            .map_err(|problem| staging.failed(folder, std::io::Error::other(problem)))?;
        manifest.record(entry, size);
        driver::write_headers(folder, &mut manifest, staging)?;
        manifest.write(staging.path(), staging)?;
        let name = syclbin_toolchain::MANIFEST;
        staging.rename(&staging.path().join(name), &folder.join(name))?;
        staging.sync_folder(folder)
    }

    fn install_all(&self, pins: &[ComponentPin], steps: &[Step], staging: &Staging) -> Result<()> {
        let wanted = wheels(pins, steps);
        if wanted.is_empty() {
            return Ok(());
        }
        self.announce(pins, steps);
        let folder = self.fetch(&wanted, staging)?;
        let mut opened = self.check(&wanted, &folder)?;
        for (pin, step) in pins.iter().zip(steps) {
            if matches!(step, Step::Install(_)) {
                self.install(pin, &mut opened, staging)?;
            }
        }
        Ok(())
    }

    fn announce(&self, pins: &[ComponentPin], steps: &[Step]) {
        let say = |text: String| self.progress.line(&text);
        let mut told: Vec<&str> = Vec::new();
        for (pin, step) in pins.iter().zip(steps) {
            let Step::Install(reason) = step else {
                continue;
            };
            let folder = self.folder(pin);
            if let Some(reason) = reason {
                say(format!("reinstalling {}: {reason}", title(pin)));
            }
            say(format!(
                "{} takes {} in {}",
                title(pin),
                Size(self.kept(pin)),
                folder.display()
            ));
            for wheel in pin.wheels {
                if told.contains(&wheel.sha256) {
                    continue;
                }
                told.push(wheel.sha256);
                say(format!(
                    "  {} {} ({}) is licensed under: {}; the text will be in {}",
                    wheel.name,
                    wheel.version,
                    Size(wheel.size),
                    wheel.licence,
                    folder.join(wheel.licence_folder()).display()
                ));
            }
        }
    }

    /// Returns the directory that holds all of `wanted`.
    fn fetch(&self, wanted: &[&WheelPin], staging: &Staging) -> Result<PathBuf> {
        let folder = match self.source {
            Source::Folder(folder) => folder.clone(),
            Source::Pip(search) => {
                let pip = search.find().map_err(|tried| Error::NoPip {
                    tried: tried.to_string(),
                    wheels: listing(wanted),
                })?;
                let folder = staging.path().join("wheels");
                staging.create_folder(&folder)?;
                let temporary = staging.path().join("tmp");
                staging.create_folder(&temporary)?;
                let size = wanted.iter().map(|wheel| wheel.size).sum();
                self.progress
                    .line(&format!("fetching {} with {}", Size(size), pip.invocation));
                pip.download(wanted, &folder, &temporary)?;
                folder
            }
        };
        let lacking: Vec<&WheelPin> = wanted
            .iter()
            .copied()
            .filter(|wheel| !folder.join(wheel.file).is_file())
            .collect();
        if lacking.is_empty() {
            return Ok(folder);
        }
        Err(Error::MissingWheels(folder, listing(&lacking)))
    }

    fn check<'a>(&self, wanted: &[&'a WheelPin], folder: &Path) -> Result<Vec<Wheel<'a>>> {
        let total = wanted.iter().map(|wheel| wheel.size).sum();
        self.progress.begin("checking the wheels", total);
        let opened = wanted
            .iter()
            .map(|wheel| Wheel::open(wheel, folder, self.progress))
            .collect();
        self.progress.end();
        opened
    }

    fn install(
        &self,
        pin: &ComponentPin,
        opened: &mut [Wheel<'_>],
        staging: &Staging,
    ) -> Result<()> {
        let folder = staging.path().join(pin.component.name());
        staging.create_folder(&folder)?;
        self.progress
            .begin(&format!("unpacking {}", title(pin)), pin.unpacked_size());
        let filled = self.fill(pin, &folder, opened, staging);
        self.progress.end();
        filled?;
        self.put_in_place(pin, &folder, staging)
    }

    fn fill(
        &self,
        pin: &ComponentPin,
        folder: &Path,
        opened: &mut [Wheel<'_>],
        staging: &Staging,
    ) -> Result<()> {
        let mut manifest = Manifest::of(pin);
        for wheel in opened {
            if pin
                .wheels
                .iter()
                .any(|used| used.sha256 == wheel.pin().sha256)
            {
                wheel.unpack(folder, &mut manifest, staging, self.progress)?;
            }
        }
        if let Some(entry) = driver_of(pin) {
            let target = folder.join(entry);
            if let Some(parent) = target.parent() {
                staging.create_folder(parent)?;
            }
            let size = self.driver.copy_to(&target, staging)?;
            manifest.record(entry, size);
            driver::write_headers(folder, &mut manifest, staging)?;
        }
        // The file names must reach the disk before the manifest that lists them.
        for entry in &manifest.files {
            if let Some(parent) = folder.join(&entry.path).parent() {
                staging.sync_folder(parent)?;
            }
        }
        manifest.write(folder, staging)?;
        staging.sync_folder(folder)
    }

    fn put_in_place(&self, pin: &ComponentPin, folder: &Path, staging: &Staging) -> Result<()> {
        let name = pin.component.name();
        let parent = self.home.path().join(name);
        let target = self.folder(pin);
        staging.create_folder(&parent)?;
        let old = staging.path().join(format!("old-{name}"));
        let replaces = target.symlink_metadata().is_ok();
        if replaces {
            staging.rename(&target, &old)?;
        }
        if let Err(error) = staging.rename(folder, &target) {
            if replaces {
                // Reports the first error. The old component is lost only if this rename fails too.
                let _ = std::fs::rename(&old, &target);
            }
            return Err(error);
        }
        staging.sync_folder(&parent)?;
        if pin.component == Component::Nvidia {
            self.tell_build_scripts();
        }
        Ok(())
    }

    /// Marks the compiler as changed, so that build scripts compile to PTX from now on. Cargo can only watch files
    /// that exist.
    fn tell_build_scripts(&self) {
        let compilers = self.home.versions(Component::Compiler);
        let marked = std::fs::File::open(compilers)
            .and_then(|folder| folder.set_modified(SystemTime::now()));
        // Without a compiler there is nothing to mark.
        let _ = marked;
    }

    fn folder(&self, pin: &ComponentPin) -> PathBuf {
        self.home.folder(pin.component, pin.version)
    }
}

/// Returns the path of `syclbin-clang` in the component that has it.
fn driver_of(pin: &ComponentPin) -> Option<&'static str> {
    (pin.component == Component::Compiler).then(|| pin.component.entry())
}

fn title(pin: &ComponentPin) -> String {
    format!("{} {}", pin.component.name(), pin.version)
}

/// Returns the wheels of everything to install, without duplicates.
fn wheels(pins: &[ComponentPin], steps: &[Step]) -> Vec<&'static WheelPin> {
    let mut wheels: Vec<&'static WheelPin> = Vec::new();
    for (pin, step) in pins.iter().zip(steps) {
        let wanted = matches!(step, Step::Install(_));
        for wheel in pin.wheels.iter().filter(|_| wanted) {
            if wheels.iter().all(|other| other.sha256 != wheel.sha256) {
                wheels.push(wheel);
            }
        }
    }
    wheels
}

/// The action to take for a component.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Keep,
    Refresh,
    /// Carries the reason, unless the component is simply not installed.
    Install(Option<String>),
}

impl Installer<'_> {
    fn plan(&self, pins: &[ComponentPin]) -> Vec<Step> {
        pins.iter().map(|pin| self.step(pin)).collect()
    }

    fn step(&self, pin: &ComponentPin) -> Step {
        let folder = self.folder(pin);
        if !folder.exists() {
            return Step::Install(None);
        }
        if self.force {
            return Step::Install(Some("--force".to_owned()));
        }
        let manifest = match Manifest::read(&folder) {
            Ok(manifest) => manifest,
            Err(problem) => return Step::Install(Some(problem)),
        };
        if let Some(problem) = manifest.mismatch(pin) {
            return Step::Install(Some(problem));
        }
        let driver = driver_of(pin);
        let is_ours = |path: &str| driver.is_some_and(|own| own == path || driver::is_header(path));
        if let Some(problem) = manifest.damage(&folder, is_ours) {
            return Step::Install(Some(problem));
        }
        match driver {
            Some(entry) if !self.driver_fits(&folder, entry, &manifest) => Step::Refresh,
            _ => Step::Keep,
        }
    }

    /// Returns whether the installed driver is the one beside this program, with the headers built into this program.
    /// If the driver beside this program is missing, any installed driver fits.
    fn driver_fits(&self, folder: &Path, entry: &str, manifest: &Manifest) -> bool {
        let copy = folder.join(entry);
        if self.driver.path().is_err() {
            return copy.is_file();
        }
        manifest.recorded(entry) == Some(self.driver.size())
            && self.driver.is_same_as(&copy)
            && driver::headers_fit(folder, manifest)
    }

    /// Checks for the driver before anything is fetched, so that a missing driver does not cost a download.
    fn check_driver(&self, pins: &[ComponentPin], steps: &[Step]) -> Result<()> {
        let mut pairs = pins.iter().zip(steps);
        if pairs.any(|(pin, step)| driver_of(pin).is_some() && *step != Step::Keep) {
            self.driver.path()?;
        }
        Ok(())
    }

    /// Returns the peak space in bytes that the home directory needs: wheels and everything unpacked.
    fn needed(&self, pins: &[ComponentPin], steps: &[Step]) -> u64 {
        let fetched = match self.source {
            Source::Pip(_) => wheels(pins, steps).iter().map(|wheel| wheel.size).sum(),
            Source::Folder(_) => 0,
        };
        let kept = pins.iter().zip(steps).map(|(pin, step)| match step {
            Step::Keep => 0,
            Step::Refresh => self.driver.size(),
            Step::Install(_) => self.kept(pin),
        });
        fetched + kept.sum::<u64>()
    }

    fn kept(&self, pin: &ComponentPin) -> u64 {
        pin.unpacked_size() + driver_of(pin).map_or(0, |_| self.driver.size())
    }
}
