// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contracts: launches that keep them run without `unsafe`, those that break them are errors.
use syclbin_rt::{Buffer, NdRange, Queue};

use crate::common::{queue, spirv_queue};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod vector_ops = "vector_ops";
    only { saxpy, fill::*, scale<int> }
    // SAFETY: the kernels check their index against the number that the contract bounds.
    unsafe extern "SYCL" {
        safe fn saxpy where x.len() >= n, y.len() >= n;
        safe fn scale<int> as double_ints where range.items() == data.len(), factor == TWO;
        pub(crate) safe fn fill::iota where out.len() / 2 * 2 >= count + 0 * range[0], range.dimensions() == 0;
    }
}

const TWO: u8 = 2;

fn message<T: std::fmt::Debug>(result: syclbin_rt::Result<T>) -> String {
    result.unwrap_err().to_string()
}

fn ones(queue: &Queue, count: usize) -> Buffer<f32> {
    queue.upload(&vec![1.0; count]).unwrap()
}

#[test]
fn broken_contract_names_both_sides() {
    let Some(queue) = queue() else { return };
    let kernels = vector_ops::Module::load(&queue).unwrap();
    let (x, mut y) = (ones(&queue, 10), ones(&queue, 16));
    kernels.saxpy(2.0, &x, &mut y, 10).launch(64).unwrap();
    let expected = [vec![3.0; 10], vec![1.0; 6]].concat();
    assert_eq!(queue.download(&y).unwrap(), expected);
    assert_eq!(
        message(kernels.saxpy(2.0, &x, &mut y, 16).launch(16)),
        "kernel saxpy: argument 1 (x) breaks the contract `x.len() >= n`: x.len() is 10, n is 16"
    );
    assert_eq!(queue.download(&y).unwrap(), expected, "nothing ran");
    let x = ones(&queue, 100);
    assert_eq!(
        message(kernels.saxpy(2.0, &x, &mut y, 17).launch(NdRange::new(64))),
        "kernel saxpy: argument 2 (y) breaks the contract `y.len() >= n`: y.len() is 16, n is 17"
    );
}

#[test]
fn condition_may_use_range_and_values() {
    let Some(queue) = queue() else { return };
    let kernels = vector_ops::Module::load(&queue).unwrap();
    let mut data = queue.upload(&[1, 2, 3]).unwrap();
    kernels.double_ints(&mut data, 2).launch(3).unwrap();
    assert_eq!(queue.download(&data).unwrap(), [2, 4, 6]);
    assert_eq!(
        message(kernels.double_ints(&mut data, 2).launch(4)),
        "kernel scale<int>: argument 0 (data) breaks the contract `range.items() == data.len()`: \
         range.items() is 4, data.len() is 3"
    );
    assert_eq!(
        message(kernels.double_ints(&mut data, -3).launch(3)),
        "kernel scale<int>: argument 1 (factor) breaks the contract `factor == TWO`: factor is -3"
    );
}

#[test]
fn conditions_use_integer_arithmetic_and_sycl_dimensions() {
    let Some(queue) = queue() else { return };
    let kernels = vector_ops::Module::load(&queue).unwrap();
    let mut out = ones(&queue, 5);
    let iota = |out: &mut _, count| kernels.fill.iota(1.0, out, count).launch(());
    iota(&mut out, 4).unwrap();
    assert_eq!(queue.download(&out).unwrap(), [1.0, 2.0, 3.0, 4.0, 1.0]);
    let broken = message(iota(&mut out, 5));
    assert!(
        broken.contains("out.len() is 5, count is 5, range[0] is 1"),
        "{broken}"
    );
}

#[test]
fn a_negative_count_is_refused() {
    let Some(queue) = queue() else { return };
    let kernels = vector_ops::Module::load(&queue).unwrap();
    let mut out = ones(&queue, 4);
    assert_eq!(
        message(kernels.fill.iota(1.0, &mut out, -1).launch(())),
        "kernel fill::iota: argument 1 (out) breaks the contract \
         `out.len() / 2 * 2 >= count + 0 * range[0]`: out.len() is 4, count is -1, range[0] is 1; \
         the condition compares a length with a negative number"
    );
}

mod signed {
    syclbin_rt::include_syclbin! {
        #[allow(unsafe_code, reason = "a contract")]
        pub(crate) mod vector_ops = "vector_ops";
        only { fill::iota }
        // SAFETY: as above.
        unsafe extern "SYCL" {
            safe fn fill::iota where count < 0 || out.len() >= count, range.dimensions() == 0;
        }
    }
}

#[test]
fn a_contract_may_allow_negative_numbers() {
    let Some(queue) = queue() else { return };
    let kernels = signed::vector_ops::Module::load(&queue).unwrap();
    let mut out = ones(&queue, 2);
    kernels.fill.iota(5.0, &mut out, -1).launch(()).unwrap();
    assert_eq!(queue.download(&out).unwrap(), [1.0; 2]);
}

mod unsure {
    syclbin_rt::include_syclbin! {
        #[allow(unsafe_code, reason = "a contract")]
        pub(crate) mod vector_ops = "../files/vector_ops.object.syclbin";
        only { saxpy }
        // SAFETY: as above.
        unsafe extern "SYCL" {
            safe fn saxpy where arg1.len() >= arg3, arg2.len() >= arg3, range.dimensions() == 1;
        }
    }
}

#[test]
fn numbers_of_unknown_sign_are_not_negative() {
    let Some(queue) = spirv_queue() else { return };
    let kernels = unsure::vector_ops::Module::load(&queue).unwrap();
    let (x, mut y) = (ones(&queue, 4), ones(&queue, 4));
    kernels.saxpy(1.0, &x, &mut y, 4).launch(16).unwrap();
    // In C++ it is `unsigned`, so this would be 4 thousand million.
    assert_eq!(
        message(kernels.saxpy(1.0, &x, &mut y, -1).launch(16)),
        "kernel saxpy: argument 1 (arg1) breaks the contract `arg1.len() >= arg3`: arg1.len() is 4, \
         arg3 is -1; a value would be negative if it were signed, and the file does not record whether it is"
    );
}
