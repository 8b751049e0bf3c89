// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares the documentation with the repository.
#![allow(clippy::unwrap_used, reason = "a failure should panic")]

mod facts;
mod figures;
mod links;

use std::fs;
use std::path::PathBuf;

/// The root of the repository.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The documents of the repository.
fn pages() -> Vec<PathBuf> {
    let names = [
        "README.md",
        "ARCHITECTURE.md",
        "BENCHMARKS.md",
        "CHANGELOG.md",
        "syclbin-rt/benches/README.md",
    ];
    let mut pages = names.map(|name| root().join(name)).to_vec();
    for directory in ["book/src", ".github"] {
        let entries = fs::read_dir(root().join(directory)).unwrap();
        pages.extend(entries.map(|entry| entry.unwrap().path()));
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    let examples = fs::read_dir(root().join("examples")).unwrap();
    let examples = examples.map(|entry| entry.unwrap().path().join("README.md"));
    pages.extend(examples.filter(|page| page.exists()));
    pages
}
