// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels of rest.cpp by their stubs: samplers, kernel handlers, ids and ranges by value, parameters
//! that the compiler removed, overloads, instances of templates, functors and lambdas.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::{Addressing, ErrorKind, Filtering, LocalMemory, NdRange, SafeLaunch, Sampler};

use crate::common::{self, queue};

syclbin_rt::include_syclbin! {
    mod rest = "rest";
    // Its name would be `host`.
    fn "_ZTSZZ4hostRN4sycl3_V15queueEPiiENKUlRNS0_7handlerEE1_clES5_EUlNS0_7nd_itemILi1EEEE_" as unnamed;
    fn over::times<unsigned short, -2> as minus_twice;
    // SAFETY: each work-item writes its own element.
    unsafe extern "SYCL" {
        safe fn over::fill(int *, int) as fill where out.len() >= range.items(), range.dimensions() == 1;
        safe fn masked where mask: Option, seen: Option, out.len() >= range.items(),
            mask.is_none() || mask.len() >= range.items(), seen.is_none() || seen.len() >= range.items(), range.dimensions() == 1;
    }
}

/// The file on the device, unless there is none.
macro_rules! load {
    ($queue:ident, $kernels:ident) => {
        let Some($queue) = queue() else { return };
        let $kernels = rest::Module::load(&$queue).unwrap();
    };
}

#[test]
fn sampler_is_passed_where_supported() {
    load!(queue, kernels);
    let sampler = match Sampler::new(&queue, Addressing::Clamp, Filtering::Nearest, false) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            common::say_skipped(&error.to_string());
            return;
        }
        made => made.unwrap(),
    };
    let input = queue.upload(&[4, 5, 6]).unwrap();
    let mut out = queue.zeroed::<i32>(3).unwrap();
    // SAFETY: three work-items, three elements.
    unsafe { kernels.sampled(&input, &sampler, &mut out).launch(3) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [5, 6, 7]);
}

#[test]
fn kernel_handler_is_not_a_stub_parameter() {
    load!(queue, kernels);
    let mut out = queue.zeroed::<i32>(2).unwrap();
    // SAFETY: two work-items, two elements.
    unsafe { kernels.handled(&mut out, -9).launch(2) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [-9, -9]);
}

#[test]
fn ids_ranges_and_marrays_are_arrays() {
    load!(queue, kernels);
    let mut out = queue.zeroed::<i64>(3).unwrap();
    let launch = kernels.places([1, 2], [3, 4, 5], [-6, 7, 8], &mut out);
    // SAFETY: the kernel writes three elements.
    unsafe { launch.launch(1) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [12, 345, -522]);
}

#[test]
fn removed_parameters_are_accepted_but_not_passed() {
    load!(queue, kernels);
    let never = queue.zeroed::<f32>(1).unwrap();
    let mut out = queue.zeroed::<i32>(3).unwrap();
    let launch = kernels.removed(&never, 1.5, &mut out, [0.0; 4]);
    // SAFETY: three work-items, three elements.
    unsafe { launch.launch(3) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [7; 3]);
}

#[test]
fn none_is_a_null_pointer() {
    load!(queue, kernels);
    let mask = queue.upload(&[4, 5, 6]).unwrap();
    let [mut out, mut seen] = [(); 2].map(|()| queue.zeroed::<i32>(3).unwrap());
    let run = |launch: SafeLaunch<'_, 3, NdRange<1>>| launch.launch(3).unwrap();
    run(kernels.masked(None, &mut out, None));
    assert_eq!(queue.download(&out).unwrap(), [-1; 3]);
    run(kernels.masked(Some(&mask), &mut out, Some(&mut seen)));
    assert_eq!(queue.download(&out).unwrap(), [4, 5, 6]);
    assert_eq!(queue.download(&seen).unwrap(), [1; 3]);
    // Launches that keep their arguments, and a part of a buffer.
    let mut prepared = kernels
        .masked(Some(&mask), &mut out, None)
        .prepare(3)
        .unwrap();
    prepared
        .change(kernels.masked(None, &mut out, None), 3)
        .unwrap();
    prepared.launch().unwrap();
    assert_eq!(queue.download(&out).unwrap(), [-1; 3]);
    let mut recorder = queue.record();
    let part = mask.slice(..).unwrap();
    let masked = kernels.masked(Some(&part), &mut seen, None);
    masked.record(&mut recorder, 3).unwrap();
    kernels
        .masked(None, &mut out, Some(&mut seen))
        .record(&mut recorder, 2)
        .unwrap();
    recorder.finish().unwrap().replay().unwrap();
    assert_eq!(queue.download(&seen).unwrap(), [1, 1, 6]);
    // An empty buffer is not null.
    let empty = queue.zeroed::<i32>(0).unwrap();
    let refused = kernels.masked(Some(&empty), &mut out, None).launch(3);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "kernel masked: argument 0 (mask) breaks the contract \
         `mask.is_none() || mask.len() >= range.items()`: mask.is_none() is false, mask.len() is 0, \
         range.items() is 3"
    );
    assert!(
        kernels
            .masked(None, &mut out, None)
            .attributes()
            .unwrap()
            .max_work_group_size
            > 0
    );
}

#[test]
fn work_groups_stay_within_the_limit() {
    load!(queue, kernels);
    let mut out = queue.zeroed::<i32>(16).unwrap();
    let mut launch = |local| {
        // SAFETY: `out` has one element for each work-item.
        unsafe {
            kernels
                .bounded(&mut out)
                .launch(NdRange::new(16).local(local))
        }
    };
    launch(8).unwrap();
    let refused = launch(16).unwrap_err().to_string();
    assert!(refused.contains("work-groups of at most [8]"), "{refused}");
    assert_eq!(queue.download(&out).unwrap(), [5; 16]);
}

#[test]
fn dynamic_local_memory_has_the_launch_size() {
    load!(queue, kernels);
    let mut out = queue.zeroed::<i32>(8).unwrap();
    let launch = kernels.dynamic(LocalMemory::of(4), &mut out);
    // SAFETY: groups of 4, as the memory has elements; `out` has one for each work-item.
    unsafe { launch.launch(NdRange::new(8).local(4)) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [6, 4, 2, 0, 14, 12, 10, 8]);
}

#[test]
fn overloads_and_instances_have_names_of_their_own() {
    load!(queue, kernels);
    let mut ints = queue.zeroed::<i32>(2).unwrap();
    let mut floats = queue.zeroed::<f32>(2).unwrap();
    kernels.over.fill(&mut ints, 5).launch(2).unwrap();
    // SAFETY: two work-items, two elements.
    unsafe { kernels.over.fill_float_ptr(&mut floats, 0.5).launch(2) }.unwrap();
    assert_eq!(queue.download(&floats).unwrap(), [0.5; 2]);
    // SAFETY: as above.
    unsafe { kernels.over.times_int_3(&mut ints).launch(2) }.unwrap();
    assert_eq!(queue.download(&ints).unwrap(), [15; 2]);
    let mut shorts = queue.upload(&[1u16, 2]).unwrap();
    // SAFETY: as above.
    unsafe { kernels.over.minus_twice(&mut shorts).launch(2) }.unwrap();
    assert_eq!(queue.download(&shorts).unwrap(), [65534, 65532]);
}

#[test]
fn functors_and_lambdas_take_their_captures() {
    load!(queue, kernels);
    let mut out = queue.zeroed::<i32>(2).unwrap();
    // SAFETY: two work-items, two elements.
    unsafe { kernels.named.Functor(&mut out, 10).launch(2) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [10; 2]);
    // SAFETY: as above.
    unsafe { kernels.named.Lambda(&mut out, 10).launch(2) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [11; 2]);
    // SAFETY: as above.
    unsafe { kernels.unnamed(&mut out, 10).launch(2) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [12; 2]);
}
