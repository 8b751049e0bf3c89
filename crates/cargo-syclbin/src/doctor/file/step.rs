// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps: what the child process reports while it loads a file, one line of JSON each.
//!
//! The child reports each step before it calls the driver. So the last step names what a driver crashed on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::report::{Answers, DeviceReport, ImageReport};

/// A step of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// The device was found.
    Device(DeviceReport),
    /// The driver is about to build the code of this module.
    Building(usize),
    /// The driver built one of these images.
    Built(Vec<ImageReport>),
    /// The driver is about to make the kernel with this symbol.
    Making(String),
    /// The driver made the kernel.
    Made(Answers),
    /// The module or kernel of the last step cannot be used, for this reason.
    Refused(String),
    /// The trial failed before the first module, for this reason.
    Failed(String),
    /// Everything was tried.
    Done,
}

impl Step {
    /// Formats the step as a line.
    #[must_use]
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses a line. Drivers may write other lines to standard output.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

/// A kernel of a module, both counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The module.
    pub module: usize,
    /// The kernel, in the order of its module.
    pub kernel: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.module, self.kernel)
    }
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |number: &str| number.parse().map_err(|_| format!("{text:?} is not M:K"));
        let (module, kernel) = text.split_once(':').unwrap_or((text, ""));
        Ok(Self {
            module: parse(module)?,
            kernel: parse(kernel)?,
        })
    }
}
