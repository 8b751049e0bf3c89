// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small decoder like Llama's, with random weights.

use std::sync::Arc;

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Result, Tensor};

use crate::numbers;

/// The sizes of a decoder.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub layers: usize,
    pub width: usize,
    pub heads: usize,
    /// The number of key and value heads. Several query heads share each of them.
    pub shared_heads: usize,
    pub hidden: usize,
    pub vocabulary: usize,
    /// The largest number of tokens.
    pub longest: usize,
}

impl Sizes {
    /// Returns the size of a head.
    pub fn head(&self) -> usize {
        self.width / self.heads
    }

    /// Returns the length of a token's key, which is also that of its value: all shared heads together.
    pub fn key(&self) -> usize {
        self.head() * self.shared_heads
    }
}

/// Added to the mean square before the root is taken, so that RMS norm never divides by zero.
pub const EPSILON: f32 = 1e-5;
/// The base of the angles that encode positions.
pub const ROTARY_BASE: f32 = 10_000.0;

/// A matrix, `[rows, columns]`, in any format.
pub type Matrix = Arc<QTensor>;

pub struct Layer {
    pub attention_norm: Tensor,
    pub query: Matrix,
    pub key: Matrix,
    pub value: Matrix,
    pub attention_out: Matrix,
    pub feed_forward_norm: Tensor,
    pub gate: Matrix,
    pub up: Matrix,
    pub down: Matrix,
}

pub struct Weights {
    pub sizes: Sizes,
    /// `[vocabulary, width]`
    pub embedding: Tensor,
    pub layers: Vec<Layer>,
    pub norm: Tensor,
    pub output: Matrix,
}

impl Weights {
    /// Makes random weights, the same in each run. Matrices get the format.
    ///
    /// # Errors
    ///
    /// Fails if the rows cannot be divided into blocks of the format.
    pub fn random(sizes: Sizes, format: GgmlDType) -> Result<Self> {
        let mut seed = 0;
        let mut numbers = |shape: &[usize], scale: f64, shift: f64| {
            seed += 1;
            numbers(shape, seed)?.affine(2.0 * scale, shift)
        };
        let Sizes { width, hidden, .. } = sizes;
        let mut layers = Vec::new();
        let mut matrix = |rows: usize, columns: usize| {
            let weights = numbers(&[rows, columns], 1.7 / (columns as f64).sqrt(), 0.0)?;
            QTensor::quantize(&weights, format).map(Matrix::new)
        };
        let norm = Tensor::ones(width, candle_core::DType::F32, &Device::Cpu)?;
        for _ in 0..sizes.layers {
            layers.push(Layer {
                attention_norm: norm.clone(),
                query: matrix(width, width)?,
                key: matrix(sizes.key(), width)?,
                value: matrix(sizes.key(), width)?,
                attention_out: matrix(width, width)?,
                feed_forward_norm: norm.clone(),
                gate: matrix(hidden, width)?,
                up: matrix(hidden, width)?,
                down: matrix(width, hidden)?,
            });
        }
        let output = matrix(sizes.vocabulary, width)?;
        Ok(Self {
            sizes,
            embedding: numbers(&[sizes.vocabulary, width], 1.0, 0.0)?,
            layers,
            norm: numbers(&[width], 0.2, 1.0)?,
            output,
        })
    }
}
