// SPDX-License-Identifier: MIT OR Apache-2.0
//! A decoder that keeps weights, activations and the KV cache on the device. The host records the launches for a single
//! token and those for a batch, and replays them.

use std::sync::Arc;

use candle_core::{Error, Result, Tensor};
use syclbin_rt::{Buffer, Queue, Recording};

use crate::matvec::{self, BATCH, Matrix, Products, Run, number};
use crate::weights::{self, Layer, Sizes, Weights};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "decoder";

    // SAFETY: work-items beyond the sizes do nothing. The position comes from a buffer; each work-item reads it once
    // and checks it before using it as an index. Either all work-items of a group reach the barriers, or none does.
    unsafe extern "SYCL" {
        safe fn rms_norm where x.len() >= tokens * width, weight.len() >= width, out.len() >= tokens * width;
        safe fn rotate where x.len() >= 2 * tokens * heads * half, state.len() >= 1, factors.len() >= half;
        safe fn remember where key.len() >= tokens * width, value.len() >= tokens * width, state.len() >= 1,
            keys.len() >= longest * width, values.len() >= longest * width;
        safe fn attend where query.len() >= tokens * heads * size, out.len() >= tokens * heads * size,
            keys.len() >= longest * shared_heads * size, values.len() >= longest * shared_heads * size,
            scores.len() >= tokens * heads * longest, state.len() >= 1;
        safe fn gate_by where gate.len() >= n, up.len() >= n;
        safe fn add where x.len() >= n, y.len() >= n;
        safe fn choose where logits.len() >= vocabulary, state.len() >= 2;
    }
}

/// The work-group sizes of kernels/decoder.cpp.
const GROUP: usize = 256;
const HEAD_GROUP: usize = 64;

struct DeviceLayer {
    attention_norm: Buffer<f32>,
    query: Matrix,
    key: Matrix,
    value: Matrix,
    attention_out: Matrix,
    feed_forward_norm: Buffer<f32>,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
    keys: Buffer<f32>,
    values: Buffer<f32>,
}

/// The buffers that the kernels write for each batch of tokens.
struct Activations {
    /// The position of the first token, followed by the tokens.
    state: Buffer<u32>,
    x: Buffer<f32>,
    normed: Buffer<f32>,
    query: Buffer<f32>,
    key: Buffer<f32>,
    value: Buffer<f32>,
    scores: Buffer<f32>,
    attended: Buffer<f32>,
    gate: Buffer<f32>,
    up: Buffer<f32>,
    /// The output of attention or of the feed-forward network, before it is added to `x`.
    change: Buffer<f32>,
    logits: Buffer<f32>,
    /// Partial sums of the matrix products.
    sums: Buffer<f32>,
}

pub struct Decoder {
    queue: Queue,
    kernels: kernels::Module,
    sizes: Sizes,
    epsilon: f32,
    rotary_base: f32,
    rotary_factors: Buffer<f32>,
    embedding: Arc<Matrix>,
    layers: Vec<DeviceLayer>,
    norm: Buffer<f32>,
    /// Some models use the embedding as the output matrix.
    output: Arc<Matrix>,
    activations: Activations,
}

impl Decoder {
    /// Uploads the weights to the best device.
    ///
    /// # Errors
    ///
    /// Fails if a size is not a multiple of 64, if no device is found, or if the device reports an error.
    pub fn new(weights: &Weights) -> Result<Self> {
        let queue = kernels::Module::best_device().and_then(|device| device.queue());
        let queue = queue.map_err(Error::wrap)?;
        let sizes = weights.sizes;
        // Products are padded to whole groups of rows. Padding between the vectors of a batch is not supported.
        for size in [sizes.width, sizes.key(), sizes.hidden] {
            if size % matvec::GROUP != 0 {
                candle_core::bail!(
                    "unsupported layer size {size}: not a multiple of {}",
                    matvec::GROUP
                );
            }
        }
        let mut products = Products::new(&queue);
        let mut matrix = |matrix: &weights::Matrix| Matrix::upload(&mut products, matrix);
        let zeroed = |len: usize| queue.zeroed::<f32>(len).map_err(Error::wrap);
        let layer = |layer: &Layer| {
            Ok(DeviceLayer {
                attention_norm: upload(&queue, &layer.attention_norm)?,
                query: matrix(&layer.query)?,
                key: matrix(&layer.key)?,
                value: matrix(&layer.value)?,
                attention_out: matrix(&layer.attention_out)?,
                feed_forward_norm: upload(&queue, &layer.feed_forward_norm)?,
                gate: matrix(&layer.gate)?,
                up: matrix(&layer.up)?,
                down: matrix(&layer.down)?,
                keys: zeroed(sizes.longest * sizes.key())?,
                values: zeroed(sizes.longest * sizes.key())?,
            })
        };
        let layers: Vec<_> = weights.layers.iter().map(layer).collect::<Result<_>>()?;
        let embedding = Arc::new(matrix(&weights.embedding)?);
        let output = if Arc::ptr_eq(&weights.embedding, &weights.output) {
            embedding.clone()
        } else {
            Arc::new(matrix(&weights.output)?)
        };
        let largest = [sizes.width, sizes.key(), sizes.hidden].into_iter().max();
        let sums = matvec::sums(BATCH * largest.unwrap_or_default()).max(output.sums());
        let each = |len: usize| zeroed(BATCH * len);
        let activations = Activations {
            state: queue.zeroed(1 + BATCH).map_err(Error::wrap)?,
            x: each(sizes.width)?,
            normed: each(sizes.width)?,
            query: each(sizes.width)?,
            key: each(sizes.key())?,
            value: each(sizes.key())?,
            scores: each(sizes.heads * sizes.longest)?,
            attended: each(sizes.width)?,
            gate: each(sizes.hidden)?,
            up: each(sizes.hidden)?,
            change: each(sizes.width)?,
            logits: zeroed(output.padded_rows())?,
            sums: zeroed(sums)?,
        };
        Ok(Self {
            kernels: kernels::Module::load(&queue).map_err(Error::wrap)?,
            sizes,
            epsilon: weights.epsilon,
            rotary_base: weights.rotary_base,
            rotary_factors: upload(&queue, &weights.rotary_factors)?,
            embedding,
            norm: upload(&queue, &weights.norm)?,
            queue,
            layers,
            output,
            activations,
        })
    }

    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Returns the number of weight bytes that the matrix products for one token read.
    pub fn weight_bytes(&self) -> usize {
        let layers = self.layers.iter().flat_map(|layer| {
            let attention = [&layer.query, &layer.key, &layer.value, &layer.attention_out];
            attention
                .into_iter()
                .chain([&layer.gate, &layer.up, &layer.down])
        });
        layers.chain([&*self.output]).map(Matrix::bytes).sum()
    }

    /// Sets the next tokens, and the position of the first.
    ///
    /// # Errors
    ///
    /// Fails if there are more than [`BATCH`] tokens, or if the device reports an error.
    pub fn start(&mut self, tokens: &[u32], position: usize) -> syclbin_rt::Result<()> {
        let state = &mut self.activations.state;
        let mut numbers = vec![number(position)];
        numbers.extend(tokens);
        self.queue
            .write(&mut state.slice_mut(..numbers.len())?, &numbers)
    }

    /// Processes a prompt, and chooses the next token. Replays `batch` for whole batches, and `single` for the rest.
    ///
    /// # Errors
    ///
    /// Fails if the device reports an error.
    pub fn prompt(
        &mut self,
        tokens: &[u32],
        batch: &Recording,
        single: &Recording,
    ) -> syclbin_rt::Result<()> {
        // The last token is processed alone, because a batch computes no logits.
        let (batches, _) = tokens[..tokens.len().saturating_sub(1)].as_chunks::<BATCH>();
        for (index, tokens) in batches.iter().enumerate() {
            self.start(tokens, index * BATCH)?;
            batch.replay()?;
        }
        for (position, token) in tokens.iter().enumerate().skip(batches.len() * BATCH) {
            self.start(&[*token], position)?;
            single.replay()?;
        }
        Ok(())
    }

    /// Returns the next token.
    ///
    /// # Errors
    ///
    /// Fails if the device reports an error.
    pub fn token(&self) -> syclbin_rt::Result<u32> {
        Ok(self.queue.download(&self.activations.state)?[1])
    }

    /// Returns the logits of the last token.
    ///
    /// # Errors
    ///
    /// Fails if the device reports an error.
    pub fn logits(&self) -> syclbin_rt::Result<Vec<f32>> {
        let mut logits = self.queue.download(&self.activations.logits)?;
        logits.truncate(self.sizes.vocabulary);
        Ok(logits)
    }

    /// Records the launches for one token or for a batch of [`BATCH`] tokens.
    ///
    /// # Errors
    ///
    /// Fails if a launch is refused.
    pub fn record(&mut self, is_batch: bool) -> syclbin_rt::Result<Recording> {
        let mut recorder = self.queue.record();
        let mut run = Run {
            recorder: Some(&mut recorder),
            launches: 0,
        };
        self.step(is_batch, &mut run)?;
        recorder.finish()
    }

    /// Launches or records all kernels for one token or for [`BATCH`] tokens. Only for one token, they also compute the
    /// logits and choose the next token.
    ///
    /// # Errors
    ///
    /// Fails if a launch is refused.
    pub fn step(&mut self, is_batch: bool, run: &mut Run<'_>) -> syclbin_rt::Result<()> {
        let (kernels, sizes, epsilon) = (&self.kernels, self.sizes, self.epsilon);
        let (base, factors) = (self.rotary_base, &self.rotary_factors);
        let Activations {
            state,
            x,
            normed,
            query,
            key,
            value,
            scores,
            attended,
            gate,
            up,
            change,
            logits,
            sums,
        } = &mut self.activations;
        let tokens = if is_batch { BATCH } else { 1 };
        let count = number(tokens);
        let [width, key_width] = [sizes.width, sizes.key()].map(number);
        let [heads, shared] = [sizes.heads, sizes.shared_heads].map(number);
        let [size, longest] = [sizes.head(), sizes.longest].map(number);
        let half = size / 2;
        self.embedding.embed(state, x, tokens, run)?;
        for layer in &mut self.layers {
            let norm = &layer.attention_norm;
            let norm = kernels.rms_norm(x, norm, normed, count, width, epsilon);
            run.kernel(norm, tokens * GROUP)?;
            layer.query.multiply(normed, query, sums, is_batch, run)?;
            layer.key.multiply(normed, key, sums, is_batch, run)?;
            layer.value.multiply(normed, value, sums, is_batch, run)?;
            let rotate = kernels.rotate(query, state, factors, count, heads, half, base);
            run.kernel(rotate, tokens * sizes.width / 2)?;
            let rotate = kernels.rotate(key, state, factors, count, shared, half, base);
            run.kernel(rotate, tokens * sizes.key() / 2)?;
            let (keys, values) = (&mut layer.keys, &mut layer.values);
            let remember =
                kernels.remember(key, value, state, keys, values, count, key_width, longest);
            run.kernel(remember, tokens * sizes.key())?;
            let attend = kernels.attend(
                query, keys, values, state, scores, attended, count, heads, shared, size, longest,
            );
            run.kernel(attend, tokens * sizes.heads * HEAD_GROUP)?;
            layer
                .attention_out
                .multiply(attended, change, sums, is_batch, run)?;
            run.kernel(kernels.add(x, change, count * width), tokens * sizes.width)?;

            let norm = &layer.feed_forward_norm;
            let norm = kernels.rms_norm(x, norm, normed, count, width, epsilon);
            run.kernel(norm, tokens * GROUP)?;
            layer.gate.multiply(normed, gate, sums, is_batch, run)?;
            layer.up.multiply(normed, up, sums, is_batch, run)?;
            let hidden = tokens * sizes.hidden;
            run.kernel(kernels.gate_by(gate, up, number(hidden)), hidden)?;
            layer.down.multiply(gate, change, sums, is_batch, run)?;
            run.kernel(kernels.add(x, change, count * width), tokens * sizes.width)?;
        }
        if is_batch {
            return Ok(());
        }
        let norm = kernels.rms_norm(x, &self.norm, normed, 1, width, epsilon);
        run.kernel(norm, GROUP)?;
        self.output.multiply(normed, logits, sums, false, run)?;
        let vocabulary = number(sizes.vocabulary);
        run.kernel(kernels.choose(logits, state, vocabulary), GROUP)
    }
}

fn upload(queue: &Queue, tensor: &Tensor) -> Result<Buffer<f32>> {
    let numbers = tensor.flatten_all()?.to_vec1::<f32>()?;
    queue.upload(&numbers).map_err(Error::wrap)
}
