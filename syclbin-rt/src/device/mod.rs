//! Devices: finding a device and choosing it never starts work on it.

pub(crate) mod aspects;
pub(crate) mod discovery;
mod division;
pub(crate) mod driver_libraries;
pub(crate) mod facts;
pub(crate) mod partition;
pub(crate) mod selector;

use std::fmt;
use std::hash::{Hash, Hasher};

use syclbin::Aspect;
use syclbin::architecture::Architecture;

use crate::backend::dispatch::device::Found;
use crate::device::discovery::Discovery;
use crate::device::facts::{DeviceKind, Facts};
use crate::device::selector::Selector;
use crate::error::{ErrorKind, Result};

/// The environment variable that [`Device::best`] obeys.
const VARIABLE: &str = "SYCLBIN_DEVICE";

/// A device that a driver of this machine offers.
///
/// Devices live as long as the process. Two of them are equal when they are the same device of the
/// same library.
#[derive(Clone)]
pub struct Device(Found);

/// A device, and why it is the one to use. Got from [`Device::choose`] and [`Device::choose_for`].
#[derive(Clone, Debug)]
pub struct DeviceChoice {
    pub(crate) device: Device,
    pub(crate) reason: String,
    pub(crate) skipped: Vec<String>,
}

impl DeviceChoice {
    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Why this one, in words: what asks for it, or what would have come before it.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns the devices that would have been preferred if the file had code for them, each with the
    /// reason. Empty without a file, and where `SYCLBIN_DEVICE` selects the device.
    pub fn skipped(&self) -> impl Iterator<Item = &str> {
        self.skipped.iter().map(String::as_str)
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.device, self.reason)
    }
}

impl Device {
    pub(crate) fn new(found: Found) -> Self {
        Self(found)
    }

    /// Every device of every driver, those of the system first.
    ///
    /// Looked for in this order: NVIDIA's driver (feature `cuda`), the OpenCL libraries that `OPENCL_DYLIB_PATH` names (separated by `;`),
    /// the system's OpenCL loader, and the CPU driver that `cargo syclbin toolchain install`
    /// installs. A device that two libraries offer is listed once.
    ///
    /// # Errors
    ///
    /// When there is none; the error lists every place that was tried.
    pub fn all() -> Result<Vec<Self>> {
        Discovery::of_system().all()
    }

    /// Returns the device to use in a program that has no SYCLBIN file at hand: the one that
    /// `SYCLBIN_DEVICE` selects if it is set (see [`Device::select`]), else the first GPU, accelerator or
    /// CPU, in this order, that takes SPIR-V or PTX.
    ///
    /// Which of these a file has code for is not known here. A program with kernels asks its file: with
    /// `kernels::Module::best_device()` of generated code, or with [`Device::best_for`].
    ///
    /// The installed CPU driver is only loaded when the system has no such device.
    ///
    /// # Errors
    ///
    /// When there is no such device; the error lists every place that was tried and every device that was
    /// skipped.
    pub fn best() -> Result<Self> {
        Ok(Self::choose()?.device)
    }

    /// Does what [`Device::best`] does, and gives the reason for the choice.
    ///
    /// # Errors
    ///
    /// The same as [`Device::best`].
    pub fn choose() -> Result<DeviceChoice> {
        match Self::selected()? {
            Some(choice) => Ok(choice),
            None => Discovery::of_system().best(None),
        }
    }

    /// Returns the best device that a SYCLBIN file has code for: a GPU, else an accelerator, else a CPU.
    /// `file` is the bytes of the file, or `kernels::Module::FILE` of generated code, whose
    /// `kernels::Module::best_device()` does the same.
    ///
    /// A GPU that takes PTX, for instance, is skipped where the file has only SPIR-V, and the CPU is taken.
    /// A device that has code for all modules of the file comes before one that has code for some of them.
    /// With the feature `log`, each better device that is skipped is a warning.
    ///
    /// Where `SYCLBIN_DEVICE` is set it selects the device, whatever the file has.
    ///
    /// ```no_run
    /// let file = std::fs::read("saxpy.syclbin").expect("the file");
    /// let queue = syclbin_rt::Device::best_for(&file)?.queue()?;
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When `file` is not a SYCLBIN file; when no device runs anything in it, with the reason for each
    /// device; and when `SYCLBIN_DEVICE` selects nothing.
    pub fn best_for(file: impl AsRef<[u8]>) -> Result<Self> {
        Ok(Self::choose_for(file)?.device)
    }

    /// Does what [`Device::best_for`] does, and gives the reason for the choice and the devices that were
    /// skipped.
    ///
    /// # Errors
    ///
    /// The same as [`Device::best_for`].
    pub fn choose_for(file: impl AsRef<[u8]>) -> Result<DeviceChoice> {
        let file = syclbin::read::parse(file.as_ref()).map_err(ErrorKind::File)?;
        match Self::selected()? {
            Some(choice) => Ok(choice),
            None => Discovery::of_system().best(Some(&file)),
        }
    }

    /// The device that `SYCLBIN_DEVICE` selects, if it is set.
    fn selected() -> Result<Option<DeviceChoice>> {
        match std::env::var(VARIABLE) {
            Ok(selector) if !selector.trim().is_empty() => Ok(Some(DeviceChoice {
                device: Self::select(&selector)?,
                reason: format!("{VARIABLE}={selector} asks for it"),
                skipped: Vec::new(),
            })),
            Err(std::env::VarError::NotUnicode(value)) => Err(ErrorKind::Selector {
                selector: value.to_string_lossy().into_owned(),
                reason: format!("{VARIABLE} is not UTF-8"),
            }
            .into()),
            _ => Ok(None),
        }
    }

    /// The device that `selector` names, in the language of the variable `SYCLBIN_DEVICE`.
    ///
    /// | selector | device |
    /// |---|---|
    /// | `gpu`, `cpu`, `accelerator` | the first of this kind that takes SPIR-V or is one of CUDA |
    /// | `2` | number 2 of [`Device::all`], counted from 0 |
    /// | `gpu:1` | number 1 among the GPUs |
    /// | `arc`, `gpu:arc` | one (a GPU) with this in its name, vendor or platform, in either case |
    /// | `opencl:gpu`, `cuda:gpu:0`, `*:gpu` | the same of the devices of one backend; `opencl`, `cuda` or `*` alone is any of them |
    /// | `0.1`, `opencl:cpu:0.1` | part 1 of that device, counted from 0: by [`Affinity::Next`](crate::Affinity) where the device has it, else a compute unit each |
    /// | `nvidia,gpu,cpu` | the first of these alternatives that matches a device |
    ///
    /// # Errors
    ///
    /// When the selector follows another grammar, when nothing matches, and when what matches
    /// runs no kernels of SYCLBIN files. The last two list the devices there are.
    pub fn select(selector: &str) -> Result<Self> {
        let parsed = Selector::parse(selector).map_err(|reason| ErrorKind::Selector {
            selector: selector.to_owned(),
            reason,
        })?;
        Discovery::of_system().select(selector, &parsed)
    }

    /// Its name, as the driver gives it: a part has that of the whole.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.facts().name
    }

    /// Who made it.
    #[must_use]
    pub fn vendor(&self) -> &str {
        &self.facts().vendor
    }

    /// The platform it belongs to: what an OpenCL driver calls itself, or `NVIDIA CUDA`.
    #[must_use]
    pub fn platform(&self) -> &str {
        &self.facts().platform
    }

    /// The version of OpenCL or CUDA that its driver implements, such as `OpenCL 3.0 (Build 0)` or
    /// `CUDA 12.4`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.facts().version
    }

    /// The version of its driver.
    #[must_use]
    pub fn driver_version(&self) -> &str {
        &self.facts().driver_version
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> DeviceKind {
        self.facts().kind
    }

    /// The library it was found through: a path, or the name of the system's OpenCL loader.
    #[must_use]
    pub fn library(&self) -> &str {
        self.0.library()
    }

    /// Whether it takes SPIR-V, and so can run the kernels of this crate.
    ///
    /// That needs OpenCL 2.1. Older devices with the extension `cl_khr_il_program` count as taking
    /// none: they have an entry point of their own, which is not called in this version.
    #[must_use]
    pub fn takes_spirv(&self) -> bool {
        self.facts().takes_spirv
    }

    /// Whether it is a GPU of CUDA, which runs the PTX and the native code for NVIDIA's GPUs of SYCLBIN files,
    /// as `Build::targets(["spir64", "nvptx64-nvidia-cuda"])` of `syclbin-build` puts them beside SPIR-V.
    #[must_use]
    pub fn takes_ptx(&self) -> bool {
        self.facts().ptx.is_some()
    }

    /// Its memory, in bytes. A CPU reports the host's.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.facts().memory_bytes
    }

    /// The memory that the work-items of a work-group can share, in bytes.
    #[must_use]
    pub fn local_memory_bytes(&self) -> u64 {
        self.facts().local_memory_bytes
    }

    /// Its parallel compute units; the threads of a CPU.
    #[must_use]
    pub fn compute_units(&self) -> u32 {
        self.facts().compute_units
    }

    /// The most work-items of a work-group. A single kernel may allow fewer.
    #[must_use]
    pub fn max_work_group_size(&self) -> usize {
        self.facts().max_work_group_size
    }

    /// What it can do, in SYCL's names. Of some of them no OpenCL driver tells; those are left out.
    pub fn aspects(&self) -> impl Iterator<Item = Aspect> {
        self.facts().aspects.iter().copied()
    }

    /// Whether it has `aspect`. `false` may also mean that its driver does not tell.
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

    /// Whether it has the OpenCL extension `name`, such as `cl_khr_subgroups`.
    #[must_use]
    pub fn has_extension(&self, name: &str) -> bool {
        self.facts().has(name)
    }

    /// What native code for it is made for: that of a GPU of Intel, or `x86_64`, where the driver
    /// tells.
    #[must_use]
    pub fn architecture(&self) -> Option<Architecture> {
        self.facts().architecture
    }

    /// The sizes that sub-groups can have, in work-items; empty where the driver does not tell.
    #[must_use]
    pub fn sub_group_sizes(&self) -> &[usize] {
        &self.facts().sub_group_sizes
    }

    /// The most work-items of a work-group in each dimension, x first.
    #[must_use]
    pub fn max_work_item_sizes(&self) -> [usize; 3] {
        self.facts().max_work_item_sizes
    }

    /// For lists in errors.
    pub(crate) fn described(&self) -> String {
        if self.is_usable() {
            self.to_string()
        } else {
            format!("{self}, takes no SPIR-V")
        }
    }

    /// Whether it runs kernels of SYCLBIN files.
    pub(crate) fn is_usable(&self) -> bool {
        self.facts().is_usable()
    }

    pub(crate) fn facts(&self) -> &'static Facts {
        self.0.facts()
    }

    pub(crate) fn found(&self) -> Found {
        self.0
    }
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
        let facts = self.facts();
        if let Some(part) = self.found().part() {
            write!(f, "part {} of {} of ", part.index, part.of)?;
            // Of parts of parts all are named.
            return Self::new(part.parent).fmt(f);
        }
        write!(
            f,
            "{} ({}, {})",
            facts.name, facts.kind, facts.driver_version
        )
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
