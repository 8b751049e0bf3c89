// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates tokens on the device and with candle on the CPU, and compares them.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use candle_core::{Error, Result};

use syclbin_rt::Recording;

use crate::decoder::Decoder;
use crate::matvec::{FORMATS, Format, Run};
use crate::reference::Reference;
use crate::weights::{Model, Sizes, Weights};

/// A quick test of the cache and of heads that share keys.
pub const SMALL: Sizes = Sizes {
    layers: 4,
    width: 256,
    heads: 8,
    shared_heads: 4,
    hidden: 768,
    vocabulary: 1024,
    longest: 128,
};
/// Four layers, as wide as those of a model with a billion weights.
pub const LARGE: Sizes = Sizes {
    layers: 4,
    width: 2048,
    heads: 32,
    shared_heads: 8,
    hidden: 5632,
    vocabulary: 8192,
    longest: 128,
};

/// The first token.
const FIRST: u32 = 1;

/// Generates tokens in each format.
///
/// # Errors
///
/// Fails if the device and candle disagree, or if either reports an error.
pub fn run(sizes: Sizes, tokens: usize) -> Result<()> {
    for Format { dtype: format, .. } in FORMATS {
        let weights = Weights::random(sizes, format)?;
        println!(
            "decoder   {} layers of {}, {} tokens, {format:?}",
            sizes.layers, sizes.width, tokens
        );
        let mut decoder = Decoder::new(&weights)?;
        let chosen = agree(&mut decoder, &weights, &[FIRST], tokens)?;
        measure(&mut decoder, &weights, &chosen)?;
    }
    Ok(())
}

/// Generates up to `tokens` tokens after `prompt` with a model from a GGUF file, and prints the whole text.
///
/// # Errors
///
/// Fails if the file cannot be used, if a token is not in the vocabulary, if `check` is set and candle disagrees, or if
/// the device reports an error.
pub fn continue_text(path: &Path, prompt: &[u32], tokens: usize, check: bool) -> Result<()> {
    let mut model = Model::open(path)?;
    let first = [model.first];
    let prompt = if prompt.is_empty() { &first } else { prompt };
    let sizes = &mut model.weights.sizes;
    if let Some(token) = prompt
        .iter()
        .find(|token| **token as usize >= sizes.vocabulary)
    {
        candle_core::bail!(
            "token {token} is out of range: the model has {} tokens",
            sizes.vocabulary
        );
    }
    let tokens = tokens.min(sizes.longest.saturating_sub(prompt.len()));
    if tokens == 0 {
        candle_core::bail!(
            "a prompt of {} tokens leaves no room: the model supports {}",
            prompt.len(),
            sizes.longest
        );
    }
    // A cache for the model's whole context would need much more memory.
    sizes.longest = prompt.len() + tokens;
    let mut decoder = Decoder::new(&model.weights)?;
    println!("device    {}", decoder.queue().device());
    if check {
        agree(&mut decoder, &model.weights, prompt, tokens)?;
    }
    let (batch, single) = recordings(&mut decoder)?;
    let start = Instant::now();
    decoder
        .prompt(prompt, &batch, &single)
        .map_err(Error::wrap)?;
    let mut token = decoder.token().map_err(Error::wrap)?;
    let prompt_time = start.elapsed();
    for token in prompt {
        print!("{}", model.text(*token));
    }
    let (start, mut replays) = (Instant::now(), 0);
    while Some(token) != model.last {
        print!("{}", model.text(token));
        std::io::stdout().flush()?;
        if replays + 1 == tokens {
            break;
        }
        single.replay().map_err(Error::wrap)?;
        token = decoder.token().map_err(Error::wrap)?;
        replays += 1;
    }
    let time = start.elapsed();
    println!();
    println!("prompt    {}", rate(prompt.len(), prompt_time));
    if replays > 0 {
        println!("text      {}", rate(replays, time));
    }
    Ok(())
}

/// Records the launches for a batch and for one token.
fn recordings(decoder: &mut Decoder) -> Result<(Recording, Recording)> {
    let mut record = |is_batch| decoder.record(is_batch).map_err(Error::wrap);
    Ok((record(true)?, record(false)?))
}

/// Processes a prompt and generates tokens. Compares each token and its logits with candle's. Returns the prompt
/// followed by the tokens.
fn agree(
    decoder: &mut Decoder,
    weights: &Weights,
    prompt: &[u32],
    tokens: usize,
) -> Result<Vec<u32>> {
    let mut exact = Reference::new(weights, true)?;
    let mut largest: f32 = 0.0;
    let mut chosen = prompt.to_vec();
    let (batch, single) = recordings(decoder)?;
    for generated in 0..tokens {
        let position = chosen.len() - 1;
        let theirs = if generated == 0 {
            decoder
                .prompt(prompt, &batch, &single)
                .map_err(Error::wrap)?;
            exact.forward(prompt, 0)?
        } else {
            single.replay().map_err(Error::wrap)?;
            exact.forward(&chosen[position..], position)?
        };
        let ours = decoder.logits().map_err(Error::wrap)?;
        largest = largest.max(farthest(&ours, &theirs));
        let token = decoder.token().map_err(Error::wrap)?;
        let expected = most_likely(&theirs);
        if token != expected {
            candle_core::bail!("token {generated} is {token}, but candle chose {expected}");
        }
        chosen.push(token);
    }
    if largest > 1e-3 {
        candle_core::bail!("logits differ by {largest:.1e}; at most 1e-3 is allowed");
    }
    let distinct: std::collections::BTreeSet<_> = chosen[prompt.len()..].iter().collect();
    println!(
        "agree     with candle: {tokens} tokens ({} distinct), logits differ by at most {largest:.1e}",
        distinct.len()
    );
    Ok(chosen)
}

/// Measures the device and candle, and prints their speed. Generates the same tokens again without reading each one
/// back, and then processes all but the last as a prompt.
fn measure(decoder: &mut Decoder, weights: &Weights, chosen: &[u32]) -> Result<()> {
    let (batch, single) = recordings(decoder)?;
    let tokens = chosen.len() - 1;
    let expected = chosen[tokens];
    let check = |decoder: &Decoder, what: &str| match decoder.token().map_err(Error::wrap)? {
        last if last == expected => Ok(()),
        last => candle_core::bail!("{what}, the last token is {last} instead of {expected}"),
    };

    let mut reference = Reference::new(weights, false)?;
    let candle = timed(|| {
        (0..tokens).try_for_each(|position| {
            let logits = reference.forward(&chosen[position..=position], position)?;
            std::hint::black_box(most_likely(&logits));
            Ok(())
        })
    })?;
    let mut run = Run::default();
    let mut enqueued = [Duration::ZERO; 2];
    let launched = timed(|| {
        decoder.start(&chosen[..1], 0).map_err(Error::wrap)?;
        enqueued[0] = timed(|| {
            let mut steps = 0..tokens;
            steps.try_for_each(|_| decoder.step(false, &mut run).map_err(Error::wrap))
        })?;
        decoder.queue().wait().map_err(Error::wrap)
    })?;
    check(decoder, "without reading tokens back")?;
    let recorded = timed(|| {
        decoder.start(&chosen[..1], 0).map_err(Error::wrap)?;
        enqueued[1] = timed(|| {
            let mut steps = 0..tokens;
            steps.try_for_each(|_| single.replay().map(drop).map_err(Error::wrap))
        })?;
        decoder.queue().wait().map_err(Error::wrap)
    })?;
    check(decoder, "with replayed launches")?;
    let mut reference = Reference::new(weights, false)?;
    let candle_prompt = timed(|| reference.forward(&chosen[..tokens], 0).map(drop))?;
    let prompt = timed(|| {
        let prompt = decoder.prompt(&chosen[..tokens], &batch, &single);
        prompt
            .and_then(|()| decoder.queue().wait())
            .map_err(Error::wrap)
    })?;
    check(decoder, "after a prompt in batches")?;

    println!(
        "candle    {}, {} for a prompt",
        rate(tokens, candle),
        rate(tokens, candle_prompt)
    );
    println!("launched  {}", rate(tokens, launched));
    println!(
        "recorded  {}, {} for a prompt",
        rate(tokens, recorded),
        rate(tokens, prompt)
    );
    let bytes = decoder.weight_bytes() as f64;
    let each = |time: Duration| 1e6 * time.as_secs_f64() / tokens as f64;
    println!(
        "a token   {} launches, {:.0} us of host time, {:.0} if recorded; {:.1} MB of weights, {:.1} GB/s",
        run.launches / tokens,
        each(enqueued[0]),
        each(enqueued[1]),
        bytes / 1e6,
        bytes * tokens as f64 / recorded.as_secs_f64() / 1e9
    );
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn rate(tokens: usize, time: Duration) -> String {
    format!("{:.0} tokens/s", tokens as f64 / time.as_secs_f64())
}

/// Returns the largest difference between logits of the same token, relative to the largest logit if that exceeds 1.
/// NaN counts as an infinite difference.
fn farthest(ours: &[f32], theirs: &[f32]) -> f32 {
    let pairs = ours.iter().zip(theirs);
    let differences = pairs.map(|(ours, theirs)| (ours - theirs).abs());
    // `f32::max` ignores NaN.
    let differences = differences.map(|value| if value.is_nan() { f32::INFINITY } else { value });
    let largest = theirs
        .iter()
        .fold(1.0, |largest: f32, logit| largest.max(logit.abs()));
    differences.fold(0.0, f32::max) / largest
}

/// Returns the token with the largest logit; the first in case of a tie.
fn most_likely(logits: &[f32]) -> u32 {
    let mut best = 0;
    for (i, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = i;
        }
    }
    u32::try_from(best).unwrap_or(u32::MAX)
}
