// SPDX-License-Identifier: MIT OR Apache-2.0
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

mod lifting;

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

/// Returns the version and the instructions of a module.
fn contents(bytes: &[u8]) -> (Version, Vec<(u16, Vec<u32>)>) {
    let words = words::words(bytes).unwrap();
    let found = instructions(&words).map(|found| {
        let found = found.unwrap();
        (found.opcode, found.operands.to_vec())
    });
    (Version::of_header(&words), found.collect())
}

/// Rewrites a SPIR-V 1.4 module for drivers that accept `versions`. Returns the new version and instructions.
fn lowered(versions: &[Version], code: &[(u16, &[u32])]) -> (Version, Vec<(u16, Vec<u32>)>) {
    let bytes = module(Version::new(1, 4), code);
    contents(&rewrite(&bytes, &for_versions(versions)).unwrap().unwrap())
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
fn raised_entry_points_list_all_variables() {
    let name = u32::from_le_bytes(*b"k\0\0\0");
    let code: &[(u16, &[u32])] = &[
        (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 1, name, 10]),
        (op::VARIABLE, &[2, 10, 1]),
        (op::VARIABLE, &[3, 11, 5]),
        (op::FUNCTION, &[4, 1, 0, 5]),
        (op::VARIABLE, &[6, 12, 7]),
    ];
    let bytes = module(Version::new(1, 0), code);
    let raised = rewrite(&bytes, &for_versions(&[Version::new(1, 4)]));
    let (_, code) = contents(&raised.unwrap().unwrap());
    let expected = vec![EXECUTION_MODEL_KERNEL, 1, name, 10, 11];
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
fn merged_copies_keep_what_both_sets_allow() {
    // A merged copy is volatile if one side is, and not temporal only if both sides are not.
    for (target, source, expected) in [
        (0, 0, 0),
        (1, 0, 1),
        (0, 1, 1),
        (1, 1, 1),
        (4, 0, 0),
        (0, 4, 0),
        (4, 4, 4),
        (5, 4, 5),
        (4, 1, 1),
    ] {
        let copy: &[(u16, &[u32])] = &[(op::COPY_MEMORY, &[7, 8, target, source])];
        let (_, code) = lowered(TO_1_2, copy);
        assert_eq!(code[0].1, [7, 8, expected], "{target} {source}");
    }
}

#[test]
fn version_1_4_keeps_what_it_supports() {
    let name = u32::from_le_bytes(*b"k\0\0\0");
    let code: &[(u16, &[u32])] = &[
        (op::CAPABILITY, &[6]),
        (op::MEMORY_MODEL, &[2, 2]),
        (op::ENTRY_POINT, &[EXECUTION_MODEL_KERNEL, 1, name, 10, 11]),
        (op::MODULE_PROCESSED, &[name]),
        (op::DECORATE, &[7, 4469]),
        (op::VARIABLE, &[2, 10, 1]),
        (op::VARIABLE, &[3, 11, 5]),
        (op::LOOP_MERGE, &[1, 2, 0x89, 3, 5]),
        (op::COPY_MEMORY, &[1, 2, 1, 4]),
    ];
    let later = module(Version::new(1, 6), code);
    let version = Version::new(1, 4);
    let rewritten = rewrite(&later, &for_versions(&[version]));
    assert_eq!(rewritten, Ok(Some(module(version, code))));
}

#[test]
fn processing_notes_are_kept_since_1_1() {
    let code: &[(u16, &[u32])] = &[(op::CAPABILITY, &[6]), (op::MODULE_PROCESSED, &[0x61])];
    for (minor, expected) in [(0, 1), (1, 2), (2, 2)] {
        let (version, left) = lowered(&[Version::new(1, minor)], code);
        assert_eq!((version.minor, left.len()), (minor, expected));
    }
}

#[test]
fn loop_hints_of_later_versions_are_dropped() {
    // Unrolled, a dependency length of 3, and a peel count of 5.
    let code: &[(u16, &[u32])] = &[(op::LOOP_MERGE, &[1, 2, 0x89, 3, 5])];
    assert_eq!(lowered(TO_1_2, code).1[0].1, [1, 2, 1]);
    for minor in [1, 2] {
        assert_eq!(
            lowered(&[Version::new(1, minor)], code).1[0].1,
            [1, 2, 9, 3]
        );
    }
}

#[test]
fn what_needs_a_later_version_is_named() {
    let refused_by = |versions: &[Version], code: &[(u16, &[u32])]| {
        let bytes = module(Version::new(1, 4), code);
        check(&bytes, &for_versions(versions))
            .unwrap_err()
            .to_string()
    };
    let refused = |code: &[(u16, &[u32])]| refused_by(TO_1_2, code);
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
    // The second set has alias scopes, so the sets cannot be merged.
    let message = refused(&[(op::COPY_MEMORY, &[1, 2, 1, 0x1_0000, 9])]);
    assert!(
        message.starts_with("its copy with two sets of memory operands requires SPIR-V 1.4"),
        "{message}"
    );
    let one_set: &[(u16, &[u32])] = &[(op::COPY_MEMORY, &[1, 2, 0x1_0002, 4, 9])];
    assert_eq!(lowered(TO_1_2, one_set).1[0].1, one_set[0].1);
    // Of features that need the same version, the first one is named.
    let message = refused(&[(op::CAPABILITY, &[68]), (op::CAPABILITY, &[65])]);
    assert!(message.contains("GroupNonUniformQuad"), "{message}");
    for (opcode, operands, expected) in [
        (
            op::EXECUTION_MODE,
            [7, 35, 16],
            "its execution mode SubgroupSize requires SPIR-V 1.1, but the device supports SPIR-V 1.0",
        ),
        (
            op::DECORATE,
            [7, 45, 16],
            "its decoration MaxByteOffset requires SPIR-V 1.1, but the device supports SPIR-V 1.0",
        ),
    ] {
        let message = refused_by(&[Version::new(1, 0)], &[(opcode, &operands)]);
        assert_eq!(message, expected);
    }
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
fn versions_are_unified_only_where_necessary() {
    let versions = [Version::new(1, 0), Version::new(1, 2), Version::new(1, 1)];
    let modules = versions.map(|version| module(version, &[(op::CAPABILITY, &[6])]));
    let headers = |count: usize, one_version| {
        let modules = modules[3 - count..].iter().map(Cow::from).collect();
        let reader = DriverSupport {
            one_version,
            ..for_versions(TO_1_2)
        };
        let rewritten = rewrite_all(modules, &reader).unwrap();
        let versions = rewritten.iter().map(|module| contents(module).0.minor);
        versions.collect::<Vec<_>>()
    };
    assert_eq!(headers(3, true), [0, 0, 0]);
    assert_eq!(headers(3, false), [0, 2, 1]);
    assert_eq!(headers(1, true), [1]);
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
        // The header and the decorations have 5 and 3 times 4 words, and the types 4, 4 and 2.
        let constants = [(5, 27), (6, 31), (7, 36)];
        let at = constants.iter().find(|(known, _)| *known == id).unwrap().1;
        assert_eq!(error.offset(), at * 4);
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
    // `OpGroupWaitEvents`
    let wait: &[(u16, &[u32])] = &[(260, &[7, 9, 10])];
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
    for waiting in [barrier, reduction, wait] {
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

#[test]
fn only_decorations_of_negations_are_removed() {
    const GROUP: u16 = 73;
    let std = [&[11][..], &literal("OpenCL.std")].concat();
    let head: [(u16, &[u32]); 2] = [(op::CAPABILITY, &[6]), (op::EXT_INST_IMPORT, &std)];
    let types: [(u16, &[u32]); 2] = [(op::TYPE_FLOAT, &[1, 16]), (op::TYPE_FUNCTION, &[6, 1, 1])];
    let start: [(u16, &[u32]); 3] = [
        (op::FUNCTION, &[1, 5, 0, 6]),
        (op::FUNCTION_PARAMETER, &[1, 3]),
        (op::LABEL, &[8]),
    ];
    let end: [(u16, &[u32]); 2] = [(254, &[2]), (op::FUNCTION_END, &[])];
    let before: [&[(u16, &[u32])]; 6] = [
        &head,
        &[
            (op::DECORATE, &[2, 40, 16]),
            (op::DECORATE, &[3, 38, 0]),
            (op::DECORATE, &[9, 40, 1]),
            (GROUP, &[9]),
            (op::GROUP_DECORATE, &[9, 2, 3]),
        ],
        &types,
        &start,
        &[(op::F_NEGATE, &[1, 2, 3])],
        &end,
    ];
    let after: [&[(u16, &[u32])]; 8] = [
        &head[..1],
        // `Int16`
        &[(op::CAPABILITY, &[22])],
        &head[1..],
        &[
            (op::DECORATE, &[3, 38, 0]),
            (op::DECORATE, &[9, 40, 1]),
            (GROUP, &[9]),
            (op::GROUP_DECORATE, &[9, 3]),
        ],
        &types,
        &[
            (op::TYPE_INT, &[100, 16, 0]),
            (op::CONSTANT, &[100, 101, 1]),
            (op::CONSTANT, &[100, 102, 15]),
        ],
        &start,
        &[
            // Moves the sign bit to bit 0, flips it, and moves it back.
            (op::BITCAST, &[100, 103, 3]),
            (op::EXT_INST, &[100, 104, 11, 161, 103, 101]),
            (op::BITWISE_XOR, &[100, 105, 104, 101]),
            (op::EXT_INST, &[100, 106, 11, 161, 105, 102]),
            (op::BITCAST, &[1, 2, 106]),
        ],
    ];
    let reader = DriverSupport {
        loses_negations: true,
        ..DriverSupport::default()
    };
    let version = Version::new(1, 4);
    let rewritten = rewrite(&module(version, &before.concat()), &reader);
    let rewritten = contents(&rewritten.unwrap().unwrap());
    let after = module(version, &[&after.concat(), &end[..]].concat());
    assert_eq!(rewritten, contents(&after));
}
