// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device globals and host pipes: what of a module lives on between launches.

use super::value::property::{Property, records};
use crate::property::Value;

/// A variable of the module that lives on between launches (set
/// [`DEVICE_GLOBALS`](crate::property::set::DEVICE_GLOBALS), by its unique identifier, the mangled
/// name).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceGlobal {
    /// How many bytes its value has.
    pub size: u32,
    /// Whether the value stands in the variable itself (property `device_image_scope`). Otherwise
    /// the variable begins with a pointer to memory that the loader allocates.
    pub image_scope: bool,
}

impl Property for DeviceGlobal {
    const EXPECTED: &'static str = "two 32-bit numbers, a size and 0 or 1";

    fn from_value(value: &Value) -> Option<Self> {
        let [size, scope] = records(value)? else {
            return None;
        };
        let image_scope = match u32::from_le_bytes(*scope) {
            0 => false,
            1 => true,
            _ => return None,
        };
        Some(Self {
            size: u32::from_le_bytes(*size),
            image_scope,
        })
    }

    fn to_value(&self) -> Value {
        alloc::vec![self.size, u32::from(self.image_scope)].to_value()
    }
}

/// A pipe between the host and the device (set
/// [`HOST_PIPES`](crate::property::set::HOST_PIPES), by its unique identifier). Only old compilers
/// write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostPipe {
    /// How many bytes a value has that goes through.
    pub size: u32,
}

impl Property for HostPipe {
    const EXPECTED: &'static str = u32::EXPECTED;

    fn from_value(value: &Value) -> Option<Self> {
        u32::from_value(value).map(|size| Self { size })
    }

    fn to_value(&self) -> Value {
        alloc::vec![self.size].to_value()
    }
}
