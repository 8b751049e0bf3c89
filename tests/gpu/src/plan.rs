// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Plan`]: the steps of a pack, in order.
//!
//! `cargo xtask gpu pack` writes it to `pack.json`, and the runner reads it. Arguments and environment variables may
//! contain placeholders: `{pack}` for the pack's directory, `{work}` for the working directory of the steps, and
//! `{figures}` for the file that a benchmark writes.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Result, read_json};

/// The name of the plan's file in a pack.
pub const FILE: &str = "pack.json";

/// The steps of a pack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The commit of the pack, with the suffix `-dirty` if files had changed.
    pub commit: String,
    /// The steps, in execution order.
    pub steps: Vec<Step>,
}

/// One executable to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The name in the report.
    pub name: String,
    /// The kind, which decides how to judge the outcome.
    pub kind: Kind,
    /// The executable, relative to the pack's directory.
    pub program: String,
    /// The arguments. For [`Kind::Tests`], they select the tests.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Additional arguments that reduce the work on a simulated device and in a quick run.
    #[serde(default)]
    pub less: Vec<String>,
    /// The environment variables.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The time limit in seconds.
    pub seconds: u64,
    /// The text that a successful run prints.
    #[serde(default)]
    pub expects: Option<String>,
    /// A capability of the device, as named in the program's error. The step is skipped if the device lacks it.
    #[serde(default)]
    pub needs: Option<String>,
    /// The tool that runs the program, with the tool's arguments. The step is skipped if the tool is missing.
    #[serde(default)]
    pub under: Vec<String>,
    /// Whether the step requires a real CUDA GPU.
    #[serde(default)]
    pub cuda_only: bool,
}

/// The kind of a step, which decides how to judge its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A description of the machine. It needs no device, and any exit status is good.
    Information,
    /// A test executable. Each of its tests has its own outcome.
    Tests,
    /// A program that must exit with 0.
    Program,
    /// A program that must exit with 0, and writes a JSON object to the file `{figures}`.
    Benchmark,
}

impl Plan {
    /// Reads the plan in the directory `pack`.
    ///
    /// # Errors
    ///
    /// Fails if the file is missing or malformed.
    pub fn read(pack: &Path) -> Result<Self> {
        read_json(&pack.join(FILE))
    }
}

impl Step {
    /// Creates a step without arguments.
    #[must_use]
    pub fn new(name: &str, kind: Kind, program: &str, seconds: u64) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            program: program.to_owned(),
            arguments: Vec::new(),
            less: Vec::new(),
            environment: BTreeMap::new(),
            seconds,
            expects: None,
            needs: None,
            under: Vec::new(),
            cuda_only: false,
        }
    }
}
