// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device and the driver that native code was saved on. Only that driver knows the form of its code.

use std::fmt;

use syclbin::property::{PropertySets, set};
use syclbin::{Image, Value};

use crate::device::facts::Facts;

const PLATFORM: &str = "platform";
const DEVICE: &str = "device";
const DRIVER: &str = "driver";

/// A device and its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MadeFor {
    pub(crate) platform: String,
    device: String,
    driver: String,
}

impl MadeFor {
    /// Returns the device that `facts` describe.
    pub(crate) fn of(facts: &Facts) -> Self {
        Self {
            platform: facts.platform.clone(),
            device: facts.name.clone(),
            driver: facts.driver_version.clone(),
        }
    }

    /// Reads the device of a native image, if a runtime recorded it. It is in the properties of the image, in files for
    /// several devices, or else of its module.
    pub(crate) fn of_image(image: &Image<'_>, of_module: &PropertySets<'_>) -> Option<Self> {
        Self::read(&image.metadata).or_else(|| Self::read(of_module))
    }

    fn read(sets: &PropertySets<'_>) -> Option<Self> {
        let text = |key| {
            let value = sets.get(set::NATIVE_CODE, key)?;
            value.as_str().map(str::to_owned)
        };
        Some(Self {
            platform: text(PLATFORM)?,
            device: text(DEVICE)?,
            driver: text(DRIVER)?,
        })
    }

    /// Records the device in the properties of a module.
    pub(crate) fn write(&self, sets: &mut PropertySets<'_>) {
        for (key, text) in [
            (PLATFORM, &self.platform),
            (DEVICE, &self.device),
            (DRIVER, &self.driver),
        ] {
            sets.insert(set::NATIVE_CODE, key, Value::from(text.as_str()));
        }
    }
}

impl fmt::Display for MadeFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            platform,
            device,
            driver,
        } = self;
        write!(f, "{device} ({platform}, driver {driver})")
    }
}
