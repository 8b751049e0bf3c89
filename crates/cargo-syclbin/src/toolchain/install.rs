// SPDX-License-Identifier: MIT OR Apache-2.0
//! Installs components from pinned wheels, each component either completely or not at all.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use syclbin_toolchain::{Component, Home};

use self::Outcome::{Installed, Present, Refreshed};
use super::driver::{self, Driver};
use super::manifest::Manifest;
use super::pins::{ComponentPin, WheelPin, listing};
use super::pip::Search;
use super::staging::Staging;
use super::wheel::Wheel;
use crate::error::{Error, Result};
use crate::ui::{Progress, Size};

/// The source of the wheels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Wheels that the user's pip fetches.
    Pip(Search),
    /// Wheels in this directory.
    Folder(PathBuf),
}

/// The outcome for one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The component was already complete.
    Present,
    /// The component was already installed, but its `syclbin-clang` or headers differed and were replaced.
    Refreshed,
    /// The component was installed.
    Installed,
}

/// One run of the installer.
pub struct Installer<'a> {
    /// The home directory, in which the components are installed.
    pub home: &'a Home,
    /// The source of the wheels.
    pub source: &'a Source,
    /// The source of `syclbin-clang`.
    pub driver: &'a Driver,
    /// Whether to reinstall components that are already installed.
    pub force: bool,
    /// Receives progress messages.
    pub progress: &'a dyn Progress,
}

impl Installer<'_> {
    /// Installs each of `pins` if needed, and returns the outcome of each.
    ///
    /// Wheels are checked before anything is unpacked, and one rename moves a component into place. If everything is
    /// already installed, nothing is locked, written or fetched, so a read-only home directory works too.
    ///
    /// # Errors
    ///
    /// Fails if a component does not work in the home directory. It also fails if wheels cannot be fetched, do not
    /// match their pins, or cannot be unpacked. A component that was complete before stays complete, with one
    /// exception: two renames replace it, and if the process is killed between them, the component is missing and
    /// must be reinstalled.
    pub fn run(&self, pins: &[ComponentPin]) -> Result<Vec<Outcome>> {
        for pin in pins {
            pin.component.check_directory(self.home.path())?;
        }
        let mut plan = self.plan(pins);
        if plan.iter().any(|outcome| *outcome != Present) {
            let mut changed = pins
                .iter()
                .zip(&plan)
                .filter(|(_, outcome)| **outcome != Present);
            if changed.any(|(pin, _)| has_driver(pin)) {
                // Without a driver, fail before the download.
                self.driver.path()?;
            }
            let staging = Staging::open(self.home.path(), self.progress)?;
            #[cfg(unix)]
            staging.check_executable()?;
            // Plan again: the previous holder of the lock may have done all the work.
            plan = self.plan(pins);
            let with = |wanted| {
                let planned = pins.iter().zip(&plan);
                planned.filter_map(move |(pin, outcome)| (*outcome == wanted).then_some(pin))
            };
            for pin in with(Refreshed) {
                self.refresh(&self.folder(pin), &staging)?;
            }
            self.install_all(&with(Installed).collect::<Vec<_>>(), &staging)?;
            // Unlike `close`, this ignores a failure to remove the staging files, which does not affect the installation.
            drop(staging);
        }
        for (pin, outcome) in pins.iter().zip(&plan) {
            let verb = match outcome {
                Present => "already installed",
                Refreshed => "refreshed syclbin-clang",
                Installed => "installed",
            };
            let folder = self.folder(pin);
            let line = format!("{verb}: {pin} in {}", folder.display());
            self.progress.line(&line);
        }
        Ok(plan)
    }

    /// Replaces the driver and the headers, and then the manifest, which records their sizes. Each file is replaced
    /// with a rename. If the process is killed in between, the next run finds a difference and repeats the refresh.
    fn refresh(&self, folder: &Path, staging: &Staging<'_>) -> Result<()> {
        // Read the manifest again, now that the lock is held.
        let mut manifest = Manifest::read(folder)
            .map_err(|problem| staging.failed(folder, std::io::Error::other(problem)))?;
        self.driver.write(folder, &mut manifest, staging)?;
        manifest.write(folder, staging)?;
        staging.sync_folder(folder)
    }

    fn install_all(&self, pins: &[&ComponentPin], staging: &Staging<'_>) -> Result<()> {
        let wanted = wheels(pins);
        if wanted.is_empty() {
            return Ok(());
        }
        self.announce(pins, wanted.clone());
        let folder = self.fetch(&wanted, staging)?;
        let mut opened = self.check(&wanted, &folder)?;
        let mut pins = pins.iter();
        pins.try_for_each(|pin| self.install(pin, &mut opened, staging))
    }

    /// Announces the components to install. Prints each wheel's licence once, below the first component that uses the
    /// wheel.
    fn announce(&self, pins: &[&ComponentPin], mut untold: Vec<&WheelPin>) {
        let say = |text: String| self.progress.line(&text);
        for pin in pins {
            let folder = self.folder(pin);
            if let Err(reason) = self.outcome(pin) {
                say(format!("reinstalling {pin}: {reason}"));
            }
            let driver = has_driver(pin).then(|| self.driver.size());
            let size = Size(pin.unpacked_size() + driver.unwrap_or_default());
            say(format!("{pin} needs {size} in {}", folder.display()));
            let is_used = |wheel: &mut &WheelPin| pin.uses(wheel);
            for wheel in untold.extract_if(.., is_used) {
                let title = format!("{} {} ({})", wheel.name, wheel.version, Size(wheel.size));
                let (licence, text) = (wheel.licence, folder.join(wheel.licence_folder()));
                let place = format!("the text will be in {}", text.display());
                say(format!("  {title} is licensed under {licence}; {place}"));
            }
        }
    }

    /// Fetches the `wanted` wheels if necessary, and returns the directory that contains them.
    fn fetch(&self, wanted: &[&WheelPin], staging: &Staging<'_>) -> Result<PathBuf> {
        let folder = match self.source {
            Source::Folder(folder) => folder.clone(),
            Source::Pip(search) => {
                let wheels = listing(wanted);
                let no_pip = |tried| Error::NoPip { tried, wheels };
                let pip = search.find().map_err(no_pip)?;
                let [folder, temporary] = ["wheels", "tmp"].map(|name| staging.path().join(name));
                staging.create_folder(&folder)?;
                staging.create_folder(&temporary)?;
                let size = Size(wanted.iter().map(|wheel| wheel.size).sum());
                self.progress.line(&format!("fetching {size} with {pip}"));
                pip.download(wanted, &folder, &temporary)?;
                folder
            }
        };
        let mut lacking = wanted.to_vec();
        lacking.retain(|wheel| !folder.join(wheel.file).is_file());
        if lacking.is_empty() {
            return Ok(folder);
        }
        Err(Error::MissingWheels(folder, listing(&lacking)))
    }

    fn check<'a>(&self, wanted: &[&'a WheelPin], folder: &Path) -> Result<Vec<Wheel<'a>>> {
        let total = wanted.iter().map(|wheel| wheel.size).sum();
        self.progress.begin("checking the wheels", total);
        let open = |wheel: &&'a WheelPin| Wheel::open(wheel, folder, self.progress);
        let opened = wanted.iter().map(open).collect();
        self.progress.end();
        opened
    }

    fn install(
        &self,
        pin: &ComponentPin,
        opened: &mut [Wheel<'_>],
        staging: &Staging<'_>,
    ) -> Result<()> {
        let folder = staging.path().join(pin.component.name());
        staging.create_folder(&folder)?;
        let mut manifest = Manifest::of(pin);
        let size = pin.unpacked_size();
        self.progress.begin(&format!("unpacking {pin}"), size);
        let mut wheels = opened.iter_mut().filter(|wheel| pin.uses(wheel.pin));
        let unpacked = wheels.try_for_each(|wheel| wheel.unpack(&folder, staging));
        self.progress.end();
        unpacked?;
        if has_driver(pin) {
            self.driver.write(&folder, &mut manifest, staging)?;
        }
        // The file names must reach the disk before the manifest that lists them.
        for path in manifest.files.keys() {
            if let Some(parent) = folder.join(path).parent() {
                staging.sync_folder(parent)?;
            }
        }
        manifest.write(&folder, staging)?;
        staging.sync_folder(&folder)?;
        self.put_in_place(pin, &folder, staging)
    }

    fn put_in_place(&self, pin: &ComponentPin, folder: &Path, staging: &Staging<'_>) -> Result<()> {
        let parent = self.home.versions(pin.component);
        let target = self.folder(pin);
        staging.create_folder(&parent)?;
        let old = staging.path().join(format!("old-{}", pin.component.name()));
        let replaces = target.symlink_metadata().is_ok();
        if replaces {
            staging.rename(&target, &old)?;
        }
        if let Err(error) = staging.rename(folder, &target) {
            if replaces {
                // Restore the old component. It is lost only if this rename fails too.
                let _ = std::fs::rename(&old, &target);
            }
            return Err(error);
        }
        staging.sync_folder(&parent)?;
        if pin.component == Component::Nvidia {
            // Mark the compiler as changed, so that build scripts rerun and compile to PTX. They cannot watch the
            // NVIDIA component before it is installed, because Cargo watches only files that exist. Without a compiler
            // there is nothing to mark.
            let compilers = File::open(self.home.versions(Component::Compiler));
            let _ = compilers.and_then(|folder| folder.set_modified(SystemTime::now()));
        }
        Ok(())
    }

    fn folder(&self, pin: &ComponentPin) -> PathBuf {
        self.home.folder(pin.component, pin.version)
    }

    fn plan(&self, pins: &[ComponentPin]) -> Vec<Outcome> {
        let outcome = |pin| self.outcome(pin).unwrap_or(Installed);
        pins.iter().map(outcome).collect()
    }

    /// Returns the outcome for a component, or why the existing component must be reinstalled.
    fn outcome(&self, pin: &ComponentPin) -> std::result::Result<Outcome, String> {
        let folder = self.folder(pin);
        if !folder.exists() {
            return Ok(Installed);
        }
        if self.force {
            return Err("--force".to_owned());
        }
        let manifest = Manifest::read(&folder)?;
        let is_own = |path: &str| has_driver(pin) && driver::is_own(path);
        let problem = manifest.mismatch(pin);
        match problem.or_else(|| manifest.damage(&folder, is_own)) {
            Some(problem) => Err(problem),
            None if has_driver(pin) && !self.driver.fits(&folder, &manifest) => Ok(Refreshed),
            None => Ok(Present),
        }
    }
}

fn has_driver(pin: &ComponentPin) -> bool {
    pin.component == Component::Compiler
}

/// Returns the wheels of all components to install, without duplicates.
fn wheels<'p>(pins: &[&'p ComponentPin]) -> Vec<&'p WheelPin> {
    let mut seen = BTreeSet::new();
    let wheels = pins.iter().flat_map(|pin| &pin.wheels);
    wheels.filter(|wheel| seen.insert(wheel.sha256)).collect()
}
