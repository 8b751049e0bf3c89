// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual functions: which sets of them a module defines and which it calls.

use alloc::string::String;
use alloc::vec::Vec;

use super::value::malformed::Malformed;
use super::value::property::{Property, put_list};
use crate::property::{PropertySets, Value, key, set};

/// Sets of virtual functions (set [`VIRTUAL_FUNCTIONS`](set::VIRTUAL_FUNCTIONS)). A loader links a
/// module that calls a set with those that define it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VirtualFunctions {
    /// The sets whose functions are defined here (`virtual-functions-set`).
    pub defines: SetNames,
    /// The sets whose functions are called here (`uses-virtual-functions-set`).
    pub uses: SetNames,
}

/// Names of sets of virtual functions. In files they are one text with a comma between names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetNames(pub Vec<String>);

impl Property for SetNames {
    const EXPECTED: &'static str = "UTF-8 text, names with a comma between";

    fn from_value(value: &Value) -> Option<Self> {
        let text = String::from_value(value)?;
        let names = text.split(',').map(String::from);
        Some(Self(if text.is_empty() {
            Vec::new()
        } else {
            names.collect()
        }))
    }

    fn to_value(&self) -> Value {
        Value::from(self.0.join(","))
    }
}

impl VirtualFunctions {
    /// Reads the set.
    ///
    /// # Errors
    ///
    /// When a value is malformed.
    pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
        let read = |key| sets.read(set::VIRTUAL_FUNCTIONS, key);
        Ok(Self {
            defines: read(key::VIRTUAL_FUNCTIONS_SET)?.unwrap_or_default(),
            uses: read(key::USES_VIRTUAL_FUNCTIONS_SET)?.unwrap_or_default(),
        })
    }

    /// Writes the set. Unknown keys are left alone.
    pub fn write(&self, sets: &mut PropertySets<'_>) {
        let name = set::VIRTUAL_FUNCTIONS;
        put_list(sets, name, key::VIRTUAL_FUNCTIONS_SET, &self.defines);
        put_list(sets, name, key::USES_VIRTUAL_FUNCTIONS_SET, &self.uses);
    }
}
