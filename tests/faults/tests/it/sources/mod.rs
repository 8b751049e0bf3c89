// SPDX-License-Identifier: MIT OR Apache-2.0
//! The OpenCL functions that the sources of the runtime name.
#![allow(clippy::panic, reason = "what is missing here fails the test")]

use std::collections::BTreeSet;
use std::path::Path;

/// The names of OpenCL functions in Rust code, without comments.
pub(crate) fn named(code: &str) -> BTreeSet<String> {
    let lines = code.lines().filter(|line| !line.trim().starts_with("//"));
    let words = lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let words = words.map(|word| word.trim_end_matches("_fn").trim_end_matches("_t"));
    words
        .filter(|word| {
            let rest = word.strip_prefix("cl").unwrap_or_default();
            rest.starts_with(|first: char| first.is_ascii_uppercase()) && !rest.contains('_')
        })
        .map(str::to_owned)
        .collect()
}

/// Those in the backend of the runtime.
pub(crate) fn named_by_the_runtime() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../syclbin-rt/src/backend/opencl");
    let mut names = BTreeSet::new();
    name_all_below(&folder, &mut names);
    assert!(names.len() > 30, "the backend is not where this looks");
    names
}

fn name_all_below(directory: &Path, names: &mut BTreeSet<String>) {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{error}"));
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            name_all_below(&path, names);
        } else {
            let text = std::fs::read_to_string(&path).expect("text");
            // Unit tests come last.
            let shipped = text.split("\n#[cfg(test)]\nmod tests {").next();
            names.append(&mut named(shipped.unwrap_or_default()));
        }
    }
}
