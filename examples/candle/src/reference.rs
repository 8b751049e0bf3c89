// SPDX-License-Identifier: MIT OR Apache-2.0
//! The decoder in candle's own operations, on the CPU.

use std::sync::Arc;

use candle_core::quantized::QMatMul;
use candle_core::{D, DType, Device, IndexOp, Module, Result, Tensor};

use crate::weights::{Layer, Matrix, Sizes, Weights};

/// A matrix, in the representation that candle multiplies by.
enum Linear {
    /// `[columns, rows]`
    F32(Tensor),
    /// In the format of the weights.
    Quantized(QMatMul),
}

struct Block {
    norms: [Tensor; 2],
    /// Query, key, value, attention's output, gate, up, down.
    matrices: [Linear; 7],
    /// Keys and values, `[heads, tokens, size]`.
    cache: Option<(Tensor, Tensor)>,
}

pub struct Reference {
    sizes: Sizes,
    epsilon: f64,
    /// The angle of each pair at position 1, `[1, head / 2]`.
    angles: Tensor,
    embedding: Tensor,
    blocks: Vec<Block>,
    norm: Tensor,
    output: Linear,
}

impl Linear {
    /// Prepares a matrix; `exact` expands it to 32-bit floats. candle's quantized product rounds the vector to 8 bits.
    fn new(matrix: &Matrix, exact: bool) -> Result<Self> {
        Ok(if exact {
            Self::F32(matrix.dequantize(&Device::Cpu)?.t()?.contiguous()?)
        } else {
            Self::Quantized(QMatMul::from_arc(Arc::clone(matrix))?)
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::F32(weights) => x.matmul(weights),
            Self::Quantized(weights) => weights.forward(x),
        }
    }
}

impl Reference {
    /// Prepares the weights for candle's operations. See [`Linear::new`] for `exact`.
    ///
    /// # Errors
    ///
    /// Fails if candle reports an error.
    pub fn new(weights: &Weights, exact: bool) -> Result<Self> {
        let sizes = weights.sizes;
        let linear = |matrix: &Matrix| Linear::new(matrix, exact);
        let block = |layer: &Layer| -> Result<Block> {
            Ok(Block {
                norms: [
                    layer.attention_norm.clone(),
                    layer.feed_forward_norm.clone(),
                ],
                matrices: [
                    linear(&layer.query)?,
                    linear(&layer.key)?,
                    linear(&layer.value)?,
                    linear(&layer.attention_out)?,
                    linear(&layer.gate)?,
                    linear(&layer.up)?,
                    linear(&layer.down)?,
                ],
                cache: None,
            })
        };
        let half = sizes.head() / 2;
        let angle = |i: usize| weights.rotary_base.powf(-(i as f32) / half as f32);
        let angles: Vec<f32> = (0..half).map(angle).collect();
        let angles = Tensor::from_vec(angles, (1, half), &Device::Cpu)?;
        Ok(Self {
            sizes,
            epsilon: f64::from(weights.epsilon),
            angles: angles.broadcast_div(&weights.rotary_factors)?,
            embedding: weights.embedding.dequantize(&Device::Cpu)?,
            blocks: weights.layers.iter().map(block).collect::<Result<_>>()?,
            norm: weights.norm.clone(),
            output: linear(&weights.output)?,
        })
    }

    /// Processes more tokens, the first at `position`, and returns the logits of the last.
    ///
    /// # Errors
    ///
    /// Fails if candle reports an error.
    pub fn forward(&mut self, tokens: &[u32], position: usize) -> Result<Vec<f32>> {
        let (sizes, count) = (self.sizes, tokens.len());
        let positions = Tensor::arange(position as u32, (position + count) as u32, &Device::Cpu)?;
        let positions = positions.to_dtype(DType::F32)?.reshape((count, 1))?;
        let angles = positions.matmul(&self.angles)?;
        // A token does not attend to the tokens after it.
        let hidden = |i: usize| i % (position + count) > position + i / (position + count);
        let mask = (0..count * (position + count))
            .map(|i| if hidden(i) { f32::NEG_INFINITY } else { 0.0 });
        let mask = Tensor::from_iter(mask, &Device::Cpu)?.reshape((1, count, position + count))?;
        let mut x = self
            .embedding
            .index_select(&Tensor::new(tokens, &Device::Cpu)?, 0)?;
        for block in &mut self.blocks {
            let normed = norm(&x, &block.norms[0], self.epsilon)?;
            let [query, key, value, out, gate, up, down] = &block.matrices;
            let heads = |matrix: &Linear, heads: usize| {
                let each = matrix
                    .forward(&normed)?
                    .reshape((count, heads, sizes.head()))?;
                each.transpose(0, 1)?.contiguous()
            };
            let query = rotate(&heads(query, sizes.heads)?, &angles)?;
            let mut keys = rotate(&heads(key, sizes.shared_heads)?, &angles)?;
            let mut values = heads(value, sizes.shared_heads)?;
            if let Some((old_keys, old_values)) = &block.cache {
                keys = Tensor::cat(&[old_keys, &keys], 1)?;
                values = Tensor::cat(&[old_values, &values], 1)?;
            }
            block.cache = Some((keys.clone(), values.clone()));
            let [keys, values] = [keys, values].map(|tensor| repeat(&tensor, sizes));
            let scores = query.matmul(&keys?.t()?.contiguous()?)?;
            let scores = (scores / (sizes.head() as f64).sqrt())?.broadcast_add(&mask)?;
            let largest = scores.max_keepdim(D::Minus1)?;
            let powers = scores.broadcast_sub(&largest)?.exp()?;
            let shares = powers.broadcast_div(&powers.sum_keepdim(D::Minus1)?)?;
            let attended = shares.matmul(&values?)?.transpose(0, 1)?.contiguous()?;
            x = (x + out.forward(&attended.reshape((count, sizes.width))?)?)?;
            let normed = norm(&x, &block.norms[1], self.epsilon)?;
            let gated = (gate.forward(&normed)?.silu()? * up.forward(&normed)?)?;
            x = (x + down.forward(&gated)?)?;
        }
        let last = x.i(count - 1..)?;
        let logits = self
            .output
            .forward(&norm(&last, &self.norm, self.epsilon)?)?;
        logits.flatten_all()?.to_vec1()
    }
}

fn norm(x: &Tensor, weight: &Tensor, epsilon: f64) -> Result<Tensor> {
    let mean = (x.sqr()?.mean_keepdim(D::Minus1)? + epsilon)?;
    x.broadcast_div(&mean.sqrt()?)?.broadcast_mul(weight)
}

/// Rotates each pair of adjacent elements of `x`, `[heads, tokens, size]`, by `angles`, `[tokens, size / 2]`.
fn rotate(x: &Tensor, angles: &Tensor) -> Result<Tensor> {
    let (heads, tokens, size) = x.dims3()?;
    let pairs = x.reshape((heads, tokens, size / 2, 2))?;
    let (cosine, sine) = (angles.cos()?, angles.sin()?);
    let [low, high] = [0, 1].map(|index| pairs.i((.., .., .., index)));
    let (low, high) = (low?, high?);
    let new_low = (low.broadcast_mul(&cosine)? - high.broadcast_mul(&sine)?)?;
    let new_high = (high.broadcast_mul(&cosine)? + low.broadcast_mul(&sine)?)?;
    Tensor::stack(&[new_low, new_high], 3)?.reshape((heads, tokens, size))
}

/// Repeats the shared heads, so that each head of the query has its own.
fn repeat(x: &Tensor, sizes: Sizes) -> Result<Tensor> {
    let (heads, tokens, size) = x.dims3()?;
    let each = sizes.heads / heads;
    let shape = (heads, each, tokens, size);
    let repeated = x.unsqueeze(1)?.expand(shape)?;
    repeated.reshape((sizes.heads, tokens, size))
}
