// SPDX-License-Identifier: MIT OR Apache-2.0
//! An operation of candle: a quantized matrix, which stays on the device, times a vector.

use std::sync::{Mutex, PoisonError};

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{CpuStorage, CustomOp1, Error, Layout, Result, Shape};
use syclbin_rt::{AnyRange, Buffer, Queue, Recorder, SafeLaunch};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "matvec";

    // SAFETY: work-items beyond the matrix do nothing, and so do all of them if `words_of_block` does not fit the format.
    // Each of the others writes its own sums or numbers. Tokens are checked before they are an index.
    unsafe extern "SYCL" {
        safe fn multiply where words.len() >= 64 * words_of_block * groups * blocks,
            scales.len() >= 64 * groups * blocks, minima.len() >= 64 * groups * blocks,
            x.len() >= 32 * blocks, sums.len() >= 64 * groups * parts;
        safe fn multiply_batch where words.len() >= 64 * words_of_block * groups * blocks,
            scales.len() >= 64 * groups * blocks, minima.len() >= 64 * groups * blocks,
            x.len() >= 256 * blocks, sums.len() >= 512 * groups * parts;
        safe fn add_up where sums.len() >= n * parts, y.len() >= n;
        safe fn embed where words.len() >= 64 * words_of_block * groups * blocks,
            scales.len() >= 64 * groups * blocks, minima.len() >= 64 * groups * blocks,
            state.len() > tokens, x.len() >= 32 * tokens * blocks;
    }
}

/// The weights of a block.
const BLOCK: usize = 32;
/// Rows that are side by side, as in kernels/matvec.cpp.
pub const GROUP: usize = 64;
/// The number of vectors that [`Matrix::multiply`] takes at once, as in kernels/matvec.cpp.
pub const BATCH: usize = 8;
/// The number of sums that each product of a row and a vector is divided into.
const PARTS: u32 = 8;

/// The formats of weights, numbered as in kernels/matvec.cpp, with the words of a block.
const FORMATS: [(GgmlDType, u32); 6] = [
    (GgmlDType::F32, 32),
    (GgmlDType::F16, 16),
    (GgmlDType::BF16, 16),
    (GgmlDType::Q8_0, 8),
    (GgmlDType::Q4_0, 4),
    (GgmlDType::Q4K, 4),
];

/// Returns how many partial sums `results` results of a product need.
pub fn sums(results: usize) -> usize {
    results * PARTS as usize
}

/// Returns whether [`Matrix::upload`] accepts the format.
pub fn is_supported(dtype: GgmlDType) -> bool {
    FORMATS.iter().any(|(format, _)| *format == dtype)
}

/// The kernels, compiled for each format when a matrix needs it.
pub struct Products<'q> {
    queue: &'q Queue,
    modules: [Option<kernels::Module>; FORMATS.len()],
}

impl<'q> Products<'q> {
    pub fn new(queue: &'q Queue) -> Self {
        Self {
            queue,
            modules: Default::default(),
        }
    }

    /// Returns the kernels for a format, and the words of a block.
    fn get(&mut self, dtype: GgmlDType) -> Result<(kernels::Module, u32)> {
        let index = FORMATS.iter().position(|(format, _)| *format == dtype);
        let Some(index) = index else {
            let names = FORMATS.map(|(format, _)| format!("{format:?}")).join(", ");
            candle_core::bail!("cannot upload a matrix in {dtype:?}; the kernels support {names}");
        };
        let module = match self.modules[index].take() {
            Some(module) => module,
            None => {
                let builder = kernels::Module::builder(self.queue).format(index as u32);
                builder.load().map_err(Error::wrap)?
            }
        };
        self.modules[index] = Some(module.clone());
        Ok((module, FORMATS[index].1))
    }
}

/// A matrix on a device, in one of [`FORMATS`].
pub struct Matrix {
    kernels: kernels::Module,
    rows: usize,
    groups: u32,
    blocks: u32,
    words_of_block: u32,
    words: Buffer<u32>,
    scales: Buffer<f32>,
    minima: Buffer<f32>,
}

/// A matrix on a device. `tensor.apply_op1_no_bwd(&matrix)` multiplies it by each vector of a tensor.
pub struct DeviceMatrix {
    queue: Queue,
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

impl Matrix {
    /// Uploads a matrix.
    ///
    /// # Errors
    ///
    /// Fails if the tensor has another format or is not a matrix, if its columns are not a multiple of 32, or if the
    /// device reports an error.
    pub fn upload(products: &mut Products<'_>, matrix: &QTensor) -> Result<Self> {
        let dtype = matrix.dtype();
        let (kernels, words_of_block) = products.get(dtype)?;
        let queue = products.queue;
        let (rows, columns) = matrix.shape().dims2()?;
        if columns % BLOCK != 0 {
            candle_core::bail!(
                "cannot upload a matrix with {columns} columns, because {columns} is not a multiple of 32"
            );
        }
        let (groups, blocks) = (rows.div_ceil(GROUP), columns / BLOCK);
        let bytes = matrix.data()?;
        let rearranged = SideBySide::new(&bytes, dtype, words_of_block as usize, groups, blocks);
        let numbers = |numbers: &[f32]| queue.upload(numbers).map_err(Error::wrap);
        Ok(Self {
            kernels,
            rows,
            groups: u32::try_from(groups).unwrap_or(u32::MAX),
            blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
            words_of_block,
            words: queue.upload(&rearranged.words).map_err(Error::wrap)?,
            scales: numbers(&rearranged.scales)?,
            minima: numbers(&rearranged.minima)?,
        })
    }

    /// Returns the number of rows, padded to whole groups: the length of a product.
    pub fn padded_rows(&self) -> usize {
        self.groups as usize * GROUP
    }

    /// Returns the number of sums that a product with a vector needs.
    pub fn sums(&self) -> usize {
        sums(self.padded_rows())
    }

    /// Returns how many bytes a product reads from the matrix.
    pub fn bytes(&self) -> usize {
        4 * (self.words.len() + self.scales.len())
    }

    /// Multiplies the matrix by one vector or by [`BATCH`] vectors, which follow each other in `x`, and writes the
    /// results to `y`. `run` decides whether the kernels are launched or recorded.
    pub fn multiply(
        &self,
        x: &Buffer<f32>,
        y: &mut Buffer<f32>,
        sums: &mut Buffer<f32>,
        vectors: usize,
        run: &mut Run<'_>,
    ) -> syclbin_rt::Result<()> {
        let (kernels, rows) = (&self.kernels, self.padded_rows());
        let product = if vectors == BATCH {
            kernels::Module::multiply_batch
        } else {
            kernels::Module::multiply
        };
        let product = product(
            kernels,
            &self.words,
            &self.scales,
            &self.minima,
            x,
            sums,
            self.groups,
            self.blocks,
            PARTS,
            self.words_of_block,
        );
        run.kernel(product, [PARTS as usize, rows])?;
        let results = vectors * rows;
        run.kernel(kernels.add_up(sums, y, results as u32, PARTS), results)
    }

    /// Copies the rows of `tokens` tokens to `x`. `state` contains the tokens after the position.
    pub fn embed(
        &self,
        state: &Buffer<u32>,
        x: &mut Buffer<f32>,
        tokens: usize,
        run: &mut Run<'_>,
    ) -> syclbin_rt::Result<()> {
        let embed = self.kernels.embed(
            &self.words,
            &self.scales,
            &self.minima,
            state,
            x,
            self.groups,
            self.blocks,
            tokens as u32,
            self.words_of_block,
        );
        run.kernel(embed, tokens * self.blocks as usize)
    }
}

/// Launches kernels, or records their launches, and counts them.
#[derive(Default)]
pub struct Run<'r> {
    /// Where the launches are recorded; `None` launches the kernels now.
    pub recorder: Option<&'r mut Recorder>,
    pub launches: usize,
}

impl Run<'_> {
    pub fn kernel<const N: usize, R: Into<AnyRange>>(
        &mut self,
        launch: SafeLaunch<'_, N, R>,
        range: impl Into<R>,
    ) -> syclbin_rt::Result<()> {
        self.launches += 1;
        match &mut self.recorder {
            None => launch.launch(range).map(drop),
            Some(recorder) => launch.record(recorder, range),
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
        let matrix = Matrix::upload(&mut Products::new(&queue), matrix)?;
        let prepare = || -> syclbin_rt::Result<Self> {
            Ok(Self {
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
        self.matrix.multiply(x, y, sums, 1, &mut Run::default())?;
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
    fn new(
        bytes: &[u8],
        format: GgmlDType,
        words_of_block: usize,
        groups: usize,
        blocks: usize,
    ) -> Self {
        let all = GROUP * groups * blocks;
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
            GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16 => bytes
                .chunks_exact(4 * words_of_block)
                .for_each(|block| push(1.0, 0.0, block)),
            // The scale comes first.
            GgmlDType::Q8_0 | GgmlDType::Q4_0 => bytes
                .chunks_exact(2 + 4 * words_of_block)
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
