// SPDX-License-Identifier: MIT OR Apache-2.0
//! The section `scale`: what `syclbin-rt` measures, and how builds and the macro grow.

use std::collections::BTreeMap;
use std::path::Path;

use super::build::{Package, WAYS, fastest, kernel};
use super::figures::{BYTES, NANOSECONDS, Section};
use crate::files;
use crate::steps::{Result, cargo, step, target_folder};

/// How often a crate is built. The fastest run counts.
const TURNS: usize = 3;
/// Bytes of the embedded file.
const LARGE: usize = 100_000_000;

pub(super) fn measure(short: bool, full: bool) -> Result<Section> {
    let mut section = super::runtime("scale", short)?;
    let mut package = Package::new(1)?;
    package.prepare()?;
    let counts: &[usize] = match (short, full) {
        (true, _) => &[1, 3],
        (_, false) => &[1, 100],
        (_, true) => &[1, 100, 1000],
    };
    for (number, count) in counts.iter().enumerate() {
        package.kernels = *count;
        sources(&package, 100 + number, &mut section)?;
    }
    kernels(&package, &mut section)?;
    embedding(&package, &mut section)?;
    Ok(section)
}

/// Builds a package from scratch, and again after an edit.
fn sources(package: &Package, number: usize, section: &mut Section) -> Result<()> {
    const TABLE: &str = "builds, with `kernel.hpp`";
    let column = match package.kernels {
        1 => "1 source".to_owned(),
        1000 => "1,000 sources".to_owned(),
        count => format!("{count} sources"),
    };
    package.start(&WAYS[1], number)?;
    let (time, memory) = package.build_with_memory()?;
    section.add(TABLE, "from scratch", &column, time, NANOSECONDS);
    section.add(
        TABLE,
        "peak memory of all processes",
        &column,
        memory,
        BYTES,
    );
    let edit = format!("x[i] += {number};");
    package.write("kernels/k0.cpp", &kernel(&WAYS[1], 0, &edit))?;
    let time = package.time("kernels", None)?;
    section.add(TABLE, "one source changed", &column, time, NANOSECONDS);
    let time = package.time("kernels", None)?;
    section.add(TABLE, "nothing changed", &column, time, NANOSECONDS);
    Ok(())
}

/// Expands `include_syclbin!` for a file with 1,000 kernels, and checks a crate with it.
fn kernels(package: &Package, section: &mut Section) -> Result<()> {
    const TABLE: &str = "a file with 1,000 kernels";
    let target = target_folder()?;
    let (file, report) = (target.join("many.syclbin"), target.join("bench.json"));
    let mut command = cargo();
    command.args("bench --quiet --package syclbin-expand --bench expand -- --json".split(' '));
    command.arg(&report).arg("--file").arg(&file);
    step("expand", &mut command)?;
    let times: BTreeMap<String, f64> = super::json(&report)?;
    let time = |name: &str| times.get(name).copied().ok_or("no time in the report");
    let (expand, parse) = (time("expand")?, time("syn")?);
    let rows = [
        ("expanding `include_syclbin!`", expand),
        ("parsing the generated code with `syn`", parse),
    ];
    for (row, time) in rows {
        section.compare([TABLE, row, "time"], time, parse, NANOSECONDS);
    }
    let crates = [
        ("`cargo check` of a crate with it", includes(&file)),
        ("`cargo check` of an empty crate", String::new()),
    ];
    for (row, time) in crate_times(package, "check", crates)? {
        section.add(TABLE, row, "time", time, NANOSECONDS);
    }
    Ok(())
}

/// Embeds a large file in a crate by `include_syclbin!` and by `include_bytes!`.
fn embedding(package: &Package, section: &mut Section) -> Result<()> {
    let small = files::root().join("syclbin-rt/benches/kernels/arguments.syclbin");
    let bytes = std::fs::read(&small).map_err(|error| files::at(&small, &error))?;
    let mut file = syclbin::read::parse(&bytes).map_err(|error| files::at(&small, &error))?;
    let image = syclbin::Image::native("sm_90", "nvptx64-nvidia-cuda", vec![1; LARGE]);
    file.modules
        .iter_mut()
        .take(1)
        .for_each(|module| module.images.push(image.clone()));
    let bytes = syclbin::write::to_vec(&file, syclbin::Container::default());
    let large = target_folder()?.join("large.syclbin");
    std::fs::write(&large, bytes.map_err(|error| error.to_string())?)
        .map_err(|error| files::at(&large, &error))?;
    let plain = format!("pub static BYTES: &[u8] = include_bytes!({large:?});\n");
    let crates = [
        ("include_syclbin!", includes(&large)),
        ("include_bytes!", plain),
    ];
    let times = crate_times(package, "build", crates)?;
    for (row, time) in times {
        let cell = ["a crate with a file of 100 MB", row, "`cargo build`"];
        section.compare(cell, time, times[1].1, NANOSECONDS);
    }
    Ok(())
}

fn includes(file: &Path) -> String {
    format!("syclbin_rt::include_syclbin! {{ pub mod kernels = {file:?}; }}\n")
}

/// Has Cargo check or build the same crate with each of these contents in turn.
fn crate_times<'r>(
    package: &Package,
    command: &str,
    crates: [(&'r str, String); 2],
) -> Result<[(&'r str, f64); 2]> {
    let mut times = [const { Vec::new() }; 2];
    // The first turn builds the dependencies.
    for turn in 0..=TURNS {
        for ((_, text), times) in crates.iter().zip(&mut times) {
            package.write("includes/src/lib.rs", &format!("{text}// {turn}\n"))?;
            let time = package.run(command, "includes", None)?;
            if turn > 0 {
                times.push(time);
            }
        }
    }
    let [first, second] = times.map(fastest);
    Ok([(crates[0].0, first), (crates[1].0, second)])
}
