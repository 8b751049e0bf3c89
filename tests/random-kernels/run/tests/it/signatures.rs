//! Each kernel receives random values of its parameters' types, and sends back every byte.
#![allow(unsafe_code, reason = "a launch is unsafe")]

use random_kernels_run::Report;

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
    use syclbin_rt::{DeviceSlice, GlobalRange, Launch, LocalMemory, Queue, bytemuck};

    include!(concat!(env!("OUT_DIR"), "/signatures.rs"));

    pub(super) fn run(queue: &Queue, report: &mut Report) {
        FILES.iter().for_each(|file| file(queue, report));
    }
}

#[test]
fn stubs_pass_every_byte() {
    let Some(queue) = crate::queue() else { return };
    let mut report = Report::default();
    generated::run(&queue, &mut report);
    for failure in report.failures() {
        eprintln!("{failure}");
    }
    assert!(
        report.failures().is_empty(),
        "{} failed",
        report.failures().len()
    );
    eprintln!("passed: {} kernels on {}", report.ran(), queue.device());
}
