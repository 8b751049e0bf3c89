// SPDX-License-Identifier: MIT OR Apache-2.0
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::spirv::module::parse::EXECUTION_MODEL_KERNEL;
use crate::spirv::words::{instructions, literal, put};

const TO_1_2: &[Version] = &[Version::new(1, 2), Version::new(1, 1), Version::new(1, 0)];

fn module(version: Version, instructions: &[(u16, &[u32])]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, version.header(), 0, 100, 0];
    for (opcode, operands) in instructions {
        put(&mut words, *opcode, &[operands]);
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn for_versions<'r>(versions: &'r [Version]) -> DriverSupport<'r> {
    DriverSupport {
        versions,
        ..DriverSupport::default()
    }
}

/// Rewrites a SPIR-V 1.4 module for drivers that accept `versions`. Returns the new version and instructions.
fn lowered(versions: &[Version], code: &[(u16, &[u32])]) -> (Version, Vec<(u16, Vec<u32>)>) {
    let bytes = module(Version::new(1, 4), code);
    let rewritten = rewrite(&bytes, &for_versions(versions)).unwrap().unwrap();
    let words = words::words(&rewritten).unwrap();
    let found = instructions(&words).map(|found| {
        let found = found.unwrap();
        (found.opcode, found.operands.to_vec())
    });
    (Version::of_header(&words), found.collect())
}

#[test]
fn versions_are_read_from_a_list() {
    let list = Version::list("SPIR-V_1.2 SPIR-V_1.1 OTHER_3.0 SPIR-V_x");
    assert_eq!(list, [Version::new(1, 2), Version::new(1, 1)]);
}

#[test]
fn accepted_versions_are_not_rewritten() {
    let bytes = module(Version::new(1, 2), &[(op::CAPABILITY, &[6])]);
    assert_eq!(rewrite(&bytes, &for_versions(TO_1_2)), Ok(None));
    assert_eq!(rewrite(&bytes, &DriverSupport::default()), Ok(None));
}

#[test]
fn the_lowest_version_that_suffices_is_written() {
    let (version, _) = lowered(TO_1_2, &[(op::CAPABILITY, &[6])]);
    assert_eq!(version, Version::new(1, 0));
    let (version, _) = lowered(TO_1_2, &[(op::CAPABILITY, &[58])]);
    assert_eq!(version, Version::new(1, 1));
}

#[test]
fn early_entry_points_list_inputs_and_outputs_only() {
    let name = u32::from_le_bytes(*b"k\0\0\0");
    let (_, code) = lowered(
        TO_1_2,
        &[
            (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 1, name, 10, 11]),
            (op::VARIABLE, &[2, 10, 1]),
            (op::VARIABLE, &[3, 11, 5]),
        ],
    );
    let expected = vec![EXECUTION_MODEL_KERNEL, 1, name, 10];
    assert_eq!(code[0], (op::ENTRY_POINT, expected));
}

#[test]
fn early_modules_declare_the_no_wrap_extension() {
    let code: &[(u16, &[u32])] = &[
        (op::CAPABILITY, &[6]),
        (op::MEMORY_MODEL, &[2, 2]),
        (op::DECORATE, &[7, 4469]),
    ];
    let (_, lower) = lowered(TO_1_2, code);
    let opcodes: Vec<u16> = lower.iter().map(|(opcode, _)| *opcode).collect();
    assert_eq!(
        opcodes,
        [
            op::CAPABILITY,
            op::EXTENSION,
            op::MEMORY_MODEL,
            op::DECORATE
        ]
    );
    assert_eq!(
        words::string(&lower[1].1).0,
        "SPV_KHR_no_integer_wrap_decoration"
    );
}

#[test]
fn copies_get_one_set_of_memory_operands() {
    let (_, code) = lowered(
        TO_1_2,
        &[
            (op::COPY_MEMORY_SIZED, &[1, 2, 3, 2, 16, 2, 8]),
            (op::COPY_MEMORY_SIZED, &[1, 2, 3, 2, 16, 0]),
            (op::COPY_MEMORY, &[1, 2, 3, 4]),
            (op::COPY_MEMORY, &[1, 2]),
        ],
    );
    let operands: Vec<&[u32]> = code.iter().map(|(_, operands)| &operands[..]).collect();
    let expected: [&[u32]; 4] = [&[1, 2, 3, 2, 8], &[1, 2, 3, 0], &[1, 2, 3, 4], &[1, 2]];
    assert_eq!(operands, expected);
}

#[test]
fn loop_hints_of_later_versions_are_dropped() {
    // Unrolled, a dependency length of 3, and a peel count of 5.
    let code: &[(u16, &[u32])] = &[(op::LOOP_MERGE, &[1, 2, 0x89, 3, 5])];
    assert_eq!(lowered(TO_1_2, code).1[0].1, [1, 2, 1]);
    assert_eq!(lowered(&[Version::new(1, 2)], code).1[0].1, [1, 2, 9, 3]);
}

#[test]
fn what_needs_a_later_version_is_named() {
    let refused = |code: &[(u16, &[u32])]| {
        let bytes = module(Version::new(1, 4), code);
        check(&bytes, &for_versions(TO_1_2))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(&[(op::CAPABILITY, &[65])]),
        "its capability GroupNonUniformShuffle requires SPIR-V 1.3, but the device supports SPIR-V 1.2, 1.1, 1.0"
    );
    let message = refused(&[(401, &[1, 2, 3, 4])]);
    assert!(
        message.starts_with("its instruction OpPtrEqual requires SPIR-V 1.4"),
        "{message}"
    );
    let message = refused(&[(op::TYPE_STRUCT, &[9]), (op::SELECT, &[9, 1, 2, 3, 4])]);
    assert!(
        message.contains("OpSelect on a struct or array"),
        "{message}"
    );
}

#[test]
fn without_versions_the_lowest_suitable_one_is_shared() {
    let old = module(Version::new(1, 0), &[]);
    let new = module(Version::new(1, 6), &[(op::CAPABILITY, &[65])]);
    let reader = DriverSupport {
        one_version: true,
        ..DriverSupport::default()
    };
    let modules = vec![Cow::from(&old), Cow::from(&new)];
    for rewritten in rewrite_all(modules, &reader).unwrap() {
        let words = words::words(&rewritten).unwrap();
        assert_eq!(Version::of_header(&words), Version::new(1, 3));
    }
}

#[test]
fn extensions_allow_what_a_version_lacks() {
    let shuffle = module(Version::new(1, 4), &[(op::CAPABILITY, &[65])]);
    let reader = DriverSupport {
        versions: TO_1_2,
        extensions: "cl_khr_fp64 cl_khr_subgroup_shuffle",
        ..DriverSupport::default()
    };
    let rewritten = rewrite(&shuffle, &reader).unwrap().unwrap();
    assert_eq!(
        Version::of_header(&words::words(&rewritten).unwrap()),
        Version::new(1, 3)
    );
    let name = literal("SPV_KHR_integer_dot_product");
    let dot = module(
        Version::new(1, 6),
        &[(op::CAPABILITY, &[6019]), (op::EXTENSION, &name)],
    );
    assert_eq!(check(&dot, &for_versions(TO_1_2)), Ok(()));
}

#[test]
fn debug_information_is_removed_where_refused() {
    let import = [&[1][..], &literal("NonSemantic.Shader.DebugInfo.100")].concat();
    let other = [&[2][..], &literal("OpenCL.std")].concat();
    let before = module(
        Version::new(1, 2),
        &[
            (op::EXT_INST_IMPORT, &import),
            (op::EXT_INST_IMPORT, &other),
            (op::NAME, &[5, 'a' as u32]),
            (op::EXT_INST, &[3, 5, 1, 10, 6]),
            (op::EXT_INST, &[3, 6, 2, 10]),
            (4433, &[3, 7, 1, 10, 8]),
        ],
    );
    let after = module(
        Version::new(1, 2),
        &[
            (op::EXT_INST_IMPORT, &other),
            (op::EXT_INST, &[3, 6, 2, 10]),
        ],
    );
    let reader = for_versions(TO_1_2);
    assert_eq!(rewrite(&before, &reader), Ok(Some(after.clone())));
    assert_eq!(rewrite(&after, &reader), Ok(None));
    let with_debugger = DriverSupport {
        debug_info: true,
        ..reader
    };
    assert_eq!(rewrite(&before, &with_debugger), Ok(None));
}

#[test]
fn limits_of_work_groups_are_removed_where_refused() {
    let extension = literal("SPV_INTEL_kernel_attributes");
    let kept: [(u16, &[u32]); 3] = [
        (op::CAPABILITY, &[6]),
        (op::MEMORY_MODEL, &[2, 2]),
        (op::EXECUTION_MODE, &[7, 17, 64, 1, 1]),
    ];
    let before: [(u16, &[u32]); 6] = [
        kept[0],
        (op::CAPABILITY, &[5892]),
        (op::EXTENSION, &extension),
        kept[1],
        kept[2],
        (op::EXECUTION_MODE, &[7, 5893, 64, 1, 1]),
    ];
    let version = Version::new(1, 2);
    let (before, after) = (module(version, &before), module(version, &kept));
    let reader = for_versions(TO_1_2);
    assert_eq!(rewrite(&before, &reader), Ok(Some(after)));
    let accepts = DriverSupport {
        work_group_limits: true,
        ..reader
    };
    assert_eq!(rewrite(&before, &accepts), Ok(None));
}

#[test]
fn malformed_modules_are_errors() {
    // An entry point without a name, and a loop without its blocks.
    let whole = module(
        Version::new(1, 4),
        &[(op::ENTRY_POINT, &[6]), (op::LOOP_MERGE, &[])],
    );
    let loops = module(Version::new(1, 4), &[(op::LOOP_MERGE, &[])]);
    let refused = rewrite(&whole, &for_versions(TO_1_2));
    assert!(
        matches!(refused, Err(UnsupportedModule::Malformed(_))),
        "{refused:?}"
    );
    assert!(rewrite(&loops, &for_versions(TO_1_2)).is_ok());
    for len in 0..whole.len() {
        // A truncated module is rejected, unless it ends between two instructions.
        let _ = rewrite(&whole[..len], &for_versions(TO_1_2));
    }
    assert!(matches!(
        rewrite(b"text", &for_versions(TO_1_2)),
        Err(UnsupportedModule::Malformed(_))
    ));
}

#[test]
fn values_of_constants_become_defaults() {
    let decorations: &[(u16, &[u32])] = &[
        (op::DECORATE, &[10, 1, 5]),
        (op::DECORATE, &[11, 1, 6]),
        (op::DECORATE, &[12, 1, 7]),
    ];
    let code = |first: u32, second: &[u32], third: u16| {
        let second = [&[2, 11], second].concat();
        let constants: &[(u16, &[u32])] = &[
            (op::TYPE_INT, &[1, 8, 0]),
            (op::TYPE_INT, &[2, 64, 0]),
            (op::TYPE_BOOL, &[3]),
            (op::SPEC_CONSTANT, &[1, 10, first]),
            (op::SPEC_CONSTANT, &second),
            (third, &[3, 12]),
            (op::SPEC_CONSTANT, &[1, 13, 90]),
        ];
        module(Version::new(1, 2), &[decorations, constants].concat())
    };
    let before = code(70, &[80, 0], op::SPEC_CONSTANT_TRUE);
    let wide = [1, 0, 0, 0, 2, 0, 0, 0];
    let values = [(5, &[0xff][..]), (6, &wide), (7, &[0]), (8, &[1])].into();
    let after = code(0xff, &[1, 2], op::SPEC_CONSTANT_FALSE);
    assert_eq!(specialize(&before, &values), Ok(after));
    for (id, value) in [(5, &wide[..]), (6, &wide[..4]), (7, &[0, 0])] {
        let error = specialize(&before, &[(id, value)].into()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(" long in the code, but the length of its value is "),
            "{error}"
        );
    }
}

#[test]
fn negations_are_replaced_beside_barriers() {
    let loses = DriverSupport {
        loses_negations: true,
        ..DriverSupport::default()
    };
    let negation: &[(u16, &[u32])] = &[(op::F_NEGATE, &[1, 2, 3])];
    let barrier: &[(u16, &[u32])] = &[(op::CONTROL_BARRIER, &[7, 7, 8])];
    let reduction: &[(u16, &[u32])] = &[(264, &[1, 9, 7, 0, 2])];
    let replaced = |scope, parts: &[&[(u16, &[u32])]], reader: &DriverSupport<'_>| {
        let head: &[(u16, &[u32])] = &[
            (op::TYPE_INT, &[4, 32, 0]),
            (op::TYPE_FLOAT, &[1, 32]),
            (op::CONSTANT, &[4, 7, scope]),
            (op::FUNCTION, &[5, 6, 0, 8]),
        ];
        let part = |part: &&[(u16, &[u32])]| module(Version::new(1, 4), &[head, *part].concat());
        let modules: Vec<Cow<'_, [u8]>> = parts.iter().map(part).map(Cow::Owned).collect();
        rewrite_all(modules.clone(), reader).unwrap() != modules
    };
    const WORK_GROUP: u32 = 2;
    const SUB_GROUP: u32 = 3;
    for waiting in [barrier, reduction] {
        let both = [negation, waiting].concat();
        assert!(replaced(WORK_GROUP, &[&both], &loses));
        assert!(replaced(WORK_GROUP, &[negation, waiting], &loses));
        assert!(!replaced(SUB_GROUP, &[&both], &loses));
        assert!(!replaced(
            WORK_GROUP,
            &[&both],
            &DriverSupport {
                debug_info: true,
                ..DriverSupport::default()
            }
        ));
    }
    assert!(!replaced(WORK_GROUP, &[negation], &loses));
    assert!(!replaced(WORK_GROUP, &[barrier], &loses));
}

#[test]
fn replaced_negations_use_the_opencl_instructions() {
    let import = |id: u32, name: &str| [&[id][..], &literal(name)].concat();
    let (std, debug) = (import(11, "OpenCL.std"), import(12, "OpenCL.DebugInfo.100"));
    let imports = |before: &[&[u32]]| {
        let imports = before.iter().map(|import| (op::EXT_INST_IMPORT, *import));
        let code: [(u16, &[u32]); 6] = [
            (op::TYPE_INT, &[4, 32, 0]),
            (op::TYPE_FLOAT, &[1, 32]),
            (op::CONSTANT, &[4, 7, 2]),
            (op::FUNCTION, &[5, 6, 0, 8]),
            (op::F_NEGATE, &[1, 2, 3]),
            (op::CONTROL_BARRIER, &[7, 7, 8]),
        ];
        let code: Vec<_> = imports.chain(code).collect();
        let reader = DriverSupport {
            loses_negations: true,
            debug_info: true,
            ..DriverSupport::default()
        };
        let bytes = module(Version::new(1, 4), &code);
        let rewritten = rewrite(&bytes, &reader).unwrap().unwrap();
        let words = words::words(&rewritten).unwrap();
        let is_import = |found: &words::Instruction<'_>| found.opcode == op::EXT_INST_IMPORT;
        let found = instructions(&words).map(Result::unwrap).filter(is_import);
        found
            .map(|found| words::string(&found.operands[1..]).0)
            .collect::<Vec<_>>()
    };
    assert_eq!(imports(&[&debug]), ["OpenCL.DebugInfo.100", "OpenCL.std"]);
    assert_eq!(
        imports(&[&std, &debug]),
        ["OpenCL.std", "OpenCL.DebugInfo.100"]
    );
}
