// SPDX-License-Identifier: MIT OR Apache-2.0
//! An operation of candle: a quantized matrix, which stays on the device, times a vector.

use std::sync::{Mutex, PoisonError};

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{CpuStorage, CustomOp1, Error, Layout, Result, Shape};
use syclbin_rt::{AnyRange, Buffer, Queue, Recorder, SafeLaunch};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    pub mod kernels = "matvec";

    // SAFETY: work-items beyond the matrix do nothing, and each of the others writes a sum.
    unsafe extern "SYCL" {
        safe fn multiply_q4 where words.len() >= 256 * groups * blocks, scales.len() >= 64 * groups * blocks,
            minima.len() >= 64 * groups * blocks, x.len() >= 32 * blocks, sums.len() >= 64 * groups * parts;
        safe fn multiply_q4k where words.len() >= 256 * groups * blocks, scales.len() >= 64 * groups * blocks,
            minima.len() >= 64 * groups * blocks, x.len() >= 32 * blocks, sums.len() >= 64 * groups * parts;
        safe fn multiply_q8 where words.len() >= 512 * groups * blocks, scales.len() >= 64 * groups * blocks,
            minima.len() >= 64 * groups * blocks, x.len() >= 32 * blocks, sums.len() >= 64 * groups * parts;
        safe fn multiply_f32 where words.len() >= 2048 * groups * blocks, scales.len() >= 64 * groups * blocks,
            minima.len() >= 64 * groups * blocks, x.len() >= 32 * blocks, sums.len() >= 64 * groups * parts;
        safe fn add_up where sums.len() >= 64 * groups * parts, y.len() >= 64 * groups;
    }
}

/// Weights of a block, in all formats.
const BLOCK: usize = 32;
/// Rows that are side by side, as in kernels/matvec.cpp.
pub const GROUP: usize = 64;
/// Into how many sums a row is divided.
const PARTS: u32 = 8;

/// A matrix in the format Q4_0, Q4_K, Q8_0 or F32 on a device.
pub struct Matrix {
    format: Format,
    rows: usize,
    groups: u32,
    blocks: u32,
    words: Buffer<u32>,
    scales: Buffer<f32>,
    minima: Buffer<f32>,
}

/// A matrix on a device. `tensor.apply_op1_no_bwd(&matrix)` multiplies it by each vector of a tensor.
pub struct DeviceMatrix {
    queue: Queue,
    kernels: kernels::Module,
    matrix: Matrix,
    /// Threads that share a matrix take turns.
    vectors: Mutex<Vectors>,
}

/// A vector, the sums of parts of rows, and the result.
struct Vectors {
    x: Buffer<f32>,
    sums: Buffer<f32>,
    y: Buffer<f32>,
}

/// How the words of a block are multiplied.
#[derive(Clone, Copy)]
enum Format {
    Q4,
    Q4K,
    Q8,
    F32,
}

impl Matrix {
    /// Uploads a matrix.
    ///
    /// # Errors
    ///
    /// Fails if the tensor has another format or is not a matrix, or if the device reports an error.
    pub fn upload(queue: &Queue, matrix: &QTensor) -> Result<Self> {
        let dtype = matrix.dtype();
        let format = match dtype {
            GgmlDType::Q4_0 => Format::Q4,
            GgmlDType::Q4K => Format::Q4K,
            GgmlDType::Q8_0 => Format::Q8,
            GgmlDType::F32 => Format::F32,
            other => candle_core::bail!(
                "cannot upload a matrix in {other:?}: only Q4_0, Q4K, Q8_0 and F32 are implemented"
            ),
        };
        let (rows, columns) = matrix.shape().dims2()?;
        let (groups, blocks) = (rows.div_ceil(GROUP), columns / BLOCK);
        let side_by_side = SideBySide::new(&matrix.data()?, dtype, groups, blocks);
        let SideBySide {
            words,
            scales,
            minima,
        } = side_by_side;
        let numbers = |numbers: &[f32]| queue.upload(numbers).map_err(Error::wrap);
        Ok(Self {
            format,
            rows,
            groups: u32::try_from(groups).unwrap_or(u32::MAX),
            blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
            words: queue.upload(&words).map_err(Error::wrap)?,
            scales: numbers(&scales)?,
            minima: numbers(&minima)?,
        })
    }

    /// Returns the number of rows, padded to whole groups: what the result of a product needs.
    pub fn padded_rows(&self) -> usize {
        self.groups as usize * GROUP
    }

    /// Returns the number of sums that a product needs.
    pub fn sums(&self) -> usize {
        self.padded_rows() * PARTS as usize
    }

    /// Multiplies the matrix by `x`, and writes the result to `y`. `run` decides whether the kernels are launched or
    /// recorded.
    pub fn multiply(
        &self,
        kernels: &kernels::Module,
        x: &Buffer<f32>,
        y: &mut Buffer<f32>,
        sums: &mut Buffer<f32>,
        run: &mut Run<'_>,
    ) -> syclbin_rt::Result<()> {
        let Self {
            words,
            scales,
            minima,
            ..
        } = self;
        let (groups, blocks, rows) = (self.groups, self.blocks, self.padded_rows());
        let kernel = match self.format {
            Format::Q4 => kernels::Module::multiply_q4,
            Format::Q4K => kernels::Module::multiply_q4k,
            Format::Q8 => kernels::Module::multiply_q8,
            Format::F32 => kernels::Module::multiply_f32,
        };
        let product = kernel(
            kernels, words, scales, minima, x, sums, groups, blocks, PARTS,
        );
        run.kernel(product, [PARTS as usize, rows])?;
        run.kernel(kernels.add_up(sums, y, groups, PARTS), rows)
    }
}

/// Whether kernels are launched now or recorded.
pub enum Run<'r> {
    Now,
    Record(&'r mut Recorder),
}

impl Run<'_> {
    pub fn kernel<const N: usize, R: Into<AnyRange>>(
        &mut self,
        launch: SafeLaunch<'_, N, R>,
        range: impl Into<R>,
    ) -> syclbin_rt::Result<()> {
        match self {
            Self::Now => launch.launch(range).map(drop),
            Self::Record(recorder) => launch.record(recorder, range),
        }
    }
}

impl DeviceMatrix {
    /// Uploads a matrix in one of these formats to the best device.
    ///
    /// # Errors
    ///
    /// Fails if the tensor has another format or is not a matrix, or if the device reports an error.
    pub fn new(matrix: &QTensor) -> Result<Self> {
        let columns = matrix.shape().dims2()?.1;
        let queue = kernels::Module::best_device().and_then(|device| device.queue());
        let queue = queue.map_err(Error::wrap)?;
        let matrix = Matrix::upload(&queue, matrix)?;
        let prepare = || -> syclbin_rt::Result<Self> {
            Ok(Self {
                kernels: kernels::Module::load(&queue)?,
                vectors: Mutex::new(Vectors {
                    x: queue.zeroed(columns)?,
                    sums: queue.zeroed(matrix.sums())?,
                    y: queue.zeroed(matrix.padded_rows())?,
                }),
                queue: queue.clone(),
                matrix,
            })
        };
        prepare().map_err(Error::wrap)
    }

    /// Returns the device that has the matrix.
    pub fn device(&self) -> &syclbin_rt::Device {
        self.queue.device()
    }

    /// Multiplies by one vector.
    fn multiply(&self, from: &[f32], to: &mut [f32]) -> syclbin_rt::Result<()> {
        let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let Vectors { x, sums, y } = &mut *vectors;
        self.queue.write(x, from)?;
        self.matrix
            .multiply(&self.kernels, x, y, sums, &mut Run::Now)?;
        self.queue.read(&*y.slice(..self.matrix.rows)?, to)
    }
}

impl CustomOp1 for DeviceMatrix {
    fn name(&self) -> &'static str {
        "matvec in SYCL"
    }

    /// Takes `[.., columns]`, and returns `[.., rows]`.
    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, columns) = (self.matrix.rows, self.matrix.blocks as usize * BLOCK);
        let Some((start, end)) = layout.contiguous_offsets() else {
            candle_core::bail!(
                "{}: the vector has gaps; call `contiguous` first",
                self.name()
            );
        };
        let mut shape = layout.dims().to_vec();
        match shape.last_mut() {
            Some(last) if *last == columns => *last = rows,
            _ => candle_core::bail!("{}: {shape:?} does not end with {columns}", self.name()),
        }
        let vectors = storage.as_slice::<f32>()?[start..end].chunks_exact(columns);
        let mut results = vec![0.0; vectors.len() * rows];
        for (from, to) in vectors.zip(results.chunks_exact_mut(rows)) {
            self.multiply(from, to).map_err(Error::wrap)?;
        }
        Ok((CpuStorage::F32(results), shape.into()))
    }
}

/// Rearranged blocks: those of the rows of a group are side by side.
struct SideBySide {
    words: Vec<u32>,
    scales: Vec<f32>,
    minima: Vec<f32>,
}

impl SideBySide {
    /// Takes the blocks of a matrix in a format of GGUF.
    fn new(bytes: &[u8], format: GgmlDType, groups: usize, blocks: usize) -> Self {
        let all = GROUP * groups * blocks;
        let words_of_block = match format {
            GgmlDType::F32 => 32,
            GgmlDType::Q8_0 => 8,
            _ => 4,
        };
        let mut new = Self {
            words: vec![0; words_of_block * all],
            scales: vec![0.0; all],
            minima: vec![0.0; all],
        };
        let mut block = 0;
        let mut push = |scale: f32, minimum: f32, bytes: &[u8]| {
            let (row, column) = (block / blocks, block % blocks);
            let (place, in_group) = (row / GROUP * blocks + column, row % GROUP);
            block += 1;
            new.scales[place * GROUP + in_group] = scale;
            new.minima[place * GROUP + in_group] = minimum;
            for (k, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
                let word = u32::from_le_bytes(*word);
                new.words[(words_of_block * place + k) * GROUP + in_group] = word;
            }
        };
        match format {
            GgmlDType::F32 => bytes
                .chunks_exact(128)
                .for_each(|bytes| push(1.0, 0.0, bytes)),
            GgmlDType::Q8_0 => bytes
                .chunks_exact(34)
                .for_each(|block| push(f16(block), 0.0, &block[2..])),
            GgmlDType::Q4_0 => bytes
                .chunks_exact(18)
                .for_each(|block| push(f16(block), 0.0, &block[2..])),
            _ => bytes.chunks_exact(144).for_each(|blocks| {
                let (scale, minimum) = (f16(blocks), f16(&blocks[2..]));
                let (six_bits, numbers) = blocks[4..].split_at(12);
                for i in 0..8 {
                    let (times_scale, times_minimum) = six_bit_numbers(six_bits, i);
                    // A byte has a number of this block, and a number of the next.
                    let half = |byte: u8| byte >> (4 * (i % 2)) & 15;
                    let numbers = &numbers[i / 2 * BLOCK..][..BLOCK];
                    let (low, high) = numbers.split_at(BLOCK / 2);
                    let pairs = low.iter().zip(high);
                    let bytes: Vec<u8> = pairs
                        .map(|(low, high)| half(*low) | half(*high) << 4)
                        .collect();
                    push(scale * times_scale, minimum * times_minimum, &bytes);
                }
            }),
        }
        new
    }
}

/// The number of 16 bits at the start of `bytes`.
fn f16(bytes: &[u8]) -> f32 {
    half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()
}

/// The factors of the scale and the minimum of block `i` of eight in Q4_K. Those of the first four blocks are the lower
/// six bits of bytes 0 to 7. Those of the others are divided: four bits in bytes 8 to 11, and the upper two of a byte
/// before.
fn six_bit_numbers(bytes: &[u8], i: usize) -> (f32, f32) {
    let (scale, minimum) = if i < 4 {
        (bytes[i] & 63, bytes[i + 4] & 63)
    } else {
        let upper = |byte: u8| byte >> 6 << 4;
        (
            bytes[i + 4] & 15 | upper(bytes[i - 4]),
            bytes[i + 4] >> 4 | upper(bytes[i]),
        )
    };
    (f32::from(scale), f32::from(minimum))
}
