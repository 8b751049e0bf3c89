// SPDX-License-Identifier: MIT OR Apache-2.0
//! A decoder on a device. Weights, activations and the cache stay there; the host records the launches for a token
//! once, and replays them.

use candle_core::{Error, Result, Tensor};
use syclbin_rt::{Buffer, Queue, Recording};

use crate::matvec::{self, Matrix, Run, kernels as products};
use crate::weights::{self, EPSILON, Layer, ROTARY_BASE, Sizes, Weights};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "decoder";

    // SAFETY: work-items beyond the sizes do nothing. Positions and tokens come from a buffer, are read once, and are
    // checked before they are an index. The barriers are reached by all work-items of a group, or by none.
    unsafe extern "SYCL" {
        safe fn embed where table.len() >= vocabulary * width, state.len() >= 2, x.len() >= width;
        safe fn rms_norm where x.len() >= width, weight.len() >= width, out.len() >= width;
        safe fn rotate where x.len() >= 2 * heads * half, state.len() >= 1;
        safe fn remember where key.len() >= width, value.len() >= width, state.len() >= 1,
            keys.len() >= longest * width, values.len() >= longest * width;
        safe fn attend where query.len() >= heads * size, out.len() >= heads * size, state.len() >= 1,
            keys.len() >= longest * shared_heads * size, values.len() >= longest * shared_heads * size,
            scores.len() >= heads * longest;
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

/// The buffers that the kernels write for each token.
struct Activations {
    /// The position, and the token.
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
    /// What is added to `x`.
    change: Buffer<f32>,
    logits: Buffer<f32>,
    /// Partial sums of the matrix products.
    sums: Buffer<f32>,
}

pub struct Decoder {
    queue: Queue,
    modules: Modules,
    sizes: Sizes,
    embedding: Buffer<f32>,
    layers: Vec<DeviceLayer>,
    norm: Buffer<f32>,
    output: Matrix,
    activations: Activations,
}

struct Modules {
    kernels: kernels::Module,
    products: products::Module,
}

impl Decoder {
    /// Uploads the weights to the best device.
    ///
    /// # Errors
    ///
    /// Fails if no device is found, or if it reports an error.
    pub fn new(weights: &Weights) -> Result<Self> {
        let queue = kernels::Module::best_device().and_then(|device| device.queue());
        let queue = queue.map_err(Error::wrap)?;
        let sizes = weights.sizes;
        let matrix = |matrix: &weights::Matrix| Matrix::upload(&queue, matrix);
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
        let output = matrix(&weights.output)?;
        let matrices = layers.iter().flat_map(|layer| {
            let DeviceLayer {
                query,
                key,
                up,
                down,
                ..
            } = layer;
            [query, key, up, down]
        });
        let sums = matrices.chain([&output]).map(Matrix::sums);
        // A product writes whole groups of rows, so its result is padded.
        let padded = |len: usize| zeroed(len.next_multiple_of(matvec::GROUP));
        let activations = Activations {
            state: queue.zeroed(2).map_err(Error::wrap)?,
            x: padded(sizes.width)?,
            normed: padded(sizes.width)?,
            query: padded(sizes.width)?,
            key: padded(sizes.key())?,
            value: padded(sizes.key())?,
            scores: zeroed(sizes.heads * sizes.longest)?,
            attended: padded(sizes.width)?,
            gate: padded(sizes.hidden)?,
            up: padded(sizes.hidden)?,
            change: padded(sizes.width)?,
            logits: padded(sizes.vocabulary)?,
            sums: zeroed(sums.max().unwrap_or_default())?,
        };
        let modules = || -> syclbin_rt::Result<Modules> {
            Ok(Modules {
                kernels: kernels::Module::load(&queue)?,
                products: products::Module::load(&queue)?,
            })
        };
        Ok(Self {
            modules: modules().map_err(Error::wrap)?,
            sizes,
            embedding: upload(&queue, &weights.embedding)?,
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

    /// Sets the next token and its position.
    ///
    /// # Errors
    ///
    /// Fails if the device reports an error.
    pub fn start(&mut self, token: u32, position: u32) -> syclbin_rt::Result<()> {
        let state = &mut self.activations.state;
        self.queue.write(state, &[position, token])
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

    /// Records the launches for a token.
    ///
    /// # Errors
    ///
    /// Fails if a launch is refused.
    pub fn record(&mut self) -> syclbin_rt::Result<Recording> {
        let mut recorder = self.queue.record();
        self.step(&mut Run::Record(&mut recorder))?;
        recorder.finish()
    }

    /// Launches or records all kernels for a token, which compute the logits and choose the next token.
    ///
    /// # Errors
    ///
    /// Fails if a launch is refused.
    pub fn step(&mut self, run: &mut Run<'_>) -> syclbin_rt::Result<()> {
        let (modules, sizes) = (&self.modules, self.sizes);
        let (kernels, products) = (&modules.kernels, &modules.products);
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
        let [width, hidden] = [sizes.width, sizes.hidden].map(number);
        let [heads, shared] = [sizes.heads, sizes.shared_heads].map(number);
        let [size, longest] = [sizes.head(), sizes.longest].map(number);
        let vocabulary = number(sizes.vocabulary);
        let embed = kernels.embed(&self.embedding, state, x, vocabulary, width);
        run.kernel(embed, sizes.width)?;
        for layer in &mut self.layers {
            let norm = kernels.rms_norm(x, &layer.attention_norm, normed, width, EPSILON);
            run.kernel(norm, GROUP)?;
            layer.query.multiply(products, normed, query, sums, run)?;
            layer.key.multiply(products, normed, key, sums, run)?;
            layer.value.multiply(products, normed, value, sums, run)?;
            let half = size / 2;
            let rotate = kernels.rotate(query, state, heads, half, ROTARY_BASE);
            run.kernel(rotate, sizes.width / 2)?;
            let rotate = kernels.rotate(key, state, shared, half, ROTARY_BASE);
            run.kernel(rotate, sizes.key() / 2)?;
            let (keys, values) = (&mut layer.keys, &mut layer.values);
            let remember =
                kernels.remember(key, value, state, keys, values, shared * size, longest);
            run.kernel(remember, sizes.key())?;
            let attend = kernels.attend(
                query, keys, values, state, scores, attended, heads, shared, size, longest,
            );
            run.kernel(attend, sizes.heads * HEAD_GROUP)?;
            layer
                .attention_out
                .multiply(products, attended, change, sums, run)?;
            run.kernel(kernels.add(x, change, width), sizes.width)?;

            let norm = kernels.rms_norm(x, &layer.feed_forward_norm, normed, width, EPSILON);
            run.kernel(norm, GROUP)?;
            layer.gate.multiply(products, normed, gate, sums, run)?;
            layer.up.multiply(products, normed, up, sums, run)?;
            run.kernel(kernels.gate_by(gate, up, hidden), sizes.hidden)?;
            layer.down.multiply(products, gate, change, sums, run)?;
            run.kernel(kernels.add(x, change, width), sizes.width)?;
        }
        let norm = kernels.rms_norm(x, &self.norm, normed, width, EPSILON);
        run.kernel(norm, GROUP)?;
        self.output.multiply(products, normed, logits, sums, run)?;
        run.kernel(kernels.choose(logits, state, vocabulary), GROUP)
    }
}

fn number(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

fn upload(queue: &Queue, tensor: &Tensor) -> Result<Buffer<f32>> {
    let numbers = tensor.flatten_all()?.to_vec1::<f32>()?;
    queue.upload(&numbers).map_err(Error::wrap)
}
