// SPDX-License-Identifier: MIT OR Apache-2.0
//! The weights of a decoder like Llama's: random ones, or those of a GGUF file.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::sync::Arc;

use candle_core::quantized::gguf_file::{self, Content, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Error, Result, Tensor};

use crate::{matvec, numbers};

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

/// A matrix, `[rows, columns]`, in a format that [`matvec::Matrix`] supports.
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
    /// Added to the mean square before the root is taken, so that RMS norm never divides by zero.
    pub epsilon: f32,
    /// The base of the angles that encode positions.
    pub rotary_base: f32,
    /// Divides the angles, `[head / 2]`.
    pub rotary_factors: Tensor,
    /// `[vocabulary, width]`
    pub embedding: Matrix,
    pub layers: Vec<Layer>,
    pub norm: Tensor,
    pub output: Matrix,
}

/// A model from a GGUF file.
pub struct Model {
    pub weights: Weights,
    /// The text of each token; empty if the file contains no tokenizer.
    pub vocabulary: Vec<String>,
    /// The token that starts a text.
    pub first: u32,
    /// The token that ends a text.
    pub last: Option<u32>,
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
        let mut scaled = |rows: usize, columns: usize, scale: f64| {
            let weights = numbers(&[rows, columns], scale, 0.0)?;
            QTensor::quantize(&weights, format).map(Matrix::new)
        };
        let mut matrix = |rows, columns| scaled(rows, columns, 1.7 / (columns as f64).sqrt());
        let norm = Tensor::ones(width, DType::F32, &Device::Cpu)?;
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
        let embedding = scaled(sizes.vocabulary, width, 1.0)?;
        Ok(Self {
            sizes,
            epsilon: 1e-5,
            rotary_base: 10_000.0,
            rotary_factors: Tensor::ones(sizes.head() / 2, DType::F32, &Device::Cpu)?,
            embedding,
            layers,
            norm: numbers(&[width], 0.2, 1.0)?,
            output,
        })
    }

    /// Writes the weights to a GGUF file, without a tokenizer.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let sizes = self.sizes;
        let number = |value: usize| Value::U32(u32::try_from(value).unwrap_or(u32::MAX));
        let metadata = [
            ("general.architecture", Value::String("llama".to_owned())),
            ("llama.block_count", number(sizes.layers)),
            ("llama.embedding_length", number(sizes.width)),
            ("llama.attention.head_count", number(sizes.heads)),
            ("llama.attention.head_count_kv", number(sizes.shared_heads)),
            ("llama.feed_forward_length", number(sizes.hidden)),
            ("llama.context_length", number(sizes.longest)),
            ("llama.rope.dimension_count", number(sizes.head())),
            ("llama.rope.freq_base", Value::F32(self.rotary_base)),
            (
                "llama.attention.layer_norm_rms_epsilon",
                Value::F32(self.epsilon),
            ),
        ];
        let vector = |tensor: &Tensor| QTensor::quantize(tensor, GgmlDType::F32).map(Matrix::new);
        let mut tensors = vec![
            ("token_embd.weight".to_owned(), self.embedding.clone()),
            ("output_norm.weight".to_owned(), vector(&self.norm)?),
            ("output.weight".to_owned(), self.output.clone()),
            (
                "rope_freqs.weight".to_owned(),
                vector(&self.rotary_factors)?,
            ),
        ];
        for (index, layer) in self.layers.iter().enumerate() {
            let named = [
                ("attn_norm", vector(&layer.attention_norm)?),
                ("attn_q", layer.query.clone()),
                ("attn_k", layer.key.clone()),
                ("attn_v", layer.value.clone()),
                ("attn_output", layer.attention_out.clone()),
                ("ffn_norm", vector(&layer.feed_forward_norm)?),
                ("ffn_gate", layer.gate.clone()),
                ("ffn_up", layer.up.clone()),
                ("ffn_down", layer.down.clone()),
            ];
            let name = |name| format!("blk.{index}.{name}.weight");
            tensors.extend(named.map(|(short, tensor)| (name(short), tensor)));
        }
        let metadata: Vec<_> = metadata.iter().map(|(key, value)| (*key, value)).collect();
        let tensors: Vec<_> = tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), &**tensor))
            .collect();
        let file = File::create(path)
            .map_err(|cause| Error::msg(format!("cannot write {}: {cause}", path.display())))?;
        gguf_file::write(&mut BufWriter::new(file), &metadata, &tensors)
    }
}

impl Model {
    /// Reads a GGUF file of the architecture `llama`. Matrices in formats without a kernel are converted to F16.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, describes another architecture, or lacks a tensor.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |cause: &dyn std::fmt::Display| {
            Error::msg(format!("cannot read {}: {cause}", path.display()))
        };
        let file = File::open(path).map_err(|cause| failed(&cause))?;
        Self::read(&mut BufReader::new(file)).map_err(|cause| failed(&cause))
    }

    fn read(file: &mut BufReader<File>) -> Result<Self> {
        let content = Content::read(file)?;
        let value = |key: &str| content.metadata.get(key);
        let architecture = value("general.architecture").map(Value::to_string);
        match architecture.transpose()?.map(String::as_str) {
            Some("llama") => {}
            other => candle_core::bail!(
                "the architecture is {other:?}, but only \"llama\" is implemented"
            ),
        }
        let number = |key: &str| match value(&format!("llama.{key}")) {
            Some(value) => Ok(value.to_u32()? as usize),
            None => candle_core::bail!("the metadata has no llama.{key}"),
        };
        let float = |key: &str| value(&format!("llama.{key}")).map(Value::to_f32);
        let mut tensor = |name: &str| content.tensor(file, name, &Device::Cpu);

        let embedding = supported(tensor("token_embd.weight")?)?;
        let heads = number("attention.head_count")?;
        let sizes = Sizes {
            layers: number("block_count")?,
            width: number("embedding_length")?,
            heads,
            shared_heads: number("attention.head_count_kv").unwrap_or(heads),
            hidden: number("feed_forward_length")?,
            vocabulary: embedding.shape().dims2()?.0,
            longest: number("context_length")?,
        };
        let fits = |whole: usize, part: usize| part > 0 && whole.is_multiple_of(part);
        if !fits(sizes.width, sizes.heads) || !fits(sizes.heads, sizes.shared_heads) {
            candle_core::bail!("heads of different sizes are not implemented");
        }
        let turned = number("rope.dimension_count").unwrap_or(sizes.head());
        if turned != sizes.head() {
            candle_core::bail!(
                "a rotation of {turned} of {} dimensions is not implemented",
                sizes.head()
            );
        }
        let vector = |tensor: QTensor| tensor.dequantize(&Device::Cpu)?.flatten_all();
        let layers = (0..sizes.layers).map(|index| {
            let mut tensor = |name: &str| tensor(&format!("blk.{index}.{name}.weight"));
            Ok(Layer {
                attention_norm: vector(tensor("attn_norm")?)?,
                query: supported(tensor("attn_q")?)?,
                key: supported(tensor("attn_k")?)?,
                value: supported(tensor("attn_v")?)?,
                attention_out: supported(tensor("attn_output")?)?,
                feed_forward_norm: vector(tensor("ffn_norm")?)?,
                gate: supported(tensor("ffn_gate")?)?,
                up: supported(tensor("ffn_up")?)?,
                down: supported(tensor("ffn_down")?)?,
            })
        });
        let layers = layers.collect::<Result<_>>()?;
        let has = |name: &str| content.tensor_infos.contains_key(name);
        let rotary_factors = if has("rope_freqs.weight") {
            vector(tensor("rope_freqs.weight")?)?
        } else {
            Tensor::ones(sizes.head() / 2, DType::F32, &Device::Cpu)?
        };
        // Some models use one matrix for both.
        let output = if has("output.weight") {
            supported(tensor("output.weight")?)?
        } else {
            embedding.clone()
        };
        let weights = Weights {
            sizes,
            epsilon: float("attention.layer_norm_rms_epsilon").unwrap_or(Ok(1e-5))?,
            rotary_base: float("rope.freq_base").unwrap_or(Ok(10_000.0))?,
            rotary_factors,
            embedding,
            layers,
            norm: vector(tensor("output_norm.weight")?)?,
            output,
        };
        let token = |key: &str| value(&format!("tokenizer.ggml.{key}")).map(Value::to_u32);
        let texts = match value("tokenizer.ggml.tokens") {
            Some(texts) => texts.to_vec()?.as_slice(),
            None => &[],
        };
        let texts = texts.iter().map(|text| text.to_string().cloned());
        Ok(Self {
            weights,
            vocabulary: texts.collect::<Result<_>>()?,
            first: token("bos_token_id").unwrap_or(Ok(1))?,
            last: token("eos_token_id").transpose()?,
        })
    }

    /// Returns the text of a token, or its number if the file contains no tokenizer.
    pub fn text(&self, token: u32) -> String {
        match self.vocabulary.get(token as usize) {
            // Tokenizers use these characters for a space and a line break.
            Some(text) => text.replace(['▁', 'Ġ'], " ").replace('Ċ', "\n"),
            None => format!(" {token}"),
        }
    }
}

/// Converts the matrix to F16 if there is no kernel for its format.
fn supported(matrix: QTensor) -> Result<Matrix> {
    if matvec::is_supported(matrix.dtype()) {
        return Ok(Matrix::new(matrix));
    }
    let numbers = matrix.dequantize(&Device::Cpu)?;
    QTensor::quantize(&numbers, GgmlDType::F16).map(Matrix::new)
}
