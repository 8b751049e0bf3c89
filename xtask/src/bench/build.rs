// SPDX-License-Identifier: MIT OR Apache-2.0
//! The section `build`: Cargo builds a package of kernels, as in a user's project, once for each way to include SYCL.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

use super::figures::{NANOSECONDS, Section};
use crate::steps::{Result, cargo, target_folder};

/// The number of kernels. Each kernel has its own source file.
const KERNELS: usize = 10;
/// How often a build with nothing to do is measured. The fastest run counts.
const TURNS: usize = 21;
/// The variable that names another compiler.
const COMPILER: &str = "SYCLBIN_CLANG";

/// A way to include SYCL.
pub(super) struct Way {
    title: &'static str,
    include: &'static str,
}

pub(super) const WAYS: [Way; 2] = [
    Way {
        title: "sycl.hpp",
        include: "#include <sycl/sycl.hpp>\n#define KERNEL extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))\n",
    },
    Way {
        title: "kernel.hpp",
        include: "#include <syclbin/kernel.hpp>\n#define KERNEL SYCLBIN_KERNEL(1)\n",
    },
];

/// The measurements of each way, in order.
const ROWS: [&str; 6] = [
    "from scratch",
    "warm: all removed except the cache",
    "one kernel changed",
    "a header changed",
    "a comment in it changed",
    "nothing changed",
];

pub(super) fn measure(short: bool) -> Result<Section> {
    const TABLE: &str = "elapsed time";
    let mut section = Section {
        device: compiler()?,
        ..Section::default()
    };
    let package = Package::new(if short { 2 } else { KERNELS })?;
    package.prepare()?;
    let mut columns = Vec::new();
    for (number, way) in WAYS.iter().enumerate() {
        eprintln!("== {}", way.title);
        columns.push(column(&package, way, number + 1)?);
    }
    let whole = columns[0][0];
    for (row, title) in ROWS.iter().enumerate() {
        for (way, column) in WAYS.iter().zip(&columns) {
            section.compare([TABLE, title, way.title], column[row], whole, NANOSECONDS);
        }
    }
    eprintln!("== one after another");
    package.start(&WAYS[0], 9)?;
    let alone = package.time("kernels", Some(1))?;
    let cell = [TABLE, "from scratch, one job", WAYS[0].title];
    section.compare(cell, alone, whole, NANOSECONDS);
    section.goal(
        "kernel.hpp over sycl.hpp, from scratch",
        columns[1][0] / whole,
        0.2,
    );
    section.goal("all cores over one job", whole / alone, 0.59);
    idle(&package, if short { 2 } else { TURNS }, &mut section)?;
    Ok(section)
}

/// Returns the version of the installed compiler.
fn compiler() -> Result<String> {
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref());
    let home = home.map_err(|error| error.to_string())?;
    let compiler = home.newest(Component::Compiler);
    let compiler = compiler.ok_or("component compiler is not installed")?;
    super::output(Command::new(compiler.entry()).arg("--version"))
}

/// Measures all rows for one way. `number` makes the sources new to every cache.
fn column(package: &Package, way: &Way, number: usize) -> Result<Vec<f64>> {
    let build = || package.time("kernels", None);
    let mut times = Vec::new();
    package.start(way, number)?;
    times.push(build()?);

    package.forget()?;
    times.push(build()?);

    package.write("kernels/k0.cpp", &kernel(way, 0, "x[i] += 4711;"))?;
    times.push(build()?);

    let header = |value: usize, comment: &str| {
        let text = format!("// {comment}\ninline int shared() {{ return {value}; }}\n");
        package.write("kernels/shared.hpp", &text)
    };
    header(number + 100, "before")?;
    times.push(build()?);

    header(number + 100, "and after")?;
    times.push(build()?);

    times.push(build()?);
    Ok(times)
}

/// Measures how much a build script and its kernels add to a `cargo build` with nothing to do.
fn idle(package: &Package, turns: usize, section: &mut Section) -> Result<()> {
    const ROWS: [(&str, &str); 3] = [
        ("kernels", "with kernels"),
        (
            "script",
            "with a build script of the same dependencies that does nothing",
        ),
        ("plain", "without a build script"),
    ];
    eprintln!("== a build with nothing to do");
    package.time("script", None)?;
    let mut times = [const { Vec::new() }; 3];
    // Alternate between the packages, so that load on the machine affects all of them.
    for _ in 0..turns {
        for ((name, _), times) in ROWS.iter().zip(&mut times) {
            times.push(package.time(name, None)?);
        }
    }
    let times = times.map(fastest);
    for ((_, row), time) in ROWS.iter().zip(times) {
        let cell = ["`cargo build` with nothing to do", row, "time"];
        section.compare(cell, time, times[2], NANOSECONDS);
    }
    let added = (times[0] - times[1]) / 1e6;
    section.goal(
        "what kernels add to a build with nothing to do, ms",
        added,
        5.0,
    );
    Ok(())
}

/// Returns the fastest run, because other load only adds time.
pub(super) fn fastest(times: Vec<f64>) -> f64 {
    times.into_iter().fold(f64::INFINITY, f64::min)
}

pub(super) fn kernel(way: &Way, index: usize, statement: &str) -> String {
    format!(
        "{include}#include \"shared.hpp\"\nKERNEL void k{index}(int *x, unsigned n) {{\n  \
         size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();\n  \
         if (i < n) {{ x[i] = {index} * x[i] + shared(); {statement} }}\n}}\n",
        include = way.include
    )
}

/// A workspace of packages. `kernels` builds kernels, `script` has a build script with the same dependencies that does
/// nothing, `plain` has no build script, and `includes` uses `include_syclbin!`.
pub(super) struct Package {
    root: PathBuf,
    /// Makes the sources new to every cache of this machine.
    nonce: u128,
    pub(super) kernels: usize,
}

impl Package {
    pub(super) fn new(kernels: usize) -> Result<Self> {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let package = Self {
            root: target_folder()?.join("bench-build"),
            nonce: time.map_or(0, |time| time.as_nanos()),
            kernels,
        };
        let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        package.write(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"kernels\", \"script\", \"plain\", \"includes\"]\n",
        )?;
        let lock = std::fs::read_to_string(format!("{repository}/Cargo.lock"));
        package.write(
            "Cargo.lock",
            &lock.map_err(|error| format!("Cargo.lock: {error}"))?,
        )?;
        package.write("plain/Cargo.toml", &manifest("plain"))?;
        package.write("plain/src/lib.rs", "")?;
        package.write("kernels/src/lib.rs", "")?;
        package.write("script/src/lib.rs", "")?;
        package.write("includes/src/lib.rs", "")?;
        let runtime = format!("\n[dependencies]\nsyclbin-rt.path = \"{repository}/syclbin-rt\"\n");
        package.write("includes/Cargo.toml", &(manifest("includes") + &runtime))?;
        package.write("script/build.rs", "fn main() {}\n")?;
        let text = format!("{}{}", manifest("script"), dependencies());
        package.write("script/Cargo.toml", &text)?;
        package.write(
            "kernels/build.rs",
            "fn main() { syclbin_build::Build::from_manifest().compile(); }\n",
        )?;
        Ok(package)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.root.join(name);
        let failed = |error| format!("{}: {error}", path.display());
        let parent = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent).map_err(failed)?;
        std::fs::write(&path, text).map_err(failed)
    }

    /// Builds the dependencies of build scripts.
    pub(super) fn prepare(&self) -> Result<()> {
        self.write_kernels(&WAYS[1], 0)?;
        self.write("kernels/shared.hpp", "inline int shared() { return 0; }\n")?;
        self.time("kernels", None).map(drop)
    }

    /// Writes kernels that were never compiled, and removes earlier build results.
    pub(super) fn start(&self, way: &Way, number: usize) -> Result<()> {
        self.write_kernels(way, number)?;
        let value = format!(
            "// {}\ninline int shared() {{ return {number}; }}\n",
            self.nonce
        );
        self.write("kernels/shared.hpp", &value)?;
        self.forget()
    }

    fn write_kernels(&self, way: &Way, number: usize) -> Result<()> {
        let sources: Vec<_> = (0..self.kernels)
            .map(|index| format!("k{index}.cpp"))
            .collect();
        let nonce = format!("x[i] ^= {}u;", (self.nonce + number as u128) % 0xffff_ffff);
        for (index, source) in sources.iter().enumerate() {
            self.write(&format!("kernels/{source}"), &kernel(way, index, &nonce))?;
        }
        let text = format!(
            "{}{}\n\
             [package.metadata.syclbin.kernels]\nsources = {sources:?}\n",
            manifest("kernels"),
            dependencies(),
        );
        self.write("kernels/Cargo.toml", &text)
    }

    /// Removes Cargo's build results of the package.
    fn forget(&self) -> Result<()> {
        let arguments = ["clean", "--quiet", "--package", "kernels"];
        let mut command = self.cargo();
        let status = command.args(arguments).stderr(Stdio::null()).status();
        let status = status.map_err(|error| format!("cargo clean: {error}"))?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("cargo clean ended with {status}"))
        }
    }

    pub(super) fn time(&self, package: &str, jobs: Option<u32>) -> Result<f64> {
        self.run("build", package, jobs)
    }

    /// Returns the nanoseconds that a command of Cargo takes for a package.
    pub(super) fn run(&self, name: &str, package: &str, jobs: Option<u32>) -> Result<f64> {
        let mut command = self.cargo();
        command.args([name, "--quiet", "--offline", "--package", package]);
        if let Some(jobs) = jobs {
            command.arg("--jobs").arg(jobs.to_string());
        }
        let start = Instant::now();
        let status = command.status();
        let time = start.elapsed().as_nanos() as f64;
        let status = status.map_err(|error| format!("cargo {name}: {error}"))?;
        if status.success() {
            Ok(time)
        } else {
            Err(format!("cargo {name} ended with {status}"))
        }
    }

    /// Builds the kernels, and returns the nanoseconds and the most bytes that all processes had at one time.
    pub(super) fn build_with_memory(&self) -> Result<(f64, f64)> {
        let mut command = self.cargo();
        command.args(["build", "--quiet", "--offline", "--package", "kernels"]);
        let start = Instant::now();
        // All processes of the build are in one group.
        let child = command.process_group(0).spawn();
        let mut child = child.map_err(|error| format!("cargo build: {error}"))?;
        let mut most = 0.0f64;
        loop {
            let ended = child.try_wait().map_err(|error| error.to_string())?;
            match ended {
                Some(status) if status.success() => break,
                Some(status) => return Err(format!("cargo build ended with {status}")),
                None => most = most.max(memory_of_group(child.id())),
            }
            // Looking more often would slow down the build.
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok((start.elapsed().as_nanos() as f64, most))
    }

    fn cargo(&self) -> Command {
        let mut command = cargo();
        command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            .env("SYCLBIN_CACHE", self.root.join("cache"))
            .env_remove(COMPILER);
        command
    }
}

/// Returns the bytes of memory that the processes of a group have now.
fn memory_of_group(group: u32) -> f64 {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pages = processes.filter_map(|process| {
        let text = std::fs::read_to_string(process.path().join("stat")).ok()?;
        // After the name: the state, the parent, the group, and 18 fields later the resident pages.
        let mut fields = text.rsplit_once(") ")?.1.split(' ').skip(2);
        let is_member = fields.next()? == group.to_string();
        let pages: f64 = fields.nth(18)?.parse().ok()?;
        is_member.then_some(pages)
    });
    pages.sum::<f64>() * 4096.0
}

fn dependencies() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../syclbin-build");
    format!("\n[build-dependencies]\nsyclbin-build.path = {path:?}\n")
}

fn manifest(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
}
