// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two constants, each of which could be taken for the other.

use crate::common::spirv_queue;

syclbin_rt::include_syclbin! { mod constants_input = "constants_input"; }
syclbin_rt::include_syclbin! { mod constants_object = "constants_object"; }
syclbin_rt::include_syclbin! { mod constants_executable = "constants_executable"; }

macro_rules! scenario {
    ($test:ident, $file:ident) => {
        #[test]
        fn $test() {
            let Some(queue) = spirv_queue() else { return };
            for value in [1024, 777, 256] {
                let builder = $file::Module::builder(&queue).a(value);
                let kernels = builder.load().unwrap();
                let mut out = queue.zeroed::<i32>(2).unwrap();
                // SAFETY: it writes two numbers.
                unsafe { kernels.both(&mut out).launch(1) }.unwrap();
                assert_eq!(queue.download(&out).unwrap(), [value, 1024]);
            }
        }
    };
}

scenario!(
    a_constant_of_an_input_file_is_set_and_the_other_keeps_its_default,
    constants_input
);
scenario!(
    a_constant_of_an_object_is_set_and_the_other_keeps_its_default,
    constants_object
);
scenario!(
    a_constant_of_an_executable_is_set_and_the_other_keeps_its_default,
    constants_executable
);
