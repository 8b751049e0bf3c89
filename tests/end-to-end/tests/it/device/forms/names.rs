// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that only namespaces, functions around them or template arguments distinguish.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::{Aspect, NdRange};

use crate::common::{lacks, queue};

syclbin_rt::include_syclbin! { mod names = "names"; }
syclbin_rt::include_syclbin! { mod spaces = "spaces"; }
syclbin_rt::include_syclbin! {
    mod tensor = "tensor";
}

#[test]
fn generic_lambdas_are_named_after_their_arguments() {
    let Some(queue) = queue() else { return };
    let kernels = names::Module::load(&queue).unwrap();
    let mut out = queue.zeroed::<i32>(1).unwrap();
    // SAFETY: here and below, the kernels stay inside of their buffers.
    unsafe {
        kernels.generic_32(&mut out).launch(1).unwrap();
        assert_eq!(queue.download(&out).unwrap(), [32]);
        kernels.generic_64(&mut out).launch(1).unwrap();
        assert_eq!(queue.download(&out).unwrap(), [64]);
        kernels.generic_128(&mut out).launch(1).unwrap();
        assert_eq!(queue.download(&out).unwrap(), [128]);
        kernels.generic_1024(&mut out).launch(1).unwrap();
        assert_eq!(queue.download(&out).unwrap(), [1024]);
    }
}

#[test]
fn classes_stand_in_the_namespaces_of_their_functions() {
    let Some(queue) = queue() else { return };
    let kernels = spaces::Module::load(&queue).unwrap();
    let mut out = queue.zeroed::<i32>(64).unwrap();
    // SAFETY: as above.
    unsafe { kernels.a.K(&mut out).launch(64) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [1; 64]);
    // SAFETY: as above.
    unsafe { kernels.b.K(&mut out).launch(64) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [2; 64]);
}

#[test]
fn functions_are_template_arguments() {
    let Some(queue) = queue() else { return };
    let kernels = tensor::Module::load(&queue).unwrap();
    let (a, b) = (
        queue.upload(&[1.0f32, 2.0, 3.0, 4.0]),
        queue.upload(&[10.0f32, 20.0]),
    );
    let (a, b) = (a.unwrap(), b.unwrap());
    let mut c = queue.zeroed::<f32>(4).unwrap();
    // SAFETY: as above.
    unsafe {
        let broadcast = &kernels.BinaryBroadcast_op_add;
        broadcast
            .call_float_float_float(&mut c, &a, &b, 2)
            .launch(4)
            .unwrap();
        assert_eq!(queue.download(&c).unwrap(), [11.0, 22.0, 13.0, 24.0]);
        let broadcast = &kernels.BinaryBroadcast_op_repeat;
        broadcast
            .call_float_float_float(&mut c, &a, &b, 2)
            .launch(4)
            .unwrap();
        assert_eq!(queue.download(&c).unwrap(), [10.0, 20.0, 10.0, 20.0]);
        kernels
            .binary_op_add_float(&mut c, &a, &a)
            .launch(4)
            .unwrap();
        assert_eq!(queue.download(&c).unwrap(), [2.0, 4.0, 6.0, 8.0]);
    }
}

#[test]
fn instances_and_overloads_compute_what_their_names_say() {
    let Some(queue) = queue() else { return };
    let kernels = tensor::Module::load(&queue).unwrap();
    let x = queue.upload(&[-3.0f32, 0.0, 0.5, 2.0]).unwrap();
    let mut y = queue.zeroed::<f32>(4).unwrap();
    let range = NdRange::new(64).local(64);
    // SAFETY: as above.
    unsafe {
        kernels
            .op_sgn_float_float(4, &mut y, &x)
            .launch(range)
            .unwrap();
        assert_eq!(queue.download(&y).unwrap(), [-1.0, 0.0, 1.0, 1.0]);
        kernels
            .op_neg_float_float(4, &mut y, &x)
            .launch(range)
            .unwrap();
        assert_eq!(queue.download(&y).unwrap(), [3.0, 0.0, -0.5, -2.0]);
        kernels
            .copy_const_float_ptr_0(&mut y, &x)
            .launch(4)
            .unwrap();
        kernels.copy_const_float_ptr_1(&mut y).launch(4).unwrap();
        assert_eq!(queue.download(&y).unwrap(), [-2.0, 1.0, 1.5, 3.0]);
    }
    let mut rows = queue.zeroed::<i32>(64).unwrap();
    // SAFETY: as above.
    unsafe { kernels.set_rows.K(&mut rows).launch(64) }.unwrap();
    assert_eq!(queue.download(&rows).unwrap(), [2; 64]);
    // SAFETY: as above.
    unsafe { kernels.Inner_int(&mut rows).launch(64) }.unwrap();
    assert_eq!(queue.download(&rows).unwrap(), [4; 64]);
}

#[test]
fn kernels_with_half_have_names() {
    let Some(queue) = queue() else { return };
    if lacks(&queue, Aspect::FP16) {
        return;
    }
    let kernels = tensor::Module::load(&queue).unwrap();
    let blocks = [tensor::q4::Block {
        d: syclbin_rt::half::f16::from_f32(0.5),
        quants: [0x19; 16],
    }];
    let blocks = queue.upload(&blocks).unwrap();
    let mut all = queue.zeroed::<f32>(32).unwrap();
    // SAFETY: as above.
    unsafe { kernels.q4.dequantize_float(&blocks, &mut all).launch(32) }.unwrap();
    let all = queue.download(&all).unwrap();
    assert!(all[..16] == [0.5; 16] && all[16..] == [-3.5; 16], "{all:?}");
}
