// SPDX-License-Identifier: MIT OR Apache-2.0
//! A pack of scripts, and its report, which is held against the published schema.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gpu_report::plan::{FILE, Kind, Plan, Step};
use gpu_report::report::{Report, StepReport, TestReport};
use gpu_report::run::{Options, run};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../schema/report.schema.json");

/// What a made-up device says of itself.
const DEVICE: &str = r#"{"name": "Made-up GPU", "simulated": false, "selector": "cuda:gpu:0",
"reason": "it is the best", "kind": "gpu", "backend": "cuda", "platform": "made up", "driver": "1.2",
"kernel_module": null, "library": "libnone.so", "architecture": "sm_90", "compute_units": 3,
"memory_bytes": 1024}"#;

pub(crate) struct Pack {
    directory: tempfile::TempDir,
    plan: Plan,
    limit: Duration,
    only: Vec<String>,
    set: Vec<(String, String)>,
    repeat_crashes: bool,
}

/// A report with the page for people.
pub(crate) struct Outcome {
    pub(crate) report: Report,
    pub(crate) page: String,
}

impl Pack {
    /// A pack on a made-up GPU.
    pub(crate) fn new() -> Self {
        let pack = Self {
            directory: tempfile::tempdir().unwrap(),
            plan: Plan {
                commit: "0123456".to_owned(),
                steps: Vec::new(),
            },
            limit: Duration::from_secs(120),
            only: Vec::new(),
            set: Vec::new(),
            repeat_crashes: false,
        };
        pack.describer(&format!("cat <<'END'\n{DEVICE}\nEND"))
    }

    /// The script that describes the device.
    pub(crate) fn describer(self, script: &str) -> Self {
        self.script("describer", script);
        self
    }

    /// Test executables that crash run again.
    pub(crate) fn repeat_crashes(mut self) -> Self {
        self.repeat_crashes = true;
        self
    }

    /// A time limit of the whole run.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Only steps whose name begins with this.
    pub(crate) fn only(mut self, name: &str) -> Self {
        self.only.push(name.to_owned());
        self
    }

    /// A variable for all steps.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.set.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a step that is a script and may take five seconds.
    pub(crate) fn step(self, name: &str, kind: Kind, script: &str) -> Self {
        self.step_with(name, kind, script, |_| ())
    }

    /// The same, changed by `change`.
    pub(crate) fn step_with(
        mut self,
        name: &str,
        kind: Kind,
        script: &str,
        change: impl FnOnce(&mut Step),
    ) -> Self {
        self.script(name, script);
        let mut step = Step::new(name, kind, name, 5);
        change(&mut step);
        self.plan.steps.push(step);
        self
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.directory.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs all steps.
    pub(crate) fn run(&self) -> Outcome {
        let report = self.try_run().unwrap();
        let out = self.out();
        check(&out.join("report.json"), &report);
        let left: Vec<_> = fs::read_dir(&out).unwrap().flatten().collect();
        assert_eq!(left.len(), 2, "{left:?}");
        Outcome {
            report,
            page: fs::read_to_string(out.join("report.md")).unwrap(),
        }
    }

    fn out(&self) -> PathBuf {
        self.directory.path().join("out")
    }

    /// The same, or why nothing ran.
    pub(crate) fn try_run(&self) -> gpu_report::Result<Report> {
        let pack = self.directory.path();
        fs::write(pack.join(FILE), serde_json::to_vec(&self.plan).unwrap()).unwrap();
        run(&Options {
            pack: pack.to_owned(),
            out: self.out(),
            device: None,
            limit: self.limit,
            quick: false,
            repeat_crashes: self.repeat_crashes,
            only: self.only.clone(),
            set: self.set.clone(),
            describer: pack.join("describer"),
        })
    }
}

/// The file is the report, and follows the schema.
fn check(path: &Path, report: &Report) {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    let written: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator
        .iter_errors(&written)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(Report::read(path).unwrap(), *report);
}

impl Outcome {
    pub(crate) fn step(&self, name: &str) -> &StepReport {
        let mut steps = self.report.steps.iter();
        let step = steps.find(|step| step.name == name);
        step.unwrap_or_else(|| panic!("{name} is not in {:#?}", self.report.steps))
    }

    pub(crate) fn test(&self, step: &str, name: &str) -> &TestReport {
        let step = self.step(step);
        let test = step.tests.iter().find(|test| test.name == name);
        test.unwrap_or_else(|| panic!("{name} is not in {step:#?}"))
    }
}
