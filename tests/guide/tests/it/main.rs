// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares the documentation with the repository.
#![allow(clippy::unwrap_used, reason = "a failure should panic")]

mod facts;
mod links;

use std::path::PathBuf;

/// The root of the repository.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}
