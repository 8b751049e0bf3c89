// SPDX-License-Identifier: MIT OR Apache-2.0
//! Discovers devices: loads driver libraries, lists their devices, and chooses one device.
//!
//! The installed CPU driver is loaded only if no other device is suitable, or to list all devices.

use syclbin::Syclbin;
use syclbin_toolchain::GET_CPU_DRIVER;

use crate::backend::LibraryError;
use crate::backend::facts::Facts;
use crate::device::best::Coverage;
use crate::device::driver_libraries::{self, LibraryLookup};
use crate::device::selector::{Selector, Term};
use crate::device::{Device, DeviceChoice, best};
use crate::error::{Error, ErrorKind, Result};
use crate::log;

/// The devices found so far, and the outcome for each location that was searched.
pub(crate) struct Discovery {
    devices: Vec<Device>,
    tried: Vec<String>,
    installed: bool,
}

impl Discovery {
    pub(crate) fn of_system() -> Self {
        let mut search = Self {
            devices: Vec::new(),
            tried: Vec::new(),
            installed: false,
        };
        for lookup in driver_libraries::system() {
            search.add(lookup);
        }
        search
    }

    pub(crate) fn all(mut self) -> Result<Vec<Device>> {
        self.add_installed();
        if self.devices.is_empty() {
            return Err(self.no_device());
        }
        Ok(self.devices)
    }

    /// Returns the best device that `file` contains code for. Without a file, returns the best device overall.
    pub(crate) fn best(mut self, file: Option<&Syclbin<'_>>) -> Result<DeviceChoice> {
        let is_whole = |fits: &[(&Facts, Coverage)]| {
            let best = best::best(fits).and_then(|best| fits.get(best));
            best.is_some_and(|(_, fit)| *fit == Coverage::Whole)
        };
        if !is_whole(&self.fits(file)) {
            self.add_installed();
        }
        let fits = self.fits(file);
        let Some(chosen) = best::best(&fits) else {
            return Err(match file {
                Some(_) if !self.devices.is_empty() => self.unfit(&fits),
                _ => self.no_device(),
            });
        };
        let name = |index: usize, why: &Coverage| {
            let device = self.devices.get(index)?;
            Some(format!("{device}: {}", why.reason()?))
        };
        let skipped: Vec<String> = (best::skipped(&fits, chosen).into_iter())
            .filter_map(|index| name(index, &fits.get(index)?.1))
            .collect();
        let reason = best::reason(&fits, chosen);
        let Some(device) = self.devices.get(chosen).cloned() else {
            return Err(self.no_device());
        };
        for skipped in &skipped {
            log::warn(format_args!("skipped a better device: {skipped}"));
        }
        log::info(format_args!("chose {device}: {reason}"));
        Ok(DeviceChoice {
            device,
            reason,
            skipped,
        })
    }

    /// Returns how much of the file each device can run. Without a file, the coverage is always [`Coverage::Whole`].
    fn fits(&self, file: Option<&Syclbin<'_>>) -> Vec<(&'static Facts, Coverage)> {
        let fit = |facts| file.map_or(Coverage::Whole, |file| Coverage::of(file, facts));
        let facts = self.devices.iter().map(Device::facts);
        facts.map(|facts| (facts, fit(facts))).collect()
    }

    fn unfit(&self, fits: &[(&Facts, Coverage)]) -> Error {
        let devices = self.devices.iter().zip(fits);
        let reasons = devices.map(|(device, (facts, fit))| match fit.reason() {
            Some(reason) if facts.is_usable() => format!("{device}: {reason}"),
            _ => device.described(),
        });
        let missing = self
            .tried
            .iter()
            .filter(|tried| tried.starts_with(driver_libraries::INSTALLED));
        let missing = missing.map(|tried| format!("{tried}; {GET_CPU_DRIVER}"));
        Error::listing(
            ErrorKind::NoDevice,
            "no device on this machine can run anything in this SYCLBIN file",
            reasons.chain(missing).collect(),
        )
    }

    /// Returns the device that matches `selector`, which was parsed from `text`.
    pub(crate) fn select(mut self, text: &str, selector: &Selector) -> Result<Device> {
        let mut reason = None;
        for term in selector.terms() {
            let mut chosen = self.choose(|facts| term.choose(facts));
            if term.may_be_cpu() && !chosen.as_ref().is_some_and(Device::is_usable) {
                self.add_installed();
                chosen = self.choose(|facts| term.choose(facts));
            }
            match chosen {
                Some(device) if device.is_usable() => {
                    let device = match term.part().map(|part| device.numbered_part(part)) {
                        None => device,
                        Some(Ok(part)) => part,
                        Some(Err(error)) => {
                            reason = reason.or(Some(error.to_string()));
                            continue;
                        }
                    };
                    log::info(format_args!("selector {text:?} selects {device}"));
                    return Ok(device);
                }
                Some(device) => {
                    reason = reason.or(Some(format!("{device} does not support SPIR-V")));
                }
                None => {}
            }
        }
        // The error lists all devices, whatever the selector requested.
        self.add_installed();
        if self.devices.is_empty() {
            return Err(self.no_device());
        }
        let devices = self.devices.iter().enumerate();
        let available = devices.map(|(index, device)| format!("{index}: {}", device.described()));
        let reason = reason.unwrap_or_else(|| self.unmatched(selector));
        Err(not_selected(text, &reason, available.collect()))
    }

    /// Explains why nothing matches. If the selector requests a CUDA device, includes why NVIDIA's driver was not
    /// found.
    fn unmatched(&self, selector: &Selector) -> String {
        let asked = selector.terms().iter().any(Term::is_cuda);
        let tried = self.tried.iter();
        let mut cuda = tried.filter(|tried| tried.starts_with(driver_libraries::CUDA));
        match cuda.next().filter(|_| asked) {
            Some(tried) => format!("no device matches ({tried})"),
            None if asked => {
                "no device matches, and this program was built without the `cuda` feature of syclbin-rt"
                    .to_owned()
            }
            None => "no device matches".to_owned(),
        }
    }

    fn add_installed(&mut self) {
        if !std::mem::replace(&mut self.installed, true) {
            self.add(driver_libraries::installed());
        }
    }

    fn add(&mut self, lookup: LibraryLookup) {
        let devices = lookup.library.and_then(|library| {
            let devices = library.devices();
            devices.map_err(|failure| LibraryError::Driver(failure).to_string())
        });
        let outcome = match devices {
            Ok(devices) if devices.is_empty() => "no devices".to_owned(),
            Ok(devices) => {
                let devices: Vec<Device> = devices.into_iter().map(Device::new).collect();
                let described: Vec<String> = devices.iter().map(Device::described).collect();
                // Two libraries may load the same driver and list the same devices, so skip those that another library
                // has listed. Within one library, identical devices are distinct.
                let known = self.devices.len();
                for device in devices {
                    let same = |other: &Device| {
                        other.name() == device.name()
                            && other.driver_version() == device.driver_version()
                    };
                    if !self.devices.iter().take(known).any(same) {
                        self.devices.push(device);
                    }
                }
                described.join("; ")
            }
            Err(reason) => reason,
        };
        let tried = format!("{}: {outcome}", lookup.name);
        log::debug(format_args!("looked for devices in {tried}"));
        self.tried.push(tried);
    }

    fn choose(&self, choice: impl FnOnce(&[&Facts]) -> Option<usize>) -> Option<Device> {
        let facts: Vec<&Facts> = self.devices.iter().map(Device::facts).collect();
        self.devices.get(choice(&facts)?).cloned()
    }

    fn no_device(&self) -> Error {
        let message =
            format_args!("found no device that can run SYCLBIN kernels; {GET_CPU_DRIVER}");
        Error::listing(ErrorKind::NoDevice, message, self.tried.clone())
    }
}

pub(crate) fn not_selected(selector: &str, reason: &str, available: Vec<String>) -> Error {
    let message = format_args!(
        "cannot select a device with {selector:?} (from SYCLBIN_DEVICE or Device::select): {reason}; available devices"
    );
    Error::listing(ErrorKind::NoDevice, message, available)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syclbin::State;

    #[test]
    fn missing_device_error_is_independent_of_file() {
        let search = || Discovery {
            devices: Vec::new(),
            tried: vec!["libOpenCL.so: not found".to_owned()],
            installed: true,
        };
        let file = Syclbin::new(State::Executable);
        for file in [None, Some(&file)] {
            let error = search().best(file).unwrap_err();
            assert!(error.kind() == ErrorKind::NoDevice, "{error}");
        }
    }
}
