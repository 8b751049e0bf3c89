// SPDX-License-Identifier: MIT OR Apache-2.0
//! An operation of candle: a quantized matrix, which stays on the device, times a vector.

use std::sync::{Mutex, PoisonError};

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{CpuStorage, CustomOp1, Error, Layout, Result, Shape};
use syclbin_rt::{Buffer, Queue};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "matvec";

    // SAFETY: work-items beyond the matrix do nothing, and each of the others writes a sum.
    unsafe extern "SYCL" {
        safe fn multiply where words.len() >= 256 * groups * blocks, scales.len() >= 64 * groups * blocks,
            x.len() >= 32 * blocks, sums.len() >= 64 * groups * parts;
        safe fn add_up where sums.len() >= 64 * groups * parts, y.len() >= 64 * groups;
    }
}

/// Weights of a block, and its bytes: a scale of 16 bits, and half a byte per weight.
const BLOCK: usize = 32;
const BLOCK_BYTES: usize = 18;
/// Rows that are side by side, as in kernels/matvec.cpp.
const GROUP: usize = 64;
/// Into how many sums a row is divided.
const PARTS: u32 = 8;

/// A matrix on a device. `tensor.apply_op1_no_bwd(&matrix)` multiplies it by each vector of a tensor.
pub struct DeviceMatrix {
    queue: Queue,
    kernels: kernels::Module,
    rows: usize,
    groups: u32,
    blocks: u32,
    words: Buffer<u32>,
    scales: Buffer<f32>,
    /// Threads that share a matrix take turns.
    vectors: Mutex<Vectors>,
}

/// A vector, the sums of parts of rows, and the result.
struct Vectors {
    x: Buffer<f32>,
    sums: Buffer<f32>,
    y: Buffer<f32>,
}

impl DeviceMatrix {
    /// Uploads a matrix in the format Q4_0 to the best device.
    ///
    /// # Errors
    ///
    /// When the tensor has another format or is not a matrix, and when the device refuses.
    pub fn new(matrix: &QTensor) -> Result<Self> {
        if matrix.dtype() != GgmlDType::Q4_0 {
            candle_core::bail!(
                "cannot upload a matrix in {:?}: only Q4_0 is implemented",
                matrix.dtype()
            );
        }
        let (rows, columns) = matrix.shape().dims2()?;
        let (groups, blocks) = (rows.div_ceil(GROUP), columns / BLOCK);
        let (words, scales) = side_by_side(&matrix.data()?, groups, blocks);
        let queue = kernels::Module::best_device().and_then(|device| device.queue());
        let queue = queue.map_err(Error::wrap)?;
        let upload = || -> syclbin_rt::Result<Self> {
            Ok(Self {
                kernels: kernels::Module::load(&queue)?,
                rows,
                groups: u32::try_from(groups).unwrap_or(u32::MAX),
                blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
                words: queue.upload(&words)?,
                scales: queue.upload(&scales)?,
                vectors: Mutex::new(Vectors {
                    x: queue.zeroed(columns)?,
                    sums: queue.zeroed(groups * GROUP * PARTS as usize)?,
                    y: queue.zeroed(groups * GROUP)?,
                }),
                queue: queue.clone(),
            })
        };
        upload().map_err(Error::wrap)
    }

    /// Returns the device that has the matrix.
    pub fn device(&self) -> &syclbin_rt::Device {
        self.queue.device()
    }

    /// Multiplies by one vector.
    fn multiply(&self, from: &[f32], to: &mut [f32]) -> syclbin_rt::Result<()> {
        let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let Vectors { x, sums, y } = &mut *vectors;
        let (groups, blocks) = (self.groups, self.blocks);
        let rows = groups as usize * GROUP;
        self.queue.write(x, from)?;
        self.kernels
            .multiply(&self.words, &self.scales, x, sums, groups, blocks, PARTS)
            .launch([PARTS as usize, rows])?;
        self.kernels.add_up(sums, y, groups, PARTS).launch(rows)?;
        self.queue.read(&*y.slice(..self.rows)?, to)
    }
}

impl CustomOp1 for DeviceMatrix {
    fn name(&self) -> &'static str {
        "matvec in SYCL"
    }

    /// Takes `[.., columns]`, and returns `[.., rows]`.
    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, columns) = (self.rows, self.blocks as usize * BLOCK);
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

/// Rearranges blocks, so that those of the rows of a group are side by side: words with numbers, and scales.
fn side_by_side(bytes: &[u8], groups: usize, blocks: usize) -> (Vec<u32>, Vec<f32>) {
    let mut words = vec![0; 4 * GROUP * groups * blocks];
    let mut scales = vec![0.0; GROUP * groups * blocks];
    for (i, bytes) in bytes.as_chunks::<BLOCK_BYTES>().0.iter().enumerate() {
        let (row, block) = (i / blocks, i % blocks);
        let (place, in_group) = (row / GROUP * blocks + block, row % GROUP);
        let (scale, numbers) = bytes.split_at(2);
        let scale = half::f16::from_le_bytes([scale[0], scale[1]]);
        scales[place * GROUP + in_group] = scale.to_f32();
        for (k, word) in numbers.as_chunks::<4>().0.iter().enumerate() {
            words[(4 * place + k) * GROUP + in_group] = u32::from_le_bytes(*word);
        }
    }
    (words, scales)
}
