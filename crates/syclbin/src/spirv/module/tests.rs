// SPDX-License-Identifier: MIT OR Apache-2.0
use alloc::string::ToString;
use alloc::vec;

use super::parse::{DECORATION_BUILT_IN, DECORATION_FUNC_PARAM_ATTR, EXECUTION_MODEL_KERNEL};
use super::*;
use crate::spirv::words::{
    DECORATION_CONSTANT, DECORATION_LINKAGE_ATTRIBUTES, LINKAGE_EXPORT, LINKAGE_IMPORT,
    LINKAGE_LINK_ONCE, MAGIC, op,
};
use crate::spirv::{Import, is_target};

fn module(instructions: &[(u16, &[u32])]) -> Vec<u8> {
    let mut words = vec![MAGIC, 0x0001_0400, 0, 100, 0];
    for (opcode, operands) in instructions {
        let count = u32::try_from(operands.len()).unwrap() + 1;
        words.push(count << 16 | u32::from(*opcode));
        words.extend(*operands);
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn read_only_pointers_differ_from_written_ones() {
    let k = u32::from_le_bytes(*b"k\0\0\0");
    let bytes = module(&[
        (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 1, k]),
        (
            op::DECORATE,
            &[11, DECORATION_FUNC_PARAM_ATTR, ATTRIBUTE_NO_WRITE],
        ),
        (
            op::DECORATE,
            &[12, DECORATION_FUNC_PARAM_ATTR, ATTRIBUTE_ZEXT],
        ),
        (op::TYPE_FLOAT, &[2, 32]),
        (op::TYPE_INT, &[3, 16, 0]),
        (op::TYPE_POINTER, &[4, STORAGE_CROSS_WORKGROUP, 2]),
        (op::FUNCTION, &[9, 1, 0, 8]),
        (op::FUNCTION_PARAMETER, &[4, 10]),
        (op::FUNCTION_PARAMETER, &[4, 11]),
        (op::FUNCTION_PARAMETER, &[3, 12]),
    ]);
    let types: Vec<_> = Module::parse(&bytes)
        .unwrap()
        .parameters("k")
        .unwrap()
        .into_iter()
        .map(|parameter| parameter.ty)
        .collect();
    let pointee = TypeId(2);
    let pointer = |no_write| ParameterType::GlobalPointer { pointee, no_write };
    let signed = Some(false);
    let int = ParameterType::Int { bits: 16, signed };
    assert_eq!(types, [pointer(false), pointer(true), int]);
}

#[test]
fn images_have_dimensions_and_access() {
    let k = u32::from_le_bytes(*b"k\0\0\0");
    let bytes = module(&[
        (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 1, k]),
        (op::TYPE_IMAGE, &[2, 99, 1, 0, 0, 0, 0, 0, 0]),
        (op::TYPE_IMAGE, &[3, 99, 2, 0, 0, 0, 0, 0, 1]),
        (op::TYPE_IMAGE, &[4, 99, 0, 0, 0, 0, 0, 0, 2]),
        (op::TYPE_IMAGE, &[5, 99, 1, 1, 0, 0, 0, 0, 0]),
        (op::FUNCTION, &[9, 1, 0, 8]),
        (op::FUNCTION_PARAMETER, &[2, 10]),
        (op::FUNCTION_PARAMETER, &[3, 11]),
        (op::FUNCTION_PARAMETER, &[4, 12]),
        (op::FUNCTION_PARAMETER, &[5, 13]),
    ]);
    let parameters = Module::parse(&bytes).unwrap().parameters("k").unwrap();
    let types: Vec<_> = parameters.iter().map(|parameter| parameter.ty).collect();
    let image = |dimensions, written| ParameterType::Image {
        dimensions,
        written,
    };
    // Not SYCL accessors: a read-write image and a depth image.
    let others = [ParameterType::Other; 2];
    assert_eq!(types, [[image(2, false), image(3, true)], others].concat());
}

#[test]
fn imports_are_told_apart() {
    let scalar = "_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_";
    assert_eq!(Import::of(scalar), Import::SpecializationConstant);
    assert_eq!(Import::of("__devicelib_assert_fail"), Import::DeviceLibrary);
    assert_eq!(Import::of("_Z5shapef"), Import::Symbol);
}

#[test]
fn only_spir_triples_are_spirv_targets() {
    for (target, expected) in [
        ("", true),
        ("spir64-unknown-unknown", true),
        ("spirv64-intel", true),
        ("spir64_x86_64-unknown-unknown", false),
        ("spir-unknown-unknown", false),
    ] {
        assert_eq!(is_target(target), expected, "{target}");
    }
}

#[test]
fn a_function_has_one_name() {
    let name = |c| u32::from_le_bytes([c, 0, 0, 0]);
    let bytes = module(&[
        (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 1, name(b'a')]),
        (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 1, name(b'b')]),
        // A shader is not a kernel.
        (op::ENTRY_POINT, &[5, 2, name(b'c')]),
    ]);
    let module = Module::parse(&bytes).unwrap();
    assert_eq!(module.kernels().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn duplicate_parameter_id_is_rejected() {
    let bytes = module(&[
        (op::FUNCTION, &[9, 1, 0, 8]),
        (op::FUNCTION_PARAMETER, &[4, 10]),
        (op::FUNCTION_PARAMETER, &[4, 10]),
    ]);
    let error = Module::parse(&bytes).unwrap_err();
    assert_eq!(error.offset(), 20 + 5 * 4 + 3 * 4);
    assert!(error.to_string().contains("have the same id"), "{error}");
}

#[test]
fn first_of_equal_kernels_has_the_parameters() {
    let k = u32::from_le_bytes(*b"k\0\0\0");
    let bytes = module(&[
        (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 1, k]),
        (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 2, k]),
        (op::FUNCTION, &[9, 1, 0, 8]),
        (op::FUNCTION_PARAMETER, &[4, 10]),
        (op::FUNCTION, &[9, 2, 0, 8]),
    ]);
    let module = Module::parse(&bytes).unwrap();
    assert_eq!(module.parameters("k").map(|all| all.len()), Some(1));
    assert!(module.kernel_names().eq(["k"]));
}

#[test]
fn built_in_variables_are_not_imported() {
    let f = u32::from_le_bytes(*b"f\0\0\0");
    let import = [DECORATION_LINKAGE_ATTRIBUTES, f, LINKAGE_IMPORT];
    let bytes = module(&[
        (op::DECORATE, &[&[5][..], &import].concat()),
        (op::DECORATE, &[&[6][..], &import].concat()),
        (op::DECORATE, &[5, DECORATION_BUILT_IN, 28]),
    ]);
    assert!(Module::parse(&bytes).unwrap().imports().eq(["f"]));
}

#[test]
fn intrinsics_without_calls_are_not_imported() {
    let [llvm, dot] = [b"llvm", b".x\0\0"].map(|part| u32::from_le_bytes(*part));
    let linkage = DECORATION_LINKAGE_ATTRIBUTES;
    let declared = [
        (op::DECORATE, &[5, linkage, llvm, dot, LINKAGE_IMPORT][..]),
        (op::FUNCTION, &[2, 5, 0, 7]),
    ];
    let declares = Module::parse(&module(&declared)).unwrap();
    assert_eq!(declares.imports().next(), None);
    let called = [&declared[..], &[(op::FUNCTION_CALL, &[2, 9, 5])]].concat();
    let calls = Module::parse(&module(&called)).unwrap();
    assert!(calls.imports().eq(["llvm.x"]));
    // Variables, and functions with other names, are imports even if nothing calls them.
    let variable = [
        declared[0],
        (op::VARIABLE, &[4, 5, STORAGE_CROSS_WORKGROUP]),
    ];
    let variable = Module::parse(&module(&variable)).unwrap();
    assert!(variable.imports().eq(["llvm.x"]));
    let f = u32::from_le_bytes(*b"f\0\0\0");
    let other = [
        (op::DECORATE, &[5, linkage, f, LINKAGE_IMPORT][..]),
        declared[1],
    ];
    let other = Module::parse(&module(&other)).unwrap();
    assert!(other.imports().eq(["f"]));
}

#[test]
fn what_several_modules_may_define_is_exported_weakly() {
    let [f, g] = [b"f\0\0\0", b"g\0\0\0"].map(|name| u32::from_le_bytes(*name));
    let linkage = DECORATION_LINKAGE_ATTRIBUTES;
    let bytes = module(&[
        (op::DECORATE, &[5, linkage, f, LINKAGE_LINK_ONCE]),
        (op::DECORATE, &[6, linkage, g, LINKAGE_EXPORT]),
    ]);
    let module = Module::parse(&bytes).unwrap();
    assert!(module.exports().eq(["g", "f"]));
    assert!(module.weak_exports().eq(["f"]));
    assert_eq!(module.imports().count(), 0);
}

#[test]
fn truncated_instruction_is_rejected_with_its_offset() {
    let mut bytes = module(&[(op::TYPE_FLOAT, &[2, 32])]);
    bytes.truncate(bytes.len() - 4);
    let error = Module::parse(&bytes).unwrap_err();
    assert_eq!(error.offset(), 20);
    assert!(error.to_string().contains("extends beyond"), "{error}");
    let zero = module(&[]).into_iter().chain([0; 4]).collect::<Vec<_>>();
    assert!(Module::parse(&zero).is_err(), "an instruction of no words");
    let short = module(&[(op::TYPE_POINTER, &[4])]);
    assert!(
        Module::parse(&short).is_err(),
        "a pointer type without pointee"
    );
}

#[test]
fn initialized_globals_are_mutable_unless_decorated() {
    let name = |text: &[u8; 4]| u32::from_le_bytes(*text);
    let variable = |id, storage| [4, id, storage, 30];
    let module = module(&[
        (op::NAME, &[10, name(b"a\0\0\0")]),
        (op::NAME, &[11, name(b"b\0\0\0")]),
        (op::NAME, &[12, name(b"c\0\0\0")]),
        (op::NAME, &[13, name(b"d\0\0\0")]),
        (op::NAME, &[14, name(b"e\0\0\0")]),
        (op::DECORATE, &[11, DECORATION_CONSTANT]),
        (op::DECORATE, &[12, 6147, 0, name(b"h\0\0\0")]),
        (op::VARIABLE, &variable(10, STORAGE_CROSS_WORKGROUP)),
        (op::VARIABLE, &variable(11, STORAGE_CROSS_WORKGROUP)),
        (op::VARIABLE, &variable(12, STORAGE_CROSS_WORKGROUP)),
        (op::VARIABLE, &variable(13, STORAGE_WORKGROUP)),
        (op::VARIABLE, &variable(14, STORAGE_CROSS_WORKGROUP)[..3]),
        (op::VARIABLE, &variable(10, STORAGE_CROSS_WORKGROUP)),
    ]);
    assert_eq!(Module::parse(&module).unwrap().mutable_globals, ["a"]);
}

#[test]
fn types_have_sizes_and_parts() {
    let bytes = module(&[
        (op::TYPE_INT, &[1, 64, 0]),
        (op::TYPE_INT, &[2, 128, 0]),
        (op::TYPE_FLOAT, &[3, 32]),
        (op::TYPE_VECTOR, &[4, 3, 3]),
        // The length has a high word: 8 GiB and one element.
        (op::CONSTANT, &[1, 5, 1, 2]),
        (op::CONSTANT, &[1, 6, 2, 0]),
        (op::TYPE_ARRAY, &[7, 3, 5]),
        (op::TYPE_ARRAY, &[8, 3, 6]),
        (op::TYPE_ARRAY, &[9, 2, 6]),
        (op::TYPE_STRUCT, &[10, 3, 8, 1]),
    ]);
    let module = Module::parse(&bytes).unwrap();
    let sizes = [1, 2, 4, 7, 8, 9, 10].map(|ty| module.size(ty));
    let length = (2 << 32) + 1;
    let expected = [
        (8, 8),
        (0, 0),
        (16, 16),
        (4 * length, 4),
        (8, 4),
        (0, 0),
        (24, 8),
    ];
    let expected = expected.map(|known| (known.0 > 0).then_some(known));
    assert_eq!(sizes, expected);
    assert_eq!(
        [8, 9].map(|ty| module.types.wide_integer(ty)),
        [None, Some(128)]
    );
    let parts = |ty| {
        module
            .parts(ty)
            .map(|(count, parts)| (count, parts.collect()))
    };
    let expected: [(u64, Vec<(u32, u64)>); 3] = [
        (3, vec![(3, 0), (3, 4), (3, 8)]),
        (2, vec![(3, 0), (3, 4)]),
        (3, vec![(3, 0), (8, 4), (1, 16)]),
    ];
    assert_eq!([4, 8, 10].map(parts), expected.map(Some));
    assert_eq!([3, 9].map(parts), [None, None]);
    let int = |bits| ParameterType::Int { bits, signed: None };
    let float = |bits| ParameterType::Float {
        bits,
        bfloat: false,
    };
    let ty = TypeId(10);
    for (ty, expected) in [
        (ParameterType::Bool, Some(1)),
        (int(16), Some(2)),
        (int(128), None),
        (float(64), Some(8)),
        (ParameterType::ByValue { ty }, Some(24)),
        (ParameterType::Sampler, None),
    ] {
        assert_eq!(module.value_size(ty), expected, "{ty:?}");
    }
}

#[test]
fn annotations_of_variables_are_kept() {
    let [a, b] = [b"a\0\0\0", b"b\0\0\0"].map(|text| u32::from_le_bytes(*text));
    let bytes = module(&[
        (op::DECORATE, &[5, 5635, a]),
        (op::DECORATE, &[6, DECORATION_CONSTANT]),
        (op::DECORATE, &[5, 5635, b]),
    ]);
    let annotations = Module::parse(&bytes).unwrap().annotations;
    let expected = vec!["a".to_string(), "b".to_string()];
    assert_eq!(annotations, [(5, expected)].into());
}
