// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations of a language model: on the device, and by candle on the CPU.
//!
//! - `candle [ROWS COLUMNS]`: a quantized matrix times a vector, as an operation of candle
//! - `candle decoder [small]`: a decoder that generates tokens
//! - `candle save FILE`: writes the small decoder's weights to a GGUF file
//! - `candle model FILE [check] [TOKEN...]`: generates text with a model from a GGUF file
//! - `candle matmul [M K N]`: a matrix times a matrix, compared with two crates

mod decoder;
mod generate;
mod matmul;
mod matvec;
mod reference;
mod weights;

use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{Device, Module, Result, Tensor};

use matvec::DeviceMatrix;
use weights::Weights;

/// Two layers of a language model with 8 billion weights.
const SIZES: [[usize; 2]; 2] = [[4096, 4096], [14336, 4096]];
/// How often each side multiplies, in turns; the fastest counts.
const TURNS: usize = 50;
/// The maximum number of tokens that `model` generates.
const GENERATED: usize = 64;

const USAGE: &str = "usage:
  candle [ROWS COLUMNS]                  COLUMNS is a multiple of 32
  candle decoder [small]
  candle save FILE
  candle model FILE [check] [TOKEN...]   TOKEN is a token ID; `check` compares with candle
  candle matmul [M K N]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["decoder"] => return generate::run(generate::LARGE, 64),
        ["decoder", "small"] => return generate::run(generate::SMALL, 20),
        ["save", file] => {
            let weights = Weights::random(generate::SMALL, GgmlDType::Q4K)?;
            return weights.save(file.as_ref());
        }
        ["model", file, "check", ref tokens @ ..] => {
            return generate::continue_text(file.as_ref(), &parsed(tokens)?, GENERATED, true);
        }
        ["model", file, ref tokens @ ..] => {
            return generate::continue_text(file.as_ref(), &parsed(tokens)?, GENERATED, false);
        }
        ["matmul"] => return matmul::run(&matmul::SIZES),
        ["matmul", ref sizes @ ..] => match parsed(sizes)?[..] {
            [m, k, n] if m > 0 && k > 0 && n > 0 => return matmul::run(&[[m, k, n]]),
            _ => candle_core::bail!("{USAGE}"),
        },
        _ => {}
    }
    let sizes = match parsed(&words)?[..] {
        [] => SIZES.to_vec(),
        [rows, columns] if rows > 0 && columns > 0 && columns % 32 == 0 => vec![[rows, columns]],
        _ => candle_core::bail!("{USAGE}"),
    };
    for [rows, columns] in sizes {
        compare(rows, columns)?;
    }
    Ok(())
}

fn parsed<T: FromStr>(words: &[&str]) -> Result<Vec<T>> {
    let numbers = words.iter().map(|word| word.parse().ok());
    let numbers: Option<Vec<T>> = numbers.collect();
    numbers.ok_or_else(|| candle_core::Error::msg(USAGE))
}

fn compare(rows: usize, columns: usize) -> Result<()> {
    let weights = numbers(&[rows, columns], 1)?;
    let quantized = QTensor::quantize(&weights, GgmlDType::Q4_0)?;
    let x = numbers(&[1, columns], 2)?;
    let bytes = quantized.storage_size_in_bytes();
    let on_device = DeviceMatrix::new(&quantized)?;
    println!(
        "matrix    {rows} x {columns} in Q4_0, {:.1} MB",
        bytes as f64 / 1e6
    );

    // Without rounding of the vector: candle's product of the same weights as 32-bit numbers.
    let exact = x.matmul(&quantized.dequantize(&Device::Cpu)?.t()?)?;
    let by_candle = QMatMul::from_qtensor(quantized)?;
    let (mut computed, mut device_time) = timed(|| x.apply_op1_no_bwd(&on_device))?;
    let (mut rounded, mut candle_time) = timed(|| by_candle.forward(&x))?;
    for _ in 1..TURNS {
        let time;
        (computed, time) = timed(|| x.apply_op1_no_bwd(&on_device))?;
        device_time = device_time.min(time);
        let time;
        (rounded, time) = timed(|| by_candle.forward(&x))?;
        candle_time = candle_time.min(time);
    }
    println!(
        "device    {}, {}",
        rate(bytes, device_time),
        on_device.device()
    );
    println!("candle    {}", rate(bytes, candle_time));

    // A row adds as many products, of which each is at most a quarter.
    let bound = f64::from(f32::EPSILON) * columns as f64;
    let difference = distance(&computed, &exact)?;
    if difference > bound {
        candle_core::bail!("a difference of {difference:.1e}, more than {bound:.1e}");
    }
    println!("agree     with candle's own result up to {difference:.1e}");
    println!(
        "rounding  of the vector to 8 bits, by candle: {:.1e}",
        distance(&rounded, &exact)?
    );
    Ok(())
}

/// Returns a result, and how long it took.
fn timed(multiply: impl FnOnce() -> Result<Tensor>) -> Result<(Tensor, Duration)> {
    let start = Instant::now();
    Ok((multiply()?, start.elapsed()))
}

/// Numbers from -0.5 to 0.5, the same in each run.
fn numbers(shape: &[usize], seed: u32) -> Result<Tensor> {
    let mut state = seed;
    let number = || {
        // Xorshift: Marsaglia, Journal of Statistical Software 8 (14), 2003.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    let all: Vec<f32> = std::iter::repeat_with(number)
        .take(shape.iter().product())
        .collect();
    Tensor::from_vec(all, shape, &Device::Cpu)
}

/// The largest difference of two elements. A NaN is as far from all as can be.
fn distance(left: &Tensor, right: &Tensor) -> Result<f64> {
    let [left, right] = [left, right].map(|tensor| tensor.flatten_all()?.to_vec1::<f32>());
    let (left, right) = (left?, right?);
    let pairs = left.iter().zip(&right);
    let differences = pairs.map(|(left, right)| f64::from((left - right).abs()));
    let largest = differences.fold(0.0, |largest, difference| {
        if difference.is_nan() {
            f64::INFINITY
        } else {
            difference.max(largest)
        }
    });
    Ok(largest)
}

/// A time, and how much of the matrix was read per second.
fn rate(bytes: usize, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    format!(
        "{:.2} ms, {:.1} GB/s",
        1e3 * seconds,
        bytes as f64 / seconds / 1e9
    )
}
