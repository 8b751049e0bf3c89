// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time from the start of a process to its first right result: children of this program, and the
//! child that it then is.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use syclbin::{ImageKind, IrType};
use syclbin_rt::{Arg, Device, Launch, Module};

use crate::contest::{Contestant, median};
use crate::cuda::Baseline;
use crate::directory::{Code, Temporary, at};
use crate::report::{Report, Row};
use crate::theirs::{Raw, Theirs};
use crate::{Bench, DEVICE, Result, words, work};

/// The first argument of a child.
pub(crate) const WORD: &str = "first";

/// What a child's kernel came from; the second line that it prints.
const PTX: &str = "ptx";
const CUBIN: &str = "cubin";

const LEN: u32 = 1024;

/// A way to a first result.
struct Case<'b> {
    variant: &'static str,
    code: &'static str,
    ours: &'b Path,
    theirs: Option<&'b Path>,
    /// Whether the caches have what an earlier run left there: the cache of `syclbin-rt`, and CUDA's.
    is_cached: bool,
}

pub(crate) fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let baseline = bench.baseline.as_ref().ok();
    let [ptx, native] = [Code::Ptx, Code::Native].map(|code| bench.directory.ours("saxpy", code));
    let their_ptx = baseline.map(Baseline::saxpy_ptx);
    let their_cubin = baseline.map(|baseline| baseline.saxpy_cubin(&bench.arch));
    for case in [
        Case {
            variant: "PTX, no cache",
            code: PTX,
            ours: &ptx,
            theirs: their_ptx.as_deref(),
            is_cached: false,
        },
        Case {
            variant: "PTX, cached",
            code: PTX,
            ours: &ptx,
            theirs: their_ptx.as_deref(),
            is_cached: true,
        },
        Case {
            variant: "cubin",
            code: CUBIN,
            ours: &native,
            theirs: their_cubin.as_deref(),
            is_cached: false,
        },
    ] {
        case.measure(bench, report)?;
    }
    Ok(())
}

impl Case<'_> {
    fn measure(&self, bench: &Bench, report: &mut Report) -> Result<()> {
        let caches = Temporary::new("caches")?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut why_not = None;
        for turn in 0..=bench.sizes.turns {
            let taken = match self.time("ours", self.ours, &caches.0) {
                Ok(taken) => taken,
                Err(reason) => {
                    report.left_out(format!("first result, {}: {reason}", self.variant));
                    return Ok(());
                }
            };
            let their_turn = self.theirs.filter(|_| why_not.is_none());
            let their_turn = their_turn.map(|file| self.time("cuda", file, &caches.0));
            // The first turn fills the caches.
            match their_turn {
                Some(Ok(taken)) if turn > 0 => theirs.push(taken),
                Some(Err(reason)) => why_not = Some(reason),
                _ => {}
            }
            if turn > 0 {
                ours.push(taken);
            }
        }
        if let Some(reason) = why_not {
            theirs.clear();
            report.left_out(format!("first result, {}, CUDA: {reason}", self.variant));
        }
        let has_baseline = !theirs.is_empty();
        report.add(Row {
            benchmark: "first result",
            variant: self.variant,
            size: format!("saxpy, {LEN} elements"),
            unit: "ms",
            amount: None,
            ours: median(ours).as_secs_f64(),
            baseline: has_baseline.then(|| median(theirs).as_secs_f64()),
            goal: None,
        });
        Ok(())
    }

    /// The time of a child that uses these caches.
    fn time(&self, contestant: &str, file: &Path, caches: &Path) -> Result<Duration> {
        let [ours, theirs] = ["ours", "cuda"].map(|name| caches.join(name));
        if !self.is_cached && ours.exists() {
            std::fs::remove_dir_all(&ours).map_err(|error| at(&ours, &error))?;
        }
        // CUDA's own cache would hide what ours saves.
        let is_disabled = contestant == "ours" || !self.is_cached;
        let program = std::env::current_exe().map_err(words)?;
        let mut command = Command::new(&program);
        command
            .args([WORD, contestant])
            .arg(file)
            .env("SYCLBIN_CACHE", &ours)
            .env("CUDA_CACHE_PATH", &theirs)
            .env("CUDA_CACHE_DISABLE", if is_disabled { "1" } else { "0" })
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let start = Instant::now();
        let mut child = command.spawn().map_err(|error| at(&program, &error))?;
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().ok_or("the child has no output")?);
        let read = output.read_line(&mut line);
        let taken = start.elapsed();
        let mut code = String::new();
        read.and_then(|_| output.read_to_string(&mut code))
            .map_err(words)?;
        let ended = child.wait_with_output().map_err(words)?;
        if !ended.status.success() || line.trim() != WORD {
            let said = String::from_utf8_lossy(&ended.stderr);
            return Err(format!("{} ({})", said.trim(), ended.status));
        }
        match code.trim() {
            code if code == self.code => Ok(taken),
            other => Err(format!("the driver took {other}, not {}", self.code)),
        }
    }
}

/// The process whose first result is timed: prints a line when it has the result, and another one that
/// says what code it had.
pub(crate) fn child(contestant: &str, file: &Path) -> Result<()> {
    let code = std::fs::read(file).map_err(|error| at(file, &error))?;
    match contestant {
        "ours" => ours(&code),
        "cuda" => theirs(&code),
        other => Err(format!("unknown contestant `{other}`: it is ours or cuda")),
    }
}

fn ours(file: &[u8]) -> Result<()> {
    let (module, y) = run(file).map_err(words)?;
    if y.iter().any(|value| *value != 4.0) {
        return Err("the result is wrong".to_owned());
    }
    println!("{WORD}");
    let file = syclbin::read::parse(file).map_err(words)?;
    module.build().map_err(words)?;
    let choice = module.images().next().ok_or("no image was chosen")?;
    let images = file
        .modules
        .get(choice.module())
        .map(|module| &module.images);
    let image = images
        .zip(choice.image())
        .and_then(|(images, index)| images.get(index));
    println!(
        "{}",
        match image.map(|image| image.kind()) {
            Some(ImageKind::Ir {
                ty: IrType::Ptx, ..
            }) => PTX,
            Some(ImageKind::Native { .. }) => CUBIN,
            _ => "another image",
        }
    );
    Ok(())
}

fn run(file: &[u8]) -> syclbin_rt::Result<(Module, Vec<f32>)> {
    let queue = Device::select(DEVICE)?.queue()?;
    // SAFETY: the compiler made the file.
    let module = unsafe { Module::load(&queue, file)? };
    let name = module.kernel_names().next().unwrap_or_default().to_owned();
    let kernel = module.kernel(&name);
    let x = queue.upload(&[1.0f32; LEN as usize])?;
    let mut y = queue.upload(&[2.0f32; LEN as usize])?;
    let args = [
        Arg::scalar(2.0f32),
        Arg::read(&x),
        Arg::write(&mut y),
        Arg::scalar(LEN),
    ];
    // SAFETY: both buffers hold that many elements, and the arguments are those of saxpy.
    unsafe { Launch::new(&kernel, &["a", "x", "y", "n"], args).launch(LEN as usize)? };
    let y = queue.download(&y)?;
    Ok((module, y))
}

fn theirs(code: &[u8]) -> Result<()> {
    let raw = Raw::open()?;
    let problem = work::saxpy_problem(LEN);
    let module = raw.load(code)?;
    let mut saxpy = Theirs::new(raw, &module, &problem)?;
    saxpy.launch()?;
    problem.expected.check(&saxpy.result()?)?;
    println!("{WORD}");
    println!(
        "{}",
        if code.starts_with(b"\x7fELF") {
            CUBIN
        } else {
            PTX
        }
    );
    Ok(())
}
