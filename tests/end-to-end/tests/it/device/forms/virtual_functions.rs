// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of virtual functions, which are in a module of their own.
#![allow(unsafe_code)] // a launch is unsafe

use crate::common::{queue, say_skipped};

syclbin_rt::include_syclbin! {
    mod kernels = "virtual";
}

#[test]
fn virtual_functions_are_linked_and_called() {
    let Some(queue) = queue() else { return };
    let kernels = match kernels::Module::load(&queue) {
        Ok(kernels) => kernels,
        Err(error) => {
            say_skipped(&format!("ext_oneapi_virtual_functions: {error}"));
            return;
        }
    };
    let mut sides = queue.upload(&[2.0f32, 2.0, 5.0, 5.0]).unwrap();
    // SAFETY: a work-item for each element.
    unsafe { kernels.areas(&mut sides).launch(4) }.unwrap();
    assert_eq!(queue.download(&sides).unwrap(), [4.0, 6.0, 25.0, 15.0]);
}
