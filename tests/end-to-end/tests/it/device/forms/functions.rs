// SPDX-License-Identifier: MIT OR Apache-2.0
//! Unnamed lambdas by their stubs, which are named after the functions around them.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::{Buffer, NdRange, Queue};

use crate::common::queue;

syclbin_rt::include_syclbin! {
    mod functions = "functions";
    // SAFETY: each work-item writes its own element.
    unsafe extern "SYCL" {
        safe fn bench::inner::shift where data.len() >= range.items();
    }
    fn main_0 as set_first;
}

/// The file on the device, and eight numbers there, unless there is none.
macro_rules! load {
    ($queue:ident, $kernels:ident, $data:ident) => {
        let Some($queue) = queue() else { return };
        let $kernels = functions::Module::load(&$queue).unwrap();
        let mut $data = $queue.upload(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    };
}

fn first(queue: &Queue, data: &Buffer<i32>) -> i32 {
    queue.download(data).unwrap()[0]
}

#[test]
fn overloads_are_distinguished_by_their_parameters() {
    load!(queue, kernels, data);
    let inner = &kernels.bench.inner;
    // SAFETY: here and below, the kernels stay inside of eight elements.
    unsafe { inner.scale_int_ptr(&mut data, 3).launch(8) }.unwrap();
    assert_eq!(
        queue.download(&data).unwrap(),
        [3, 6, 9, 12, 15, 18, 21, 24]
    );
    let mut floats = queue.upload(&[1.5f32, 2.5]).unwrap();
    // SAFETY: as above.
    unsafe { inner.scale_float_ptr(&mut floats, 2.0).launch(2) }.unwrap();
    assert_eq!(queue.download(&floats).unwrap(), [3.0, 5.0]);
}

#[test]
fn contracts_name_lambdas_by_their_stubs() {
    load!(queue, kernels, data);
    kernels.bench.inner.shift(&mut data, 10).launch(8).unwrap();
    assert_eq!(
        queue.download(&data).unwrap(),
        [11, 12, 13, 14, 15, 16, 17, 18]
    );
    assert!(kernels.bench.inner.shift(&mut data, 10).launch(9).is_err());
}

#[test]
fn lambdas_of_one_function_are_numbered() {
    load!(queue, kernels, data);
    // SAFETY: as above.
    unsafe {
        kernels.atomicPerf_int_4_0(&mut data).launch(()).unwrap();
        kernels.atomicPerf_int_4_1(&mut data).launch(()).unwrap();
        kernels.atomicPerf_int_4_2(&mut data).launch(8).unwrap();
    }
    assert_eq!(queue.download(&data).unwrap(), [8, 9, 7, 8, 9, 10, 11, 12]);
    let mut floats = queue.zeroed::<f32>(3).unwrap();
    // SAFETY: as above.
    unsafe {
        kernels
            .atomicPerf_float_3_0(&mut floats)
            .launch(())
            .unwrap();
        kernels
            .atomicPerf_float_3_1(&mut floats)
            .launch(())
            .unwrap();
        kernels.atomicPerf_float_3_2(&mut floats).launch(3).unwrap();
    }
    assert_eq!(queue.download(&floats).unwrap(), [6.0, 7.0, 3.0]);
}

#[test]
fn lambdas_of_classes_stand_in_modules() {
    load!(queue, kernels, data);
    let solver = &kernels.Solver;
    // SAFETY: as above.
    unsafe { solver.Solver(&mut data).launch(()) }.unwrap();
    assert_eq!(first(&queue, &data), 10);
    // SAFETY: as above.
    unsafe { solver.step(&mut data).launch(NdRange::new(8).local(2)) }.unwrap();
    assert_eq!(queue.download(&data).unwrap(), [11, 3, 4, 5, 6, 7, 8, 9]);
    // SAFETY: as above.
    unsafe { solver.call(&mut data).launch(()) }.unwrap();
    assert_eq!(first(&queue, &data), 20);
    let mut shorts = queue.zeroed::<i16>(4).unwrap();
    // SAFETY: as above.
    unsafe { solver.fill_short(&mut shorts, -3).launch(4) }.unwrap();
    assert_eq!(queue.download(&shorts).unwrap(), [-3; 4]);
    // SAFETY: as above.
    unsafe { kernels.Holder_int.Inside.go(&mut data).launch(()) }.unwrap();
    assert_eq!(first(&queue, &data), 7);
    // SAFETY: as above.
    unsafe { kernels.Local.run(&mut data).launch(()) }.unwrap();
    assert_eq!(first(&queue, &data), 5);
}

#[test]
fn functions_of_one_source_have_names() {
    load!(queue, kernels, data);
    // SAFETY: as above.
    unsafe { kernels.hidden(&mut data).launch(()) }.unwrap();
    assert_eq!(first(&queue, &data), 1);
    // SAFETY: as above.
    unsafe { kernels.own(&mut data).launch(()) }.unwrap();
    assert_eq!(first(&queue, &data), 2);
}

#[test]
fn classes_of_several_instances_have_names() {
    load!(queue, kernels, data);
    // SAFETY: as above.
    unsafe { kernels.vector_add_int(&mut data).launch(8) }.unwrap();
    assert_eq!(queue.download(&data).unwrap(), [2, 4, 6, 8, 10, 12, 14, 16]);
    let mut floats = queue.upload(&[0.25f32, 4.0]).unwrap();
    // SAFETY: as above.
    unsafe { kernels.vector_add_float(&mut floats).launch(2) }.unwrap();
    assert_eq!(queue.download(&floats).unwrap(), [0.5, 8.0]);
    // SAFETY: as above.
    unsafe { kernels.only_once(&mut data).launch(()) }.unwrap();
    assert_eq!(first(&queue, &data), 3);
}

#[test]
fn lambdas_of_main_are_in_source_order() {
    load!(queue, kernels, data);
    // SAFETY: as above.
    unsafe { kernels.set_first(&mut data, 42).launch(()) }.unwrap();
    assert_eq!(queue.download(&data).unwrap(), [42, 2, 3, 4, 5, 6, 7, 8]);
    // SAFETY: as above.
    unsafe { kernels.AddOne(&mut data).launch(8) }.unwrap();
    assert_eq!(queue.download(&data).unwrap(), [43, 3, 4, 5, 6, 7, 8, 9]);
    // SAFETY: as above.
    unsafe { kernels.main_1(&mut data).launch(8) }.unwrap();
    assert_eq!(queue.download(&data).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    // SAFETY: as above.
    unsafe { kernels.main_2(&mut data).launch([2, 4]) }.unwrap();
    assert_eq!(
        queue.download(&data).unwrap(),
        [0, 1, 2, 3, 100, 101, 102, 103]
    );
}
