// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report on a file: what a driver did with its modules, and what it says of their kernels.
//!
//! These types are the JSON form of `schema/doctor.schema.json`.

use serde::{Deserialize, Serialize};
use syclbin_rt::__private::DeviceChoice;
use syclbin_rt::{ImageChoice, KernelAttributes};

/// What a driver did with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// See [`SCHEMA_VERSION`](crate::ui::SCHEMA_VERSION).
    pub schema_version: u32,
    /// Whether the program ends with 0: each kernel can be used, and no driver crashed.
    pub passed: bool,
    /// The path as given.
    pub path: String,
    /// The device; `None` if there is none.
    pub device: Option<DeviceReport>,
    /// What failed outside of modules.
    pub problem: Option<String>,
    /// The number of kernels in the file. A kernel in several modules counts once.
    pub kernels: usize,
    /// The number of those that the device can use.
    pub usable_kernels: usize,
    /// The modules that were tried, in the order of the file.
    pub modules: Vec<ModuleReport>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// Its name.
    pub name: String,
    /// Its platform.
    pub platform: String,
    /// The version of its driver.
    pub driver_version: String,
    /// Why it was chosen.
    pub reason: String,
}

/// The outcome for a module or a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The device can use it.
    Usable,
    /// The device cannot use it, and the driver said so.
    Refused,
    /// The driver ended the process.
    Crashed,
    /// The driver did not answer.
    Hung,
}

/// A module of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModuleReport {
    /// Its index.
    pub index: usize,
    /// What the driver did with its code.
    pub outcome: Outcome,
    /// Why it cannot be used.
    pub reason: Option<String>,
    /// Its images.
    pub images: Vec<ImageReport>,
    /// Its kernels. Empty if the module cannot be used.
    pub kernels: Vec<KernelReport>,
}

/// An image of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageReport {
    /// What it holds.
    pub description: String,
    /// Whether the driver built this image.
    pub chosen: bool,
    /// Why it was chosen or skipped.
    pub verdict: String,
}

/// A kernel of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelReport {
    /// Its symbol.
    pub symbol: String,
    /// Its qualified name in C++.
    pub name: String,
    /// What the driver did with it.
    pub outcome: Outcome,
    /// Why it cannot be used.
    pub reason: Option<String>,
    /// What the driver says of it; `None` if it cannot be used.
    pub answers: Option<Answers>,
}

/// What a driver says of a kernel. See [`KernelAttributes`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "the fields are those of `KernelAttributes`, which documents them"
)]
pub struct Answers {
    pub max_work_group_size: usize,
    pub preferred_work_group_size_multiple: usize,
    pub required_work_group_size: Option<Vec<usize>>,
    pub max_sub_group_size: Option<usize>,
    pub required_sub_group_size: Option<usize>,
    pub registers: Option<u32>,
    pub private_memory_bytes: Option<u64>,
    pub spill_memory_bytes: Option<u64>,
    pub local_memory_bytes: u64,
}

impl DeviceReport {
    /// Describes a chosen device.
    #[must_use]
    pub fn new(choice: &DeviceChoice) -> Self {
        let device = choice.device();
        Self {
            name: device.name().to_owned(),
            platform: device.platform().to_owned(),
            driver_version: device.driver_version().to_owned(),
            reason: choice.reason().to_owned(),
        }
    }
}

impl ImageReport {
    /// Describes the images of a module.
    #[must_use]
    pub fn all(choice: &ImageChoice) -> Vec<Self> {
        let images = choice.verdicts().enumerate();
        let image = |(index, (description, verdict)): (usize, (&str, &str))| Self {
            description: description.to_owned(),
            chosen: choice.image() == Some(index),
            verdict: verdict.to_owned(),
        };
        images.map(image).collect()
    }
}

impl Answers {
    /// Combines the driver's answers with the only work-group size that the kernel takes, if there is one.
    #[must_use]
    pub fn new(info: &KernelAttributes, required_work_group_size: Option<&[usize]>) -> Self {
        Self {
            max_work_group_size: info.max_work_group_size,
            preferred_work_group_size_multiple: info.preferred_work_group_size_multiple,
            required_work_group_size: required_work_group_size.map(<[usize]>::to_vec),
            max_sub_group_size: info.max_sub_group_size,
            required_sub_group_size: info.required_sub_group_size,
            registers: info.registers,
            private_memory_bytes: info.private_memory_bytes,
            spill_memory_bytes: info.spill_memory_bytes,
            local_memory_bytes: info.local_memory_bytes,
        }
    }
}
