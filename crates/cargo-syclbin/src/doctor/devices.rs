//! The devices of this machine, as `syclbin-rt` sees them.

use super::trial::Ran;

/// What a running program would find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    /// Every device, or why there is none to ask for.
    pub all: Result<Vec<Device>, String>,
    /// The index of the one that a program gets, if it gets one.
    pub chosen: Option<usize>,
}

/// One device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name, and what it is.
    pub name: String,
    /// The platform it belongs to, with the version of its driver.
    pub platform: String,
    /// The library it was found through.
    pub library: String,
    /// Whether it takes SPIR-V, which every SYCLBIN file holds unless somebody says otherwise.
    pub takes_spirv: bool,
    /// Whether it takes PTX, which only those hold that are compiled for NVIDIA's GPUs as well.
    pub takes_ptx: bool,
}

impl Devices {
    /// Asks the drivers of this machine; `run` says on which device the trial kernel ran.
    #[must_use]
    pub fn gather(run: Option<&Ran>) -> Self {
        let all = syclbin_rt::Device::all().map_err(|error| error.to_string());
        let listed = all.as_deref().unwrap_or_default();
        // Parts are not listed, but the devices that they are of.
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
            platform: match device.takes_ptx() {
                true => device.driver_version().to_owned(),
                false => format!("{} {}", device.platform(), device.driver_version()),
            },
            library: device.library().to_owned(),
            takes_spirv: device.takes_spirv(),
            takes_ptx: device.takes_ptx(),
        }
    }
}
