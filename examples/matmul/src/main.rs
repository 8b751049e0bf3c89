// SPDX-License-Identifier: MIT OR Apache-2.0
//! Multiplies matrices on the device, and beside it with a Rust crate on the CPU.
//!
//! `matmul [M K N]`: an M x K matrix times a K x N one; without numbers, a large and an odd size. The first product is
//! also computed by all devices together.

mod split;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use syclbin_rt::{Device, Queue};

use split::Split;

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "matmul";

    // SAFETY: the kernel stays inside of the matrices whatever the range is, and all work-items of a
    // work-group meet at its barriers.
    unsafe extern "SYCL" {
        safe fn matmul where a.len() >= m * k, b.len() >= k * n, c.len() >= m * n;
    }
}

/// Rows and columns of c that a work-group computes; as in kernels/matmul.cpp.
const SQUARE: usize = 64;
/// How often each side multiplies; the fastest counts.
const TURNS: usize = 5;

/// An `m` x `k` matrix times a `k` x `n` one.
#[derive(Clone, Copy)]
struct Size {
    m: usize,
    k: usize,
    n: usize,
}

const SIZES: [Size; 2] = [
    Size {
        m: 1024,
        k: 1024,
        n: 1024,
    },
    Size {
        m: 509,
        k: 1021,
        n: 727,
    },
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stdout, reason = "a program for people to read")]
fn run() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Result<Vec<usize>, _> = arguments.iter().map(|text| text.parse()).collect();
    let sizes = match numbers.as_deref() {
        Ok([]) => SIZES.to_vec(),
        Ok(&[m, k, n]) if m > 0 && k > 0 && n > 0 => vec![Size { m, k, n }],
        _ => return Err("usage: matmul [M K N], three numbers from 1 on".into()),
    };
    let queue = kernels::Module::best_device()?.queue()?;
    println!("device    {}", queue.device());
    let kernels = kernels::Module::load(&queue)?;
    let devices = split::devices()?;
    for (index, size) in sizes.into_iter().enumerate() {
        let Size { m, k, n } = size;
        let (a, b) = (matrix(m * k, 1), matrix(k * n, 2));
        let (on_device, by_device) = device(&queue, &kernels, size, &a, &b)?;
        let (on_cpu, by_crate) = cpu(size, &a, &b);
        println!("size      {m} x {k} times {k} x {n}");
        println!("device    {}", rate(size, by_device));
        println!("crate     {}", rate(size, by_crate));
        // Both add k products that are at most a quarter, in another order.
        let bound = f64::from(f32::EPSILON) * k as f64;
        let difference = difference(&on_device, &on_cpu);
        if difference > bound {
            return Err(format!("a difference of {difference:.1e}, more than {bound:.1e}").into());
        }
        println!("agree     up to {difference:.1e}");
        if index == 0 && devices.len() > 1 {
            let Split {
                c,
                equal: (rows, time),
                measured,
            } = split::multiply(&devices, size, &a, &b)?;
            let names: Vec<String> = devices.iter().map(Device::to_string).collect();
            println!("split     over {}", names.join(" and "));
            println!("equal     {rows:?} rows: {}", rate(size, time));
            println!(
                "by speed  {:?} rows: {}",
                measured.0,
                rate(size, measured.1)
            );
            let difference = self::difference(&c, &on_cpu);
            if difference > bound {
                return Err(format!("split: a difference of {difference:.1e}").into());
            }
        }
    }
    Ok(())
}

/// A range of work-items for `m` rows and `n` columns.
fn range(m: usize, n: usize) -> [usize; 2] {
    let [rows, columns] = kernels::Module::MATMUL_LOCAL_SIZE;
    [m.div_ceil(SQUARE) * rows, n.div_ceil(SQUARE) * columns]
}

/// The product by the device, and how long its kernel takes.
fn device(
    queue: &Queue,
    kernels: &kernels::Module,
    Size { m, k, n }: Size,
    a: &[f32],
    b: &[f32],
) -> Result<(Vec<f32>, Duration), Box<dyn std::error::Error>> {
    let (a, b) = (queue.upload(a)?, queue.upload(b)?);
    let mut c = queue.zeroed::<f32>(m * n)?;
    let [wide_m, wide_n, wide_k] = [u32::try_from(m)?, u32::try_from(n)?, u32::try_from(k)?];
    let mut fastest = Duration::MAX;
    for _ in 0..TURNS {
        let start = Instant::now();
        let launch = kernels.matmul(&a, &b, &mut c, wide_m, wide_n, wide_k);
        launch.launch(range(m, n))?.wait()?;
        fastest = fastest.min(start.elapsed());
    }
    Ok((queue.download(&c)?, fastest))
}

/// The product by `matrixmultiply`, on as many threads as `MATMUL_NUM_THREADS` says.
#[allow(unsafe_code, reason = "the crate takes pointers")]
fn cpu(Size { m, k, n }: Size, a: &[f32], b: &[f32]) -> (Vec<f32>, Duration) {
    assert_eq!((a.len(), b.len()), (m * k, k * n));
    let mut c = vec![0.0; m * n];
    // A slice is not longer than this.
    let stride = |columns: usize| columns.cast_signed();
    let mut fastest = Duration::MAX;
    for _ in 0..TURNS {
        let start = Instant::now();
        // SAFETY: each pointer is of a slice with as many elements as its matrix has, row by row.
        unsafe {
            matrixmultiply::sgemm(
                m,
                k,
                n,
                1.0,
                a.as_ptr(),
                stride(k),
                1,
                b.as_ptr(),
                stride(n),
                1,
                0.0,
                c.as_mut_ptr(),
                stride(n),
                1,
            );
        }
        fastest = fastest.min(start.elapsed());
    }
    (c, fastest)
}

/// Numbers from -0.5 to 0.5, the same in each run.
fn matrix(len: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let number = || {
        // Xorshift: Marsaglia, Journal of Statistical Software 8 (14), 2003.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let [byte, ..] = state.to_be_bytes();
        f32::from(byte) / 255.0 - 0.5
    };
    std::iter::repeat_with(number).take(len).collect()
}

/// The largest difference of two elements. A NaN is as far from all as can be.
fn difference(left: &[f32], right: &[f32]) -> f64 {
    let pairs = left.iter().zip(right);
    let differences = pairs.map(|(left, right)| (f64::from(*left) - f64::from(*right)).abs());
    differences.fold(0.0, |largest, difference| {
        if difference.is_nan() {
            f64::INFINITY
        } else {
            difference.max(largest)
        }
    })
}

/// A time, and how many additions and multiplications that is a second.
fn rate(Size { m, k, n }: Size, time: Duration) -> String {
    let operations = 2.0 * m as f64 * k as f64 * n as f64;
    let rate = operations / time.as_secs_f64() / 1e9;
    format!("{:.2} ms, {rate:.1} GFLOP/s", 1e3 * time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_that_judges_multiplies_rows_by_columns() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0]);
        let (c, _) = cpu(Size { m: 2, k: 3, n: 1 }, &a, &b);
        assert_eq!(c, [50.0, 122.0]);
    }

    #[test]
    fn a_number_that_is_none_is_a_difference() {
        assert_eq!(difference(&[1.0, 2.0], &[1.0, 2.5]), 0.5);
        assert_eq!(difference(&[1.0, f32::NAN, 3.0], &[1.0; 3]), f64::INFINITY);
    }
}
