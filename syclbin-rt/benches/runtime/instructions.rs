// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions per launch, counted by `callgrind` over a driver that does nothing.
//!
//! So they are those of the caller alone, and the same in every run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::contestant::{ALL, Arguments, RAW, STUB};
use crate::figures::Rounds;
use crate::process::CONTESTANT;
use crate::report::Report;
use crate::world::{World, at};

/// Two runs of one contestant differ by so many launches.
const FEW: u32 = 100;
const MANY: u32 = 1100;

pub(crate) fn bench(world: &World, report: &mut Report) {
    report.table("instructions per launch");
    if let Err(reason) = count(world, report) {
        report.leave_out(reason);
    }
}

fn count(world: &World, report: &mut Report) -> Result<(), String> {
    let library = library(&world.folder)?;
    for arguments in Arguments::ALL {
        if world.short && arguments.count() > 4 {
            continue;
        }
        let column = format!("{} arguments", arguments.count());
        let mut raw = f64::NAN;
        for entry in &ALL {
            let few = instructions(world, &library, entry.name, arguments, FEW)?;
            let many = instructions(world, &library, entry.name, arguments, MANY)?;
            let each = ((many - few) / i64::from(MANY - FEW)) as f64;
            if entry.name == RAW {
                raw = each;
            }
            let ratio = each / raw;
            report.add(entry.name, &column, "", &Rounds::once(each), Some(ratio));
            if entry.name == STUB {
                report.goal(&format!("{STUB} over {RAW}, {column}"), ratio, 1.5);
            }
        }
    }
    Ok(())
}

/// What callgrind collects while a contestant launches `count` times.
fn instructions(
    world: &World,
    library: &Path,
    name: &str,
    arguments: Arguments,
    count: u32,
) -> Result<i64, String> {
    let contestant = world.child(&[CONTESTANT, name])?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*measured_launches*"])
        .arg("--callgrind-out-file=/dev/null")
        .arg(contestant.get_program())
        .args(contestant.get_args())
        .args([arguments.count().to_string(), count.to_string()])
        .envs(world.environment())
        .env("OPENCL_DYLIB_PATH", library)
        .env("SYCLBIN_DEVICE", "nothing")
        // A program of this driver is nothing to keep.
        .env("SYCLBIN_CACHE", "off")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("valgrind: {error}; install it"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let printed = String::from_utf8_lossy(&output.stdout);
        let last = said.trim().lines().last().unwrap_or_default();
        return Err(format!(
            "{name} under valgrind ended with {}: {} {last}",
            output.status,
            printed.trim()
        ));
    }
    let collected = said
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    collected
        .and_then(|(_, number)| number.trim().parse().ok())
        .ok_or_else(|| {
            format!(
                "valgrind says nothing of what it collected: {}",
                said.trim()
            )
        })
}

/// The driver that does nothing, compiled.
fn library(folder: &Path) -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/runtime/nothing.c");
    let library = folder.join("libnothing.so");
    let output = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .args([&library, &source])
        .output()
        .map_err(|error| format!("cc: {error}; install a C compiler"))?;
    match output.status.success() {
        true => Ok(library),
        false => Err(at(&source, &String::from_utf8_lossy(&output.stderr).trim())),
    }
}
