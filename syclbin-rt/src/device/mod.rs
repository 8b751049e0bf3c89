// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices. Finding or choosing a device never starts work on that device.

pub(crate) mod best;
pub(crate) mod discovery;
mod division;
pub(crate) mod driver_libraries;
pub(crate) mod selector;

use std::fmt;
use std::hash::{Hash, Hasher};

use syclbin::architecture::Architecture;
use syclbin::{Aspect, Syclbin};

use crate::backend::{Context, Device as DriverDevice, DeviceKind, Facts, Failure};
use crate::device::discovery::Discovery;
use crate::error::{Error, Result};

/// The environment variable that overrides the choice of [`Device::best`] and [`Device::best_for`].
const VARIABLE: &str = "SYCLBIN_DEVICE";

/// A device that a driver on this machine provides.
///
/// A device lives until the process ends. Two values are equal if they denote the same device of the same library.
#[derive(Clone)]
pub struct Device(DriverDevice);

/// A device and the reason why it was chosen.
#[derive(Clone, Debug)]
pub struct DeviceChoice {
    /// The chosen device.
    pub device: Device,
    /// The request that selected this device, or why no other device was preferred.
    pub reason: String,
    /// The devices that would have been preferred if they could run as much of the file as the chosen device, each
    /// with the reason why they cannot. Empty if `SYCLBIN_DEVICE` selected the device.
    pub skipped: Vec<String>,
}

impl Device {
    pub(crate) fn new(device: DriverDevice) -> Self {
        Self(device)
    }

    /// Returns every device of every driver, starting with the system's drivers.
    ///
    /// Drivers are searched in this order:
    ///
    /// - NVIDIA's driver (feature `cuda`),
    /// - the OpenCL libraries listed in `OPENCL_DYLIB_PATH` (separated by `;`),
    /// - the system's OpenCL loader,
    /// - the CPU driver installed by `cargo syclbin toolchain install`.
    ///
    /// A device offered by two libraries is listed once.
    ///
    /// # Errors
    ///
    /// Fails if no device is found; the error lists every place that was searched.
    pub fn all() -> Result<Vec<Self>> {
        Discovery::of_system().all()
    }

    /// Returns the best device, regardless of any SYCLBIN file.
    ///
    /// If `SYCLBIN_DEVICE` is set, this is the device that it selects (see [`Device::select`]). Otherwise it is the
    /// first GPU, accelerator or CPU, in this order, that accepts SPIR-V or PTX.
    ///
    /// This function does not consider which devices a file contains code for. To run kernels, prefer
    /// [`Device::best_for`], or `kernels::Module::best_device()` in generated code.
    ///
    /// The CPU driver installed by `cargo syclbin toolchain install` is loaded only if the system's drivers provide no
    /// suitable device.
    ///
    /// # Errors
    ///
    /// Fails if `SYCLBIN_DEVICE` is set and selects no device (see [`Device::select`]), or if no suitable device is
    /// found. In the latter case, the error lists every place that was searched and the devices found there.
    pub fn best() -> Result<Self> {
        Ok(Self::choose(None)?.device)
    }

    /// Returns the best device that a SYCLBIN file contains code for: preferably a GPU, then an accelerator, then a
    /// CPU.
    ///
    /// `file` is the content of a SYCLBIN file, or `kernels::Module::FILE` in generated code. The generated function
    /// `kernels::Module::best_device()` does the same.
    ///
    /// For instance, if the file contains only SPIR-V, a GPU that accepts only PTX is skipped and the CPU is chosen. A
    /// device that can run all kernels of the file is preferred to a device that can run only some of them. With the
    /// feature `log`, each better device that is skipped is logged as a warning.
    ///
    /// If `SYCLBIN_DEVICE` is set, it selects the device, regardless of the code in the file.
    ///
    /// ```no_run
    /// let file = std::fs::read("saxpy.syclbin").expect("the file");
    /// let queue = syclbin_rt::Device::best_for(&file)?.queue()?;
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if `file` is not a SYCLBIN file, if `SYCLBIN_DEVICE` is set and selects no device, or if no device can run
    /// anything in the file. In the last case, the error lists the reason for each device.
    pub fn best_for(file: impl AsRef<[u8]>) -> Result<Self> {
        Ok(Self::choose_for(file)?.device)
    }

    /// Returns the same device as [`Device::best_for`], with the reason for the choice and the devices that were
    /// skipped, for `cargo syclbin doctor`.
    #[doc(hidden)]
    pub fn choose_for(file: impl AsRef<[u8]>) -> Result<DeviceChoice> {
        let file = syclbin::read::parse(file.as_ref()).map_err(Error::file)?;
        Self::choose(Some(&file))
    }

    /// Returns the device that `SYCLBIN_DEVICE` selects, if it is set, and otherwise the best one.
    fn choose(file: Option<&Syclbin<'_>>) -> Result<DeviceChoice> {
        match std::env::var(VARIABLE) {
            Ok(selector) if !selector.trim().is_empty() => Ok(DeviceChoice {
                device: Self::select(&selector)?,
                reason: format!("{VARIABLE}={selector} selects it"),
                skipped: Vec::new(),
            }),
            Err(std::env::VarError::NotUnicode(value)) => Err(invalid(
                &value.to_string_lossy(),
                &format!("{VARIABLE} is not UTF-8"),
            )),
            _ => Discovery::of_system().best(file),
        }
    }

    /// Returns the device that matches `selector`. The environment variable `SYCLBIN_DEVICE` uses the same grammar.
    ///
    /// | selector | device |
    /// |---|---|
    /// | `gpu`, `cpu`, `accelerator` | the first device of this kind that accepts SPIR-V or is a CUDA device |
    /// | `2` | device 2 in [`Device::all`], numbered from 0 |
    /// | `gpu:1` | GPU 1, numbered from 0 |
    /// | `arc`, `gpu:arc` | a device (a GPU) whose name, vendor or platform contains this text, ignoring case |
    /// | `opencl:gpu`, `cuda:gpu:0`, `*:gpu` | the same among the devices of one backend (`*`: of all backends); a backend alone selects its best device |
    /// | `0.1`, `opencl:cpu:0.1` | part 1 of the device that `0` or `opencl:cpu:0` selects, numbered from 0; the device is divided by [`Affinity::Next`](crate::Affinity) if it supports that, or else into the smallest parts that its driver allows |
    /// | `nvidia,gpu,cpu` | the first of these alternatives that matches a device |
    ///
    /// # Errors
    ///
    /// Fails if the selector does not follow this grammar, if nothing matches, or if the matching device cannot run
    /// kernels from SYCLBIN files or does not have the requested part. Except for a grammar error, the error lists the
    /// available devices.
    pub fn select(selector: &str) -> Result<Self> {
        let terms = selector::parse(selector).map_err(|error| invalid(selector, &error))?;
        Discovery::of_system().select(selector, &terms)
    }

    /// Returns the device name that the driver reports. A part has the same name as the whole device.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.facts().name
    }

    /// Returns the vendor name that the driver reports.
    #[must_use]
    pub fn vendor(&self) -> &str {
        &self.facts().vendor
    }

    /// Returns the platform name that the OpenCL driver reports, or `NVIDIA CUDA`.
    #[must_use]
    pub fn platform(&self) -> &str {
        &self.facts().platform
    }

    /// Returns the OpenCL or CUDA version that the driver implements, such as `OpenCL 3.0 (Build 0)` or `CUDA 12.4`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.facts().version
    }

    /// Returns the driver version.
    #[must_use]
    pub fn driver_version(&self) -> &str {
        &self.facts().driver_version
    }

    /// Returns the kind of the device, such as GPU or CPU.
    #[must_use]
    pub fn kind(&self) -> DeviceKind {
        self.facts().kind
    }

    /// Returns the driver library that provides the device: the path or file name under which it was loaded.
    #[must_use]
    pub fn library(&self) -> &str {
        self.facts().library
    }

    /// Returns whether the device accepts SPIR-V, and so can run SPIR-V kernels from SYCLBIN files.
    ///
    /// This requires OpenCL 2.1. The function returns `false` for older devices with the extension `cl_khr_il_program`,
    /// because these load SPIR-V through a separate entry point, which this crate does not call.
    #[must_use]
    pub fn takes_spirv(&self) -> bool {
        self.facts().takes_spirv
    }

    /// Returns whether the device is a CUDA GPU, which runs PTX and native NVIDIA code from SYCLBIN files.
    ///
    /// To include PTX alongside SPIR-V in a file, call `Build::targets(["spir64", "nvptx64-nvidia-cuda"])` in
    /// `syclbin-build`.
    #[must_use]
    pub fn takes_ptx(&self) -> bool {
        self.facts().ptx.is_some()
    }

    /// Returns the size of the device memory in bytes. A CPU reports the host's memory.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.facts().memory_bytes
    }

    /// Returns the size in bytes of the local memory available to each work-group.
    #[must_use]
    pub fn local_memory_bytes(&self) -> u64 {
        self.facts().local_memory_bytes
    }

    /// Returns the number of parallel compute units; for a CPU, the number of threads.
    #[must_use]
    pub fn compute_units(&self) -> u32 {
        self.facts().compute_units
    }

    /// Returns the largest number of work-items in a work-group. A particular kernel may allow fewer.
    #[must_use]
    pub fn max_work_group_size(&self) -> usize {
        self.facts().max_work_group_size
    }

    /// Returns the device's SYCL aspects. Aspects that OpenCL drivers cannot report are omitted.
    pub fn aspects(&self) -> impl Iterator<Item = Aspect> {
        self.facts().aspects.iter().copied()
    }

    /// Returns whether the device has `aspect`. Also returns `false` if the driver cannot report it.
    ///
    /// ```no_run
    /// use syclbin_rt::{Aspect, Device};
    ///
    /// let doubles = Device::best()?.has(Aspect::FP64);
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    #[must_use]
    pub fn has(&self, aspect: Aspect) -> bool {
        self.facts().aspects.contains(&aspect)
    }

    /// Returns whether the device supports the OpenCL extension `name`, such as `cl_khr_subgroups`.
    #[must_use]
    pub fn has_extension(&self, name: &str) -> bool {
        self.facts().has(name)
    }

    /// Returns the target architecture of native code for the device, such as `nvidia_gpu_sm_90` or `x86_64`. Returns
    /// `None` if the driver does not report it.
    #[must_use]
    pub fn architecture(&self) -> Option<Architecture> {
        self.facts().architecture
    }

    /// Returns the supported sub-group sizes, in work-items; empty if only the driver can choose the size.
    #[must_use]
    pub fn sub_group_sizes(&self) -> &[usize] {
        &self.facts().sub_group_sizes
    }

    /// Returns the largest number of work-items in each dimension of a work-group, x first.
    #[must_use]
    pub fn max_work_item_sizes(&self) -> [usize; 3] {
        self.facts().max_work_item_sizes
    }

    /// Returns the device's UUID, by which other libraries and processes recognize it. Returns `None` if the driver
    /// does not report it (OpenCL extension `cl_khr_device_uuid`).
    #[must_use]
    pub fn uuid(&self) -> Option<[u8; 16]> {
        self.facts().uuid
    }

    /// Returns the device's PCI address in Linux notation: domain, bus, device and function, such as
    /// `0000:03:00.0`. Returns `None` if the driver does not report it (OpenCL extension `cl_khr_pci_bus_info`).
    #[must_use]
    pub fn pci_address(&self) -> Option<&str> {
        self.facts().pci_address.as_deref()
    }

    /// Describes the device for lists in error messages.
    pub(crate) fn described(&self) -> String {
        if self.is_usable() {
            self.to_string()
        } else {
            format!("{self}, without SPIR-V support")
        }
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.facts().is_usable()
    }

    /// Returns a function that creates the error for a driver failure during `action`.
    pub(crate) fn failed<'e>(
        &'e self,
        action: impl fmt::Display + 'e,
    ) -> impl FnOnce(Failure) -> Error + 'e {
        move |failure| Error::driver(failure, action, self)
    }

    pub(crate) fn facts(&self) -> &'static Facts {
        self.0.facts()
    }

    /// Returns the context that the queues of this device share.
    pub(crate) fn context(&self) -> Result<Context> {
        let context = self.0.shared_context();
        context.map_err(self.failed("creating a context"))
    }

    pub(crate) fn driver_device(&self) -> DriverDevice {
        self.0
    }
}

fn invalid(selector: &str, reason: &impl fmt::Display) -> Error {
    Error::invalid(format_args!(
        "invalid device selector {selector:?} (from {VARIABLE} or Device::select): {reason}"
    ))
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.0.address() == other.0.address()
    }
}

impl Eq for Device {}

impl Hash for Device {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.address().hash(state);
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(part) = self.driver_device().part() {
            write!(f, "part {} of {} of ", part.index, part.of)?;
            // For a nested part, the recursion names every enclosing device.
            return Self::new(part.parent).fmt(f);
        }
        let (name, kind, driver) = (self.name(), self.kind(), self.driver_version());
        write!(f, "{name} ({kind}, {driver})")
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("library", &self.library())
            .field("facts", self.facts())
            .finish()
    }
}
