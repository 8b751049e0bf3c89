// SPDX-License-Identifier: MIT OR Apache-2.0
//! The comparisons find what they are for.

use random_kernels_run::{agree, same, values};

#[test]
fn wrong_bytes_are_found() {
    let [mut sent, ..] = values(1);
    let (_, _) = (sent.value::<u32>(), sent.three::<u8>());
    let mut written = sent.place();
    assert!(sent.check(&written).is_err(), "nothing was written");
    let right = sent.bytes();
    written[..sent.len()].copy_from_slice(&right[..sent.len()]);
    sent.check(&written).unwrap();
    written[5] ^= 1;
    let error = sent.check(&written).unwrap_err().to_string();
    assert!(error.contains("byte 5 "), "{error}");
}

#[test]
fn bytes_behind_the_end_are_found() {
    let [sent, ..] = values(1);
    let mut written = sent.place();
    written[0] = 0;
    assert!(sent.check(&written).is_err());
    assert!(same("p", &[1u16, 2], &[1, 3]).is_err());
}

#[test]
fn wrong_results_are_named() {
    let (a, b) = (vec![1u8, 2], vec![-1i16, -2]);
    agree(&[1, 0xffff, 2, 0xfffe], &[&a, &b]).unwrap();
    let error = agree(&[1, 0xffff, 2, 0xfff0], &[&a, &b]).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("v1 of work-item 1 is 0xfff0"), "{error}");
}
