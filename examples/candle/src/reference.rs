// SPDX-License-Identifier: MIT OR Apache-2.0
//! The decoder in candle's own operations, on the CPU.

use std::sync::Arc;

use candle_core::quantized::QMatMul;
use candle_core::{D, Device, Module, Result, Tensor};

use crate::weights::{EPSILON, Layer, Matrix, ROTARY_BASE, Sizes, Weights};

/// A matrix as candle multiplies by it.
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
    embedding: Tensor,
    blocks: Vec<Block>,
    norm: Tensor,
    output: Linear,
}

impl Linear {
    /// Takes a matrix; with `exact`, as 32-bit numbers. candle's quantized product rounds the vector to 8 bits.
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
        Ok(Self {
            sizes: weights.sizes,
            embedding: weights.embedding.clone(),
            blocks: weights.layers.iter().map(block).collect::<Result<_>>()?,
            norm: weights.norm.clone(),
            output: linear(&weights.output)?,
        })
    }

    /// Returns the logits after one more token.
    ///
    /// # Errors
    ///
    /// Fails if candle reports an error.
    pub fn forward(&mut self, token: u32, position: usize) -> Result<Vec<f32>> {
        let sizes = self.sizes;
        let mut x = self.embedding.narrow(0, token as usize, 1)?;
        for block in &mut self.blocks {
            let normed = norm(&x, &block.norms[0])?;
            let [query, key, value, out, gate, up, down] = &block.matrices;
            let heads = |matrix: &Linear, count: usize| {
                matrix.forward(&normed)?.reshape((count, 1, sizes.head()))
            };
            let query = rotate(&heads(query, sizes.heads)?, position)?;
            let mut keys = rotate(&heads(key, sizes.shared_heads)?, position)?;
            let mut values = heads(value, sizes.shared_heads)?;
            if let Some((old_keys, old_values)) = &block.cache {
                keys = Tensor::cat(&[old_keys, &keys], 1)?;
                values = Tensor::cat(&[old_values, &values], 1)?;
            }
            block.cache = Some((keys.clone(), values.clone()));
            let [keys, values] = [keys, values].map(|tensor| repeat(&tensor, sizes));
            let scores = query.matmul(&keys?.t()?.contiguous()?)?;
            let scores = (scores / (sizes.head() as f64).sqrt())?;
            let largest = scores.max_keepdim(D::Minus1)?;
            let powers = scores.broadcast_sub(&largest)?.exp()?;
            let shares = powers.broadcast_div(&powers.sum_keepdim(D::Minus1)?)?;
            let attended = shares.matmul(&values?)?.reshape((1, sizes.width))?;
            x = (x + out.forward(&attended)?)?;
            let normed = norm(&x, &block.norms[1])?;
            let gated = (gate.forward(&normed)?.silu()? * up.forward(&normed)?)?;
            x = (x + down.forward(&gated)?)?;
        }
        let logits = self.output.forward(&norm(&x, &self.norm)?)?;
        logits.flatten_all()?.to_vec1()
    }
}

fn norm(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let mean = (x.sqr()?.mean_keepdim(D::Minus1)? + f64::from(EPSILON))?;
    x.broadcast_div(&mean.sqrt()?)?.broadcast_mul(weight)
}

/// Turns the two halves of each head, `[heads, 1, size]`.
fn rotate(x: &Tensor, position: usize) -> Result<Tensor> {
    let half = x.dim(2)? / 2;
    let angle = |i: usize| position as f32 * ROTARY_BASE.powf(-(i as f32) / half as f32);
    let angles: Vec<f32> = (0..half).map(angle).collect();
    let angles = Tensor::from_vec(angles, (1, 1, half), &Device::Cpu)?;
    let (cosine, sine) = (angles.cos()?, angles.sin()?);
    let [low, high] = [0, half].map(|start| x.narrow(2, start, half));
    let (low, high) = (low?, high?);
    let new_low = (low.broadcast_mul(&cosine)? - high.broadcast_mul(&sine)?)?;
    let new_high = (high.broadcast_mul(&cosine)? + low.broadcast_mul(&sine)?)?;
    Tensor::cat(&[new_low, new_high], 2)
}

/// Repeats the shared heads, so that each head of the query has its own.
fn repeat(x: &Tensor, sizes: Sizes) -> Result<Tensor> {
    let (heads, tokens, size) = x.dims3()?;
    let each = sizes.heads / heads;
    let shape = (heads, each, tokens, size);
    let repeated = x.unsqueeze(1)?.expand(shape)?;
    repeated.reshape((sizes.heads, tokens, size))
}
