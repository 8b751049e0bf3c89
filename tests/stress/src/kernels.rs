// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stress kernels DIRECTORY...`: loads every SYCLBIN file of directories and compiles every kernel, twice
//! where memory is compared.
//!
//! Where `SYCLBIN_DEVICE_EXECUTES=no`, each kernel is also launched, with arguments that only have the right
//! kinds: the driver takes commands and executes none of them. Their results are not looked at.
//!
//! The files are loaded in a process of their own. Where the driver ends that, its file is a failure, and
//! another process loads the rest.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use syclbin::signature::{self, KernelSignature, Signatures};
use syclbin_rt::{Device, ErrorKind, Kernel, Module, Queue};

use crate::arguments::{self, Made};
use crate::{memory, say};

/// How often all files are loaded where memory is compared. Drivers keep what they need after the first time.
const ROUNDS: usize = 2;
/// By how much the rounds after the first may enlarge the process, in KiB.
const MAY_GROW: u64 = 12 << 10;
/// The elements of the buffer that is copied and that kernels get.
const ELEMENTS: usize = 1 << 16;
/// How often a driver may end a process before the rest is given up.
const CRASHES: usize = 5;
/// What a process prints before it loads a file, with the number of the file.
const AT: &str = "at ";

/// Files that are left out: the end of their path, a part of the device's name, and why.
const LEFT_OUT: [(&str, &str, &str); 13] = [
    (
        "made/constants.syclbin",
        "",
        "its code is for a reader, not for a driver",
    ),
    (
        "bindless.syclbin",
        "",
        "a test needs a file with bindless images that drivers refuse",
    ),
    // The two are compiled with -O0. PoCL (6.0) makes a library of one that does not load, and ends the process.
    // rusticl 26.2.6 cannot compile the other, which rusticl 25.0 compiles.
    (
        "described/functors.syclbin",
        "6.0+debian",
        "it is compiled without optimization",
    ),
    (
        "described/described.syclbin",
        "radeonsi",
        "it is compiled without optimization",
    ),
    // IGC (2.40) cannot legalize an integer of another width in one, and crashes on the other.
    (
        "described/functors.syclbin",
        "Intel(R) OpenCL Graphics",
        "it is compiled without optimization",
    ),
    (
        "described/described.syclbin",
        "Intel(R) OpenCL Graphics",
        "it is compiled without optimization",
    ),
    // PoCL (6.0) ends the process on inline assembly and on kernels for sub-groups of 8.
    (
        "intel/features.syclbin",
        "6.0+debian",
        "it is for Intel GPUs",
    ),
    ("intel/built.syclbin", "6.0+debian", "it is for Intel GPUs"),
    // Intel's GPU driver (26.27) refuses a barrier across all work-groups in `clEnqueueNDRangeKernel`.
    (
        "made/root_group.syclbin",
        "(gpu, 26.27",
        "its work-groups wait for each other",
    ),
    // IGC (2.40) divides by zero on matrices of a size that this GPU does not have, and ends the process.
    (
        "intel/features.syclbin",
        "A770",
        "its matrices are of other GPUs",
    ),
    // rusticl (26.2.6) reads what kernels have printed from a buffer that nothing has written, and panics.
    (
        "slim.syclbin",
        "radeonsi",
        "it prints, which needs a device that executes",
    ),
    // ACO (26.2.6) meets `global_atomic_fmax`, which this generation does not have, and ends the process.
    (
        "slim.syclbin",
        "vega10",
        "it needs atomic maximum of floats",
    ),
    // The same with `global_atomic_add_f32`.
    ("programs.syclbin", "vega10", "it adds floats atomically"),
];

/// What became of all kernels in one round.
#[derive(Default)]
struct Tally {
    files: usize,
    kernels: usize,
    launched: usize,
    /// What does not fit the device, by the checks of the runtime, or cannot be launched alone.
    unfit: BTreeSet<String>,
    /// What the driver refused.
    failures: BTreeSet<String>,
}

/// Loads all files in `directories`, and prints what does not fit the device.
pub(crate) fn run(directories: &[&str]) -> Result<(), String> {
    let files = files(directories)?;
    if files.is_empty() {
        return Err(format!("{}: no SYCLBIN file", directories.join(", ")));
    }
    let mut crashed = BTreeSet::new();
    let mut wrong = Vec::new();
    loop {
        let without: Vec<String> = crashed.iter().map(usize::to_string).collect();
        let mut child = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
        child.args(["kernels-without", &without.join(",")]);
        child.args(directories).stderr(Stdio::inherit());
        let output = child.output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let (at, lines): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with(AT));
        if output.status.code().is_some() {
            lines.into_iter().for_each(say);
            if !output.status.success() {
                wrong.push("not all kernels compiled; see above".to_owned());
            }
            break;
        }
        let last = at
            .last()
            .and_then(|line| line.strip_prefix(AT)?.parse().ok());
        let name = last.and_then(|last: usize| files.get(last));
        let name = name.map_or("no file", |path| path.to_str().unwrap_or("a file"));
        wrong.push(format!(
            "{name}: the driver ended the process ({})",
            output.status
        ));
        if crashed.len() == CRASHES || !last.is_some_and(|last| crashed.insert(last)) {
            break;
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// The SYCLBIN files below all directories, sorted.
fn files(directories: &[&str]) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for directory in directories {
        collect(Path::new(directory), &mut files)?;
    }
    files.sort();
    Ok(files)
}

/// Adds the SYCLBIN files below `directory`.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", directory.display());
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|name| name == "syclbin") {
            files.push(path);
        }
    }
    Ok(())
}

/// Does the work of [`run`] in this process, without some of the files.
pub(crate) fn run_without(without: &str, directories: &[&str]) -> Result<(), String> {
    let executes = crate::executes();
    let without: Vec<usize> = without
        .split(',')
        .filter_map(|number| number.parse().ok())
        .collect();
    let device = Device::best().map_err(|error| error.to_string())?;
    let files = files(directories)?;
    let mut tally = Tally::default();
    let mut before = None;
    // The other pieces of work compare memory on a device that executes.
    let rounds = if executes { 1 } else { ROUNDS };
    for round in 0..rounds {
        tally = Tally::default();
        let queue = device.queue().map_err(|error| error.to_string())?;
        for (number, path) in files.iter().enumerate() {
            if !without.contains(&number) {
                say(&format!("{AT}{number}"));
                let bytes =
                    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
                tally.file(&queue, path, &bytes, executes);
            }
        }
        if round == 0 {
            before = memory::resident();
        }
    }
    for unfit in &tally.unfit {
        say(unfit);
    }
    for failure in &tally.failures {
        say(&format!("FAILED {failure}"));
    }
    say(&format!(
        "{} kernels of {} files compiled for {device}, {} launched, {} refused",
        tally.kernels,
        tally.files,
        tally.launched,
        tally.failures.len()
    ));
    if !tally.failures.is_empty() {
        return Err(format!(
            "{} files or kernels were refused",
            tally.failures.len()
        ));
    }
    if tally.kernels == 0 {
        return Err(format!("no kernel fits {device}"));
    }
    match (before, memory::resident()) {
        (Some(before), Some(after)) if after.now > before.now + MAY_GROW => Err(format!(
            "memory grew by {} KiB in {} rounds, more than {}",
            after.now - before.now,
            ROUNDS - 1,
            MAY_GROW
        )),
        _ => Ok(()),
    }
}

impl Tally {
    fn file(&mut self, queue: &Queue, path: &Path, bytes: &[u8], executes: bool) {
        let name = path.display().to_string();
        let device = format!("{} of {}", queue.device(), queue.device().platform());
        let left_out = LEFT_OUT
            .iter()
            .find(|(end, part, _)| path.ends_with(end) && device.contains(part));
        if let Some((_, _, reason)) = left_out {
            self.unfit.insert(format!("{name}: {reason}"));
            return;
        }
        let exporting = partner(path).unwrap_or_default();
        let mut builder = Module::builder(queue);
        if !exporting.is_empty() {
            builder = builder.link(&exporting);
        }
        // SAFETY: compilers made the files.
        let module = match unsafe { builder.load(bytes) } {
            Ok(module) => module,
            Err(error) => return self.refused(&name, &error),
        };
        self.files += 1;
        let signatures = syclbin::read::parse(bytes).and_then(|file| signature::kernels(&file));
        let signatures = match signatures {
            Ok(signatures) => signatures,
            Err(error) => {
                let failure = format!("{name}: cannot read its signatures: {error}");
                self.failures.insert(failure);
                return;
            }
        };
        for symbol in module.kernel_names() {
            let name = format!("{name}: {symbol}");
            let mut found = signatures.kernels.iter();
            let signature = found.find(|signature| signature.symbol == symbol);
            self.kernel(
                &name,
                &module.kernel(symbol),
                signature,
                &signatures,
                executes,
            );
        }
    }

    fn kernel(
        &mut self,
        name: &str,
        kernel: &syclbin_rt::Result<Kernel>,
        signature: Option<&KernelSignature>,
        signatures: &Signatures,
        executes: bool,
    ) {
        let parameters = match signature.map(|signature| &signature.parameters) {
            Some(Ok(parameters)) => parameters,
            // An exported function, or a kernel of the reference runtime for itself.
            Some(Err(reason)) => {
                self.unfit.insert(format!("{name}: {reason}"));
                return;
            }
            None => return,
        };
        if let Err(error) = kernel {
            return self.refused(name, error);
        }
        self.kernels += 1;
        if executes {
            return;
        }
        let made = parameters
            .iter()
            .map(|parameter| Made::of(&parameter.ty, &signatures.layouts));
        let launched = made.collect::<Result<Vec<Made>, String>>();
        let launched = launched.and_then(|made| match launch(kernel, &made) {
            // Nothing writes the memory that a failed assert is read from.
            Err(error) if error.kind() == ErrorKind::Assert => Ok(()),
            launched => launched.map_err(|error| error.to_string()),
        });
        match launched {
            Ok(()) => self.launched += 1,
            Err(error) => {
                self.failures.insert(format!("{name}: {error}"));
            }
        }
    }

    /// Notes why something was not loaded: the code does not fit the device, or the driver refused it.
    fn refused(&mut self, name: &str, error: &syclbin_rt::Error) {
        // Native code fits few drivers. OpenCL drivers accept SPIR-V, and the runtime has checked that the PTX fits the GPU.
        const CODE: [(&str, &str); 2] = [
            ("(SPIR-V", " failed with CL_"),
            ("(PTX", " failed with CUDA_"),
        ];
        let refused = |reason: &String| {
            let mut codes = CODE.iter();
            codes.any(|(code, failed)| reason.contains(code) && reason.contains(failed))
        };
        let reasons = error.reasons();
        let by_driver = reasons.is_empty() || reasons.iter().any(refused);
        let list = if by_driver {
            &mut self.failures
        } else {
            &mut self.unfit
        };
        list.insert(format!("{name}: {error}"));
    }
}

/// The file that exports what `path` imports.
fn partner(path: &Path) -> Option<Vec<u8>> {
    let name = path.file_name()?.to_str()?;
    let exporting = name
        .contains("import")
        .then(|| name.replace("import", "export"))?;
    fs::read(path.with_file_name(exporting)).ok()
}

/// Copies to a buffer, launches a kernel with it, and copies back.
fn launch(kernel: &syclbin_rt::Result<Kernel>, made: &[Made]) -> syclbin_rt::Result<()> {
    let queue = kernel.as_ref().map_err(Clone::clone)?.queue();
    let buffer = queue.upload(&[1.0f32; ELEMENTS])?;
    let mut other = queue.zeroed::<f32>(ELEMENTS)?;
    arguments::launch(kernel, made, &buffer)?;
    queue.copy(&buffer, &mut other)?;
    queue.fill(&mut other, 1.0)?;
    queue.download(&other).map(drop)
}
