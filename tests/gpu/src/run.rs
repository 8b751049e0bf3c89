// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`run`]: runs all steps of a pack in order, and writes the report.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use crate::device::Device;
use crate::error::{Error, Result, write};
use crate::machine::Machine;
use crate::markdown;
use crate::plan::{Kind, Plan, Step};
use crate::process::{self, Limits};
use crate::program::{self, Context, of_end};
use crate::report::{Counts, Outcome, Report, SCHEMA_VERSION, StepReport};
use crate::suite;

const DEVICE: &str = "SYCLBIN_DEVICE";
const COMPONENTS: &str = "SYCLBIN_HOME";
/// The time limit for a driver to describe its devices.
const DESCRIBED: Duration = Duration::from_secs(60);
/// The directories that are searched for tools in addition to `PATH`.
const TOOLS: &str = "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin";
/// Drivers start programs, and find them only through `PATH`. PoCL starts a linker.
const PATH: &str = "PATH";

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory of the pack.
    pub pack: PathBuf,
    /// The directory for `report.json` and `report.md`.
    pub out: PathBuf,
    /// The value of `SYCLBIN_DEVICE`. By default, it comes from the environment, or else the best device is used.
    pub device: Option<String>,
    /// The time limit of the whole run.
    pub limit: Duration,
    /// Whether benchmarks do too little work for meaningful figures.
    pub quick: bool,
    /// Whether a test executable that crashes runs again. Some drivers crash rarely.
    pub repeat_crashes: bool,
    /// The prefixes of the steps to run. If there are none, all steps run.
    pub only: Vec<String>,
    /// Environment variables for every step.
    pub set: Vec<(String, String)>,
    /// The path of `gpu-report`, which prints the device when called with `device`.
    pub describer: PathBuf,
}

/// Runs the steps of a pack. `report.json` and `report.md` are written after each step.
///
/// # Errors
///
/// Fails if the pack cannot be read, if it lacks a step of [`Options::only`], or if the report cannot be written.
pub fn run(options: &Options) -> Result<Report> {
    let start = Instant::now();
    let plan = Plan::read(&options.pack)?;
    let names: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
    let mut only = options.only.iter();
    if let Some(prefix) = only.find(|prefix| !names.iter().any(|name| name.starts_with(*prefix))) {
        return Err(Error::NoStep {
            prefix: prefix.clone(),
            names: names.join(", "),
        });
    }
    let unwritable = |source| Error::Write {
        path: options.out.clone(),
        source,
    };
    std::fs::create_dir_all(&options.out).map_err(unwritable)?;
    let out = options.out.canonicalize().map_err(unwritable)?;
    let work = tempfile::Builder::new()
        .prefix("gpu-report-")
        .tempdir_in(&out);
    let work = work.map_err(unwritable)?;
    let mut context = Context {
        pack: options.pack.clone(),
        work: work.path().to_owned(),
        environment: environment(options, work.path())?,
        deadline: start + options.limit,
        less: options.quick,
        repeats_crashes: options.repeat_crashes,
    };
    let mut report = Report {
        schema_version: SCHEMA_VERSION,
        passed: true,
        complete: false,
        quick: options.quick,
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        commit: plan.commit,
        seconds: 0.0,
        machine: Machine::this(),
        device: None,
        tests: Counts::default(),
        steps: Vec::new(),
    };
    match describe(&context, &options.describer) {
        Ok(device) => {
            say(&format!("{device}, commit {}", report.commit));
            context.less |= device.simulated;
            report.quick = context.less;
            // The tests read the backend from the selector.
            context
                .environment
                .insert(DEVICE.to_owned(), (&device.selector).into());
            report.device = Some(device);
        }
        Err(step) => add(&mut report, *step),
    }
    let chosen = |step: &&Step| {
        let mut only = options.only.iter();
        options.only.is_empty() || only.any(|name| step.name.starts_with(name))
    };
    for step in plan.steps.iter().filter(chosen) {
        let outcome = one(&context, step, report.device.as_ref());
        add(&mut report, outcome);
        report.seconds = start.elapsed().as_secs_f64();
        save(&report, &out)?;
    }
    report.complete = true;
    report.seconds = start.elapsed().as_secs_f64();
    save(&report, &out)?;
    let verdict = if report.passed {
        "all passed"
    } else {
        "not all passed"
    };
    say(&format!("{verdict}: {}/report.md", out.display()));
    Ok(report)
}

fn one(context: &Context, step: &Step, device: Option<&Device>) -> StepReport {
    let without_run = |outcome, reason: &str| StepReport::without_run(step, outcome, reason.into());
    if device.is_none() && step.kind != Kind::Information {
        return without_run(Outcome::NotRun, "there is no device");
    }
    let is_gpu = device.is_some_and(|device| device.backend == "cuda" && !device.simulated);
    if step.cuda_only && !is_gpu {
        return without_run(Outcome::Skipped, "the device is not an NVIDIA GPU");
    }
    let mut tool = step.under.clone();
    if let Some(name) = tool.first_mut() {
        match find(name) {
            Some(path) => *name = path.to_string_lossy().into_owned(),
            None => return without_run(Outcome::Skipped, &format!("{name} is not installed")),
        }
    }
    if context.limit(1).is_zero() {
        return without_run(
            Outcome::NotRun,
            "no time was left; give more with --minutes",
        );
    }
    say(&format!("== {}", step.name));
    match step.kind {
        Kind::Tests => suite::run_step(context, step, &tool),
        Kind::Information | Kind::Program | Kind::Benchmark => {
            program::run_step(context, step, &tool)
        }
    }
}

/// Returns the device, or a step that explains its absence. A separate process queries it, because drivers may crash.
fn describe(context: &Context, program: &Path) -> std::result::Result<Device, Box<StepReport>> {
    let mut command = Command::new(program);
    command.arg("device").current_dir(&context.work);
    let ended = process::run(command.envs(&context.environment), Limits::total(DESCRIBED));
    if let Ok(device) = serde_json::from_str(&ended.stdout) {
        return Ok(device);
    }
    let step = Step::new("device", Kind::Information, "", 0);
    let mut report = StepReport::new(&step, ended.took);
    // Even an exit status of 0 is a failure if no device was printed.
    report.outcome = of_end(&ended.end);
    report.reason = Some(ended.end.to_string());
    report.output = Some(ended.tail());
    Err(Box::new(report))
}

/// Returns the variables to add to the environment of every process: the device, the test files, and a separate
/// directory for each kind of output.
fn environment(options: &Options, work: &Path) -> Result<BTreeMap<String, OsString>> {
    let mut environment = BTreeMap::new();
    for (name, directory) in [
        ("HOME", "home"),
        ("TMPDIR", "tmp"),
        ("SYCLBIN_CACHE", "programs"),
        ("CUDA_CACHE_PATH", "cuda"),
        ("POCL_CACHE_DIR", "pocl"),
    ] {
        let path = work.join(directory);
        std::fs::create_dir(&path).map_err(|source| Error::Write {
            path: path.clone(),
            source,
        })?;
        environment.insert(name.to_owned(), path.into());
    }
    if std::env::var_os(COMPONENTS).is_none_or(|home| home.is_empty()) {
        environment.insert(COMPONENTS.to_owned(), work.join("syclbin").into());
    }
    if std::env::var_os(PATH).is_none() {
        environment.insert(PATH.to_owned(), TOOLS.into());
    }
    if let Some(device) = &options.device {
        environment.insert(DEVICE.to_owned(), device.into());
    }
    environment.insert(
        "SYCLBIN_TESTFILES".to_owned(),
        options.pack.join("files").into(),
    );
    environment.insert("SYCLBIN_REQUIRE_DEVICE".to_owned(), "1".into());
    environment.insert("RUST_BACKTRACE".to_owned(), "0".into());
    let set = options.set.iter();
    environment.extend(set.map(|(name, value)| (name.clone(), value.into())));
    Ok(environment)
}

/// Finds a tool on `PATH` or in [`TOOLS`].
fn find(name: &str) -> Option<PathBuf> {
    let mut path = std::env::var_os(PATH).unwrap_or_default();
    path.push(":");
    path.push(TOOLS);
    let mut found = std::env::split_paths(&path).map(|directory| directory.join(name));
    found.find(|path| path.is_absolute() && path.is_file())
}

/// Adds a step to the report, and prints its outcome.
fn add(report: &mut Report, step: StepReport) {
    let mut line = format!("   {}: {}", step.name, step.outcome.word());
    if !step.tests.is_empty() {
        line = format!("{line}; tests: {}", Counts::of(&step.tests).words());
    }
    line = format!("{line} ({:.1} s)", step.seconds);
    if let Some(reason) = &step.reason {
        line = format!("{line}: {reason}");
    }
    say(&line);
    for test in step.tests.iter().filter(|test| !test.outcome.is_good()) {
        say(&format!("      {} {}", test.outcome.word(), test.name));
    }
    report.add(step);
}

fn save(report: &Report, out: &Path) -> Result<()> {
    let path = out.join("report.json");
    let mut json = serde_json::to_vec_pretty(report).map_err(|source| Error::Content {
        path: path.clone(),
        source,
    })?;
    json.push(b'\n');
    write(&path, json)?;
    write(&out.join("report.md"), markdown::page(report))
}

#[allow(clippy::print_stdout, reason = "somebody watches")]
fn say(line: &str) {
    println!("{line}");
}
