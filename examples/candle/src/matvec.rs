// SPDX-License-Identifier: MIT OR Apache-2.0
//! A custom candle operation: a vector times a quantized matrix that stays on the device.

use std::sync::{Mutex, PoisonError};

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{CpuStorage, CustomOp1, Error, Layout, Result, Shape};
use syclbin_rt::{AnyRange, Buffer, Queue, Recorder, SafeLaunch};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "matvec";

    // SAFETY: work-items beyond the matrix do nothing. If `words_of_block` or `factors_of_block` does not match the
    // format, no work-item accesses the matrix. No two work-items write the same element. Tokens are checked before they are used as an
    // index.
    unsafe extern "SYCL" {
        safe fn multiply where words.len() >= 64 * words_of_block * groups * blocks,
            factors.len() >= 64 * factors_of_block * groups * blocks,
            x.len() >= 32 * blocks, sums.len() >= 64 * groups * parts;
        safe fn multiply_batch where words.len() >= 64 * words_of_block * groups * blocks,
            factors.len() >= 64 * factors_of_block * groups * blocks,
            x.len() >= 256 * blocks, sums.len() >= 512 * groups * parts;
        safe fn add_up where sums.len() >= n * parts, y.len() >= n;
        safe fn embed where words.len() >= 64 * words_of_block * groups * blocks,
            factors.len() >= 64 * factors_of_block * groups * blocks,
            state.len() > tokens, x.len() >= 32 * tokens * blocks;
    }
}

/// The weights of a block.
const BLOCK: usize = 32;
/// The number of interleaved rows; must match kernels/matvec.cpp.
pub const GROUP: usize = 64;
/// The number of vectors in a batch for [`Matrix::multiply`]; must match kernels/matvec.cpp.
pub const BATCH: usize = 8;
/// The number of partial sums for each product of a row and a vector.
const PARTS: u32 = 8;

/// A weight format that the kernels support.
#[derive(Clone, Copy)]
pub struct Format {
    pub dtype: GgmlDType,
    /// The number of 32-bit words per block.
    words: u32,
    /// The number of factors per block: a scale and, in Q4_K, a minimum.
    factors: u32,
}

const fn format(dtype: GgmlDType, words: u32, factors: u32) -> Format {
    Format {
        dtype,
        words,
        factors,
    }
}

/// The weight formats, in the order of kernels/matvec.cpp.
pub const FORMATS: [Format; 6] = [
    format(GgmlDType::F32, 32, 0),
    format(GgmlDType::F16, 16, 0),
    format(GgmlDType::BF16, 16, 0),
    format(GgmlDType::Q8_0, 8, 1),
    format(GgmlDType::Q4_0, 4, 1),
    format(GgmlDType::Q4K, 4, 2),
];

/// Returns the number of partial sums for a product with `results` elements.
pub fn sums(results: usize) -> usize {
    results * PARTS as usize
}

/// Returns whether [`Matrix::upload`] accepts the format.
pub fn is_supported(dtype: GgmlDType) -> bool {
    FORMATS.iter().any(|format| format.dtype == dtype)
}

/// The kernels for each format, loaded on first use.
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

    /// Returns the kernels for a format.
    fn get(&mut self, dtype: GgmlDType) -> Result<(kernels::Module, Format)> {
        let index = FORMATS.iter().position(|format| format.dtype == dtype);
        let Some(index) = index else {
            let names = FORMATS
                .map(|format| format!("{:?}", format.dtype))
                .join(", ");
            candle_core::bail!("cannot upload a matrix in {dtype:?}; the kernels support {names}");
        };
        let module = match &self.modules[index] {
            Some(module) => module.clone(),
            None => {
                let builder = kernels::Module::builder(self.queue).format(index as u32);
                builder.load().map_err(Error::wrap)?
            }
        };
        self.modules[index] = Some(module.clone());
        Ok((module, FORMATS[index]))
    }
}

/// A matrix on a device, in one of [`FORMATS`].
pub struct Matrix {
    kernels: kernels::Module,
    rows: usize,
    groups: u32,
    blocks: u32,
    format: Format,
    words: Buffer<u32>,
    factors: Buffer<f32>,
}

/// A matrix on a device. `tensor.apply_op1_no_bwd(&matrix)` multiplies it by each vector of a tensor.
pub struct DeviceMatrix {
    queue: Queue,
    matrix: Matrix,
    /// Locked during a product, because all products use the same buffers.
    vectors: Mutex<Vectors>,
}

/// The buffers of a product: the vector, the partial sums and the result.
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
    /// Fails if the format is not one of [`FORMATS`], if the tensor is not a matrix, if the number of columns is not a
    /// multiple of 32, or if the device reports an error.
    pub fn upload(products: &mut Products<'_>, matrix: &QTensor) -> Result<Self> {
        let dtype = matrix.dtype();
        let (kernels, format) = products.get(dtype)?;
        let queue = products.queue;
        let (rows, columns) = matrix.shape().dims2()?;
        if columns % BLOCK != 0 {
            candle_core::bail!(
                "cannot upload a matrix with {columns} columns: not a multiple of {BLOCK}"
            );
        }
        let (groups, blocks) = (rows.div_ceil(GROUP), columns / BLOCK);
        let bytes = matrix.data()?;
        let rearranged = SideBySide::new(&bytes, format, groups, blocks);
        Ok(Self {
            kernels,
            rows,
            groups: number(groups),
            blocks: number(blocks),
            format,
            words: queue.upload(&rearranged.words).map_err(Error::wrap)?,
            factors: queue.upload(&rearranged.factors).map_err(Error::wrap)?,
        })
    }

    /// Returns the length of a product: the number of rows, rounded up to whole groups.
    pub fn padded_rows(&self) -> usize {
        self.groups as usize * GROUP
    }

    /// Returns the number of partial sums for a product with one vector.
    pub fn sums(&self) -> usize {
        sums(self.padded_rows())
    }

    /// Returns how many bytes a product reads from the matrix.
    pub fn bytes(&self) -> usize {
        4 * (self.words.len() + self.factors.len())
    }

    /// Multiplies the matrix by one vector, or by [`BATCH`] vectors if `is_batch` is set. `x` and `y` store vectors one
    /// after another. `run` determines whether the kernels are launched or recorded.
    pub fn multiply(
        &self,
        x: &Buffer<f32>,
        y: &mut Buffer<f32>,
        sums: &mut Buffer<f32>,
        is_batch: bool,
        run: &mut Run<'_>,
    ) -> syclbin_rt::Result<()> {
        let (kernels, rows) = (&self.kernels, self.padded_rows());
        let results = if is_batch { BATCH * rows } else { rows };
        let product = if is_batch {
            kernels::Module::multiply_batch
        } else {
            kernels::Module::multiply
        };
        let (words, factors) = (&self.words, &self.factors);
        let (groups, blocks) = (self.groups, self.blocks);
        let format = self.format;
        let product = product(
            kernels,
            words,
            factors,
            x,
            sums,
            groups,
            blocks,
            PARTS,
            format.words,
            format.factors,
        );
        run.kernel(product, [PARTS as usize, rows])?;
        run.kernel(kernels.add_up(sums, y, number(results), PARTS), results)
    }

    /// Decodes the rows of the first `tokens` tokens into `x`. `state` contains the position, followed by the tokens.
    pub fn embed(
        &self,
        state: &Buffer<u32>,
        x: &mut Buffer<f32>,
        tokens: usize,
        run: &mut Run<'_>,
    ) -> syclbin_rt::Result<()> {
        let (words, factors) = (&self.words, &self.factors);
        let (groups, blocks, format) = (self.groups, self.blocks, self.format);
        let embed = self.kernels.embed(
            words,
            factors,
            state,
            x,
            groups,
            blocks,
            number(tokens),
            format.words,
            format.factors,
        );
        run.kernel(embed, tokens * self.blocks as usize)
    }
}

/// Converts a size for a kernel. One that is too large breaks the kernel's contract.
pub fn number(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Launches kernels, or records their launches, and counts them.
#[derive(Default)]
pub struct Run<'r> {
    /// Records the launches; `None` launches the kernels immediately.
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
    /// Uploads a matrix to the best device.
    ///
    /// # Errors
    ///
    /// Fails if no device is found, or for the same reasons as [`Matrix::upload`].
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

    /// Returns the device that stores the matrix.
    pub fn device(&self) -> &syclbin_rt::Device {
        self.queue.device()
    }

    /// Multiplies by one vector.
    fn multiply(&self, from: &[f32], to: &mut [f32]) -> syclbin_rt::Result<()> {
        let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let Vectors { x, sums, y } = &mut *vectors;
        self.queue.write(x, from)?;
        self.matrix
            .multiply(x, y, sums, false, &mut Run::default())?;
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
                "{}: the tensor is not contiguous; call `contiguous` first",
                self.name()
            );
        };
        let mut shape = layout.dims().to_vec();
        match shape.last_mut() {
            Some(last) if *last == columns => *last = rows,
            _ => candle_core::bail!(
                "{}: the shape {shape:?} must end with {columns}",
                self.name()
            ),
        }
        let vectors = storage.as_slice::<f32>()?[start..end].chunks_exact(columns);
        let mut results = vec![0.0; vectors.len() * rows];
        for (from, to) in vectors.zip(results.chunks_exact_mut(rows)) {
            self.multiply(from, to).map_err(Error::wrap)?;
        }
        Ok((CpuStorage::F32(results), shape.into()))
    }
}

/// Blocks whose words and factors are interleaved with those of the other rows in a group.
struct SideBySide {
    words: Vec<u32>,
    factors: Vec<f32>,
}

impl SideBySide {
    /// Rearranges the blocks of a matrix that is stored as in a GGUF file.
    fn new(bytes: &[u8], format: Format, groups: usize, blocks: usize) -> Self {
        let all = GROUP * groups * blocks;
        let [words, factors] = [format.words, format.factors].map(|count| count as usize);
        let mut new = Self {
            words: vec![0; words * all],
            factors: vec![0.0; factors * all],
        };
        let mut block = 0;
        let mut push = |own: &[f32], bytes: &[u8]| {
            let (row, column) = (block / blocks, block % blocks);
            let (place, in_group) = (row / GROUP * blocks + column, row % GROUP);
            block += 1;
            for (k, factor) in own.iter().enumerate() {
                new.factors[(factors * place + k) * GROUP + in_group] = *factor;
            }
            for (k, word) in bytes.as_chunks::<4>().0.iter().enumerate() {
                let word = u32::from_le_bytes(*word);
                new.words[(words * place + k) * GROUP + in_group] = word;
            }
        };
        match format.dtype {
            GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16 => bytes
                .chunks_exact(4 * words)
                .for_each(|block| push(&[], block)),
            // The scale comes first.
            GgmlDType::Q8_0 | GgmlDType::Q4_0 => bytes
                .chunks_exact(2 + 4 * words)
                .for_each(|block| push(&[f16(block)], &block[2..])),
            _ => bytes.chunks_exact(144).for_each(|blocks| {
                let (scale, minimum) = (f16(blocks), f16(&blocks[2..]));
                let (six_bits, numbers) = blocks[4..].split_at(12);
                for i in 0..8 {
                    let (times_scale, times_minimum) = six_bit_numbers(six_bits, i);
                    // The lower halves of these 32 bytes belong to an even block, the upper halves to the next block.
                    let half = |byte: u8| byte >> (4 * (i % 2)) & 15;
                    let numbers = &numbers[i / 2 * BLOCK..][..BLOCK];
                    let (low, high) = numbers.split_at(BLOCK / 2);
                    let pairs = low.iter().zip(high);
                    let bytes: Vec<u8> = pairs
                        .map(|(low, high)| half(*low) | half(*high) << 4)
                        .collect();
                    push(&[scale * times_scale, minimum * times_minimum], &bytes);
                }
            }),
        }
        new
    }
}

/// Reads the 16-bit float at the start of `bytes`.
fn f16(bytes: &[u8]) -> f32 {
    half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()
}

/// Returns the 6-bit scale and minimum of block `i`, out of eight in a Q4_K superblock. For the first four blocks, they
/// are the lower six bits of bytes 0 to 7. For the other blocks, bytes 8 to 11 hold the lower four bits, and the upper
/// two bits of bytes 0 to 7 hold the rest.
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
