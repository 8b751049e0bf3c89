// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linking: a kernel of one file, and a function of another.

use syclbin_rt::Module;

use crate::common::{spirv_queue, takes_native};

syclbin_rt::include_syclbin! { pub mod importing_input = "importing_input"; }
syclbin_rt::include_syclbin! { pub mod importing_object = "importing_object"; }
syclbin_rt::include_syclbin! { mod importing_both = "importing_both"; }
syclbin_rt::include_syclbin! { mod importing_mixed_input = "importing_mixed_input"; }
syclbin_rt::include_syclbin! { mod importing_mixed_object = "importing_mixed_object"; }
syclbin_rt::include_syclbin! { pub mod exporting_input = "exporting_input"; }
syclbin_rt::include_syclbin! { pub mod exporting_object = "exporting_object"; }
syclbin_rt::include_syclbin! { mod exporting_both = "exporting_both"; }
syclbin_rt::include_syclbin! { mod exporting_mixed_input = "exporting_mixed_input"; }
syclbin_rt::include_syclbin! { mod exporting_mixed_object = "exporting_mixed_object"; }
syclbin_rt::include_syclbin! { mod linked_input = "linked_input"; }
syclbin_rt::include_syclbin! { mod linked_object = "linked_object"; }
syclbin_rt::include_syclbin! { mod linked_mixed = "linked_mixed"; }
syclbin_rt::include_syclbin! { mod linked_both = "linked_both"; }

/// Both kernels of a file write their numbers.
macro_rules! check {
    ($queue:ident, $kernels:expr, $what:expr) => {
        let kernels = $kernels;
        let expected: Vec<i32> = (0..10).collect();
        let mut out = $queue.zeroed::<i32>(10).unwrap();
        // SAFETY: it writes ten elements.
        unsafe { kernels.fill_all(&mut out, 10).launch(()) }.unwrap();
        assert_eq!($queue.download(&out).unwrap(), expected, "{}", $what);
        let mut out = $queue.zeroed::<i32>(10).unwrap();
        // SAFETY: as above; one work-item of all writes.
        unsafe { kernels.fill_once(&mut out, 10).launch(32) }.unwrap();
        assert_eq!($queue.download(&out).unwrap(), expected, "{}", $what);
    };
}

#[test]
fn function_is_found_in_every_file_kind() {
    let Some(queue) = spirv_queue() else { return };
    macro_rules! pairs {
        ($importing:ident: $($exporting:ident)*) => { $(
            let builder = $importing::Module::builder(&queue);
            let kernels = builder.link($exporting::Module::FILE).load().unwrap();
            let what = concat!(stringify!($importing), " + ", stringify!($exporting));
            check!(queue, kernels, what);
        )* };
    }
    pairs!(importing_input: exporting_input exporting_object exporting_both);
    pairs!(importing_object: exporting_input exporting_object exporting_both);
    pairs!(importing_both: exporting_input exporting_object exporting_both);
}

#[test]
fn code_of_different_levels_of_optimization_is_linked() {
    let Some(queue) = spirv_queue() else { return };
    let level = |bytes| {
        let file = syclbin::read::parse(bytes).unwrap();
        let metadata = syclbin::metadata::ModuleMetadata::read(&file.modules[0].metadata).unwrap();
        metadata.misc.opt_level
    };
    assert_eq!(level(importing_mixed_input::SYCLBIN), Some(1));
    assert_eq!(level(exporting_mixed_input::SYCLBIN), Some(0));
    let builder = importing_mixed_input::Module::builder(&queue);
    let kernels = builder.link(exporting_mixed_input::Module::FILE).load();
    check!(queue, kernels.unwrap(), "input");
    let builder = importing_mixed_object::Module::builder(&queue);
    let kernels = builder.link(exporting_mixed_object::Module::FILE).load();
    check!(queue, kernels.unwrap(), "object");
}

#[test]
fn files_that_the_compiler_linked_run() {
    let Some(queue) = spirv_queue() else { return };
    check!(queue, linked_input::Module::load(&queue).unwrap(), "input");
    check!(
        queue,
        linked_object::Module::load(&queue).unwrap(),
        "object"
    );
    check!(queue, linked_mixed::Module::load(&queue).unwrap(), "mixed");
    check!(queue, linked_both::Module::load(&queue).unwrap(), "both");
}

#[test]
fn native_objects_load_and_imports_use_spirv() {
    let Some(queue) = spirv_queue() else { return };
    let native = super::load::basic_native::Module::load(&queue);
    if !takes_native(native.and_then(|kernels| kernels.build())) {
        return;
    }
    // SAFETY: a compiler made it.
    let module = unsafe { Module::load(&queue, super::load::basic_both::SYCLBIN) }.unwrap();
    module.build().unwrap();
    let choice = module.images().next().unwrap().to_string();
    assert!(
        choice.contains("the driver accepts this native code"),
        "{choice}"
    );
    let builder = Module::builder(&queue).link(exporting_both::SYCLBIN);
    // SAFETY: as above.
    let module = unsafe { builder.load(importing_both::SYCLBIN) }.unwrap();
    module.build().unwrap();
    let choice = module.images().next().unwrap().to_string();
    assert!(choice.contains("linked with module 0"), "{choice}");
}
