// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask bench build`: measures builds of kernels in one run, and prints a table.
//!
//! Cargo builds a package of kernels, ten by default, as in a user's project, once for each way to include SYCL.
//! Figures are wall times of the whole `cargo build`, so compare ratios, not seconds.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::steps::{Result, cargo, install_toolchain, target_folder};

/// The default number of kernels. Each kernel has its own source file.
const KERNELS: usize = 10;
/// How often a build with nothing to do is measured. The fastest run counts.
const TURNS: usize = 21;
/// The variable that names another compiler to measure.
const COMPILER: &str = "SYCLBIN_CLANG";

/// A way to include SYCL.
struct Way {
    title: &'static str,
    include: &'static str,
}

const WAYS: [Way; 2] = [
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
    "cold",
    "warm (all removed but the cache)",
    "one kernel changed",
    "a header changed",
    "a comment in it changed",
    "nothing changed",
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    const USAGE: &str = "usage: cargo xtask bench build [--kernels N]";
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let kernels = match words[..] {
        ["build"] => Some(KERNELS),
        ["build", "--kernels", number] => number.parse().ok().filter(|number| *number > 0),
        _ => None,
    };
    let kernels: usize = kernels.ok_or(USAGE)?;
    install_toolchain()?;
    let package = Package::new(kernels)?;
    eprintln!("== the package, without kernels yet");
    package.write_kernels(&WAYS[1], 0)?;
    package.write("kernels/shared.hpp", "inline int shared() { return 0; }\n")?;
    let mut text = String::new();
    let named = std::env::var(COMPILER).ok().filter(|name| !name.is_empty());
    for compiler in std::iter::once(None).chain(named.as_deref().map(Some)) {
        package.build(compiler, None)?;
        let title = compiler.unwrap_or("the compiler that a build finds");
        let _ = writeln!(text, "\n{title}, {} kernels\n", package.kernels);
        table(&package, compiler, &mut text)?;
    }
    let _ = writeln!(text, "\n{}", idle(&package)?);
    #[allow(clippy::print_stdout, reason = "this is the answer")]
    {
        print!("{text}");
    }
    Ok(())
}

/// Writes the table of one compiler, and compares it with the goals.
fn table(package: &Package, compiler: Option<&str>, text: &mut String) -> Result<()> {
    let mut columns = Vec::new();
    for (number, way) in WAYS.iter().enumerate() {
        eprintln!("== {}", way.title);
        columns.push(column(package, compiler, way, number + 1)?);
    }
    let _ = write!(text, "| |");
    WAYS.iter().for_each(|way| {
        let _ = write!(text, " {} |", way.title);
    });
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(WAYS.len()));
    let whole = columns[0][0];
    for (row, title) in ROWS.iter().enumerate() {
        let _ = write!(text, "| {title} |");
        for column in &columns {
            let _ = write!(
                text,
                " {:.2} s ({:.3}) |",
                seconds(column[row]),
                ratio(column[row], whole)
            );
        }
        let _ = writeln!(text);
    }
    eprintln!("== one after another");
    package.start(&WAYS[0], 9)?;
    let alone = package.build(compiler, Some(1))?;
    let _ = writeln!(
        text,
        "\nkernel.hpp is {:.1} times as fast as sycl.hpp (goal: 5)\n\
         all cores are {:.2} times as fast as one job, {:.2} s (goal on two cores: 1.7)",
        ratio(whole, columns[1][0]),
        ratio(alone, whole),
        seconds(alone),
    );
    Ok(())
}

/// Measures all rows for one way. `number` makes the sources new to every cache.
fn column(
    package: &Package,
    compiler: Option<&str>,
    way: &Way,
    number: usize,
) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    package.start(way, number)?;
    times.push(package.build(compiler, None)?);

    package.forget()?;
    times.push(package.build(compiler, None)?);

    package.write("kernels/k0.cpp", &kernel(way, 0, "x[i] += 4711;"))?;
    times.push(package.build(compiler, None)?);

    let header = |value: usize, comment: &str| {
        let text = format!("// {comment}\ninline int shared() {{ return {value}; }}\n");
        package.write("kernels/shared.hpp", &text)
    };
    header(number + 100, "before")?;
    times.push(package.build(compiler, None)?);

    header(number + 100, "and after")?;
    times.push(package.build(compiler, None)?);

    times.push(package.build(compiler, None)?);
    Ok(times)
}

/// Measures how much a build script and its kernels add to a `cargo build` with nothing to do.
fn idle(package: &Package) -> Result<String> {
    eprintln!("== a build with nothing to do");
    package.time("script", None, None)?;
    let mut times = [const { Vec::new() }; 3];
    // Alternate between the packages, so that load on the machine affects all of them.
    for _ in 0..TURNS {
        for (name, times) in ["kernels", "script", "plain"].into_iter().zip(&mut times) {
            times.push(package.time(name, None, None)?);
        }
    }
    let [kernels, script, plain] = times.map(|times| 1e3 * seconds(fastest(times)));
    Ok(format!(
        "`cargo build` with nothing to do: {kernels:.1} ms with kernels, {script:.1} ms with a build script \
         of the same dependencies that compiles none, {plain:.1} ms without a build script, so kernels \
         add {:.1} ms (goal: 5), and the dependencies {:.1} ms",
        kernels - script,
        script - plain,
    ))
}

/// Returns the fastest run, because other load only adds time.
fn fastest(times: Vec<Duration>) -> Duration {
    times.into_iter().min().unwrap_or_default()
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

fn ratio(time: Duration, other: Duration) -> f64 {
    seconds(time) / seconds(other)
}

fn kernel(way: &Way, index: usize, statement: &str) -> String {
    format!(
        "{include}#include \"shared.hpp\"\nKERNEL void k{index}(int *x, unsigned n) {{\n  \
         size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();\n  \
         if (i < n) {{ x[i] = {index} * x[i] + shared(); {statement} }}\n}}\n",
        include = way.include
    )
}

/// A workspace of three packages. `kernels` builds kernels, `script` has a build script with the same dependencies
/// that does nothing, and `plain` has no build script.
struct Package {
    root: PathBuf,
    /// Makes the sources new to every cache of this machine.
    nonce: u128,
    kernels: usize,
}

impl Package {
    fn new(kernels: usize) -> Result<Self> {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let package = Self {
            root: target_folder()?.join("bench-build"),
            nonce: time.map_or(0, |time| time.as_nanos()),
            kernels,
        };
        let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        package.write(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"kernels\", \"script\", \"plain\"]\n",
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
        package.write("script/build.rs", "fn main() {}\n")?;
        let text = format!("{}{}", manifest("script"), dependencies());
        package.write("script/Cargo.toml", &text)?;
        package.write(
            "kernels/build.rs",
            "fn main() { syclbin_build::Build::from_manifest().compile(); }\n",
        )?;
        Ok(package)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.root.join(name);
        let failed = |error| format!("{}: {error}", path.display());
        let parent = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent).map_err(failed)?;
        std::fs::write(&path, text).map_err(failed)
    }

    /// Writes kernels that were never compiled, and removes earlier build results.
    fn start(&self, way: &Way, number: usize) -> Result<()> {
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

    fn build(&self, compiler: Option<&str>, jobs: Option<u32>) -> Result<Duration> {
        self.time("kernels", compiler, jobs)
    }

    fn time(&self, package: &str, compiler: Option<&str>, jobs: Option<u32>) -> Result<Duration> {
        let mut command = self.cargo();
        command.args(["build", "--quiet", "--offline", "--package", package]);
        if let Some(compiler) = compiler {
            command.env(COMPILER, compiler);
        }
        if let Some(jobs) = jobs {
            command.arg("--jobs").arg(jobs.to_string());
        }
        let start = Instant::now();
        let status = command.status();
        let time = start.elapsed();
        let status = status.map_err(|error| format!("cargo build: {error}"))?;
        if status.success() {
            Ok(time)
        } else {
            Err(format!("cargo build ended with {status}"))
        }
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

fn dependencies() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../syclbin-build");
    format!("\n[build-dependencies]\nsyclbin-build.path = {path:?}\n")
}

fn manifest(name: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
}
