// SPDX-License-Identifier: MIT OR Apache-2.0
//! A matrix times a matrix on the device, in candle (crate `gemm`) and in ndarray (crate `matrixmultiply`). On the
//! first run on a device, a tuner chooses the kernel's work-group size and strip depth.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use candle_core::{Device, Error, Result, Tensor};
use ndarray::{Array2, ArrayView2};
use syclbin_rt::{Buffer, LocalMemory, NdRange, Queue};

use crate::{distance, numbers};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "matmul";

    // SAFETY: for every range and all constants, the kernel stays within the matrices and the work-group memory. Either
    // all work-items of a group reach the barriers, or none does.
    unsafe extern "SYCL" {
        safe fn matmul where a.len() >= m * k, b.len() >= k * n, c.len() >= m * n, strips.len() >= room;
    }
}

/// An `m` x `k` matrix times a `k` x `n` one.
pub type Size = [usize; 3];

/// The second size is that of a prompt with 128 tokens in a model with 8 billion weights.
pub const SIZES: [Size; 3] = [[1024, 1024, 1024], [128, 4096, 4096], [2048, 2048, 2048]];
/// The sizes that the tuner tries.
const SIDES: [u32; 3] = [8, 16, 32];
const DEPTHS: [u32; 4] = [16, 32, 64, 128];
/// The size that the tuner multiplies.
const TRIAL: Size = [256, 512, 512];
/// The number of products that each implementation computes, in turns. The fastest time counts.
const TURNS: usize = 5;

/// The rows and columns of c that a work-item computes; as in kernels/matmul.cpp.
const EACH: usize = 4;

/// The kernel, and the sizes that it is compiled for.
struct Matmul {
    queue: Queue,
    kernels: kernels::Module,
    /// The work-items of a group, in each dimension.
    side: u32,
    /// The columns of a, and rows of b, that are copied at a time.
    depth: u32,
}

impl Matmul {
    fn new(queue: &Queue, [side, depth]: [u32; 2]) -> syclbin_rt::Result<Self> {
        let builder = kernels::Module::builder(queue).side(side).depth(depth);
        Ok(Self {
            queue: queue.clone(),
            kernels: builder.load()?,
            side,
            depth,
        })
    }

    /// The elements of c that a work-group computes, in each dimension.
    fn square(&self) -> usize {
        self.side as usize * EACH
    }

    /// Returns the kernel with the fastest sizes for the device of `queue`. Uses the sizes that an earlier run saved;
    /// otherwise, tries all sizes that fit, and saves the fastest.
    ///
    /// # Errors
    ///
    /// Fails if no size fits, or if the device reports an error.
    fn for_device(queue: &Queue) -> Result<Self> {
        let device = queue.device().to_string();
        let file = remembered_sizes();
        let lines = file.as_deref().map(std::fs::read_to_string);
        let lines = lines.and_then(std::result::Result::ok).unwrap_or_default();
        let sizes = lines.lines().find_map(|line| sizes_of(line, &device));
        if let Some(sizes) = sizes {
            println!(
                "tuner     side {}, depth {}, from an earlier run",
                sizes[0], sizes[1]
            );
            return Self::new(queue, sizes).map_err(Error::wrap);
        }
        let start = Instant::now();
        let tuned = Self::tuned(queue).map_err(Error::wrap)?;
        let (fastest, time) =
            tuned.ok_or_else(|| Error::msg("no work-group size fits this device"))?;
        let (side, depth) = (fastest.side, fastest.depth);
        println!(
            "tuner     side {side}, depth {depth}: {:.0} GFLOP/s; took {:.1} s",
            rate(TRIAL, time),
            start.elapsed().as_secs_f64()
        );
        if let Some(file) = file {
            let open = File::options().append(true).create(true).open(&file);
            let line = format!("{side} {depth} {device}\n");
            if let Err(cause) = open.and_then(|mut file| file.write_all(line.as_bytes())) {
                eprintln!(
                    "warning: cannot save the sizes to {}: {cause}",
                    file.display()
                );
            }
        }
        Ok(fastest)
    }

    /// Tries all sizes that fit the device of `queue`, and returns the fastest with its time.
    ///
    /// # Errors
    ///
    /// Fails if the device reports an error.
    fn tuned(queue: &Queue) -> syclbin_rt::Result<Option<(Self, Duration)>> {
        let [m, k, n] = TRIAL;
        let (a, b) = (queue.zeroed(m * k)?, queue.zeroed(k * n)?);
        let mut c = queue.zeroed(m * n)?;
        let sizes = SIDES
            .into_iter()
            .flat_map(|side| DEPTHS.map(|depth| [side, depth]));
        let device = queue.device();
        let mut best: Option<(Self, Duration)> = None;
        for [side, depth] in sizes {
            let bytes = 8 * EACH as u64 * u64::from(side * depth);
            if bytes > device.local_memory_bytes()
                || (side * side) as usize > device.max_work_group_size()
            {
                continue;
            }
            let candidate = Self::new(queue, [side, depth])?;
            let mut time = Duration::MAX;
            // The first launch compiles the kernel.
            for _ in 0..4 {
                time = time.min(candidate.multiply(&a, &b, &mut c, TRIAL)?);
            }
            if best.as_ref().is_none_or(|(_, fastest)| time < *fastest) {
                best = Some((candidate, time));
            }
        }
        Ok(best)
    }

    /// Computes `c`, and returns how long that took.
    ///
    /// # Errors
    ///
    /// Fails if the device reports an error.
    fn multiply(
        &self,
        a: &Buffer<f32>,
        b: &Buffer<f32>,
        c: &mut Buffer<f32>,
        size: Size,
    ) -> syclbin_rt::Result<Duration> {
        let (side, square) = (self.side as usize, self.square());
        let groups = |count: usize| count.div_ceil(square) * side;
        let range = NdRange::new([groups(size[0]), groups(size[2])]).local([side, side]);
        let [m, k, n] = size.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let strips = LocalMemory::of(2 * square * self.depth as usize);
        let room = 2 * EACH as u32 * self.side * self.depth;
        let start = Instant::now();
        let launch = self.kernels.matmul(a, b, c, m, n, k, strips, room);
        launch.launch(range)?.wait()?;
        Ok(start.elapsed())
    }
}

/// Compares the three in all `sizes`.
///
/// # Errors
///
/// Fails if the results differ, or if a device reports an error.
pub fn run(sizes: &[Size]) -> Result<()> {
    let queue = kernels::Module::best_device().and_then(|device| device.queue());
    let queue = queue.map_err(Error::wrap)?;
    println!("device    {}", queue.device());
    let matmul = Matmul::for_device(&queue)?;
    for size in sizes {
        compare(&matmul, *size)?;
    }
    Ok(())
}

/// Returns the path of the file with the fastest sizes. Each line holds a side, a depth and a device. Returns `None` if
/// the environment names no directory for caches.
fn remembered_sizes() -> Option<PathBuf> {
    let cache = match std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
    };
    std::fs::create_dir_all(&cache).ok()?;
    Some(cache.join("syclbin-candle-sizes.txt"))
}

/// Returns the sizes in a line if they belong to this device.
fn sizes_of(line: &str, device: &str) -> Option<[u32; 2]> {
    let (side, rest) = line.split_once(' ')?;
    let (depth, name) = rest.split_once(' ')?;
    let side = side.parse().ok().filter(|side| SIDES.contains(side))?;
    let depth = depth.parse().ok().filter(|depth| DEPTHS.contains(depth))?;
    (name == device).then_some([side, depth])
}

fn compare(matmul: &Matmul, size: Size) -> Result<()> {
    let [m, k, n] = size;
    let (a, b) = (numbers(&[m, k], 1)?, numbers(&[k, n], 2)?);
    let [flat_a, flat_b] = [&a, &b].map(|tensor| tensor.flatten_all()?.to_vec1::<f32>());
    let (flat_a, flat_b) = (flat_a?, flat_b?);
    let view = |shape, numbers| ArrayView2::from_shape(shape, numbers).map_err(Error::wrap);
    let (view_a, view_b) = (view((m, k), &flat_a)?, view((k, n), &flat_b)?);
    let upload = |numbers: &[f32]| matmul.queue.upload(numbers).map_err(Error::wrap);
    let (device_a, device_b) = (upload(&flat_a)?, upload(&flat_b)?);
    let mut c = matmul.queue.zeroed(m * n).map_err(Error::wrap)?;

    let [mut on_device, mut by_candle, mut by_ndarray] = [Duration::MAX; 3];
    let (mut exact, mut other) = (a.clone(), Array2::zeros((0, 0)));
    for _ in 0..TURNS {
        let time = matmul.multiply(&device_a, &device_b, &mut c, size);
        on_device = on_device.min(time.map_err(Error::wrap)?);
        let start = Instant::now();
        exact = a.matmul(&b)?;
        by_candle = by_candle.min(start.elapsed());
        let start = Instant::now();
        other = view_a.dot(&view_b);
        by_ndarray = by_ndarray.min(start.elapsed());
    }
    let computed = matmul.queue.download(&c).map_err(Error::wrap)?;
    let computed = Tensor::from_vec(computed, &[m, n], &Device::Cpu)?;
    let other = Tensor::from_vec(other.into_raw_vec_and_offset().0, &[m, n], &Device::Cpu)?;

    // Each implementation adds k products, of magnitude at most 1/4, in a different order.
    let bound = f64::from(f32::EPSILON) * k as f64;
    let difference = distance(&computed, &exact)?.max(distance(&other, &exact)?);
    println!(
        "{m} x {k} x {n}: device {:.0}, gemm {:.0}, matrixmultiply {:.0} GFLOP/s; agree up to {difference:.1e}",
        rate(size, on_device),
        rate(size, by_candle),
        rate(size, by_ndarray)
    );
    if difference > bound {
        candle_core::bail!("results differ by {difference:.1e}; at most {bound:.1e} is allowed");
    }
    Ok(())
}

/// Billions of additions and multiplications per second.
fn rate(size: Size, time: Duration) -> f64 {
    2.0 * size.iter().product::<usize>() as f64 / time.as_secs_f64() / 1e9
}
