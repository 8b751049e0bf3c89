// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates tokens on the device and by candle on the CPU, and compares them.

use std::time::{Duration, Instant};

use candle_core::quantized::GgmlDType;
use candle_core::{Error, Result};

use crate::decoder::Decoder;
use crate::matvec::Run;
use crate::reference::Reference;
use crate::weights::{Sizes, Weights};

/// Sizes for a quick test, with a cache and with heads that share keys.
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
    for format in [
        GgmlDType::F32,
        GgmlDType::Q8_0,
        GgmlDType::Q4_0,
        GgmlDType::Q4K,
    ] {
        let weights = Weights::random(sizes, format)?;
        println!(
            "decoder   {} layers of {}, {} tokens, {format:?}",
            sizes.layers, sizes.width, tokens
        );
        compare(&weights, tokens)?;
    }
    Ok(())
}

fn compare(weights: &Weights, tokens: usize) -> Result<()> {
    let mut decoder = Decoder::new(weights)?;
    let mut exact = Reference::new(weights, true)?;
    let mut largest: f32 = 0.0;
    let mut chosen = vec![FIRST];
    let recording = decoder.record().map_err(Error::wrap)?;
    decoder.start(FIRST, 0).map_err(Error::wrap)?;
    for position in 0..tokens {
        recording.replay().map_err(Error::wrap)?;
        let ours = decoder.logits().map_err(Error::wrap)?;
        let theirs = exact.forward(chosen[position], position)?;
        let pairs = ours.iter().zip(&theirs);
        // Treat NaN as an infinite difference, because `f32::max` ignores it.
        let distance = |(ours, theirs): (&f32, &f32)| {
            let distance = (ours - theirs).abs();
            if distance.is_nan() {
                f32::INFINITY
            } else {
                distance
            }
        };
        largest = pairs.map(distance).fold(largest, f32::max);
        let token = decoder.token().map_err(Error::wrap)?;
        let expected = most_likely(&theirs);
        if token != expected {
            candle_core::bail!("token {position} is {token}, but candle chose {expected}");
        }
        chosen.push(token);
    }
    if largest > 1e-3 {
        candle_core::bail!("logits differ by {largest:.1e}, more than 1e-3");
    }
    let distinct: std::collections::BTreeSet<_> = chosen[1..].iter().collect();
    println!(
        "agree     with candle: {tokens} tokens ({} distinct), logits differ by at most {largest:.1e}",
        distinct.len()
    );

    let mut reference = Reference::new(weights, false)?;
    let candle = timed(|| {
        (0..tokens).try_for_each(|position| {
            let logits = reference.forward(chosen[position], position)?;
            std::hint::black_box(most_likely(&logits));
            Ok(())
        })
    })?;
    let launched = timed(|| {
        decoder.start(FIRST, 0).map_err(Error::wrap)?;
        (0..tokens).try_for_each(|_| decoder.step(&mut Run::Now).map_err(Error::wrap))?;
        decoder.queue().wait().map_err(Error::wrap)
    })?;
    let recorded = timed(|| {
        decoder.start(FIRST, 0).map_err(Error::wrap)?;
        (0..tokens).try_for_each(|_| recording.replay().map(drop).map_err(Error::wrap))?;
        decoder.queue().wait().map_err(Error::wrap)
    })?;
    let last = decoder.token().map_err(Error::wrap)?;
    let expected = chosen[tokens];
    if last != expected {
        candle_core::bail!(
            "the last token is {last} if nothing is read back, but {expected} otherwise"
        );
    }
    for (name, time) in [
        ("candle", candle),
        ("launched", launched),
        ("recorded", recorded),
    ] {
        println!(
            "{name:<9} {:.0} tokens/s",
            tokens as f64 / time.as_secs_f64()
        );
    }
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// Returns the first of the largest logits.
fn most_likely(logits: &[f32]) -> u32 {
    let mut best = 0;
    for (i, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = i;
        }
    }
    u32::try_from(best).unwrap_or(u32::MAX)
}
