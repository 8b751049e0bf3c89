//! The OpenCL devices of this machine, as `syclbin-rt` sees them.

/// What a running program would find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    /// Every device, or why there is none to ask for.
    pub all: Result<Vec<Device>, String>,
    /// The index of the one that a program gets when it asks for the best, or why it gets none.
    pub chosen: Result<usize, String>,
    /// Why it is that one; empty where there is none.
    pub reason: String,
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
    /// Asks the drivers of this machine, as a program would.
    #[must_use]
    pub fn gather() -> Self {
        let all = syclbin_rt::Device::all().map_err(|error| error.to_string());
        let chosen = syclbin_rt::Device::choose().map_err(|error| error.to_string());
        let listed = all.as_deref().unwrap_or_default();
        let reason = chosen.as_ref().map(|choice| choice.reason().to_owned());
        Self {
            reason: reason.unwrap_or_default(),
            chosen: chosen.and_then(|choice| {
                let best = choice.device();
                // Parts are not listed, but the devices that they are of.
                let mut root = best.clone();
                while let Some(whole) = root.parent() {
                    root = whole;
                }
                let index = listed.iter().position(|device| *device == root);
                index.ok_or_else(|| format!("{best} is chosen, but not listed"))
            }),
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
