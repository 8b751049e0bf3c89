// SPDX-License-Identifier: MIT OR Apache-2.0
//! How files grow with their kernels and bytes, and launches with the threads that make them.

use std::fmt::Write as _;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::Barrier;
use std::time::Instant;

use syclbin::{Container, Image, Syclbin};
use syclbin_rt::{Arg, Device, Embedded, Launch, Module};

use crate::contestant::{Arguments, Contestant, RAW, STUB};
use crate::figures::Rounds;
use crate::quality::compiled;
use crate::raw::Raw;
use crate::report::{BYTES, NANOSECONDS, Report};
use crate::stub::{Stub, told};
use crate::world::{World, at, numbers};

/// The parts' names in processes of their own.
pub(crate) const FILE: &str = "--file";
pub(crate) const THREADS: &str = "--threads";

const ROUNDS: usize = 7;
/// How many launches each thread makes.
const LAUNCHES: u32 = 20_000;
/// Native images of the large file, and bytes of each: 1 GiB in all.
const IMAGES: usize = 16;
const IMAGE: usize = 64 << 20;

pub(crate) fn bench(world: &World, report: &mut Report) -> Result<(), String> {
    report.table("files");
    let mut large = None;
    for kernels in [1, 100, 10_000] {
        if world.short && kernels > 100 {
            continue;
        }
        let file = with_kernels(world, kernels)?;
        let column = format!("{kernels} kernels").replace("1 kernels", "1 kernel");
        measure_file(world, &file, &column.replace("10000", "10,000"), report)?;
        if kernels == 1 {
            large = Some(with_images(&file)?);
        }
    }
    if let Some(file) = large {
        measure_file(world, &file, "1 kernel, 1 GB", report)?;
        std::fs::remove_file(&file).map_err(|error| at(&file, &error))?;
    }
    report.table("launches on a queue for each thread");
    for threads in [1, 4, 16] {
        let mut rounds: [Rounds; 3] = Default::default();
        for _ in 0..world.rounds(ROUNDS) {
            let time = |name: &str| -> Result<f64, String> {
                let mut child = world.child(&[THREADS, name, &threads.to_string()])?;
                let [time] = numbers(&world.ask(&mut child)?)?;
                Ok(time)
            };
            let (ours, raw) = (time(STUB)?, time(RAW)?);
            for (rounds, figure) in rounds.iter_mut().zip([ours, raw, ours / raw]) {
                rounds.add(figure);
            }
        }
        let [ours, raw, ratio] = rounds;
        let column = format!("{threads} threads").replace("1 threads", "1 thread");
        let ratio = ratio.median();
        report.add(STUB, &column, NANOSECONDS, &ours, Some(ratio));
        report.add(RAW, &column, NANOSECONDS, &raw, Some(1.0));
        report.goal(&format!("{STUB} over {RAW}, {column}"), ratio, 1.0);
    }
    Ok(())
}

/// Compiles a file with so many kernels, all in one source.
fn with_kernels(world: &World, kernels: usize) -> Result<PathBuf, String> {
    let mut text = "#include <syclbin/kernel.hpp>\n".to_owned();
    for index in 0..kernels {
        let _ = writeln!(
            text,
            "SYCLBIN_KERNEL(1) void k{index}(int *out, int i) {{ *out = i + {index}; }}"
        );
    }
    let source = world.folder.join(format!("kernels{kernels}.cpp"));
    std::fs::write(&source, text).map_err(|error| at(&source, &error))?;
    compiled(&source, &world.folder)
}

/// Writes the same file with native images for GPUs.
fn with_images(file: &Path) -> Result<PathBuf, String> {
    let bytes = std::fs::read(file).map_err(|error| at(file, &error))?;
    let mut parsed: Syclbin<'_> =
        syclbin::read::parse(&bytes).map_err(|error| error.to_string())?;
    let module = parsed.modules.first_mut().ok_or("no module")?;
    for index in 0..IMAGES {
        let arch = format!("sm_{}", 70 + index);
        let image = Image::native(&arch, "nvptx64-nvidia-cuda", vec![1; IMAGE]);
        module.images.push(image);
    }
    let large = syclbin::write::to_vec(&parsed, Container::default());
    let path = file.with_file_name("large.syclbin");
    std::fs::write(&path, large.map_err(|error| error.to_string())?)
        .map_err(|error| at(&path, &error))?;
    Ok(path)
}

fn measure_file(
    world: &World,
    file: &Path,
    column: &str,
    report: &mut Report,
) -> Result<(), String> {
    const ROWS: [(&str, &str); 7] = [
        ("size of the file", BYTES),
        ("reading it", NANOSECONDS),
        ("memory after reading it", BYTES),
        ("loading it, embedded", NANOSECONDS),
        ("memory after loading it", BYTES),
        ("loading a copy of it", NANOSECONDS),
        ("first launch of a kernel", NANOSECONDS),
    ];
    let mut rounds: [Rounds; ROWS.len()] = Default::default();
    for _ in 0..world.rounds(ROUNDS) {
        let mut child = world.child(&[FILE])?;
        let said = world.ask(child.arg(file).env("SYCLBIN_CACHE", "off"))?;
        for (rounds, figure) in rounds
            .iter_mut()
            .zip(numbers::<f64, { ROWS.len() }>(&said)?)
        {
            rounds.add(figure);
        }
    }
    for ((row, unit), rounds) in ROWS.iter().zip(&rounds) {
        report.add(row, column, unit, rounds, None);
    }
    Ok(())
}

/// The process that loads a file, which is mapped into memory as it would be in a program, and launches a kernel.
pub(crate) fn file(words: &[&str]) -> Result<(), String> {
    let [path] = words else {
        return Err(format!("{FILE} takes a file"));
    };
    let file = std::fs::File::open(path).map_err(|error| at(Path::new(path), &error))?;
    let bytes = mapped(&file)?;
    let queue = Device::best().and_then(|device| device.queue());
    let queue = queue.map_err(told)?;
    let mut out = queue.zeroed::<i32>(1).map_err(told)?;
    queue.wait().map_err(told)?;
    let before = resident()?;

    let start = Instant::now();
    drop(syclbin::read::parse(bytes).map_err(|error| error.to_string())?);
    let (read, after_reading) = (start.elapsed(), resident()? - before);

    let start = Instant::now();
    // SAFETY: a compiler made the file.
    let module = unsafe { Module::builder(&queue).load_embedded(Embedded::new(bytes)) };
    let module = module.map_err(told)?;
    let (loaded, after_loading) = (start.elapsed(), resident()? - before);

    let start = Instant::now();
    let kernel = module.kernel("k0");
    let args = [Arg::write(&mut out), Arg::scalar(1i32)];
    // SAFETY: the kernel writes one element.
    let launched = unsafe { Launch::new(&kernel, &["out", "i"], args).launch(1) };
    launched.and_then(|event| event.wait()).map_err(told)?;
    let launched = start.elapsed();

    let start = Instant::now();
    // SAFETY: a compiler made the file.
    drop(unsafe { Module::load(&queue, bytes) }.map_err(told)?);
    let copied = start.elapsed();
    println!(
        "{} {} {after_reading} {} {after_loading} {} {}",
        bytes.len(),
        read.as_nanos(),
        loaded.as_nanos(),
        copied.as_nanos(),
        launched.as_nanos(),
    );
    Ok(())
}

/// Maps a file into memory until the process ends.
fn mapped(file: &std::fs::File) -> Result<&'static [u8], String> {
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    let size = usize::try_from(size).map_err(|error| error.to_string())?;
    let (prot, flags) = (libc::PROT_READ, libc::MAP_PRIVATE);
    // SAFETY: the kernel chooses an address, nothing unmaps it, and nothing writes to the file.
    unsafe {
        let start = libc::mmap(null_mut(), size, prot, flags, file.as_raw_fd(), 0);
        if start == libc::MAP_FAILED {
            return Err(format!("mmap: {}", std::io::Error::last_os_error()));
        }
        Ok(std::slice::from_raw_parts(start.cast(), size))
    }
}

/// Bytes of memory that the process has now.
fn resident() -> Result<f64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kilobytes: Option<f64> = kilobytes.and_then(|number| number.parse().ok());
    kilobytes
        .map(|kilobytes| kilobytes * 1024.0)
        .ok_or_else(|| "no VmRSS in /proc/self/status".to_owned())
}

/// The process whose threads launch on queues of their own. It prints nanoseconds for each launch of all threads.
pub(crate) fn threads(words: &[&str]) -> Result<(), String> {
    let [name, threads] = words else {
        return Err(format!("{THREADS} takes a contestant and a number"));
    };
    let threads: u32 = threads.parse().map_err(|_| "no number of threads")?;
    let time = match *name {
        STUB => launch_together::<Stub<false>>(threads),
        RAW => launch_together::<Raw<true, false>>(threads),
        _ => Err(format!("no contestant {name}")),
    };
    println!("{}", time?);
    Ok(())
}

fn launch_together<C: Contestant>(threads: u32) -> Result<f64, String> {
    let barrier = Barrier::new(threads as usize + 1);
    let work = || {
        let made = C::new().and_then(|mut contestant| {
            contestant.batch(Arguments::Two, 100)?;
            contestant.finish()?;
            Ok(contestant)
        });
        barrier.wait();
        let mut contestant = made?;
        contestant.batch(Arguments::Two, LAUNCHES)?;
        contestant.finish()
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        barrier.wait();
        let start = Instant::now();
        for thread in started {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(start.elapsed().as_nanos() as f64 / f64::from(threads * LAUNCHES))
    })
}
