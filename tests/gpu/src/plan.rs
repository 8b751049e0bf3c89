// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Plan`]: what a pack holds and in which order it runs.
//!
//! `cargo xtask gpu pack` writes it to `pack.json`, and the runner reads it. Arguments and
//! environment variables may hold placeholders: `{pack}` stands for the directory of the pack, and `{work}`
//! for the directory that the steps run in. `{figures}` stands for the file that a benchmark writes.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Result, read_json};

/// The name of its file in the pack.
pub const FILE: &str = "pack.json";

/// The steps of a pack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The commit that the pack was built from; `-dirty` follows if files had changed.
    pub commit: String,
    /// The steps, in the order in which they run.
    pub steps: Vec<Step>,
}

/// One executable to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What the report calls it.
    pub name: String,
    /// How its outcome is decided.
    pub kind: Kind,
    /// The executable, from the directory of the pack.
    pub program: String,
    /// Its arguments; for [`Kind::Tests`] these choose the tests.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Further arguments on a simulated device and in a quick run: for less work.
    #[serde(default)]
    pub less: Vec<String>,
    /// Variables of its environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The time limit.
    pub seconds: u64,
    /// What it prints when it succeeds.
    #[serde(default)]
    pub expects: Option<String>,
    /// What it needs of the device, in the words of its error. The step is skipped if it fails for lack of that.
    #[serde(default)]
    pub needs: Option<String>,
    /// A tool that runs it, with the tool's arguments. The step is skipped where the tool is missing.
    #[serde(default)]
    pub under: Vec<String>,
    /// Whether it runs on GPUs of CUDA only, and not on simulated ones.
    #[serde(default)]
    pub cuda_only: bool,
}

/// How the outcome of a step is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It tells about the machine: any exit status is good. It runs without a device, too.
    Information,
    /// It is a test executable: its tests have outcomes of their own.
    Tests,
    /// It is a program that ends with 0.
    Program,
    /// The same; it leaves a JSON object in the file that `{figures}` stands for.
    Benchmark,
}

impl Plan {
    /// Reads the plan in the directory `pack`.
    ///
    /// # Errors
    ///
    /// When it is missing or not as expected.
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
