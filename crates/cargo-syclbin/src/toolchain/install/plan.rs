// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an installation has to do, and the space that it needs.

use std::path::Path;

use super::{Installer, Source, driver_of, wheels};
use crate::error::Result;
use crate::toolchain::headers;
use crate::toolchain::manifest::Manifest;
use crate::toolchain::pins::ComponentPin;

/// The action to take for a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Keep,
    Refresh,
    /// Carries the reason, unless the component is simply not installed.
    Install(Option<String>),
}

impl Installer<'_> {
    pub(super) fn plan(&self, pins: &[ComponentPin]) -> Vec<Step> {
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
        let is_ours = |path: &str| driver.is_some_and(|own| own == path || headers::is_one(path));
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
            && headers::fit(folder, manifest)
    }

    /// Checks for the driver before anything is fetched, so that a missing driver does not cost a download.
    pub(super) fn check_driver(&self, pins: &[ComponentPin], steps: &[Step]) -> Result<()> {
        let mut pairs = pins.iter().zip(steps);
        if pairs.any(|(pin, step)| driver_of(pin).is_some() && *step != Step::Keep) {
            self.driver.path()?;
        }
        Ok(())
    }

    /// Returns the peak space in bytes that the home directory needs: wheels and everything unpacked.
    pub(super) fn needed(&self, pins: &[ComponentPin], steps: &[Step]) -> u64 {
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

    pub(super) fn kept(&self, pin: &ComponentPin) -> u64 {
        pin.unpacked_size() + driver_of(pin).map_or(0, |_| self.driver.size())
    }
}
