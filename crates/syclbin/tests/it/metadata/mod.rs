// SPDX-License-Identifier: MIT OR Apache-2.0
//! The views of metadata: of real files, of sets that no file here has, and of values that mean
//! nothing.

mod files;
mod malformed;
mod sets;
mod specialization;

use syclbin::property::{PropertySets, Value};

/// A byte array of 32-bit numbers.
fn words(words: &[u32]) -> Value {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Value::from(bytes)
}

/// A byte array of 64-bit numbers.
fn longs(longs: &[u64]) -> Value {
    let bytes: Vec<u8> = longs.iter().flat_map(|long| long.to_le_bytes()).collect();
    Value::from(bytes)
}

fn sets(properties: &[(&'static str, &'static str, Value)]) -> PropertySets<'static> {
    let mut sets = PropertySets::default();
    for (set, key, value) in properties {
        sets.insert(*set, *key, value.clone());
    }
    sets
}
