// SPDX-License-Identifier: MIT OR Apache-2.0
//! Discovers devices: loads driver libraries, lists their devices, and chooses one device.
//!
//! The installed CPU driver is loaded only if no other device is suitable, or to list all devices.

use syclbin::Syclbin;
use syclbin_toolchain::GET_CPU_DRIVER;

use crate::backend::{Facts, LibraryError};
use crate::device::best::Coverage;
use crate::device::driver_libraries::{self, LibraryLookup};
use crate::device::selector::Term;
use crate::device::{Device, DeviceChoice, best};
use crate::error::{Error, ErrorKind, Result};
use crate::log;

/// The devices found so far, and the outcome for each location that was searched.
#[derive(Default)]
pub(crate) struct Discovery {
    devices: Vec<Device>,
    tried: Vec<String>,
    installed: bool,
}

impl Discovery {
    pub(crate) fn of_system() -> Self {
        let mut search = Self::default();
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
        let mut fits = self.fits(file);
        if best::best(&fits).is_none_or(|best| fits[best].1 != Coverage::Whole) {
            self.add_installed();
            fits = self.fits(file);
        }
        let Some(chosen) = best::best(&fits) else {
            return Err(match file {
                Some(_) if !self.devices.is_empty() => self.unfit(&fits),
                _ => self.no_device(),
            });
        };
        let described = |index: usize| {
            let (device, (_, fit)) = (&self.devices[index], &fits[index]);
            Some(format!("{device}: {}", fit.reason()?))
        };
        let skipped = best::skipped(&fits, chosen).into_iter();
        let skipped: Vec<String> = skipped.filter_map(described).collect();
        for skipped in &skipped {
            log::warn(format_args!("skipped a better device: {skipped}"));
        }
        let reason = best::reason(&fits, chosen);
        let device = self.devices[chosen].clone();
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
        let missing = self.tried.iter();
        let missing = missing.filter(|tried| tried.starts_with(driver_libraries::INSTALLED));
        let missing = missing.map(|tried| format!("{tried}; {GET_CPU_DRIVER}"));
        let reasons = reasons.chain(missing).collect();
        let message = "no device on this machine can run anything in this SYCLBIN file";
        Error::listing(ErrorKind::NoDevice, message, reasons)
    }

    /// Returns the device that the selector `text` selects. `terms` are the parsed alternatives of `text`.
    pub(crate) fn select(mut self, text: &str, terms: &[Term]) -> Result<Device> {
        let mut reason = None;
        for term in terms {
            let mut chosen = self.choose(term);
            if term.may_be_cpu() && !chosen.as_ref().is_some_and(Device::is_usable) {
                self.add_installed();
                chosen = self.choose(term);
            }
            let Some(device) = chosen else { continue };
            let selected = match term.part {
                _ if !device.is_usable() => Err(format!("{device} does not support SPIR-V")),
                Some(part) => device
                    .numbered_part(part)
                    .map_err(|error| error.to_string()),
                None => Ok(device),
            };
            match selected {
                Ok(device) => {
                    log::info(format_args!("selector {text:?} selects {device}"));
                    return Ok(device);
                }
                Err(problem) => reason = reason.or(Some(problem)),
            }
        }
        // The error lists all devices, whatever the selector requested.
        self.add_installed();
        if self.devices.is_empty() {
            return Err(self.no_device());
        }
        let devices = self.devices.iter().enumerate();
        let available = devices.map(|(index, device)| format!("{index}: {}", device.described()));
        let reason = reason.unwrap_or_else(|| self.unmatched(terms));
        Err(not_selected(text, &reason, available.collect()))
    }

    /// Explains why nothing matches. If the selector requests a CUDA device, includes the outcome of the search for
    /// NVIDIA's driver.
    fn unmatched(&self, terms: &[Term]) -> String {
        let asked = terms.iter().any(|term| term.backend == Some("cuda"));
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
                let mut devices: Vec<Device> = devices.into_iter().map(Device::new).collect();
                let described: Vec<String> = devices.iter().map(Device::described).collect();
                // Two libraries may load the same driver and list the same devices, so skip those that another library
                // has listed. Within one library, identical devices are distinct.
                devices.retain(|device| {
                    let driver = (device.name(), device.driver_version());
                    let mut known = self.devices.iter();
                    !known.any(|known| (known.name(), known.driver_version()) == driver)
                });
                self.devices.append(&mut devices);
                described.join("; ")
            }
            Err(reason) => reason,
        };
        let tried = format!("{}: {outcome}", lookup.name);
        log::debug(format_args!("looked for devices in {tried}"));
        self.tried.push(tried);
    }

    fn choose(&self, term: &Term) -> Option<Device> {
        let facts: Vec<&Facts> = self.devices.iter().map(Device::facts).collect();
        self.devices.get(term.choose(&facts)?).cloned()
    }

    fn no_device(&self) -> Error {
        let message =
            format_args!("found no device that can run SYCLBIN kernels; {GET_CPU_DRIVER}");
        Error::listing(ErrorKind::NoDevice, message, self.tried.clone())
    }
}

fn not_selected(selector: &str, reason: &str, available: Vec<String>) -> Error {
    let message = format_args!(
        "cannot select a device with {selector:?} (from SYCLBIN_DEVICE or Device::select): {reason}; available devices"
    );
    Error::listing(ErrorKind::NoDevice, message, available)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::device::DriverDevice;
    use crate::backend::{self, Context, DeviceHandle, DeviceKind, Failure, Queue, QueueHandle};
    use crate::device::best::tests::{file, gpu_and_cpu, machine};
    use crate::device::selector;
    use syclbin::{IrType, State};

    /// A device that has facts, and nothing else.
    struct Listed(Facts);

    #[allow(unsafe_code, reason = "the trait has an unsafe function")]
    impl DriverDevice for Listed {
        fn facts(&self) -> &Facts {
            &self.0
        }

        fn native(&self) -> DeviceHandle {
            DeviceHandle::Cuda(0)
        }

        fn shared_context(&'static self) -> backend::Result<Context> {
            Err(Failure::FOREIGN)
        }

        fn separate_context(&'static self) -> backend::Result<Context> {
            Err(Failure::FOREIGN)
        }

        unsafe fn adopt_queue(&'static self, _: QueueHandle) -> backend::Result<Queue> {
            Err(Failure::FOREIGN)
        }
    }

    /// Returns a search that found these devices. `installed` says whether the installed CPU driver is among them.
    fn found(facts: impl IntoIterator<Item = Facts>, installed: bool) -> Discovery {
        let devices = facts.into_iter();
        let devices = devices.map(|facts| Device::new(Box::leak(Box::new(Listed(facts)))));
        Discovery {
            devices: devices.collect(),
            tried: Vec::new(),
            installed,
        }
    }

    #[test]
    fn every_unfit_device_has_its_reason() {
        let file = file(&[&[IrType::AmdGcn]]);
        let error = found(machine(), true).best(Some(&file)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoDevice);
        let message = error.to_string();
        for reason in [
            "Xeon CPU (cpu, ): module 0, image 0 ",
            "Arc A750 (gpu, ): module 0, image 0 ",
            "Old GPU (gpu, ), without SPIR-V support",
        ] {
            assert!(message.contains(reason), "{reason}: {message}");
        }
    }

    #[test]
    fn device_without_spirv_support_is_never_selected() {
        for selector in ["old gpu", "2", "opencl:2.0"] {
            let terms = selector::parse(selector).unwrap();
            let error = found(machine(), true).select(selector, &terms).unwrap_err();
            let message = error.to_string();
            let reason = ": Old GPU (gpu, ) does not support SPIR-V; available devices";
            assert!(message.contains(reason), "{message}");
        }
    }

    #[test]
    fn installed_cpu_runs_what_a_gpu_cannot() {
        if driver_libraries::installed().library.is_err() {
            return crate::common::say_skipped("no CPU driver is installed");
        }
        let [gpu, _] = gpu_and_cpu();
        let file = file(&[&[IrType::SpirV, IrType::Ptx], &[IrType::SpirV]]);
        let choice = found([gpu], false).best(Some(&file)).unwrap();
        assert_eq!(choice.device.kind(), DeviceKind::Cpu);
        let [skipped] = &choice.skipped[..] else {
            panic!("{:?}", choice.skipped);
        };
        assert!(skipped.starts_with("H200 (gpu, ): only some"), "{skipped}");
    }

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
            let message = error.to_string();
            assert!(message.starts_with("found no device"), "{message}");
            assert!(message.contains("libOpenCL.so: not found"), "{message}");
        }
    }

    #[test]
    fn error_says_why_no_cuda_device_was_found() {
        let absent = format!("{}: not found", driver_libraries::CUDA);
        let without = "this program was built without the `cuda` feature of syclbin-rt";
        let terms = selector::parse("cuda:gpu").unwrap();
        for (tried, reason) in [
            (vec![absent.clone()], absent.as_str()),
            (Vec::new(), without),
        ] {
            let mut search = found(machine(), true);
            search.tried = tried;
            let error = search.select("cuda:gpu", &terms).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NoDevice);
            let message = error.to_string();
            assert!(message.contains("no device matches"), "{message}");
            assert!(message.contains(reason), "{message}");
        }
    }

    #[cfg(feature = "log")]
    #[test]
    fn installed_cpu_is_loaded_only_if_needed() {
        use std::sync::atomic::{AtomicBool, Ordering};

        const TEST: &str = "installed_cpu_is_loaded_only_if_needed";
        static LOOKED: AtomicBool = AtomicBool::new(false);
        struct Logger;
        impl ::log::Log for Logger {
            fn enabled(&self, _: &::log::Metadata<'_>) -> bool {
                true
            }
            fn log(&self, record: &::log::Record<'_>) {
                let message = record.args().to_string();
                LOOKED.fetch_or(message.starts_with("looked for"), Ordering::Relaxed);
            }
            fn flush(&self) {}
        }
        // It needs its own process: a process can have only one logger.
        if crate::backend::gate::runs_in_child(module_path!(), TEST) {
            return;
        }
        ::log::set_logger(&Logger).unwrap();
        ::log::set_max_level(::log::LevelFilter::Debug);
        let looks = |selector: &str, devices: &[Facts]| {
            let terms = selector::parse(selector).unwrap();
            let _ = found(devices.to_vec(), false).select(selector, &terms);
            LOOKED.swap(false, Ordering::Relaxed)
        };
        let both = gpu_and_cpu();
        for selector in ["gpu", "cpu", "xeon", "*"] {
            assert!(!looks(selector, &both), "{selector}");
        }
        assert!(looks("cpu", &both[..1]));
    }
}
