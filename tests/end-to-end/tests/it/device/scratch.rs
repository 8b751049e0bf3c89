// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hidden argument of kernels that call `get_work_group_scratch_memory`: one of the stub.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin::property::set;
use syclbin::signature::{Type, kernels};
use syclbin_rt::{LocalMemory, NdRange};

use crate::common::queue;

syclbin_rt::include_syclbin! { mod scratch = "scratch"; }

#[test]
fn scratch_memory_is_last_with_requested_size() {
    let Some(queue) = queue() else { return };
    let kernels = scratch::Module::load(&queue).unwrap();
    let mut out = queue.zeroed::<i32>(8).unwrap();
    let launch = kernels.reversed(10, &mut out, LocalMemory::of(4 * size_of::<i32>()));
    // SAFETY: groups of 4, as the memory has room for; `out` has one for each work-item.
    unsafe { launch.launch(NdRange::new(8).local(4)) }.unwrap();
    assert_eq!(
        queue.download(&out).unwrap(),
        [30, 20, 10, 0, 70, 60, 50, 40]
    );
}

#[test]
fn lambdas_with_scratch_memory_have_names() {
    let file = syclbin::read::parse(scratch::SYCLBIN).unwrap();
    let found = kernels(&file).unwrap();
    let turned = found.kernels.iter().find(|one| one.symbol.contains("turn"));
    let parameters = turned.unwrap().parameters.as_ref().unwrap();
    let names: Vec<_> = parameters.iter().map(|one| one.name.as_deref()).collect();
    let memory = Some("work_group_scratch_memory");
    assert_eq!(names, [Some("factor"), Some("out"), memory]);
}

#[test]
fn excessive_scratch_memory_never_reaches_the_driver() {
    let Some(queue) = queue() else { return };
    let kernels = scratch::Module::load(&queue).unwrap();
    let mut out = queue.zeroed::<i32>(8).unwrap();
    let launch = kernels.reversed(10, &mut out, LocalMemory::of(1 << 40));
    // SAFETY: nothing runs.
    let text = unsafe { launch.launch(8) }.unwrap_err().to_string();
    assert!(text.contains("(work_group_scratch_memory)"), "{text}");
}

#[test]
fn wrongly_recorded_hidden_argument_is_reported() {
    let mut file = syclbin::read::parse(scratch::SYCLBIN).unwrap();
    let found = kernels(&file).unwrap();
    let parameters = found.kernels[0].parameters.as_ref().unwrap();
    assert!(matches!(
        parameters[2].ty,
        Type::LocalMemory { size: None, .. }
    ));
    for wrong in [1u32, 3] {
        let metadata = &mut file.modules[0].metadata;
        metadata.remove_set(set::KERNELS); // without the description, the code is read
        metadata.insert(set::IMPLICIT_LOCAL_ARG, "__sycl_kernel_reversed", wrong);
        let found = kernels(&file).unwrap();
        let reason = found.kernels[0]
            .parameters
            .as_ref()
            .unwrap_err()
            .to_string();
        assert!(
            reason.contains("does not record its work-group scratch memory as the last"),
            "{reason}"
        );
    }
}
