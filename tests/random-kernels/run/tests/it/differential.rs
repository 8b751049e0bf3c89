// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each kernel computes what Rust does, bit for bit, on whichever device the test runs on.
#![allow(unsafe_code, reason = "a launch is unsafe")]

mod generated {
    #![allow(
        unused_imports,
        unused_mut,
        unused_variables,
        unused_parens,
        unused_comparisons,
        overflowing_literals,
        clippy::all,
        clippy::pedantic,
        clippy::cast_possible_truncation,
        reason = "generated for all kernels alike"
    )]

    use random_kernels_run::{Divide, Outcome, Report, Tame, agree, same, values};
    use syclbin_rt::{NdRange, Queue};

    include!(concat!(env!("OUT_DIR"), "/differential.rs"));

    pub(super) const IS_EMPTY: bool = FILES.is_empty();

    pub(super) fn run(queue: &Queue, report: &mut Report) {
        FILES.iter().for_each(|file| file(queue, report));
    }
}

#[test]
fn devices_compute_what_rust_does() {
    if generated::STRAYS {
        return crate::find_strays(generated::run);
    }
    crate::run(generated::run, generated::IS_EMPTY);
}

#[test]
fn code_and_rewritten_code_is_valid() {
    crate::validity::judge("computed");
}
