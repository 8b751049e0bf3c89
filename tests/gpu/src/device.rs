// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Device`]: the device that a run is about, as a program sees it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the name of a device of the workspace's simulated CUDA driver begins with.
const SIMULATED: &str = "Simulated CUDA device";
/// The variable that is `no` where a driver takes commands and executes none.
pub(crate) const EXECUTES: &str = "SYCLBIN_DEVICE_EXECUTES";
/// Where the kernel module of NVIDIA's driver tells its version.
const NVIDIA_MODULE: &str = "/proc/driver/nvidia/version";

/// A device and its driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Whether it is the workspace's simulated CUDA driver, or a driver that executes nothing
    /// (`SYCLBIN_DEVICE_EXECUTES=no`). Then nothing is known about a GPU.
    pub simulated: bool,
    /// The value of `SYCLBIN_DEVICE` that chooses it.
    pub selector: String,
    /// Why a program takes it.
    pub reason: String,
    /// `gpu`, `cpu`, `accelerator` or `other`.
    pub kind: String,
    /// `cuda` or `opencl`.
    pub backend: String,
    /// Its platform.
    pub platform: String,
    /// The version of its driver.
    pub driver: String,
    /// What the kernel module of NVIDIA's driver says of itself.
    pub kernel_module: Option<String>,
    /// The library that it is reached through.
    pub library: String,
    /// Its architecture, by the name that compilers know.
    pub architecture: Option<String>,
    /// How many compute units it has.
    pub compute_units: u32,
    /// The size of its memory.
    pub memory_bytes: u64,
}

impl Device {
    /// Returns the device that a program takes, by `SYCLBIN_DEVICE` or the best one.
    ///
    /// A driver may crash, so this belongs into a process of its own.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn choose() -> syclbin_rt::Result<Self> {
        let device = &syclbin_rt::Device::best()?;
        let reason = match std::env::var("SYCLBIN_DEVICE") {
            Ok(selector) => format!("SYCLBIN_DEVICE={selector} selects it"),
            Err(_) => "it is the best device".to_owned(),
        };
        let is_cuda = device.takes_ptx();
        let executes = std::env::var(EXECUTES).map_or(true, |value| value != "no");
        let simulated = device.name().starts_with(SIMULATED) || !executes;
        let module = std::fs::read_to_string(NVIDIA_MODULE).ok();
        let module = module.filter(|_| is_cuda && !simulated);
        let module = module.and_then(|text| {
            let line = text.lines().next()?;
            Some(line.trim_start_matches("NVRM version:").trim().to_owned())
        });
        let backend = if is_cuda { "cuda" } else { "opencl" };
        Ok(Self {
            name: device.name().to_owned(),
            simulated,
            selector: selector(device, backend),
            reason,
            kind: device.kind().to_string(),
            backend: backend.to_owned(),
            platform: device.platform().to_owned(),
            driver: device.driver_version().to_owned(),
            kernel_module: module,
            library: device.library().to_owned(),
            architecture: device
                .architecture()
                .and_then(|architecture| architecture.name().map(str::to_owned)),
            compute_units: device.compute_units(),
            memory_bytes: device.memory_bytes(),
        })
    }
}

/// A selector that names the backend, as tests look at that; or the one that chose the device.
fn selector(device: &syclbin_rt::Device, backend: &str) -> String {
    let kind = device.kind();
    let selectors = (0..16).map(|index| format!("{backend}:{kind}:{index}"));
    let mut selectors = selectors.map_while(|selector| {
        let selected = syclbin_rt::Device::select(&selector).ok()?;
        Some((selector, selected))
    });
    let found = selectors.find(|(_, selected)| selected == device);
    let given = || std::env::var("SYCLBIN_DEVICE").unwrap_or_default();
    found.map_or_else(given, |(selector, _)| selector)
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.name, self.kind, self.driver)?;
        if self.simulated {
            f.write_str(", SIMULATED")?;
        }
        Ok(())
    }
}
