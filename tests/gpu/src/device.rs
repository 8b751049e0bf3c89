// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Device`]: the device under test, as a program sees it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name prefix of the devices of the workspace's simulated CUDA driver.
const SIMULATED: &str = "Simulated CUDA device";
/// The variable that is `no` if the driver accepts commands but executes none.
pub(crate) const EXECUTES: &str = "SYCLBIN_DEVICE_EXECUTES";
/// The file that describes the kernel module of NVIDIA's driver.
const NVIDIA_MODULE: &str = "/proc/driver/nvidia/version";

/// A device and its driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The name.
    pub name: String,
    /// Whether the driver is the workspace's simulated CUDA driver, or executes nothing
    /// (`SYCLBIN_DEVICE_EXECUTES=no`). Such a run proves nothing about a GPU.
    pub simulated: bool,
    /// The value of `SYCLBIN_DEVICE` that selects this device.
    pub selector: String,
    /// Why a program chooses this device.
    pub reason: String,
    /// `gpu`, `cpu`, `accelerator` or `other`.
    pub kind: String,
    /// `cuda` or `opencl`.
    pub backend: String,
    /// The platform.
    pub platform: String,
    /// The version of the driver.
    pub driver: String,
    /// The version of NVIDIA's kernel module.
    pub kernel_module: Option<String>,
    /// The library that provides the device.
    pub library: String,
    /// The architecture, as compilers name it.
    pub architecture: Option<String>,
    /// The number of compute units.
    pub compute_units: u32,
    /// The memory size in bytes.
    pub memory_bytes: u64,
}

impl Device {
    /// Returns the device that a program uses: the one that `SYCLBIN_DEVICE` selects, or else the best device.
    ///
    /// Call this in a separate process, because a driver may crash.
    ///
    /// # Errors
    ///
    /// Fails if there is no device.
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

/// Returns a selector that names the backend for tests that read it, or else the value of `SYCLBIN_DEVICE`.
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
