//! What kernels and launches cost on an NVIDIA GPU, beside CUDA by `nvcc` and raw calls of the driver, in
//! the same run.
//!
//! ```text
//! cargo bench -p syclbin-rt --bench gpu             # wants a GPU, nvcc, and the toolchain with component nvidia
//! cargo bench -p syclbin-rt --bench gpu -- small    # tiny sizes, whose times mean nothing: does it work?
//! ```
//!
//! Kernels of the examples are compiled by the installed `syclbin-clang` for the GPU that is there, those
//! in `kernels.cu` by `nvcc` (variable `NVCC`, else on the path), which must not be newer than the driver:
//! the driver reads its PTX. Results are compared too.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a program for people to read"
)]
#![allow(
    unsafe_code,
    reason = "launching a kernel is unsafe, and so are raw calls"
)]

mod theirs;

use std::ffi::{OsStr, OsString, c_void};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use syclbin_rt::{Architecture, Arg, Buffer, Device, Kernel, Launch, Module, NdRange, Queue};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home};
use theirs::Raw;

/// How often each contestant's turn comes.
const TURNS: usize = 9;

/// How large the work is.
struct Sizes {
    saxpy: u32,
    stars: u32,
    /// A side of the matrices.
    side: u32,
    launches: u32,
}

const FULL: Sizes = Sizes {
    saxpy: 1 << 27,
    stars: 1 << 16,
    side: 4096,
    launches: 10_000,
};
const SMALL: Sizes = Sizes {
    saxpy: 1 << 10,
    stars: 1 << 6,
    side: 64,
    launches: 10,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // A test runner asks for tests, of which there are none.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let (device, nvcc) = match Device::select("cuda:gpu:0")
        .map_err(words)
        .and_then(with_nvcc)
    {
        Ok(found) => found,
        Err(error) => {
            println!("on NVIDIA GPUs nothing is measured: {error}");
            return ExitCode::SUCCESS;
        }
    };
    let small = arguments.iter().any(|argument| argument == "small");
    match run(&device, &nvcc, if small { &SMALL } else { &FULL }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The device, and the compiler that `NVCC` names or that is on the path.
fn with_nvcc(device: Device) -> Result<(Device, OsString), String> {
    let nvcc = std::env::var_os("NVCC").unwrap_or_else(|| "nvcc".into());
    match Command::new(&nvcc).arg("--version").output() {
        Ok(_) => Ok((device, nvcc)),
        Err(error) => Err(format!("{}: {error}; set NVCC", nvcc.display())),
    }
}

fn run(device: &Device, nvcc: &OsStr, sizes: &Sizes) -> Result<(), String> {
    let arch = device.architecture().and_then(Architecture::name);
    let arch = arch.and_then(|name| name.strip_prefix("nvidia_gpu_"));
    let arch = arch.ok_or("the GPU is of an architecture without a name")?;
    let folder = std::env::temp_dir().join(format!("syclbin-gpu-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(words)?;
    let raw = Raw::new(nvcc, arch, &folder);
    let done = raw.and_then(|raw| in_folder(device, &raw, arch, &folder, sizes));
    let _ = std::fs::remove_dir_all(&folder);
    done
}

fn in_folder(
    device: &Device,
    raw: &Raw,
    arch: &str,
    folder: &Path,
    sizes: &Sizes,
) -> Result<(), String> {
    let queue = device.queue().map_err(words)?;
    println!("{device}, {arch}; medians of {TURNS} turns each\n");
    println!("| what | ours | CUDA by nvcc | CUDA's time / ours | goal |");
    println!("|---|---|---|---|---|");
    saxpy(&queue, raw, arch, folder, sizes)?;
    matmul(&queue, raw, arch, folder, sizes)?;
    nbody(&queue, raw, arch, folder, sizes)
}

fn words(error: impl ToString) -> String {
    error.to_string()
}

/// The one kernel of an example, compiled for the GPU.
fn kernel(
    queue: &Queue,
    arch: &str,
    folder: &Path,
    name: &str,
) -> Result<syclbin_rt::Result<Kernel>, String> {
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref()).map_err(words)?;
    let compiler = home.newest(Component::Compiler);
    let compiler = compiler.ok_or("no compiler; run `cargo syclbin toolchain install`")?;
    let output = folder.join(format!("{name}.syclbin"));
    let source = format!("{}/../examples/{name}/kernels", env!("CARGO_MANIFEST_DIR"));
    let source = Path::new(&source).join(format!("{name}.cpp"));
    let status = Command::new(compiler.entry())
        .args(["-fsycl", "-fsyclbin=executable", "-O3"])
        .arg(format!("-fsycl-targets=spir64,nvidia_gpu_{arch}"))
        .arg(source)
        .arg("-o")
        .arg(&output)
        .status()
        .map_err(words)?;
    if !status.success() {
        return Err(format!("syclbin-clang ended with {status}"));
    }
    let bytes = std::fs::read(&output).map_err(words)?;
    let file = syclbin::read::parse(&bytes).map_err(words)?;
    let symbol = file.kernel_names().next().ok_or("no kernel in the file")?;
    // SAFETY: the compiler has just made it.
    let module = unsafe { Module::load(queue, &bytes) }.map_err(words)?;
    Ok(module.kernel(symbol))
}

/// A row of the table: what one of many launches takes, `count` of them queued at a time.
fn row(
    what: &str,
    goal: &str,
    count: u32,
    mut ours: impl FnMut(bool) -> Result<(), String>,
    mut theirs: impl FnMut(bool) -> Result<(), String>,
    host_only: bool,
) -> Result<(), String> {
    let (mut of_ours, mut of_theirs) = (Vec::new(), Vec::new());
    for turn in 0..=TURNS {
        let taken = [
            time(count, host_only, &mut ours)?,
            time(count, host_only, &mut theirs)?,
        ];
        // The first is to warm up.
        if turn > 0 {
            of_ours.push(taken[0]);
            of_theirs.push(taken[1]);
        }
    }
    let (ours, theirs) = (median(&mut of_ours), median(&mut of_theirs));
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    println!("| {what} | {ours:.2?} | {theirs:.2?} | {ratio:.3} | {goal} |");
    Ok(())
}

/// What a launch takes: `step(false)` launches, `step(true)` waits.
fn time(
    count: u32,
    host_only: bool,
    step: &mut impl FnMut(bool) -> Result<(), String>,
) -> Result<Duration, String> {
    let start = Instant::now();
    for _ in 0..count {
        step(false)?;
    }
    let queued = start.elapsed();
    step(true)?;
    Ok(if host_only { queued } else { start.elapsed() } / count)
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn compare(what: &str, ours: &[f32], theirs: &[f32]) -> Result<(), String> {
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-3 * (1.0 + a.abs());
    match ours.len() == theirs.len() && ours.iter().zip(theirs).all(near) {
        true => Ok(()),
        false => Err(format!("{what}: the two results differ")),
    }
}

fn numbers(len: usize) -> Vec<f32> {
    (0..len)
        .map(|index| (index % 97) as f32 * 0.01 + 0.5)
        .collect()
}

fn pointer<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

fn saxpy(queue: &Queue, raw: &Raw, arch: &str, folder: &Path, sizes: &Sizes) -> Result<(), String> {
    let kernel = kernel(queue, arch, folder, "saxpy")?;
    let n = sizes.saxpy;
    let data = numbers(n as usize);
    let x = queue.upload(&data).map_err(words)?;
    let mut y = queue.upload(&data).map_err(words)?;
    let (mut raw_x, mut raw_y) = (raw.upload(&data)?, raw.upload(&data)?);
    let launch = |y: &mut Buffer<f32>, n: u32, range: NdRange| -> Result<(), String> {
        let args = [
            Arg::scalar(1.5f32),
            Arg::read(&x),
            Arg::write(y),
            Arg::scalar(n),
        ];
        let launch = Launch::new(&kernel, &["a", "x", "y", "n"], args);
        // SAFETY: the kernel checks its index against `n`.
        unsafe { launch.launch(range) }.map(drop).map_err(words)
    };
    let range = |n: u32| NdRange::new(n as usize).local(256.min(n as usize));
    let mut a = 1.5f32;
    let grid = |n: u32| raw.kernel("saxpy", [n.div_ceil(256), 1], [256.min(n), 1]);
    let launch_raw = |kernel: &theirs::Kernel, pointers: &mut [*mut c_void]| {
        // SAFETY: the pointers are to the kernel's four arguments; it checks its index against the last.
        unsafe { raw.launch(kernel, pointers) }
    };
    let (all, mut len, one, mut single) = (grid(n)?, n, grid(1)?, 1u32);
    let mut pointers = [
        pointer(&mut a),
        pointer(&mut raw_x),
        pointer(&mut raw_y),
        pointer(&mut len),
    ];
    launch(&mut y, n, range(n))?;
    launch_raw(&all, &mut pointers)?;
    compare(
        "saxpy",
        &queue.download(&y).map_err(words)?,
        &raw.download(raw_y, n as usize)?,
    )?;
    let wait = || queue.wait().map_err(words);
    row(
        &format!("saxpy, {n} elements"),
        ">= 0.95",
        20,
        |last| match last {
            true => wait(),
            false => launch(&mut y, n, range(n)),
        },
        |last| match last {
            true => raw.wait(),
            false => launch_raw(&all, &mut pointers),
        },
        false,
    )?;
    let mut pointers = [
        pointer(&mut a),
        pointer(&mut raw_x),
        pointer(&mut raw_y),
        pointer(&mut single),
    ];
    row(
        "host time of a launch",
        ">= 0.95",
        sizes.launches,
        |last| match last {
            true => wait(),
            false => launch(&mut y, 1, range(1)),
        },
        |last| match last {
            true => raw.wait(),
            false => launch_raw(&one, &mut pointers),
        },
        true,
    )?;
    let args = [
        Arg::scalar(1.5f32),
        Arg::read(&x),
        Arg::write(&mut y),
        Arg::scalar(1u32),
    ];
    let prepared = Launch::new(&kernel, &["a", "x", "y", "n"], args).prepare(range(1));
    let prepared = prepared.map_err(words)?;
    row(
        "host time of a prepared launch",
        "",
        sizes.launches,
        |last| match last {
            true => wait(),
            // SAFETY: as above.
            false => unsafe { prepared.launch() }.map(drop).map_err(words),
        },
        |last| match last {
            true => raw.wait(),
            false => launch_raw(&one, &mut pointers),
        },
        true,
    )?;
    let mut recorder = queue.record();
    for _ in 0..100 {
        let args = [
            Arg::scalar(1.5f32),
            Arg::read(&x),
            Arg::write(&mut y),
            Arg::scalar(1u32),
        ];
        let launch = Launch::new(&kernel, &["a", "x", "y", "n"], args);
        // SAFETY: as above.
        unsafe { launch.record(&mut recorder, range(1)) }.map_err(words)?;
    }
    let recording = recorder.finish().map_err(words)?;
    row(
        "100 launches: a replay (a CUDA graph), beside one by one",
        "",
        sizes.launches / 10,
        |last| match last {
            true => wait(),
            false => recording.replay().map(drop).map_err(words),
        },
        |last| match last {
            true => raw.wait(),
            false => (0..100).try_for_each(|_| launch_raw(&one, &mut pointers)),
        },
        false,
    )
}

fn matmul(
    queue: &Queue,
    raw: &Raw,
    arch: &str,
    folder: &Path,
    sizes: &Sizes,
) -> Result<(), String> {
    const STRIP: usize = 64 * 64 * 4;
    let kernel = kernel(queue, arch, folder, "matmul")?;
    let side = sizes.side;
    let len = side as usize * side as usize;
    let data = numbers(len);
    let (a, b) = (
        queue.upload(&data).map_err(words)?,
        queue.upload(&data).map_err(words)?,
    );
    let mut c = queue.zeroed::<f32>(len).map_err(words)?;
    let (mut raw_a, mut raw_b) = (raw.upload(&data)?, raw.upload(&data)?);
    let mut raw_c = raw.upload(&data)?;
    let names = &["a", "b", "c", "m", "n", "k", "a_strip", "b_strip"];
    // A work-item for each 4 by 4 elements.
    let range = NdRange::new([side as usize / 4, side as usize / 4]);
    let mut launch = || -> Result<(), String> {
        let size = || Arg::scalar(side);
        let args = [
            Arg::read(&a),
            Arg::read(&b),
            Arg::write(&mut c),
            size(),
            size(),
            size(),
            Arg::local(STRIP),
            Arg::local(STRIP),
        ];
        // SAFETY: the matrices have as many rows and columns as it says.
        unsafe { Launch::new(&kernel, names, args).launch(range) }
            .map(drop)
            .map_err(words)
    };
    let launch_raw = |kernel: &theirs::Kernel, pointers: &mut [*mut c_void]| {
        // SAFETY: the pointers are to the kernel's six arguments, three matrices and their sizes.
        unsafe { raw.launch(kernel, pointers) }
    };
    let theirs = raw.kernel("matmul", [side / 64, side / 64], [16, 16])?;
    let [mut m, mut n, mut k] = [side; 3];
    let mut pointers = [
        pointer(&mut raw_a),
        pointer(&mut raw_b),
        pointer(&mut raw_c),
        pointer(&mut m),
        pointer(&mut n),
        pointer(&mut k),
    ];
    row(
        &format!("matmul, {side} x {side}"),
        ">= 0.9",
        5,
        |last| match last {
            true => queue.wait().map_err(words),
            false => launch(),
        },
        |last| match last {
            true => raw.wait(),
            false => launch_raw(&theirs, &mut pointers),
        },
        false,
    )?;
    compare(
        "matmul",
        &queue.download(&c).map_err(words)?,
        &raw.download(raw_c, len)?,
    )
}

fn nbody(queue: &Queue, raw: &Raw, arch: &str, folder: &Path, sizes: &Sizes) -> Result<(), String> {
    let kernel = kernel(queue, arch, folder, "nbody")?;
    let mut count = sizes.stars;
    let len = count as usize * 4;
    let data = numbers(len);
    let from = queue.upload(&data).map_err(words)?;
    let mut to = queue.zeroed::<f32>(len).map_err(words)?;
    let mut velocities = queue.zeroed::<f32>(len).map_err(words)?;
    let (mut raw_from, mut raw_to) = (raw.upload(&data)?, raw.upload(&data)?);
    let mut raw_velocities = raw.upload(&vec![0.0; len])?;
    let (mut time_step, mut softening) = (0.001f32, 0.1f32);
    let names = &[
        "from",
        "to",
        "velocities",
        "count",
        "time_step",
        "softening",
    ];
    let local = 256.min(count);
    let range = NdRange::new(count as usize).local(local as usize);
    let stars = count;
    let mut launch = || -> Result<(), String> {
        let args = [
            Arg::read(&from),
            Arg::write(&mut to),
            Arg::write(&mut velocities),
            Arg::scalar(stars),
            Arg::scalar(0.001f32),
            Arg::scalar(0.1f32),
        ];
        // SAFETY: there are as many stars, of four numbers each.
        unsafe { Launch::new(&kernel, names, args).launch(range) }
            .map(drop)
            .map_err(words)
    };
    let launch_raw = |kernel: &theirs::Kernel, pointers: &mut [*mut c_void]| {
        // SAFETY: the pointers are to the kernel's six arguments, three arrays of as many stars first.
        unsafe { raw.launch(kernel, pointers) }
    };
    let theirs = raw.kernel("nbody", [stars.div_ceil(local), 1], [local, 1])?;
    let mut pointers = [
        pointer(&mut raw_from),
        pointer(&mut raw_to),
        pointer(&mut raw_velocities),
        pointer(&mut count),
        pointer(&mut time_step),
        pointer(&mut softening),
    ];
    row(
        &format!("nbody, {stars} stars"),
        ">= 0.9",
        5,
        |last| match last {
            true => queue.wait().map_err(words),
            false => launch(),
        },
        |last| match last {
            true => raw.wait(),
            false => launch_raw(&theirs, &mut pointers),
        },
        false,
    )?;
    compare(
        "nbody",
        &queue.download(&to).map_err(words)?,
        &raw.download(raw_to, len)?,
    )
}
