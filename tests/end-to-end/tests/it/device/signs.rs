// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions of booleans, which are -1 where C++ selects -1.
#![allow(unsafe_code)] // a launch is unsafe

use crate::common::queue;

syclbin_rt::include_syclbin! { mod kernels = "signs"; }

#[test]
fn booleans_keep_their_signs() {
    let Some(queue) = queue() else { return };
    let kernels = kernels::Module::load(&queue).unwrap();
    let input = queue.upload(&[-2.5f32, 0.0, 4.0]).unwrap();
    let mut signs = queue.zeroed::<f32>(3).unwrap();
    let mut ones = queue.zeroed::<f32>(9).unwrap();
    // SAFETY: three work-items, each with one element of `signs` and three of `ones`.
    unsafe { kernels.signs(&input, &mut signs, &mut ones).launch(3) }.unwrap();
    assert_eq!(queue.download(&signs).unwrap(), [-1.0, 0.0, 1.0]);
    let expected = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    assert_eq!(queue.download(&ones).unwrap(), expected);
}
