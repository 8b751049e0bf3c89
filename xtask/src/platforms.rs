// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask platforms`: checks the published crates for other targets. Runs tests, examples, build scripts and
//! `cargo syclbin` for Windows under Wine with Intel's CPU driver, and examples for aarch64 Linux under QEMU with PoCL.
//!
//! The kernels of tests and examples are compiled on this system. The drivers are installed in `target/platforms`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use cargo_metadata::Message;
use cargo_syclbin::toolchain::pins;
use cargo_syclbin::toolchain::pip::Search;
use syclbin_toolchain::Component;
use syclbin_toolchain::file::find_program;

use crate::drivers::emulated;
use crate::examples::{EXAMPLES, Example};
use crate::files::{at, root, write};
use crate::steps::{
    Result, cargo, has_target, install_toolchain, step, target_folder, timed, workspace,
};

const WINDOWS: &str = "x86_64-pc-windows-gnu";
const ARM: &str = "aarch64-unknown-linux-gnu";
const TARGETS: [&str; 5] = [
    WINDOWS,
    "x86_64-pc-windows-msvc",
    ARM,
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
];

const NEEDED_BY_WINE: [(&str, &str); 2] = [
    ("wine", "wine"),
    ("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64"),
];

/// The crates whose tests run under Wine.
const TESTED: [&str; 5] = [
    "data-model",
    "syclbin",
    "syclbin-expand",
    "syclbin-rt",
    "syclbin-toolchain",
];
const WINDOWS_EXAMPLES: [&str; 5] = ["saxpy", "blur", "histogram", "matmul", "nbody"];
const ARM_EXAMPLES: [&str; 2] = ["saxpy", "histogram"];

/// The C source of a function that Rust's standard library imports, and that Wine 8 lacks.
const RANDOM: &str = "#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return SystemFunction036(data, (ULONG)size); }
";

/// A row of the printed table.
struct Row {
    target: &'static str,
    what: String,
    passed: usize,
    failed: Vec<String>,
    /// The reasons for which something was skipped, each with its count.
    skipped: BTreeMap<String, usize>,
}

impl Row {
    fn new(target: &'static str, what: &str) -> Self {
        Self {
            target,
            what: what.to_owned(),
            passed: 0,
            failed: Vec::new(),
            skipped: BTreeMap::new(),
        }
    }

    fn skipped(target: &'static str, what: &str, reason: String) -> Self {
        let skipped = BTreeMap::from([(reason, 1)]);
        Self {
            skipped,
            ..Self::new(target, what)
        }
    }

    fn count(&mut self, name: &str, outcome: std::result::Result<(), String>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(problem) => self.failed.push(format!("{name}: {problem}")),
        }
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let part = match arguments {
        [] => None,
        [part] if ["windows", "aarch64", "check"].contains(&part.as_str()) => Some(part.as_str()),
        _ => return Err("usage: cargo xtask platforms [windows|aarch64|check]".to_owned()),
    };
    let is_wanted = |name: &str| part.is_none_or(|part| part == name);
    install_toolchain()?;
    let directory = target_folder()?.join("platforms");
    fs::create_dir_all(&directory).map_err(|error| at(&directory, &error))?;
    let mut rows = Vec::new();
    if is_wanted("windows") {
        rows.extend(timed("Windows", || windows(&directory))?);
    }
    if is_wanted("aarch64") {
        rows.extend(timed("aarch64", || arm(&directory))?);
    }
    for target in TARGETS {
        if is_wanted("check") {
            rows.push(check(target)?);
        }
    }
    eprintln!(
        "\n{:<26}{:<24}{:>7}{:>8}{:>9}",
        "target", "what", "passed", "failed", "skipped"
    );
    for row in &rows {
        let (failed, skipped) = (row.failed.len(), row.skipped.values().sum::<usize>());
        eprintln!(
            "{:<26}{:<24}{:>7}{failed:>8}{skipped:>9}",
            row.target, row.what, row.passed
        );
    }
    for row in &rows {
        for (reason, count) in &row.skipped {
            eprintln!("skipped {count} of {}, {}: {reason}", row.target, row.what);
        }
    }
    let failed: Vec<&str> = rows
        .iter()
        .flat_map(|row| &row.failed)
        .map(String::as_str)
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(failed.join("\n"))
    }
}

/// Type-checks the published crates and their tests.
fn check(target: &'static str) -> Result<Row> {
    let mut row = Row::new(target, "cargo check --tests");
    if !has_target(target)? {
        return Ok(Row::skipped(
            target,
            &row.what,
            format!("`rustup target add {target}` installs the target"),
        ));
    }
    let published = workspace()?
        .packages
        .iter()
        .filter(|package| package.publish.is_none());
    let packages: Vec<String> = published
        .map(|package| format!("--package={}", package.name))
        .collect();
    let mut command = cargo();
    command
        .args(["check", "--quiet", "--tests", "--target", target])
        .args(&packages);
    match step(target, &mut command) {
        Ok(()) => row.passed = packages.len(),
        Err(failed) => row.failed.push(failed),
    }
    Ok(row)
}

/// Returns a message with the missing programs and how to install them, or `None` if nothing is missing.
fn lacking(target: &str, programs: &[(&str, &str)]) -> Result<Option<String>> {
    let path = std::env::var_os("PATH");
    let is_missing = |name: &str| find_program(name, path.as_deref()).is_none();
    let missing = programs.iter().filter(|(name, _)| is_missing(name));
    let mut missing: Vec<String> = missing
        .map(|(name, package)| format!("{name} (Debian's package {package})"))
        .collect();
    if !has_target(target)? {
        missing.push(format!("the target (`rustup target add {target}`)"));
    }
    Ok((!missing.is_empty()).then(|| format!("not installed: {}", missing.join(", "))))
}

/// Runs a Cargo command, and returns the path and the package directory of each program that it built.
fn build(command: &mut Command) -> Result<Vec<(PathBuf, PathBuf)>> {
    command
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit());
    let output = command
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "`{}` ended with {}",
            crate::steps::line(command),
            output.status
        ));
    }
    let messages = Message::parse_stream(output.stdout.as_slice());
    let programs = messages.filter_map(|message| match message {
        Ok(Message::CompilerArtifact(artifact)) => {
            let directory = artifact.manifest_path.parent()?.to_owned();
            Some((artifact.executable?.into(), directory.into()))
        }
        _ => None,
    });
    Ok(programs.collect())
}

fn windows(directory: &Path) -> Result<Vec<Row>> {
    if let Some(reason) = lacking(WINDOWS, &NEEDED_BY_WINE)? {
        return Ok(vec![Row::skipped(WINDOWS, "tests and examples", reason)]);
    }
    let cargo = |arguments: &[&str]| {
        let mut command = cargo();
        command
            .args(arguments)
            .args(["--target", WINDOWS, "--package=cargo-syclbin"]);
        command.args(
            TESTED
                .iter()
                .chain(&WINDOWS_EXAMPLES)
                .map(|name| format!("--package={name}")),
        );
        // mingw's `fmaf` rounds twice.
        command.env(
            "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS",
            "-Ctarget-feature=+fma",
        );
        command
    };
    let programs = build(&mut cargo(&["build", "--bins"]))?;
    let tests = build(&mut cargo(&[
        "test",
        "--no-run",
        "--lib",
        "--test=it",
        "--test=native",
    ]))?;
    let (prefix, home) = (directory.join("wine"), directory.join("Windows home"));
    let wine = |program: &Path| {
        let mut command = Command::new("timeout");
        command
            .args(["600", "wine"])
            .arg(program)
            .current_dir(root());
        command
            .env("WINEPREFIX", &prefix)
            .env("WINEDEBUG", "-all")
            .env("SYCLBIN_HOME", windows_path(&home));
        command
            .env_remove("OPENCL_DYLIB_PATH")
            .env("SYCLBIN_REQUIRE_DEVICE", "1");
        command
    };
    let system = prefix.join("drive_c/windows/system32");
    if !system.is_dir() {
        step("a prefix for Wine", wine(Path::new("wineboot")).arg("-i"))?;
    }
    let library = system.join("bcryptprimitives.dll");
    if !library.exists() {
        let source = directory.join("random.c");
        write(&source, RANDOM)?;
        let mut gcc = Command::new(NEEDED_BY_WINE[1].0);
        step(
            "bcryptprimitives.dll",
            gcc.args(["-shared", "-o"])
                .arg(&library)
                .arg(&source)
                .arg("-ladvapi32"),
        )?;
    }
    let find = |name: &str| {
        let file = format!("{name}.exe");
        let found = programs.iter().find(|(path, _)| path.ends_with(&file));
        found
            .map(|(path, _)| wine(path))
            .ok_or_else(|| format!("cargo built no {file}"))
    };
    let mut rows = vec![commands(directory, &home, || find("cargo-syclbin"))?];
    let out = directory.join("out of build scripts");
    fs::create_dir_all(&out).map_err(|error| at(&out, &error))?;
    let mut compiled = Row::new(WINDOWS, "build scripts");
    for (package, name) in [
        ("examples/saxpy", "saxpy"),
        ("examples/rotate", "rotate"), // includes <sycl/sycl.hpp>
        ("tests/data-model", "data_model"),
    ] {
        let package = root().join(package);
        let mut script = find("build-script")?;
        script.arg(name).current_dir(&package);
        script.env("CARGO_MANIFEST_DIR", windows_path(&package));
        script.env("OUT_DIR", windows_path(&out));
        script.env("SYCLBIN_CACHE", "off");
        let (script, mut doctor) = (script.output(), find("cargo-syclbin")?);
        let script = script.map_err(|error| format!("wine: {error}"))?;
        let file = out.join(format!("syclbin/{name}.syclbin"));
        let doctor = doctor.arg("doctor").arg(windows_path(&file)).output();
        let doctor = doctor.map_err(|error| format!("wine: {error}"))?;
        let outcome = says(&doctor, "good, 1 of 1 kernels can be used");
        let printed = String::from_utf8_lossy(&script.stderr);
        compiled.count(
            name,
            outcome.map_err(|problem| format!("{problem}\n{printed}")),
        );
        if name == "data_model" {
            for (program, _) in tests.iter().filter(|(_, tested)| *tested == package) {
                let variable = ("DATA_MODEL_FILE", windows_path(&file));
                tested(&mut compiled, wine(program).envs([variable]))?;
            }
        }
    }
    rows.push(compiled);
    let mut examples = Row::new(WINDOWS, "examples");
    for example in EXAMPLES
        .iter()
        .filter(|example| WINDOWS_EXAMPLES.contains(&example.name))
    {
        let mut command = find(example.name)?;
        if example.name == "blur" {
            let pictures = [
                root().join("examples/blur/before.png"),
                directory.join("after.png"),
            ];
            command.args(pictures.map(|picture| windows_path(&picture)));
        }
        examples.count(example.name, printed(&mut command, example));
    }
    let mut without = find("saxpy")?;
    let output = without
        .env("SYCLBIN_HOME", windows_path(&directory.join("none")))
        .output();
    let output = output.map_err(|error| format!("wine: {error}"))?;
    let outcome = says(
        &output,
        "found no device that can run SYCLBIN kernels; run `cargo syclbin toolchain install`",
    );
    examples.count("saxpy without a driver", outcome);
    rows.push(examples);
    for name in TESTED {
        let mut row = Row::new(WINDOWS, &format!("tests of {name}"));
        for (program, package) in tests.iter().filter(|(_, package)| package.ends_with(name)) {
            tested(&mut row, wine(program).current_dir(package))?;
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Runs `cargo syclbin` under Wine. The first command installs the compiler and Intel's driver from wheels, which pip
/// downloads on this system.
fn commands(directory: &Path, home: &Path, program: impl Fn() -> Result<Command>) -> Result<Row> {
    let mut row = Row::new(WINDOWS, "cargo syclbin");
    let wheels = directory.join("wheels");
    let is_installed = |component: Component| home.join(component.name()).is_dir();
    if ![Component::Compiler, Component::CpuDevice]
        .into_iter()
        .all(is_installed)
    {
        let pins = pins::of("windows", "x86_64");
        let pins: Vec<_> = pins.iter().flat_map(|pin| &pin.wheels).collect();
        fs::create_dir_all(&wheels).map_err(|error| at(&wheels, &error))?;
        let pip = Search::from_env()
            .find()
            .map_err(|tried| format!("no pip to fetch wheels: {tried}"))?;
        pip.download(&pins, &wheels, &wheels)
            .map_err(|error| error.to_string())?;
    }
    let file = windows_path(&root().join("tests/files/vector_ops.object.syclbin"));
    let (wheels, out) = (
        windows_path(&wheels),
        windows_path(&directory.join("extracted ü")),
    );
    for (arguments, expected) in [
        (
            &["toolchain", "install", "--wheels", &wheels][..],
            "installed: cpu-device",
        ),
        (
            &["toolchain", "install", "--component=nvidia"],
            "nvidia is not available for x86_64 windows",
        ),
        (&["doctor"], "kernels can be compiled and run here"),
        (&["inspect", &file], "state       object"),
        (&["verify", &file], "good"),
        (&["expand", &file], "pub fn saxpy"),
        (
            &["extract", &file, "--force", "-o", &out],
            "SPIR-V for spir64-unknown-unknown",
        ),
    ] {
        let output = program()?.args(arguments).output();
        let output = output.map_err(|error| format!("wine: {error}"))?;
        row.count(arguments[0], says(&output, expected));
    }
    Ok(row)
}

/// Runs a test binary, and counts passed, failed and skipped tests in its output.
fn tested(row: &mut Row, command: &mut Command) -> Result<()> {
    let output = command
        .env("RUST_BACKTRACE", "0")
        .output()
        .map_err(|error| format!("wine: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut skipped = BTreeSet::new();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let Some((test, reason)) = line
            .strip_prefix("skipped ")
            .and_then(|line| line.split_once(": "))
        else {
            continue;
        };
        if skipped.insert(test.to_owned()) {
            *row.skipped.entry(reason.to_owned()).or_default() += 1;
        }
    }
    for line in printed.lines() {
        let Some((name, outcome)) = line
            .strip_prefix("test ")
            .and_then(|line| line.split_once(" ... "))
        else {
            continue;
        };
        match outcome {
            "ok" if !skipped.contains(name) => row.passed += 1,
            "ok" => {}
            _ if outcome.starts_with("ignored") => {}
            _ => row.failed.push(format!("{WINDOWS}, {}: {name}", row.what)),
        }
    }
    if !output.status.success() && row.failed.is_empty() {
        row.failed.push(format!(
            "{WINDOWS}, {}: ended with {}",
            row.what, output.status
        ));
    }
    Ok(())
}

/// Runs an example, which compares the device's results with Rust's and prints the outcome.
fn printed(command: &mut Command, example: &Example) -> std::result::Result<(), String> {
    let output = command
        .args(example.small)
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        says(&output, example.expected)
    } else {
        Err(output.status.to_string())
    }
}

fn says(output: &Output, expected: &str) -> std::result::Result<(), String> {
    let printed = [&output.stdout[..], &output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    if printed.contains(expected) {
        Ok(())
    } else {
        Err(format!("`{expected}` is missing in: {printed}"))
    }
}

/// Returns the path under which a program in Wine sees a file of this system.
fn windows_path(path: &Path) -> String {
    format!("Z:{}", path.display()).replace('/', "\\")
}

fn arm(directory: &Path) -> Result<Vec<Row>> {
    let what = "examples";
    if let Some(reason) = lacking(ARM, &emulated::NEEDED)? {
        return Ok(vec![Row::skipped(ARM, what, reason)]);
    }
    let root = match emulated::root(directory)? {
        Ok(root) => root,
        Err(reason) => return Ok(vec![Row::skipped(ARM, what, reason)]),
    };
    let mut command = cargo();
    command.args(["build", "--bins", "--target", ARM]);
    command.args(ARM_EXAMPLES.map(|name| format!("--package={name}")));
    command.env(
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
        "aarch64-linux-gnu-gcc",
    );
    let programs = build(&mut command)?;
    let mut row = Row::new(ARM, what);
    for example in EXAMPLES
        .iter()
        .filter(|example| ARM_EXAMPLES.contains(&example.name))
    {
        let program = programs
            .iter()
            .find(|(path, _)| path.ends_with(example.name));
        let (program, _) = program.ok_or_else(|| format!("cargo built no {}", example.name))?;
        row.count(
            example.name,
            printed(&mut emulated::command(&root, program), example),
        );
    }
    Ok(vec![row])
}
