// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device globals: read and written from both sides, and each module has its own.

use syclbin_rt::{ErrorKind, Module};

use crate::common::{spirv_queue, takes_native};

syclbin_rt::include_syclbin! { mod globals_input = "globals_input"; }
syclbin_rt::include_syclbin! { mod globals_object = "globals_object"; }
syclbin_rt::include_syclbin! { mod globals_executable = "globals_executable"; }
syclbin_rt::include_syclbin! { mod globals_native = "globals_native"; }

/// What is the same without a stub: sizes and names.
fn check_names(module: &Module) {
    assert!(module.global::<i32>("total").is_ok());
    let wrong = module.global::<i64>("total").unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::InvalidArgument);
    let text = wrong.to_string();
    assert!(
        text.ends_with("is 4 bytes long, but the size of the Rust type is 8"),
        "{text}"
    );
    let unknown = module.global::<i32>("elsewhere").unwrap_err();
    assert!(
        unknown.kind() == ErrorKind::NotFound && unknown.to_string().contains("no device global"),
        "{unknown}"
    );
}

macro_rules! scenario {
    ($test:ident, $file:ident) => {
        #[test]
        fn $test() {
            let Some(queue) = spirv_queue() else { return };
            // SAFETY: the build script compiled it.
            let module = unsafe { Module::load(&queue, $file::SYCLBIN) };
            if !takes_native(
                module
                    .as_ref()
                    .map_err(Clone::clone)
                    .and_then(Module::build),
            ) {
                return;
            }
            check_names(&module.unwrap());
            let kernels = $file::Module::load(&queue).unwrap();
            let total = kernels.total().unwrap();
            assert_eq!(total.read().unwrap(), 0);
            total.write(&123).unwrap();
            // SAFETY: it touches the variable alone.
            unsafe { kernels.add(-17).launch(()) }.unwrap();
            assert_eq!(total.read().unwrap(), 106);
            let others = $file::Module::load(&queue).unwrap();
            assert_eq!(others.total().unwrap().read().unwrap(), 0);

            let mut value = queue.upload(&[-1i64]).unwrap();
            for before in [0, -1] {
                // SAFETY: it reads and writes one number.
                unsafe { kernels.exchange(&mut value).launch(()) }.unwrap();
                assert_eq!(queue.download(&value).unwrap(), [before]);
                queue.write(&mut value, &[-2]).unwrap();
            }
            assert_eq!(total.read().unwrap(), 106);
        }
    };
}

scenario!(
    variables_of_an_input_file_are_shared_with_its_kernels_alone,
    globals_input
);
scenario!(
    variables_of_an_object_are_shared_with_its_kernels_alone,
    globals_object
);
scenario!(
    variables_of_an_executable_are_shared_with_its_kernels_alone,
    globals_executable
);
scenario!(
    variables_of_native_code_are_shared_with_its_kernels_alone,
    globals_native
);
