// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets by hand, in the form the reference compiler writes and in others.

use syclbin::Aspect;
use syclbin::metadata::{
    ArgumentMask, Bfloat16, Dimensions, IdRange, KernelSizes, ModuleMetadata, Named, Records,
    WorkGroupSize,
};
use syclbin::property::{PropertySets, Value, key, set};

use super::{longs, sets, words};

/// Every set of a module with every key, in the form the reference compiler writes.
pub(crate) fn everything() -> PropertySets<'static> {
    let mask = Value::Bytes {
        bits: 9,
        data: vec![0b1000_0001, 1],
    };
    sets(&[
        (set::KERNEL_NAMES, "k", 1.into()),
        (set::KERNEL_NAMES, "rtc_0$k", 1.into()),
        (set::EXPORTED_SYMBOLS, "shape", 1.into()),
        (set::EXPORTED_SYMBOLS, "hidden", 0.into()),
        (set::IMPORTED_SYMBOLS, "other", 1.into()),
        (set::ASSERT_USED, "k", 1.into()),
        (set::DYNAMIC_LOCAL_MEMORY, "k", 1.into()),
        (set::IMPLICIT_LOCAL_ARG, "k", 3.into()),
        (set::KERNEL_PARAM_OPT, "k", mask),
        (set::REGISTERED_KERNELS, "ns::k<int>", "_ZTSk".into()),
        (
            set::PROGRAM_METADATA,
            "k@reqd_work_group_size",
            words(&[8, 2, 1]),
        ),
        (set::PROGRAM_METADATA, "k@work_group_num_dim", 2.into()),
        (
            set::PROGRAM_METADATA,
            "k@max_work_group_size",
            words(&[64, 4, 1]),
        ),
        (
            set::PROGRAM_METADATA,
            "k@max_linear_work_group_size",
            256.into(),
        ),
        (set::PROGRAM_METADATA, "k@reqd_sub_group_size", 32.into()),
        (set::PROGRAM_METADATA, "a@b@reqd_sub_group_size", 16.into()),
        (
            set::PROGRAM_METADATA,
            "_Z4bias@global_id_mapping",
            "bias".into(),
        ),
        (
            set::SPECIALIZATION_CONSTANTS,
            "z",
            words(&[0, 0, 1, 1, 4, 4, u32::MAX, 8, 4]),
        ),
        (set::SPECIALIZATION_CONSTANTS, "a", words(&[7, 0, 2])),
        (
            set::SPECIALIZATION_DEFAULTS,
            "all",
            Value::from((0..14).collect::<Vec<u8>>()),
        ),
        (
            set::SPECIALIZATION_SET_VALUES,
            "all",
            Value::from((100..114).collect::<Vec<u8>>()),
        ),
        (set::DEVICE_GLOBALS, "_Z4bias", words(&[4, 1])),
        (set::HOST_PIPES, "pipe", 12.into()),
        (
            set::VIRTUAL_FUNCTIONS,
            "virtual-functions-set",
            "shapes".into(),
        ),
        (
            set::VIRTUAL_FUNCTIONS,
            "uses-virtual-functions-set",
            "shapes,colours".into(),
        ),
        (
            set::DEVICELIB_REQ_MASK,
            "DeviceLibReqMask",
            0x8000_0001.into(),
        ),
        (set::DEVICELIB_METADATA, "bfloat16", 1.into()),
        (set::MISC_PROPERTIES, "isEsimdImage", 1.into()),
        (set::MISC_PROPERTIES, "sycl-register-alloc-mode", 2.into()),
        (set::MISC_PROPERTIES, "sycl-grf-size", 256.into()),
        (set::MISC_PROPERTIES, "optLevel", 3.into()),
        (set::MISC_PROPERTIES, "sanUsed", "tsan".into()),
        (
            set::MISC_PROPERTIES,
            "specConstsReplacedWithDefault",
            1.into(),
        ),
        (set::MISC_PROPERTIES, "idQueriesRange", 2.into()),
        (set::BUILD_OPTIONS, "compile", "-cl-mad-enable".into()),
        (set::BUILD_OPTIONS, "link", "-cl-no-signed-zeros".into()),
        (set::DEVICE_REQUIREMENTS, "aspects", words(&[6, 123])),
        (set::DEVICE_REQUIREMENTS, "fixed_target", words(&[1, 2])),
        (
            set::DEVICE_REQUIREMENTS,
            "reqd_work_group_size_uint64_t",
            longs(&[8, 1 << 40, 1]),
        ),
        (set::DEVICE_REQUIREMENTS, "work_group_num_dim", 2.into()),
        (set::DEVICE_REQUIREMENTS, "reqd_sub_group_size", 16.into()),
        (
            set::DEVICE_REQUIREMENTS,
            "joint_matrix",
            "fp32,use::a,8,16;fp32,use::b,16,16".into(),
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "joint_matrix_mad",
            "fp16,fp16,fp32,fp32,8,16,16".into(),
        ),
        (
            set::DEVICE_REQUIREMENTS,
            "compile_target",
            "intel_gpu_pvc".into(),
        ),
    ])
}

#[test]
fn every_set_and_key_is_read() {
    let all = ModuleMetadata::read(&everything()).unwrap();
    assert!(all.kernel_names.names().eq(["k"]));
    assert!(all.exported_symbols.names().eq(["shape"]));
    assert!(all.imported_symbols.contains("other"));
    assert!(all.assert_used.contains("k") && all.dynamic_local_memory.contains("k"));
    assert_eq!(all.implicit_local_arguments.get("k"), Some(&3));
    let mask = all.argument_masks.get("k").unwrap();
    let removed = [0, 7, 8].into_iter();
    assert!(removed.eq((0..99).filter(|index| mask.is_removed(*index))));
    assert_eq!(all.registered_kernels.get("ns::k<int>").unwrap(), "_ZTSk");
    let sizes = KernelSizes {
        required: WorkGroupSize::from_sycl(&[2, 8]),
        dimensions: Some(Dimensions::TWO),
        maximum: WorkGroupSize::from_xyz(&[64, 4, 1]),
        maximum_linear: Some(256),
        required_sub_group: Some(32),
    };
    assert_eq!(
        sizes.maximum.map(|size| size.to_sycl(sizes.dimensions)),
        Some(vec![4, 64])
    );
    assert_eq!(all.program.kernels.get("k"), Some(&sizes));
    let other = all.program.kernels.get("a@b").unwrap();
    assert_eq!(other.required_sub_group, Some(16));
    assert_eq!(all.program.kernels.len(), 2);
    assert_eq!(all.program.global_names.get("_Z4bias").unwrap(), "bias");
    assert_eq!(all.specialization.constants.len(), 2);
    assert_eq!(all.host_pipes.get("pipe"), Some(&12));
    assert_eq!(all.virtual_functions.defines.0, ["shapes"]);
    assert_eq!(all.virtual_functions.uses.0, ["shapes", "colours"]);
    assert_eq!(all.device_libraries.required, Some(0x8000_0001));
    assert_eq!(all.device_libraries.bfloat16, Some(Bfloat16::Native));
    assert_eq!(all.misc.esimd, Some(true));
    assert_eq!(all.misc.register_alloc_mode, Some(2));
    assert_eq!(all.misc.grf_size, Some(256));
    assert_eq!(all.misc.opt_level, Some(3));
    assert_eq!(all.misc.sanitizer, Some("tsan".into()));
    assert_eq!(all.misc.specialized_with_defaults, Some(true));
    assert_eq!(all.misc.id_range, Some(IdRange::Size));
    let needs = all.requirements;
    assert_eq!(needs.aspects, [Aspect::FP64, Aspect(123)]);
    assert_eq!(needs.fixed_targets, [1, 2]);
    assert_eq!(needs.work_group_sycl(), Some(vec![1 << 40, 8]));
    assert_eq!(needs.sub_group, Some(16));
    assert_eq!(needs.matrices.0.len(), 2);
    assert_eq!(needs.matrices.0[1], ["fp32", "use::b", "16", "16"]);
    assert_eq!(needs.matrix_products.0[0].len(), 7);
    assert_eq!(needs.compile_target.as_deref(), Some("intel_gpu_pvc"));
}

#[test]
fn every_set_is_written_in_reference_form() {
    let all = everything();
    let metadata = ModuleMetadata::read(&all).unwrap();
    let mut again = all.clone();
    metadata.write(&mut again);
    assert_eq!(again, all);
    // Into nothing: the same but for the order of sets.
    let mut fresh = PropertySets::default();
    metadata.write(&mut fresh);
    for (name, set) in all.iter() {
        assert_eq!(fresh.set(name), Some(set));
    }
    assert_eq!(fresh.iter().count(), all.iter().count());
}

#[test]
fn default_metadata_removes_known_keys_only() {
    let unknown = [
        (set::PROGRAM_METADATA, "k@future", Value::U32(1)),
        (set::PROGRAM_METADATA, "plain", 2.into()),
        (set::MISC_PROPERTIES, "future", "x".into()),
        (set::DEVICE_REQUIREMENTS, "future", 3.into()),
        (set::VIRTUAL_FUNCTIONS, "future", 4.into()),
        (set::DEVICELIB_METADATA, "future", 5.into()),
        (set::DEVICELIB_REQ_MASK, "future", 6.into()),
        (set::SPECIALIZATION_DEFAULTS, "future", 7.into()),
        (set::MALLOC_USED, "k", 8.into()),
        (set::KERNELS, "k", "any".into()),
        (
            "SYCL/of tomorrow",
            "k",
            Value::Other {
                ty: 3,
                text: "?".into(),
            },
        ),
    ];
    let mut all = everything();
    for (set, key, value) in &unknown {
        all.insert(*set, *key, value.clone());
    }
    let mut kept = all.clone();
    ModuleMetadata::read(&all).unwrap().write(&mut kept);
    assert_eq!(kept, all);
    ModuleMetadata::default().write(&mut all);
    let left: Vec<_> = all
        .iter()
        .flat_map(|(name, set)| set.iter().map(move |(key, value)| (name, key, value)))
        // Lists stay, as lists of nothing.
        .filter(|(_, _, value)| *value != &Value::from(Vec::new()))
        .collect();
    assert_eq!(left.len(), unknown.len(), "{left:?}");
    for (set, key, value) in &unknown {
        assert!(left.contains(&(*set, *key, value)), "{set} {key}");
    }
    assert_eq!(ModuleMetadata::read(&all), Ok(ModuleMetadata::default()));
}

#[test]
fn other_number_forms_are_normalized_when_written() {
    let mut odd = sets(&[
        (set::PROGRAM_METADATA, "k@work_group_num_dim", words(&[2])),
        (
            set::PROGRAM_METADATA,
            "k@max_linear_work_group_size",
            longs(&[1024]),
        ),
        (set::PROGRAM_METADATA, "k@reqd_sub_group_size", words(&[8])),
        (set::DEVICE_REQUIREMENTS, "work_group_num_dim", words(&[2])),
        (set::DEVICE_REQUIREMENTS, "reqd_sub_group_size", longs(&[8])),
        (
            set::DEVICE_REQUIREMENTS,
            "reqd_work_group_size",
            words(&[16, 4]),
        ),
        (set::HOST_PIPES, "p", words(&[4])),
        (set::HOST_PIPES, "q", longs(&[5])),
    ]);
    let metadata = ModuleMetadata::read(&odd).unwrap();
    metadata.write(&mut odd);
    let usual = sets(&[
        (set::PROGRAM_METADATA, "k@work_group_num_dim", 2.into()),
        (
            set::PROGRAM_METADATA,
            "k@max_linear_work_group_size",
            1024.into(),
        ),
        (set::PROGRAM_METADATA, "k@reqd_sub_group_size", 8.into()),
        (set::DEVICE_REQUIREMENTS, "work_group_num_dim", 2.into()),
        (set::DEVICE_REQUIREMENTS, "reqd_sub_group_size", 8.into()),
        (
            set::DEVICE_REQUIREMENTS,
            "reqd_work_group_size_uint64_t",
            longs(&[16, 4]),
        ),
        (set::HOST_PIPES, "p", 4.into()),
        (set::HOST_PIPES, "q", 5.into()),
    ]);
    assert_eq!(odd, usual);
    assert_eq!(ModuleMetadata::read(&usual), Ok(metadata));
}

#[test]
fn odd_separators_survive_a_round_trip() {
    for text in ["", ";", "a;", "a,,b;c", ",", "a"] {
        let sets = sets(&[
            (set::DEVICE_REQUIREMENTS, key::JOINT_MATRIX, text.into()),
            (
                set::VIRTUAL_FUNCTIONS,
                key::USES_VIRTUAL_FUNCTIONS_SET,
                text.into(),
            ),
        ]);
        let metadata = ModuleMetadata::read(&sets).unwrap();
        let mut again = sets.clone();
        metadata.write(&mut again);
        assert_eq!(again, sets, "{text}");
    }
    let none = sets(&[(set::DEVICE_REQUIREMENTS, key::JOINT_MATRIX, "".into())]);
    let none = ModuleMetadata::read(&none).unwrap();
    assert_eq!(none.requirements.matrices, Records::default());
}

#[test]
fn hundred_thousand_names_are_written_and_read() {
    let names = (0..100_000).map(|number| (format!("kernel{number}"), ArgumentMask::default()));
    let masks: Named<ArgumentMask> = names.collect();
    let mut sets = PropertySets::default();
    masks.write(&mut sets, set::KERNEL_PARAM_OPT);
    assert_eq!(Named::read(&sets, set::KERNEL_PARAM_OPT), Ok(masks));
}

#[test]
fn removed_size_is_the_only_removed_key() {
    let mut sets = everything();
    let mut metadata = ModuleMetadata::read(&sets).unwrap();
    metadata.program.kernels.get_mut("k").unwrap().maximum = None;
    metadata.program.kernels.retain(|name, _| name != "a@b");
    metadata.write(&mut sets);
    assert!(sets.set(set::PROGRAM_METADATA).unwrap().names().eq([
        "k@reqd_work_group_size",
        "k@work_group_num_dim",
        "k@max_linear_work_group_size",
        "k@reqd_sub_group_size",
        "_Z4bias@global_id_mapping",
    ]));
    assert_eq!(ModuleMetadata::read(&sets), Ok(metadata));
}
