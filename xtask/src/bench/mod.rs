// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask bench`: runs all benchmarks, or the named sections, and writes BENCHMARKS.md and its charts.
//!
//! A section that is measured again replaces its figures, and keeps those of the others. `--short` shows within minutes
//! that everything works, with figures that mean nothing. `--full` adds a build of 1,000 sources. `--render` measures
//! nothing, and writes the page from the recorded figures.

mod build;
mod charts;
mod figures;
mod page;
mod scale;

use std::path::Path;
use std::process::Command;

use figures::Section;

use crate::files;
use crate::steps::{Result, cargo, install_toolchain, step, target_folder, timed};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    const OPTIONS: [&str; 3] = ["--short", "--full", "--render"];
    let words = || arguments.iter().map(String::as_str);
    let names = page::names();
    if let Some(word) = words().find(|word| !names.contains(word) && !OPTIONS.contains(word)) {
        let names = names.join(", ");
        return Err(format!(
            "`{word}`: expected --short, --full, --render or sections: {names}"
        ));
    }
    let [short, full, render] = OPTIONS.map(|option| words().any(|word| word == option));
    let all = !render && !words().any(|word| names.contains(&word));
    if !render {
        install_toolchain()?;
    }
    let date = output(Command::new("date").args(["-u", "+%F"]))?;
    let describe = ["describe", "--always", "--dirty", "--exclude=*"];
    let commit = output(
        Command::new("git")
            .args(describe)
            .current_dir(files::root()),
    )?;
    let mut sections = figures::read()?;
    let mut failures = Vec::new();
    for name in names {
        if !all && !words().any(|word| word == name) {
            continue;
        }
        let measured = timed(name, || match name {
            "scale" => scale::measure(short, full),
            "build" => build::measure(short),
            part => runtime(part, short),
        });
        match measured {
            Ok(section) => {
                let section = Section {
                    date: date.clone(),
                    commit: commit.clone(),
                    machine: machine()?,
                    short,
                    ..section
                };
                sections.insert(name.to_owned(), section);
                figures::write(&sections)?;
            }
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
    let (page, charts) = page::render(&sections);
    files::write(&files::root().join("BENCHMARKS.md"), &page)?;
    for (name, svg) in charts {
        files::write(&figures::directory().join(name), &svg)?;
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("\n"))
    }
}

/// Runs a part of `syclbin-rt`'s benchmark.
fn runtime(part: &str, short: bool) -> Result<Section> {
    let file = target_folder()?.join("bench.json");
    let mut command = cargo();
    command.args("bench --quiet --package syclbin-rt --bench runtime -- --json".split(' '));
    command.arg(&file).arg(part);
    step(part, command.args(short.then_some("--short")))?;
    json(&file)
}

fn json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    serde_json::from_str(&files::read(path)?).map_err(|error| files::at(path, &error))
}

/// Returns the processor, its cores and the operating system.
fn machine() -> Result<String> {
    let value = |path: &str, key: &str| -> Result<String> {
        let text = files::read(Path::new(path))?;
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        let value = line.map(|line| line.trim_matches(['\t', ' ', ':', '"']).to_owned());
        value.ok_or_else(|| format!("{path} has no {key}"))
    };
    let cores = std::thread::available_parallelism().map_err(|error| error.to_string())?;
    let processor = value("/proc/cpuinfo", "model name")?;
    let system = value("/etc/os-release", "PRETTY_NAME=")?;
    Ok(format!("{processor}, {cores} cores, {system}"))
}

/// Returns the first line that a program prints.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().filter(|_| output.status.success());
    let failed = || format!("`{}` failed", crate::steps::line(command));
    line.map(str::to_owned).ok_or_else(failed)
}
