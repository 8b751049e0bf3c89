// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of the reference runtime.

use syclbin::metadata::{DeviceGlobal, Dimensions, ModuleMetadata, without_run_prefix};
use syclbin::property::PropertySets;
use syclbin::{Aspect, read};

/// The metadata of the modules of a test file that name this kernel.
fn module(name: &str, kernel: &str) -> ModuleMetadata {
    let file = read::parse(test_files::bytes(name)).unwrap();
    let mut modules = file.modules.iter();
    let metadata = modules.find_map(|module| {
        let metadata = ModuleMetadata::read(&module.metadata).unwrap();
        metadata.kernel_names.contains(kernel).then_some(metadata)
    });
    metadata.unwrap_or_else(|| panic!("no {kernel} in {name}"))
}

#[test]
fn metadata_survives_a_round_trip() {
    for (name, bytes) in test_files::reference() {
        let mut file = read::parse(&bytes).unwrap();
        let original = file.clone();
        // Into what is there, which keeps the order, and into nothing, which keeps the meaning.
        for module in &mut file.modules {
            let metadata = ModuleMetadata::read(&module.metadata).unwrap();
            metadata.write(&mut module.metadata);
            let mut fresh = PropertySets::default();
            metadata.write(&mut fresh);
            assert_eq!(ModuleMetadata::read(&fresh), Ok(metadata), "{name}");
        }
        assert_eq!(file, original, "{name}");
    }
}

#[test]
fn reference_work_group_sizes_use_opencl_order() {
    for state in ["object", "executable"] {
        let name = format!("work_group.{state}.syclbin");
        // `work_group_size<2, 4, 8>` of the source.
        let kernel = "__sycl_kernel_coords";
        let coords = module(&name, kernel);
        let sizes = coords.program.kernels.get(kernel).unwrap();
        assert_eq!(sizes.required.unwrap().xyz(), [8, 4, 2]);
        assert_eq!(sizes.dimensions, None);
        assert_eq!(
            sizes.required.map(|size| size.to_sycl(sizes.dimensions)),
            Some(vec![2, 4, 8])
        );
        assert_eq!(coords.requirements.work_group.unwrap().xyz(), [8, 4, 2]);
        assert_eq!(coords.requirements.work_group_sycl(), Some(vec![2, 4, 8]));

        let kernel = "__sycl_kernel_block_sum";
        let sum = module(&name, kernel);
        let sizes = sum.program.kernels.get(kernel).unwrap();
        assert_eq!(sizes.required.unwrap().xyz(), [64, 1, 1]);
        assert_eq!(sizes.dimensions, Some(Dimensions::ONE));
        assert_eq!(
            sizes.required.map(|size| size.to_sycl(sizes.dimensions)),
            Some(vec![64])
        );
        assert_eq!(sum.requirements.dimensions, Some(Dimensions::ONE));
        assert_eq!(sum.requirements.work_group_sycl(), Some(vec![64]));

        let kernel = "__sycl_kernel_histogram";
        let histogram = module(&name, kernel);
        assert!(histogram.program.kernels.is_empty());
        assert_eq!(histogram.requirements.work_group, None);
    }
}

#[test]
fn device_globals_keep_their_run_prefix() {
    let globals = module("globals.object.syclbin", "__sycl_kernel_lookup");
    let global = |size, image_scope| DeviceGlobal { size, image_scope };
    let found = globals.device_globals.iter();
    let found = found.map(|(name, found)| (without_run_prefix(name), *found));
    let expected = [
        ("_Z4bias", global(4, true)),
        ("_Z5table", global(16, false)),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(globals.device_globals.get("_Z4bias"), None);
    let names = &globals.program.global_names;
    assert_eq!(names.get("_Z5table").unwrap(), "table");
    assert_eq!(names.get("_Z4bias").unwrap(), "bias");
    assert!(globals.exported_symbols.names().eq(["table"]));
}

#[test]
fn masks_symbols_and_aspects_match_the_sources() {
    let functor = module("functor.executable.syclbin", "_ZTS5Triad");
    let triad = functor.argument_masks.get("_ZTS5Triad").unwrap();
    // A local accessor of which the pointer is used, two accessors of which pointer and offset are,
    // and a number: 13 arguments. The mask of the reference runtime is rounded up to bytes.
    assert_eq!(triad.removed.len(), 16);
    let kept = (0..13).filter(|index| !triad.is_removed(*index));
    assert!(kept.eq([0, 4, 7, 8, 11, 12]));
    let add = functor.argument_masks.get("_ZTS6AddOne").unwrap();
    assert_eq!(add.removed, [false; 8]);
    assert_eq!(functor.kernel_names.names().count(), 3);
    assert_eq!(functor.misc.opt_level, Some(2));

    for (kernel, aspect) in [
        ("__sycl_kernel_kinetic", Aspect::FP64),
        ("__sycl_kernel_widen", Aspect::FP16),
    ] {
        let module = module("structs.object.syclbin", kernel);
        assert_eq!(module.requirements.aspects, [aspect], "{kernel}");
    }
    let import = module("import_side.object.syclbin", "__sycl_kernel_apply");
    assert!(import.imported_symbols.contains("_Z5shapef"));
    let export = module("export_side.object.syclbin", "_Z5shapef");
    assert!(export.exported_symbols.contains("_Z5shapef"));
}
