// SPDX-License-Identifier: MIT OR Apache-2.0
//! A problem: a kernel with its arguments, and the result it must have. All contestants get the same.

use crate::Result;

/// An argument.
pub(crate) enum Value {
    F32(f32),
    U32(u32),
    U64(u64),
    /// Memory with these words, which the kernel reads.
    Read(Vec<u32>),
    /// Memory with these words at first, which the kernel writes. The first of them has the result.
    Write(Vec<u32>),
    /// Bytes of work-group memory. A parameter in SYCL, and a variable of the kernel in CUDA.
    Local(usize),
}

/// How the words of a result are read.
#[derive(Clone, Copy)]
pub(crate) enum Element {
    F32,
    U32,
}

/// What a result must be like.
pub(crate) struct Expected {
    pub(crate) element: Element,
    /// Elements of the result, as the CPU computes them.
    pub(crate) samples: Vec<(usize, f64)>,
    /// The largest difference, as a share of the number or of 1, whichever is larger.
    pub(crate) tolerance: f64,
}

/// A kernel with all that it takes to launch it and to judge it.
pub(crate) struct Problem<const N: usize> {
    /// What the files of the kernel are called.
    pub(crate) name: &'static str,
    pub(crate) size: String,
    pub(crate) parameters: &'static [&'static str; N],
    pub(crate) values: [Value; N],
    /// Work-groups and work-items of each, the fastest dimension first.
    pub(crate) blocks: [u32; 2],
    pub(crate) threads: [u32; 2],
    /// How many launches are queued at a time.
    pub(crate) launches: u32,
    /// What a launch does, in `unit` without its `/s`.
    pub(crate) amount: f64,
    pub(crate) unit: &'static str,
    /// The least ratio to the baseline.
    pub(crate) goal: f64,
    pub(crate) expected: Expected,
}

impl<const N: usize> Problem<N> {
    /// The words of the result, as they are before a launch.
    pub(crate) fn result(&self) -> Result<(usize, &[u32])> {
        let values = self.values.iter().enumerate();
        let mut written = values.filter_map(|(index, value)| match value {
            Value::Write(words) => Some((index, words.as_slice())),
            _ => None,
        });
        written
            .next()
            .ok_or_else(|| format!("{} writes nothing", self.name))
    }
}

impl Expected {
    fn number(&self, word: u32) -> f64 {
        match self.element {
            Element::F32 => f32::from_bits(word).into(),
            Element::U32 => word.into(),
        }
    }

    fn is_near(&self, found: f64, expected: f64) -> bool {
        (found - expected).abs() <= self.tolerance * expected.abs().max(1.0)
    }

    /// Compares a result with what the CPU computes.
    pub(crate) fn check(&self, result: &[u32]) -> Result<()> {
        for (index, expected) in &self.samples {
            let found = result
                .get(*index)
                .map_or(f64::NAN, |word| self.number(*word));
            if !self.is_near(found, *expected) {
                return Err(format!(
                    "the result is wrong: element {index} is {found}, and the CPU computes {expected}"
                ));
            }
        }
        Ok(())
    }

    /// Compares all of two results.
    pub(crate) fn compare(&self, ours: &[u32], theirs: &[u32]) -> Result<()> {
        let mut pairs = ours.iter().zip(theirs).map(|(ours, theirs)| {
            let (ours, theirs) = (self.number(*ours), self.number(*theirs));
            (ours, theirs, self.is_near(ours, theirs))
        });
        if let Some((index, (ours, theirs, _))) =
            pairs.by_ref().enumerate().find(|(_, pair)| !pair.2)
        {
            return Err(format!(
                "the results differ: element {index} is {ours} and {theirs}"
            ));
        }
        Ok(())
    }
}

/// Bits that look random, the same for an index in each run.
pub(crate) fn bits(index: u32) -> u32 {
    // The finalizer of MurmurHash3.
    let mut hash = index.wrapping_add(0x9E37_79B9);
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85EB_CA6B);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xC2B2_AE35);
    hash ^ (hash >> 16)
}

/// A number from 0 to 1.
pub(crate) fn number(index: u32) -> f32 {
    (bits(index) >> 8) as f32 / 16_777_216.0
}

/// The words of as many such numbers.
pub(crate) fn numbers(count: u32) -> Vec<u32> {
    (0..count).map(|index| number(index).to_bits()).collect()
}

/// Some indices below `count`, the first and the last among them.
pub(crate) fn some_of(count: u32) -> impl Iterator<Item = u32> {
    const SOME: u32 = 64;
    let last = u64::from(count.saturating_sub(1));
    let indices = (0..SOME).map(move |part| u64::from(part) * last / u64::from(SOME - 1));
    indices.filter_map(|index| u32::try_from(index).ok())
}
