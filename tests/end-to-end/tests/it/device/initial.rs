// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device globals with initial values, compiled to SPIR-V and to native code.
#![allow(unsafe_code)] // a launch is unsafe

use crate::common::{spirv_queue, takes_native};

syclbin_rt::include_syclbin! { mod initial = "initial"; }
syclbin_rt::include_syclbin! { mod initial_native = "initial_native"; }

const EXPECTED: [f64; 11] = [
    42.0, 43.0, 45.0, 7.0, 9.0, 122.0, 115.0, 10.0, -2.0, 0.75, 0.0,
];

macro_rules! first_values {
    ($test:ident, $file:ident) => {
        #[test]
        fn $test() {
            let Some(queue) = spirv_queue() else { return };
            if !takes_native($file::Module::load(&queue).and_then(|kernels| kernels.build())) {
                return;
            }
            // Another module, whose first launch builds the kernel.
            let kernels = $file::Module::load(&queue).unwrap();
            assert_eq!(kernels.plain().unwrap().read().unwrap(), 42);
            let sample = kernels.sample().unwrap().read().unwrap();
            assert_eq!((sample.kind, sample.weights), (b's' as i8, [2.5, 10.0]));
            let mut out = queue.zeroed::<f64>(11).unwrap();
            // SAFETY: it writes as many numbers.
            unsafe { kernels.Read(&mut out).launch(()) }.unwrap();
            assert_eq!(queue.download(&out).unwrap(), EXPECTED);
            // SAFETY: it changes nothing but the variable.
            unsafe { kernels.Change().launch(()) }.unwrap();
            assert_eq!(kernels.plain().unwrap().read().unwrap(), 43);
        }
    };
}

first_values!(first_kernel_of_spirv_sees_initial_values, initial);
first_values!(
    first_kernel_of_native_code_sees_initial_values,
    initial_native
);
