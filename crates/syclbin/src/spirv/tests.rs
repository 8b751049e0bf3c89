// SPDX-License-Identifier: MIT OR Apache-2.0
use alloc::string::ToString;
use alloc::vec::Vec;

use super::grammar::{self, Ids, Unknown};
use super::reads::read_only_parameters;
use super::{edit, reversible, strip_debug_info, trim};
use crate::spirv::words::{Instruction, instructions, literal, op, put, words};

type Code = Vec<(u16, Vec<u32>)>;

const DECORATION_GROUP: u16 = 73;
const CONSTANT_FUNCTION_POINTER: u16 = 5600;

fn module(code: &[(u16, Vec<u32>)]) -> Vec<u8> {
    let mut words = [0x0723_0203, 0x0001_0400, 7, 100, 0].to_vec();
    for (opcode, operands) in code {
        put(&mut words, *opcode, &[operands]);
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn code(bytes: &[u8]) -> Code {
    let words = words(bytes).unwrap();
    let instructions = instructions(&words).map(Result::unwrap);
    instructions
        .map(|i| (i.opcode, i.operands.to_vec()))
        .collect()
}

fn named(before: &[u32], name: &str, after: &[u32]) -> Vec<u32> {
    [before, &literal(name), after].concat()
}

fn function(id: u32, label: u32, body: Code) -> Code {
    let start: Code = [
        (op::FUNCTION, [1, id, 0, 2].into()),
        (op::LABEL, [label].into()),
    ]
    .into();
    let end = [(op::RETURN, [].into()), (op::FUNCTION_END, [].into())].into();
    [start, body, end].concat()
}

/// Trims a module with the kernels `a` (10) and `b` (11) and the function 12 to the kernel `a`. Returns the result.
fn trimmed(before: &[(u16, Vec<u32>)], in_a: Code) -> Code {
    let whole = [
        [
            (op::ENTRY_POINT, named(&[6, 10], "a", &[20, 21])),
            (op::ENTRY_POINT, named(&[6, 11], "b", &[21])),
            (op::EXECUTION_MODE, [10, 31].into()),
            (op::EXECUTION_MODE, [11, 31].into()),
        ]
        .into(),
        before.to_vec(),
        [
            (op::TYPE_VOID, [1].into()),
            (op::TYPE_FUNCTION, [2, 1].into()),
            (op::TYPE_POINTER, [3, 5, 1].into()),
            (op::VARIABLE, [3, 20, 5].into()),
            (op::VARIABLE, [3, 21, 5].into()),
            (CONSTANT_FUNCTION_POINTER, [3, 22, 12].into()),
        ]
        .into(),
        function(12, 32, Vec::new()),
        function(11, 31, [(op::FUNCTION_CALL, [1, 41, 12].into())].into()),
        function(10, 30, in_a),
    ]
    .concat();
    code(&trim(&module(&whole), &["a"]).unwrap())
}

/// Returns the ids of the functions.
fn functions(code: &Code) -> Vec<u32> {
    let functions = code.iter().filter(|(opcode, _)| *opcode == op::FUNCTION);
    functions.map(|(_, operands)| operands[1]).collect()
}

fn of(code: &Code, wanted: u16) -> Vec<&[u32]> {
    let all = code.iter().filter(|(opcode, _)| *opcode == wanted);
    all.map(|(_, operands)| operands.as_slice()).collect()
}

#[test]
fn only_reachable_declarations_are_left() {
    let left = trimmed(&[], [(op::LOAD, [1, 40, 20].into())].into());
    assert_eq!(functions(&left), [10]);
    assert_eq!(of(&left, op::VARIABLE), [[3, 20, 5]]);
    assert_eq!(of(&left, op::EXECUTION_MODE), [[10, 31]]);
    assert_eq!(of(&left, op::ENTRY_POINT), [named(&[6, 10], "a", &[20])]);
}

#[test]
fn functions_are_reached_by_calls_and_pointers() {
    let call = (op::FUNCTION_CALL, [1, 40, 12].into());
    assert_eq!(functions(&trimmed(&[], [call].into())), [12, 10]);
    let pointer = (op::BITCAST, [3, 40, 22].into());
    assert_eq!(functions(&trimmed(&[], [pointer].into())), [12, 10]);
    let indirect = (op::DECORATE, [11, 5602].into());
    assert_eq!(functions(&trimmed(&[indirect], Vec::new())), [12, 11, 10]);
}

#[test]
fn annotations_of_what_is_left_stay() {
    let annotations = [
        (op::NAME, named(&[40], "mine", &[])),
        (op::NAME, named(&[41], "other", &[])),
        (op::DECORATE, [50, 22].into()),
        (DECORATION_GROUP, [50].into()),
        (op::GROUP_DECORATE, [50, 20, 21].into()),
        (op::DECORATE, [51, 22].into()),
        (DECORATION_GROUP, [51].into()),
        (op::GROUP_DECORATE, [51, 21].into()),
        (op::DECORATE_ID, [40, 5636, 21].into()),
    ];
    let call: Code = [
        (op::LOAD, [1, 42, 20].into()),
        (op::FUNCTION_CALL, [1, 40, 12].into()),
    ]
    .into();
    let left = trimmed(&annotations, call.clone());
    // The annotation of 40 needs 21.
    assert_eq!(of(&left, op::GROUP_DECORATE).len(), 2);
    assert_eq!(of(&left, op::NAME), [named(&[40], "mine", &[])]);
    let left = trimmed(&annotations[..8], call);
    assert_eq!(of(&left, op::GROUP_DECORATE), [[50, 20]]);
    assert_eq!(of(&left, op::DECORATE), [[50, 22]]);
}

#[test]
fn execution_modes_keep_ids_of_live_kernels() {
    const LOCAL_SIZE_ID: u32 = 38;
    let before: Code = [
        (op::EXECUTION_MODE_ID, [10, LOCAL_SIZE_ID, 50].into()),
        (op::EXECUTION_MODE_ID, [11, LOCAL_SIZE_ID, 51].into()),
        (op::TYPE_INT, [4, 32, 0].into()),
        (op::CONSTANT, [4, 50, 8].into()),
        (op::CONSTANT, [4, 51, 16].into()),
    ]
    .into();
    let left = trimmed(&before, Code::new());
    assert_eq!(of(&left, op::EXECUTION_MODE_ID), [[10, LOCAL_SIZE_ID, 50]]);
    assert_eq!(of(&left, op::CONSTANT), [[4, 50, 8]]);
    assert_eq!(functions(&left), [10]);
}

#[test]
fn sources_keep_the_names_of_their_files() {
    let before: Code = [
        (op::STRING, named(&[50], "a.cpp", &[])),
        (op::STRING, named(&[51], "b.cpp", &[])),
        (op::SOURCE, [4, 100_000, 50].into()),
    ]
    .into();
    let left = trimmed(&before, Code::new());
    assert_eq!(of(&left, op::STRING), [named(&[50], "a.cpp", &[])]);
    assert_eq!(of(&left, op::SOURCE).len(), 1);
}

#[test]
fn capabilities_of_removed_declarations_are_removed() {
    const HOST_ACCESS: u32 = 6188;
    let extension = "SPV_INTEL_global_variable_host_access";
    let before: Code = [
        (op::CAPABILITY, [6].into()),
        (op::CAPABILITY, [11].into()),
        (op::CAPABILITY, [38].into()),
        (op::CAPABILITY, [39].into()),
        (op::CAPABILITY, [6187].into()),
        (op::EXTENSION, literal(extension)),
        (op::DECORATE, named(&[20, HOST_ACCESS, 3], "d", &[])),
        (op::TYPE_INT, [4, 64, 0].into()),
        (op::TYPE_INT, [5, 8, 0].into()),
        (op::TYPE_UNTYPED_POINTER, [6, 8].into()),
    ]
    .into();
    let capabilities = |left: &Code| -> Vec<u32> {
        of(left, op::CAPABILITY)
            .iter()
            .map(|operands| operands[0])
            .collect()
    };
    let left = trimmed(&before, Code::new());
    assert_eq!(capabilities(&left), [6]);
    assert_eq!(of(&left, op::EXTENSION).len(), 0);
    let uses = [
        (op::LOAD, [4, 40, 20].into()),
        (op::UNDEF, [5, 41].into()),
        (op::UNDEF, [6, 42].into()),
    ];
    let left = trimmed(&before, uses.into());
    assert_eq!(capabilities(&left), [6, 11, 38, 39, 6187]);
    assert_eq!(of(&left, op::EXTENSION), [literal(extension)]);
}

#[test]
fn functions_need_their_start_and_end() {
    let entry = (op::ENTRY_POINT, named(&[6, 10], "a", &[]));
    let start = (op::FUNCTION, [1, 10, 0, 2].into());
    let end = (op::FUNCTION_END, Vec::new());
    for damaged in [
        [entry.clone(), end.clone()].to_vec(),
        [entry.clone(), start.clone()].to_vec(),
        [entry, start.clone(), start, end].to_vec(),
    ] {
        let error = trim(&module(&damaged), &["a"]).unwrap_err().to_string();
        assert!(error.contains("lacks its start or end"), "{error}");
    }
}

#[test]
fn debug_information_is_removed() {
    let imports = [
        (op::EXT_INST_IMPORT, named(&[60], "OpenCL.std", &[])),
        (
            op::EXT_INST_IMPORT,
            named(&[61], "OpenCL.DebugInfo.100", &[]),
        ),
        (op::EXT_INST, [1, 62, 61, 20, 11].into()),
    ];
    let body: Code = [
        (op::EXT_INST, [1, 40, 61, 23, 21].into()),
        (op::EXT_INST, [1, 42, 60, 23, 20].into()),
    ]
    .into();
    let left = trimmed(&imports, body);
    assert_eq!(of(&left, op::EXT_INST), [[1, 42, 60, 23, 20]]);
    assert_eq!(of(&left, op::EXT_INST_IMPORT).len(), 1);
    assert_eq!(of(&left, op::VARIABLE).len(), 1);
}

#[test]
fn stripped_module_lacks_what_debug_information_needed() {
    let (import, extension) = (
        "NonSemantic.Shader.DebugInfo.200",
        "SPV_KHR_non_semantic_info",
    );
    let constant = |id| (op::CONSTANT, [4, id, 7].into());
    let once = |id| (op::DECORATE, named(&[id, 41], "once", &[2]));
    let decorated = |id, decoration: &[u32]| (op::DECORATE, [&[id], decoration].concat());
    let export = named(&[41], "b", &[0]);
    let declarations: Code = [
        (op::CAPABILITY, [6].into()),
        (op::CAPABILITY, [39].into()),
        (op::CAPABILITY, [38].into()),
        (op::EXTENSION, literal(extension)),
        (op::EXT_INST_IMPORT, named(&[61], import, &[])),
        (op::ENTRY_POINT, named(&[6, 10], "a", &[20, 21])),
        decorated(20, &[22]),
        decorated(21, &[11, 28]),
        decorated(12, &export),
        // Of what several modules may define, functions stay, and variables stay if something uses them.
        once(13),
        once(22),
        (op::TYPE_VOID, [1].into()),
        (op::TYPE_FUNCTION, [2, 1].into()),
        (op::TYPE_INT, [4, 8, 0].into()),
        (op::TYPE_POINTER, [3, 5, 1].into()),
        (op::TYPE_POINTER, [5, 8, 1].into()),
        constant(30),
        (op::VARIABLE, [3, 20, 5].into()),
        (op::VARIABLE, [3, 21, 5].into()),
        (op::VARIABLE, [3, 22, 5].into()),
        (op::EXT_INST, [1, 62, 61, 18, 20, 30, 5].into()),
        (op::EXT_INST, [1, 63, 61, 18, 22, 30, 5].into()),
    ]
    .into();
    let body: Code = [
        (op::UNDEF, [1, 40].into()),
        (op::EXT_INST, [1, 41, 61, 29, 40].into()),
    ]
    .into();
    let exported = [function(12, 32, Code::new()), function(13, 33, Code::new())].concat();
    let functions = [function(10, 31, body), exported.clone()].concat();
    let whole = module(&[declarations, functions.clone()].concat());
    let left = code(&strip_debug_info(&whole).unwrap());
    let expected: Code = [
        (op::CAPABILITY, [6].into()),
        (op::ENTRY_POINT, named(&[6, 10], "a", &[21])),
        decorated(21, &[11, 28]),
        decorated(12, &export),
        once(13),
        (op::TYPE_VOID, [1].into()),
        (op::TYPE_FUNCTION, [2, 1].into()),
        (op::TYPE_POINTER, [3, 5, 1].into()),
        (op::VARIABLE, [3, 21, 5].into()),
    ]
    .into();
    let functions = [function(10, 31, Code::new()), exported].concat();
    assert_eq!(left, [expected, functions].concat());
}

#[test]
fn switch_with_cases_of_any_width_is_kept() {
    let switch = (op::SWITCH, [40, 30, 7, 0, 30].into());
    let left = trimmed(&[], [switch.clone()].into());
    assert_eq!(of(&left, op::SWITCH), [switch.1]);
}

#[test]
fn unknown_instruction_is_an_error() {
    let entry = (op::ENTRY_POINT, named(&[6, 10], "a", &[]));
    let unknown = (4999, [1, 2].into());
    let body = function(10, 30, [unknown.clone()].into());
    let inside = module(&[[entry.clone()].to_vec(), body].concat());
    let outside = module(&[[entry, unknown].to_vec(), function(10, 30, Vec::new())].concat());
    for bytes in [inside, outside] {
        let error = trim(&bytes, &["a"]).unwrap_err().to_string();
        assert!(error.contains("an instruction is unknown"), "{error}");
    }
}

const GENERIC_CAST: u16 = op::PTR_CAST_TO_GENERIC;
const ATOMIC_ADD: u16 = 234;
const CONVERT_PTR_TO_U: u16 = 117;
const COMPOSITE_CONSTRUCT: u16 = 80;
const RETURN_VALUE: u16 = 254;
const PTR_DIFF: u16 = 403;

/// Returns a function with one parameter.
fn function_of(id: u32, parameter: u32, body: &[(u16, &[u32])]) -> Code {
    let mut code: Code = [
        (op::FUNCTION, [1, id, 0, 2].into()),
        (op::FUNCTION_PARAMETER, [3, parameter].into()),
    ]
    .into();
    if !body.is_empty() {
        code.push((op::LABEL, [id + 1].into()));
    }
    code.extend(
        body.iter()
            .map(|(opcode, operands)| (*opcode, operands.to_vec())),
    );
    code.push((op::FUNCTION_END, [].into()));
    code
}

/// Returns whether the function 10 only reads its parameter, the pointer 50.
fn only_reads(body: &[(u16, &[u32])], functions: Code) -> bool {
    let sets = [
        (op::EXT_INST_IMPORT, named(&[4], "OpenCL.std", &[])),
        (
            op::EXT_INST_IMPORT,
            named(&[5], "OpenCL.DebugInfo.100", &[]),
        ),
    ];
    let code = [sets.into(), function_of(10, 50, body), functions].concat();
    read_only_parameters(&words(&module(&code)).unwrap()).contains(&50)
}

#[test]
fn pointers_computed_from_others_are_followed() {
    let load = |pointer| -> (u16, Vec<u32>) { (op::LOAD, [1, 60, pointer, 2, 4].into()) };
    let chains: [&[(u16, &[u32])]; 5] = [
        &[(op::COPY_OBJECT, &[3, 51, 50])],
        &[
            (op::IN_BOUNDS_PTR_ACCESS_CHAIN, &[3, 52, 50, 70]),
            (op::BITCAST, &[3, 51, 52]),
        ],
        &[
            (GENERIC_CAST, &[3, 52, 50]),
            (op::GENERIC_CAST_TO_PTR_EXPLICIT, &[3, 51, 52, 5]),
        ],
        &[(op::SELECT, &[3, 51, 71, 72, 50])],
        // A pointer that a loop advances.
        &[
            (op::PHI, &[3, 51, 50, 11, 52, 11]),
            (op::PTR_ACCESS_CHAIN, &[3, 52, 51, 70]),
        ],
    ];
    for chain in chains {
        let load = load(51);
        let with = |last: (u16, &[u32])| only_reads(&[chain, &[last]].concat(), Code::new());
        assert!(with((load.0, &load.1)), "{chain:?}");
        assert!(!with((op::STORE, &[51, 73])), "{chain:?}");
    }
}

#[test]
fn reading_uses_are_known() {
    let reads: [(u16, &[u32]); 6] = [
        (op::COPY_MEMORY, &[73, 50]),
        (op::COPY_MEMORY_SIZED, &[73, 50, 74]),
        (PTR_DIFF, &[1, 60, 50, 73]),
        (op::EXT_INST, &[1, 60, 4, 171, 70, 50, 4]),
        (op::EXT_INST, &[1, 60, 5, 28, 50]),
        // A pointer loaded from memory is a different pointer.
        (op::LOAD, &[3, 60, 50]),
    ];
    for read in reads {
        assert!(
            only_reads(&[read, (op::STORE, &[60, 73])], Code::new()),
            "{read:?}"
        );
    }
}

#[test]
fn all_other_uses_may_write() {
    let writes: [(u16, &[u32]); 12] = [
        (op::STORE, &[50, 73]),
        (op::STORE, &[73, 50]),
        (op::COPY_MEMORY, &[50, 73]),
        (op::COPY_MEMORY_SIZED, &[50, 73, 74]),
        (ATOMIC_ADD, &[1, 60, 50, 75, 76, 77]),
        (CONVERT_PTR_TO_U, &[1, 60, 50]),
        (COMPOSITE_CONSTRUCT, &[1, 60, 50, 73]),
        (RETURN_VALUE, &[50]),
        // A vector store, and the number of a vector load in an unknown set.
        (op::EXT_INST, &[1, 60, 4, 172, 70, 71, 50, 4]),
        (op::EXT_INST, &[1, 60, 6, 171, 70, 50, 4]),
        (op::FUNCTION_CALL, &[1, 60, 99, 50]),
        // An instruction that the grammar does not cover.
        (4999, &[50]),
    ];
    for write in writes {
        assert!(!only_reads(&[write], Code::new()), "{write:?}");
    }
}

#[test]
fn calls_write_what_the_callee_writes() {
    let call: &[(u16, &[u32])] = &[(op::FUNCTION_CALL, &[1, 60, 20, 50])];
    let reads = function_of(20, 55, &[(op::LOAD, &[1, 61, 55])]);
    let writes = function_of(20, 55, &[(op::STORE, &[55, 73])]);
    let recursive: &[(u16, &[u32])] = &[(op::FUNCTION_CALL, &[1, 61, 20, 55])];
    let imported = function_of(20, 55, &[]);
    assert!(only_reads(call, reads.clone()));
    assert!(only_reads(call, function_of(20, 55, recursive)));
    assert!(!only_reads(call, writes));
    let writes_later = [recursive, &[(op::STORE, &[55, 73])]].concat();
    assert!(!only_reads(call, function_of(20, 55, &writes_later)));
    assert!(!only_reads(call, imported));
    assert!(!only_reads(
        &[(op::FUNCTION_CALL, &[1, 60, 20, 50, 50])],
        reads
    ));
}

#[test]
fn malformed_code_writes_through_everything() {
    let mut bytes = module(&function_of(10, 50, &[(op::RETURN, &[])]));
    bytes.extend(u32::to_le_bytes(9 << 16));
    assert!(read_only_parameters(&words(&bytes).unwrap()).is_empty());
}

#[test]
fn ids_are_told_from_literals() {
    let ids = |opcode: u16, operands: &[u32], is_wide: bool| {
        let instruction = Instruction {
            at: 0,
            opcode,
            operands,
        };
        let Ids { ty, result, uses } = grammar::ids_with_cases(&instruction, |_| is_wide)?;
        Ok((ty, result, uses))
    };
    let known = |uses: &[usize]| Ok((None, None, uses.to_vec()));
    assert_eq!(
        ids(op::SWITCH, &[1, 2, 7, 3, 8, 4, 9, 5], false),
        known(&[0, 1, 3, 5, 7])
    );
    assert_eq!(
        ids(op::SWITCH, &[1, 2, 7, 0, 3, 8, 0, 4], true),
        known(&[0, 1, 4, 7])
    );
    assert_eq!(ids(op::SWITCH, &[1, 2, 7], false), Err(Unknown::Operands));
    // With an alignment and alias scopes.
    let scoped = [1, 2, 3, 0x3_0002, 4, 5, 6];
    let value = |uses: &[usize]| Ok((Some(0), Some(1), uses.to_vec()));
    assert_eq!(ids(op::LOAD, &scoped, false), value(&[2, 5, 6]));
    assert_eq!(ids(op::STORE, &[1, 2, 2], false), Err(Unknown::Operands));
    // `vloadn` ends with the number of elements. `mad` has no literals.
    assert_eq!(
        ids(op::EXT_INST, &[1, 2, 3, 171, 4, 5, 4], false),
        value(&[2, 4, 5])
    );
    assert_eq!(
        ids(op::EXT_INST, &[1, 2, 3, 42, 4, 5, 6], false),
        value(&[2, 4, 5, 6])
    );
    let cast = u32::from(op::BITCAST);
    assert_eq!(
        ids(op::SPEC_CONSTANT_OP, &[1, 2, cast, 4], false),
        value(&[3])
    );
    assert_eq!(
        ids(op::SPEC_CONSTANT_OP, &[1, 2, 81, 4, 0], false),
        value(&[3])
    );
    assert_eq!(
        ids(op::ENTRY_POINT, &[6, 1, 0x6b, 9], false),
        known(&[1, 3])
    );
    // Volatile.
    assert_eq!(ids(op::LOAD, &[1, 2, 3, 1], false), value(&[2]));
    // A level of detail and an offset follow the mask.
    assert_eq!(
        ids(88, &[1, 2, 3, 4, 10, 5, 6], false),
        value(&[2, 3, 5, 6])
    );
    assert_eq!(ids(88, &[1, 2, 3, 4], false), value(&[2, 3]));
    // The halves of a split barrier, and a clock.
    for half in [6142, 6143] {
        assert_eq!(ids(half, &[1, 2, 3], false), known(&[0, 1, 2]));
    }
    assert_eq!(ids(5056, &[1, 2, 3], false), value(&[2]));
    // Trailing operands are optional, but there are no others.
    assert_eq!(ids(op::ENTRY_POINT, &[6, 1], false), known(&[1]));
    assert_eq!(ids(op::SPEC_CONSTANT_OP, &[1, 2, 81], false), value(&[]));
    assert_eq!(ids(op::RETURN, &[1], false), Err(Unknown::Operands));
    assert_eq!(grammar::ids(op::SWITCH, &[1, 2, 7]).unwrap().uses, [0, 1]);
    assert_eq!(ids(60_000, &[], false), Err(Unknown::Opcode));
}

#[test]
fn only_declarations_are_merged() {
    // Types, constants, strings and imports, with types of Intel's extensions.
    for opcode in [
        op::TYPE_INT,
        op::CONSTANT,
        op::STRING,
        op::EXT_INST_IMPORT,
        6086,
        6199,
    ] {
        assert!(grammar::is_merged(opcode), "{opcode}");
    }
    for opcode in [
        op::LOAD,
        op::VARIABLE,
        op::FUNCTION,
        op::LABEL,
        op::SPEC_CONSTANT_TRUE,
        op::SPEC_CONSTANT,
    ] {
        assert!(!grammar::is_merged(opcode), "{opcode}");
    }
}

#[test]
fn added_instructions_go_to_their_sections() {
    // One instruction of each section, in the order of the specification.
    let mut whole: Code = [
        (op::CAPABILITY, [6].into()),
        (op::EXTENSION, literal("e")),
        (op::EXT_INST_IMPORT, named(&[1], "i", &[])),
        (op::MEMORY_MODEL, [2, 2].into()),
        (op::ENTRY_POINT, named(&[6, 9], "k", &[])),
        (op::EXECUTION_MODE, [9, 31].into()),
        (op::STRING, named(&[2], "s", &[])),
        (op::NAME, named(&[9], "n", &[])),
        (op::MODULE_PROCESSED, literal("p")),
        (op::DECORATE, [3, 22].into()),
        (op::TYPE_VOID, [3].into()),
    ]
    .into();
    let sections: Vec<u8> = whole
        .iter()
        .map(|(opcode, _)| edit::section(*opcode))
        .collect();
    assert!(sections.iter().copied().eq(0..11), "{sections:?}");
    whole.extend(function(9, 10, Code::new()));
    let mut edited = edit::Module::read(&module(&whole)).unwrap();
    // Capability 6 already exists.
    for capability in [6, 11, 11] {
        edited.require(capability);
    }
    edited.add(op::MODULE_PROCESSED, &literal("q"));
    whole.insert(9, (op::MODULE_PROCESSED, literal("q")));
    whole.insert(1, (op::CAPABILITY, [11].into()));
    assert_eq!(edited.words(), words(&module(&whole)));
}

#[test]
fn results_and_operands_are_found() {
    let load = edit::Instruction::new(op::LOAD, [7, 8, 9]);
    assert_eq!(load.result(), Some(8));
    assert_eq!([2, 3].map(|at| load.operand(at)), [Some(9), None]);
    let label = edit::Instruction::new(op::LABEL, [7]);
    assert_eq!(label.result(), Some(7));
    let store = edit::Instruction::new(op::STORE, [7, 8]);
    assert_eq!(store.result(), None);
}

#[test]
fn instruction_beyond_16_bits_is_an_error() {
    let of_length = |length: usize| {
        let operands = core::iter::repeat_n(0x0101_0101, length);
        let source = edit::Instruction::new(op::SOURCE_CONTINUED, operands);
        edit::Module::new([0; 5], [source].into()).words()
    };
    // The first word counts, too.
    let longest = of_length(65_534).unwrap();
    assert_eq!(longest[5] >> 16, 65_535);
    let error = of_length(65_535).unwrap_err().to_string();
    assert!(error.contains("an instruction is too long"), "{error}");
}

#[test]
fn truncated_header_is_named() {
    for (bytes, expected) in [
        (&[3, 2, 0x23, 7][..], "the header is truncated"),
        (&[3, 2, 0x23], "the size is not a multiple of 4"),
        (
            &[0; 20],
            "it does not begin with the magic number 0x07230203",
        ),
    ] {
        let error = words(bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// A kernel that loads the work-group id. Its type is a vector of `count` numbers.
fn loads_group(count: u32) -> Vec<u32> {
    let mut code: Code = [
        (op::ENTRY_POINT, named(&[6, 9], "k", &[8])),
        (op::DECORATE, [8, 11, 26].into()),
        (op::TYPE_VOID, [1].into()),
        (op::TYPE_FUNCTION, [2, 1].into()),
        (op::TYPE_INT, [5, 64, 0].into()),
        (op::TYPE_VECTOR, [6, 5, count].into()),
        (op::TYPE_POINTER, [7, 1, 6].into()),
        (op::VARIABLE, [7, 8, 1].into()),
    ]
    .into();
    code.extend(function(9, 10, [(op::LOAD, [6, 11, 8].into())].into()));
    words(&module(&code)).unwrap()
}

#[test]
fn load_of_work_group_is_replaced() {
    let words = reversible(&loads_group(3)).unwrap();
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let code = code(&bytes);
    // The variable is loaded once for the computation. The module declares four more variables.
    let loads = of(&code, op::LOAD);
    assert_eq!(loads.iter().filter(|load| load[2] == 8).count(), 1);
    assert_eq!(of(&code, op::VARIABLE).len(), 5);
    assert_eq!(of(&code, op::ENTRY_POINT)[0].len(), 4 + 4);
    let [&[6, 11, copied]] = of(&code, op::COPY_OBJECT)[..] else {
        panic!("{code:?}");
    };
    // The copy is of the work-group id, plus a number that is zero unless the order is reversed.
    let sums = of(&code, op::I_ADD);
    let sum = sums.iter().find(|sum| sum[1] == copied).unwrap();
    let load = loads.iter().find(|load| load[2] == 8).unwrap();
    assert_eq!(sum[2], load[1]);
    assert_eq!(reversible(&loads_group(2)), None);
    assert_eq!(reversible(&[]), None);
}
