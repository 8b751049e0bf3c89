// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time from the start of a process to its first result, saxpy's: processes in turns.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::figures::Rounds;
use crate::first::FIRST;
use crate::process::Reference;
use crate::report::{NANOSECONDS, Report};
use crate::world::{World, at};

const ROUNDS: usize = 41;
/// What takes seconds takes part in every so many rounds only.
const SLOW: usize = 10;

/// What users of the reference runtime write.
const SOURCE: &str = "#include <sycl/sycl.hpp>
extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void saxpy(float a, const float *x, float *y, unsigned n) {
  size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  if (i < n) y[i] = a * x[i] + y[i];
}
";

/// A program that is started again and again.
struct Program {
    name: &'static str,
    what: &'static str,
    command: Box<dyn Fn() -> Result<Command, String>>,
    every: usize,
    rounds: Rounds,
    failed: Option<String>,
}

pub(crate) fn bench(
    world: &World,
    reference: Result<&Reference, &str>,
    report: &mut Report,
) -> Result<(), String> {
    if let Err(reason) = reference {
        report.leave_out(format!("the reference runtime: {reason}"));
    }
    let mut programs = programs(world, reference)?;
    for program in &programs {
        println!("{}: {}", program.name, program.what);
    }
    for round in 0..=world.rounds(ROUNDS) {
        for program in &mut programs {
            if program.failed.is_some() || round % program.every != 0 {
                continue;
            }
            match (program.command)().and_then(time) {
                // The first fills caches.
                Ok(_) if round == 0 => {}
                Ok(taken) => program.rounds.add(taken),
                Err(reason) => program.failed = Some(reason),
            }
        }
    }
    tell(&programs, report);
    Ok(())
}

fn programs(world: &World, reference: Result<&Reference, &str>) -> Result<Vec<Program>, String> {
    let this = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let environment: Vec<_> = world
        .environment()
        .map(|(name, value)| (name, value.clone()))
        .collect();
    let ours = move |cache: PathBuf| {
        let mut command = Command::new(&this);
        command.arg(FIRST).envs(environment.clone());
        command.env("SYCLBIN_CACHE", cache);
        command
    };
    let folder = |name: &str| world.folder.join(name);
    let [fresh, warm, native] = ["fresh", "warm", "native.syclbin"].map(folder);
    let [cache, source, saved] = ["reference-cache", "saxpy.cpp", "saved.syclbin"].map(folder);
    std::fs::write(&source, SOURCE).map_err(|error| at(&source, &error))?;
    world.ask(ours(warm.clone()).arg("save").arg(&native))?;

    let mut programs = Vec::new();
    let mut add = |name, what, every, command: Box<dyn Fn() -> Result<Command, String>>| {
        programs.push(Program {
            name,
            what,
            command,
            every,
            rounds: Rounds::default(),
            failed: None,
        });
    };
    let make = ours.clone();
    add(
        FRESH,
        "a stub; its cache of programs is an empty directory",
        1,
        Box::new(move || {
            if fresh.exists() {
                std::fs::remove_dir_all(&fresh).map_err(|error| at(&fresh, &error))?;
            }
            Ok(make(fresh.clone()))
        }),
    );
    let (make, cached) = (ours.clone(), warm.clone());
    add(
        WARM,
        "the same with what an earlier run left there",
        1,
        Box::new(move || Ok(make(cached.clone()))),
    );
    let (make, cached) = (ours.clone(), warm.clone());
    add(
        "native",
        "the file with native code that `Module::to_syclbin` saved, read from disk",
        1,
        Box::new(move || {
            let mut command = make(cached.clone());
            command.arg(&native);
            Ok(command)
        }),
    );
    let (make, cached) = (ours.clone(), warm.clone());
    add(
        DRIVER,
        "cl3: the driver is loaded and a queue made, and nothing more",
        1,
        Box::new(move || {
            let mut command = make(cached.clone());
            command.arg("driver");
            Ok(command)
        }),
    );
    let Ok(reference) = reference.cloned() else {
        return Ok(programs);
    };
    let mut saving = reference.command();
    world.ask(saving.arg("save").arg(&world.kernels).arg(&saved))?;
    let mut add_reference =
        |name, what, every, persistent: bool, way: &'static str, file: &PathBuf| {
            let (reference, cache, file) = (reference.clone(), cache.clone(), file.clone());
            add(
                name,
                what,
                every,
                Box::new(move || {
                    let mut command = reference.command();
                    command.arg(way).arg(&file);
                    command.env("SYCL_CACHE_PERSISTENT", if persistent { "1" } else { "0" });
                    command.env("SYCL_CACHE_DIR", &cache);
                    Ok(command)
                }),
            );
        };
    let kernels = &world.kernels;
    add_reference(
        REFERENCE,
        "libsycl, the same file, which is in executable state; SYCL_CACHE_PERSISTENT=0",
        1,
        false,
        "first",
        kernels,
    );
    add_reference(
        "reference, cached",
        "the same with SYCL_CACHE_PERSISTENT=1 and what an earlier run left there",
        1,
        true,
        "first",
        kernels,
    );
    add_reference(
        "reference, native",
        "libsycl, the file with native code that it saved; SYCL_CACHE_PERSISTENT=0",
        1,
        false,
        "first",
        &saved,
    );
    add_reference(
        COMPILED,
        "libsycl compiles the source (sycl/sycl.hpp) when it runs; SYCL_CACHE_PERSISTENT=0",
        SLOW,
        false,
        "source",
        &source,
    );
    Ok(programs)
}

const FRESH: &str = "fresh";
const WARM: &str = "warm";
const DRIVER: &str = "driver alone";
const REFERENCE: &str = "reference";
const COMPILED: &str = "reference, compiled";

/// Nanoseconds from the start of `command` to its first line.
fn time(mut command: Command) -> Result<f64, String> {
    let start = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child =
        child.map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        let read = BufReader::new(output).read_line(&mut line);
        read.map_err(|error| error.to_string())?;
    }
    let taken = start.elapsed();
    let ended = child.wait().map_err(|error| error.to_string())?;
    match line.strip_prefix("first ") {
        Some(_) if ended.success() => Ok(taken.as_nanos() as f64),
        _ => Err(format!("{} ({ended})", line.trim())),
    }
}

fn tell(programs: &[Program], report: &mut Report) {
    let median = |name: &str| {
        let program = programs.iter().find(|program| program.name == name);
        program.map_or(f64::NAN, |program| program.rounds.median())
    };
    report.table("from the start of the process to the first result");
    for program in programs {
        if let Some(reason) = &program.failed {
            report.leave_out(format!("{}: {reason}", program.name));
        }
        let ratio = Some(program.rounds.median() / median(DRIVER));
        report.add(program.name, "time", NANOSECONDS, &program.rounds, ratio);
    }
    for (name, peer, most) in [
        (WARM, DRIVER, 1.1),
        (FRESH, REFERENCE, 0.95),
        (WARM, COMPILED, 0.01),
    ] {
        let what = format!("{name} over {peer}");
        report.goal(&what, median(name) / median(peer), most);
    }
}
