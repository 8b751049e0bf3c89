// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each kernel receives random values of its parameters' types, and sends back every byte.
#![allow(unsafe_code, reason = "a launch is unsafe")]

mod generated {
    #![allow(
        unused_imports,
        unused_mut,
        unused_variables,
        clippy::all,
        clippy::pedantic,
        reason = "generated for all kernels alike"
    )]

    use random_kernels_run::{Outcome, Report, same, values};
    use syclbin_rt::{DeviceSlice, Launch, LocalMemory, Queue, Range, bytemuck};

    include!(concat!(env!("OUT_DIR"), "/signatures.rs"));

    pub(super) const IS_EMPTY: bool = FILES.is_empty();

    pub(super) fn run(queue: &Queue, report: &mut Report) {
        FILES.iter().for_each(|file| file(queue, report));
    }
}

#[test]
fn stubs_pass_every_byte() {
    crate::run(generated::run, generated::IS_EMPTY);
}
