// SPDX-License-Identifier: MIT OR Apache-2.0
//! The weights of a Llama-style decoder: generated at random, or loaded from a GGUF file.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
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
    /// The maximum number of tokens in the cache.
    pub longest: usize,
}

impl Sizes {
    /// Returns the size of a head.
    pub fn head(&self) -> usize {
        self.width / self.heads
    }

    /// Returns the length of a token's key across all shared heads. Values have the same length.
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
    /// The base of the rotary position embedding.
    pub rotary_base: f32,
    /// The divisors of the rotary angles, `[head / 2]`.
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
    /// The text of each token; empty if the file does not contain a tokenizer.
    pub vocabulary: Vec<String>,
    /// The token that starts a text.
    pub first: u32,
    /// The token that ends a text.
    pub last: Option<u32>,
}

impl Weights {
    /// Generates random weights, identical in each run, and quantizes the matrices to `format`.
    ///
    /// # Errors
    ///
    /// Fails if the rows are not a whole number of blocks.
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
        let failed = |cause: &dyn std::fmt::Display| {
            Error::msg(format!("cannot write {}: {cause}", path.display()))
        };
        let file = File::create(path).map_err(|cause| failed(&cause))?;
        let mut file = BufWriter::new(file);
        gguf_file::write(&mut file, &metadata, &tensors).map_err(|cause| failed(&cause))?;
        file.flush().map_err(|cause| failed(&cause))
    }
}

impl Model {
    /// Reads a GGUF file whose architecture is `llama`. Converts matrices to F16 if no kernel supports their format.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, if it describes an unsupported model, or if metadata or a tensor is missing.
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
        match value("general.architecture")
            .map(Value::to_string)
            .transpose()?
        {
            Some(name) if name == "llama" => {}
            Some(name) => candle_core::bail!("unsupported architecture `{name}`; expected `llama`"),
            None => candle_core::bail!("the metadata lacks `general.architecture`"),
        }
        let optional = |key: &str| -> Result<Option<usize>> {
            let key = format!("llama.{key}");
            let number = value(&key).map(|value| {
                let number = value.to_u32().map(|number| number as usize);
                number.map_err(|cause| Error::msg(format!("`{key}`: {cause}")))
            });
            number.transpose()
        };
        let number = |key: &str| match optional(key)? {
            Some(number) => Ok(number),
            None => candle_core::bail!("the metadata lacks `llama.{key}`"),
        };
        let float = |key: &str| {
            value(&format!("llama.{key}"))
                .map(Value::to_f32)
                .transpose()
        };
        match value("llama.rope.scaling.type")
            .map(Value::to_string)
            .transpose()?
        {
            None => {}
            Some(kind) if kind == "none" => {}
            Some(kind) => candle_core::bail!("unsupported scaling `{kind}` of rotary embeddings"),
        }

        let heads = number("attention.head_count")?;
        let embedding_shape = match content.tensor_infos.get("token_embd.weight") {
            Some(info) => info.shape.dims2()?,
            None => candle_core::bail!("the file lacks `token_embd.weight`"),
        };
        let sizes = Sizes {
            layers: number("block_count")?,
            width: number("embedding_length")?,
            heads,
            shared_heads: optional("attention.head_count_kv")?.unwrap_or(heads),
            hidden: number("feed_forward_length")?,
            vocabulary: embedding_shape.0,
            longest: number("context_length")?,
        };
        let fits = |whole: usize, part: usize| part > 0 && whole.is_multiple_of(part);
        if !fits(sizes.width, 2 * sizes.heads) || !fits(sizes.heads, sizes.shared_heads) {
            candle_core::bail!(
                "cannot divide a width of {} among {heads} heads with {} key and value heads",
                sizes.width,
                sizes.shared_heads
            );
        }
        let (width, hidden, key, half) = (sizes.width, sizes.hidden, sizes.key(), sizes.head() / 2);
        let turned = optional("rope.dimension_count")?.unwrap_or(sizes.head());
        if turned != sizes.head() {
            candle_core::bail!(
                "unsupported rotary embedding: it covers {turned} dimensions, but a head has {}",
                sizes.head()
            );
        }
        let mut tensor = |name: &str, shape: &[usize]| {
            let tensor = content.tensor(file, name, &Device::Cpu)?;
            match tensor.shape().dims() {
                found if found == shape => Ok(tensor),
                found => candle_core::bail!(
                    "`{name}` has the shape {found:?}, but the metadata requires {shape:?}"
                ),
            }
        };
        let vector = |tensor: QTensor| tensor.dequantize(&Device::Cpu);
        let layers = (0..sizes.layers).map(|index| {
            let mut tensor =
                |name: &str, shape: &[usize]| tensor(&format!("blk.{index}.{name}.weight"), shape);
            Ok(Layer {
                attention_norm: vector(tensor("attn_norm", &[width])?)?,
                query: supported(tensor("attn_q", &[width, width])?)?,
                key: supported(tensor("attn_k", &[key, width])?)?,
                value: supported(tensor("attn_v", &[key, width])?)?,
                attention_out: supported(tensor("attn_output", &[width, width])?)?,
                feed_forward_norm: vector(tensor("ffn_norm", &[width])?)?,
                gate: supported(tensor("ffn_gate", &[hidden, width])?)?,
                up: supported(tensor("ffn_up", &[hidden, width])?)?,
                down: supported(tensor("ffn_down", &[width, hidden])?)?,
            })
        });
        let layers = layers.collect::<Result<_>>()?;
        let has = |name: &str| content.tensor_infos.contains_key(name);
        let rotary_factors = if has("rope_freqs.weight") {
            vector(tensor("rope_freqs.weight", &[half])?)?
        } else {
            Tensor::ones(half, DType::F32, &Device::Cpu)?
        };
        let embedding = supported(tensor("token_embd.weight", &[sizes.vocabulary, width])?)?;
        // Some models use the embedding as the output matrix.
        let output = if has("output.weight") {
            supported(tensor("output.weight", &[sizes.vocabulary, width])?)?
        } else {
            embedding.clone()
        };
        let weights = Weights {
            sizes,
            epsilon: float("attention.layer_norm_rms_epsilon")?.unwrap_or(1e-5),
            rotary_base: float("rope.freq_base")?.unwrap_or(10_000.0),
            rotary_factors,
            embedding,
            layers,
            norm: vector(tensor("output_norm.weight", &[width])?)?,
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

    /// Returns the text of a token, or its number if its text is unknown.
    pub fn text(&self, token: u32) -> String {
        match self.vocabulary.get(token as usize) {
            // SentencePiece writes a space as ▁. Byte-level BPE writes a space as Ġ and a line break as Ċ.
            Some(text) => text.replace(['▁', 'Ġ'], " ").replace('Ċ', "\n"),
            None => format!(" {token}"),
        }
    }
}

/// Converts the matrix to F16 unless a kernel supports its format.
fn supported(matrix: QTensor) -> Result<Matrix> {
    if matvec::is_supported(matrix.dtype()) {
        return Ok(Matrix::new(matrix));
    }
    let numbers = matrix.dequantize(&Device::Cpu)?;
    QTensor::quantize(&numbers, GgmlDType::F16).map(Matrix::new)
}
