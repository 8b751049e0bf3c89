// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole SYCL programs, as their authors wrote them: all their kernels by stubs, against results of Rust.
//!
//! They are one file. Each has a `main`, and functions `initialize` and `warm_up`, so stubs begin with the source.
#![allow(unsafe_code)] // a launch is unsafe

mod heat;
mod nbody;
mod reduce;

use syclbin::signature::kernels;

syclbin_rt::include_syclbin! { mod compiled = "programs"; }

/// The file on the device, unless there is none.
macro_rules! load {
    ($queue:ident, $kernels:ident) => {
        let Some($queue) = crate::common::queue() else {
            return;
        };
        let $kernels = compiled::Module::load(&$queue).unwrap();
    };
}
use load;

#[test]
fn every_kernel_of_three_programs_has_a_stub() {
    let file = syclbin::read::parse(compiled::SYCLBIN).unwrap();
    let findings = syclbin_tools::verify::verify(compiled::SYCLBIN);
    assert!(findings.is_empty(), "{findings:?}");
    let signatures = kernels(&file).unwrap();
    // DPC++ would compile `parallel_for(range)` a second time, for rounded ranges. A build asks it not to.
    let kernels = signatures.kernels.iter();
    let missing = kernels
        .clone()
        .filter_map(|kernel| kernel.parameters.as_ref().err());
    assert_eq!(missing.count(), 0);
    let found: std::collections::BTreeSet<&str> = kernels.map(|kernel| &*kernel.symbol).collect();
    let stubs = compiled::KERNELS.iter().map(|kernel| kernel.symbol);
    assert_eq!(stubs.collect::<std::collections::BTreeSet<_>>(), found);
    assert_eq!(found.len(), 24);
}

#[test]
fn same_functions_launch_their_own_kernels() {
    load!(queue, kernels);
    let mut floats = queue.zeroed::<f32>(16).unwrap();
    let mut integers = queue.zeroed::<i32>(64).unwrap();
    // SAFETY: each kernel writes one element for each work-item.
    unsafe {
        kernels.heat.warm_up(&mut floats).launch(16).unwrap();
        kernels.nbody.warm_up(&mut integers).launch(64).unwrap();
    }
    let floats = queue.download(&floats).unwrap();
    assert!((0u8..16).zip(floats).all(|(i, x)| x == f32::from(i) * 0.5));
    let integers = queue.download(&integers).unwrap();
    assert!((0..64).zip(integers).all(|(i, x)| x == i * 3));
}
