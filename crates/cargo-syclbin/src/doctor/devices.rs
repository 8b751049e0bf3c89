// SPDX-License-Identifier: MIT OR Apache-2.0
//! The devices of this machine, as `syclbin-rt` sees them.

use super::trial::Ran;

/// The devices that a program would find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    /// Every device, or why none can be listed.
    pub all: Result<Vec<Device>, String>,
    /// The index of the device that a program gets, if any.
    pub chosen: Option<usize>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name and kind.
    pub name: String,
    /// The platform it belongs to, with the version of its driver.
    pub platform: String,
    /// The library it was found through.
    pub library: String,
    /// Whether it accepts SPIR-V, which every SYCLBIN file contains unless the build excludes it.
    pub takes_spirv: bool,
    /// Whether it accepts PTX, which a file contains only if it was also compiled for NVIDIA GPUs.
    pub takes_ptx: bool,
}

impl Devices {
    /// Queries the drivers of this machine. `run` gives the device that ran the trial kernel.
    #[must_use]
    pub fn gather(run: Option<&Ran>) -> Self {
        let all = syclbin_rt::Device::all().map_err(|error| error.to_string());
        let listed = all.as_deref().unwrap_or_default();
        // Parts of a device are not listed, so a part counts as its parent device.
        let is_chosen = |device: &syclbin_rt::Device, run: &Ran| {
            let name = device.to_string();
            run.device == name || run.device.ends_with(&format!(" of {name}"))
        };
        Self {
            chosen: run.and_then(|run| listed.iter().position(|device| is_chosen(device, run))),
            all: all.map(|devices| devices.iter().map(Device::of).collect()),
        }
    }
}

impl Device {
    fn of(device: &syclbin_rt::Device) -> Self {
        Self {
            name: format!("{} ({})", device.name(), device.kind()),
            platform: if device.takes_ptx() {
                device.driver_version().to_owned()
            } else {
                format!("{} {}", device.platform(), device.driver_version())
            },
            library: device.library().to_owned(),
            takes_spirv: device.takes_spirv(),
            takes_ptx: device.takes_ptx(),
        }
    }
}
