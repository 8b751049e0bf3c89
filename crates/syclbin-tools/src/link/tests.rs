// SPDX-License-Identifier: MIT OR Apache-2.0
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use syclbin::__private::spirv::portable::Version;
use syclbin::__private::spirv::words::{
    DECORATION_CPACKED, DECORATION_LINKAGE_ATTRIBUTES, DECORATION_SPEC_ID, LINKAGE_EXPORT,
    instructions, literal, put,
};

mod malformed;
mod variables;

const STORAGE_OUTPUT: u32 = 3;
const LINK_ONCE: u32 = 2;
const GLOBAL: u32 = 5;

type Code = Vec<(u16, Vec<u32>)>;

fn assemble(version: Version, model: u32, code: &Code) -> Vec<u8> {
    let mut words = vec![0x0723_0203, version.header(), 7, 100_000, 0];
    for capability in [4, 5, 6] {
        put(&mut words, op::CAPABILITY, &[&[capability]]);
    }
    put(&mut words, op::MEMORY_MODEL, &[&[2, model]]);
    for (opcode, operands) in code {
        put(&mut words, *opcode, &[operands]);
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn module(code: &Code) -> Vec<u8> {
    assemble(Version::new(1, 2), 2, code)
}

fn with_text(before: &[u32], text: &str, after: &[u32]) -> Vec<u32> {
    [before, &literal(text), after].concat()
}

fn linkage(id: u32, symbol: &str, kind: u32) -> (u16, Vec<u32>) {
    let before = [id, DECORATION_LINKAGE_ATTRIBUTES];
    (op::DECORATE, with_text(&before, symbol, &[kind]))
}

/// Returns a kernel `k` that calls `f` with its parameter, a pointer to integers.
fn program() -> Code {
    vec![
        (op::ENTRY_POINT, with_text(&[6, 10], "k", &[])),
        linkage(11, "f", LINKAGE_IMPORT),
        (op::TYPE_VOID, vec![1]),
        (op::TYPE_INT, vec![2, 32, 0]),
        (op::TYPE_POINTER, vec![3, GLOBAL, 2]),
        (op::TYPE_FUNCTION, vec![4, 1, 3]),
        (op::FUNCTION, vec![1, 11, 0, 4]),
        (op::FUNCTION_PARAMETER, vec![3, 12]),
        (op::FUNCTION_END, vec![]),
        (op::FUNCTION, vec![1, 10, 0, 4]),
        (op::FUNCTION_PARAMETER, vec![3, 13]),
        (op::LABEL, vec![14]),
        (op::FUNCTION_CALL, vec![1, 15, 11, 13]),
        (op::RETURN, vec![]),
        (op::FUNCTION_END, vec![]),
    ]
}

/// Returns a module that defines `f`, whose parameter has type 5 in `types`, and a function without callers.
fn library(kind: u32, types: Code) -> Code {
    let function = |id: u32| {
        vec![
            (op::FUNCTION, vec![4, id, 0, 6]),
            (op::FUNCTION_PARAMETER, vec![5, id + 1]),
            (op::LABEL, vec![id + 2]),
            (op::RETURN, vec![]),
            (op::FUNCTION_END, vec![]),
        ]
    };
    let first = vec![linkage(7, "f", kind), (op::TYPE_VOID, vec![4])];
    let ty = vec![(op::TYPE_FUNCTION, vec![6, 4, 5])];
    [first, types, ty, function(7), function(20)].concat()
}

fn integers() -> Code {
    vec![
        (op::TYPE_INT, vec![3, 32, 0]),
        (op::TYPE_POINTER, vec![5, GLOBAL, 3]),
    ]
}

fn linked(program: &[u8], libraries: &[&[u8]]) -> Result<Code, LinkError> {
    let names = ["b.cpp", "c.cpp"];
    let libraries = names.iter().zip(libraries);
    let libraries: Vec<_> = libraries
        .map(|(name, spirv)| Object { name, spirv })
        .collect();
    let program = Object {
        name: "a.cpp",
        spirv: program,
    };
    let bytes = link(program, &libraries)?;
    let words = words::words(&bytes).unwrap();
    let all = instructions(&words).map(|found| found.map(|i| (i.opcode, i.operands.to_vec())));
    Ok(all.collect::<Result<_, _>>().unwrap())
}

fn refused(program: &[u8], libraries: &[&[u8]]) -> String {
    linked(program, libraries).unwrap_err().to_string()
}

fn count(code: &Code, opcode: u16) -> usize {
    code.iter().filter(|(found, _)| *found == opcode).count()
}

/// Returns the operands of all instructions with this opcode.
fn all(code: &Code, opcode: u16) -> Vec<Vec<u32>> {
    let found = code.iter().filter(|(found, _)| *found == opcode);
    found.map(|(_, operands)| operands.clone()).collect()
}

/// Inserts instructions behind the first with this opcode.
fn insert_after(code: &mut Code, opcode: u16, new: &[(u16, Vec<u32>)]) {
    let place = code.iter().position(|(found, _)| *found == opcode).unwrap() + 1;
    code.splice(place..place, new.iter().cloned());
}

#[test]
fn call_reaches_the_only_definition() {
    let code = linked(
        &module(&program()),
        &[&module(&library(LINKAGE_EXPORT, integers()))],
    )
    .unwrap();
    assert_eq!(
        count(&code, op::FUNCTION),
        2,
        "the unused function is left out"
    );
    for opcode in [
        op::TYPE_VOID,
        op::TYPE_INT,
        op::TYPE_POINTER,
        op::TYPE_FUNCTION,
    ] {
        assert_eq!(count(&code, opcode), 1, "{opcode}");
    }
    assert_eq!(count(&code, op::BITCAST) + count(&code, op::DECORATE), 0);
    let call = code.iter().find(|(opcode, _)| *opcode == op::FUNCTION_CALL);
    let callee = call.unwrap().1[2];
    let defines =
        |(opcode, operands): &&(u16, Vec<u32>)| *opcode == op::FUNCTION && operands[1] == callee;
    let place = code.iter().position(|i| defines(&i)).unwrap();
    assert_eq!(code[place + 2].0, op::LABEL);
    assert!(!code.contains(&(op::CAPABILITY, vec![CAPABILITY_LINKAGE])));
    assert_eq!(count(&code, op::CAPABILITY), 2, "each is declared once");
}

#[test]
fn replaced_intrinsics_are_merged_and_stay_exported() {
    const INTRINSIC: &str = "spirv.llvm_fshl_i64";
    let of = |symbol: &str, call: u32| {
        let mut code = library(LINKAGE_EXPORT, integers());
        code[0] = linkage(7, symbol, LINKAGE_EXPORT);
        code.insert(0, linkage(20, INTRINSIC, LINKAGE_EXPORT));
        insert_after(
            &mut code,
            op::LABEL,
            &[(op::FUNCTION_CALL, vec![4, 40, call, 8])],
        );
        module(&code)
    };
    let callee = |code: &Code| all(code, op::FUNCTION_CALL)[0][2];
    let exports = |code: &Code| -> Vec<String> {
        let links = all(code, op::DECORATE).into_iter();
        links.map(|link| words::string(&link[2..]).0).collect()
    };
    // Two modules have it.
    let code = linked(&of("f", 20), &[&of("g", 20)]).unwrap();
    assert_eq!(exports(&code), [INTRINSIC, "f"]);
    assert_eq!(count(&code, op::FUNCTION), 2);
    assert_eq!(all(&code, op::DECORATE)[0][0], callee(&code));
    // Only the library has it.
    let code = linked(&module(&program()), &[&of("f", 20)]).unwrap();
    assert_eq!(exports(&code), [INTRINSIC]);
    let code = of("f", 20);
    let code = syclbin::__private::spirv::Module::parse(&code).unwrap();
    assert_eq!(code.exports().collect::<Vec<_>>(), ["f"]);
}

#[test]
fn inline_functions_are_merged() {
    let inline = module(&library(LINK_ONCE, integers()));
    let strong = module(&library(LINKAGE_EXPORT, integers()));
    for libraries in [[&inline[..], &inline], [&inline, &strong]] {
        let code = linked(&module(&program()), &libraries).unwrap();
        assert_eq!(count(&code, op::FUNCTION), 2);
        assert_eq!(count(&code, op::LABEL), 2, "a definition is chosen");
    }
    let text = refused(&module(&program()), &[&strong, &strong]);
    assert_eq!(
        text,
        "f is defined by both b.cpp and c.cpp; remove one of the definitions"
    );
}

#[test]
fn pointers_are_cast_where_their_types_differ() {
    let floats = vec![
        (op::TYPE_FLOAT, vec![3, 32]),
        (op::TYPE_POINTER, vec![5, GLOBAL, 3]),
    ];
    let code = linked(
        &module(&program()),
        &[&module(&library(LINKAGE_EXPORT, floats))],
    )
    .unwrap();
    let cast = code
        .iter()
        .find(|(opcode, _)| *opcode == op::BITCAST)
        .unwrap();
    let call = code
        .iter()
        .find(|(opcode, _)| *opcode == op::FUNCTION_CALL)
        .unwrap();
    assert_eq!(cast.1[1], call.1[3]);
    let local = vec![
        (op::TYPE_INT, vec![3, 32, 0]),
        (op::TYPE_POINTER, vec![5, 4, 3]),
    ];
    let text = refused(
        &module(&program()),
        &[&module(&library(LINKAGE_EXPORT, local))],
    );
    assert_eq!(
        text,
        "f has different types in a.cpp, which uses it, and in b.cpp, which defines it; declare it identically in both"
    );
}

#[test]
fn structs_of_one_shape_are_merged() {
    let structs = |name: &str, member: u32| {
        let mut code = program();
        code.insert(1, (op::NAME, with_text(&[5], name, &[])));
        code.splice(
            5..6,
            [
                (op::TYPE_STRUCT, vec![5, member]),
                (op::TYPE_POINTER, vec![3, GLOBAL, 5]),
            ],
        );
        code
    };
    let of_library = |name: &str| {
        let types = vec![
            (op::TYPE_INT, vec![3, 32, 0]),
            (op::TYPE_STRUCT, vec![40, 3]),
            (op::TYPE_POINTER, vec![5, GLOBAL, 40]),
        ];
        let mut code = library(LINKAGE_EXPORT, types);
        code.insert(0, (op::NAME, with_text(&[40], name, &[])));
        module(&code)
    };
    let program = module(&structs("struct.S", 2));
    for (name, types) in [("struct.S", 1), ("struct.S.17", 1), ("struct.T", 2)] {
        let code = linked(&program, &[&of_library(name)]).unwrap();
        assert_eq!(count(&code, op::TYPE_STRUCT), types, "{name}");
        assert_eq!(count(&code, op::BITCAST), types - 1, "{name}");
    }
}

#[test]
fn memory_models_must_agree() {
    let library = assemble(Version::new(1, 2), 1, &library(LINKAGE_EXPORT, integers()));
    let text = refused(&module(&program()), &[&library]);
    assert!(
        text.starts_with("a.cpp and b.cpp have different memory models"),
        "{text}"
    );
}

#[test]
fn result_has_the_highest_version() {
    let mut library = assemble(Version::new(1, 4), 2, &library(LINKAGE_EXPORT, integers()));
    library[8] = 9;
    let [program, library] = [
        Object {
            name: "a",
            spirv: &module(&program()),
        },
        Object {
            name: "b",
            spirv: &library,
        },
    ];
    let linked = link(program, &[library]).unwrap();
    let header = words::words(&linked).unwrap();
    assert_eq!(Version::of_header(&header), Version::new(1, 4));
    assert_eq!(header[2], 7, "the program's generator");
}

#[test]
fn only_a_program_has_specialization_constants() {
    let constant = |id: u32| {
        vec![
            (op::DECORATE, vec![id, DECORATION_SPEC_ID, 0]),
            (op::TYPE_INT, vec![3, 32, 0]),
            (op::SPEC_CONSTANT, vec![3, id, 1]),
            (op::TYPE_ARRAY, vec![40, 3, id]),
            (op::TYPE_POINTER, vec![5, GLOBAL, 40]),
        ]
    };
    let library = module(&library(LINKAGE_EXPORT, constant(41)));
    let text = refused(&module(&program()), &[&library]);
    assert!(
        text.starts_with("b.cpp has specialization constants"),
        "{text}"
    );
    // An equal constant of the program may be another one.
    let mut equal = program();
    insert_after(
        &mut equal,
        op::TYPE_INT,
        &[(op::SPEC_CONSTANT, vec![2, 30, 1])],
    );
    let id = (op::DECORATE, vec![30, DECORATION_SPEC_ID, 0]);
    insert_after(&mut equal, op::ENTRY_POINT, &[id]);
    assert_eq!(refused(&module(&equal), &[&library]), text);
    let code = linked(&library, &[]).unwrap();
    assert_eq!(count(&code, op::SPEC_CONSTANT), 1);
    assert_eq!(count(&code, op::DECORATE), 2);
}

#[test]
fn type_that_contains_itself_stays_in_order() {
    let types = vec![
        (op::TYPE_FORWARD_POINTER, vec![5, GLOBAL]),
        (op::TYPE_STRUCT, vec![3, 5]),
        (op::TYPE_POINTER, vec![5, GLOBAL, 3]),
    ];
    let code = linked(
        &module(&program()),
        &[&module(&library(LINKAGE_EXPORT, types))],
    )
    .unwrap();
    let [forward, structure] = [op::TYPE_FORWARD_POINTER, op::TYPE_STRUCT].map(|wanted| {
        code.iter()
            .position(|(opcode, _)| *opcode == wanted)
            .unwrap()
    });
    let pointer = code[forward].1[0];
    assert_eq!(code[structure].1[1], pointer);
    assert!(forward < structure);
    let definition = (
        op::TYPE_POINTER,
        vec![pointer, GLOBAL, code[structure].1[0]],
    );
    assert!(code[structure..].contains(&definition));
}

#[test]
fn variables_that_contain_each_other_are_refused() {
    let variable = |own: &str, kind: u32, other: &str| {
        let mut code = program();
        code.splice(
            1..1,
            [linkage(40, own, kind), linkage(41, other, LINKAGE_IMPORT)],
        );
        let function = code
            .iter()
            .position(|(found, _)| *found == op::FUNCTION)
            .unwrap();
        let variables = [
            (op::VARIABLE, vec![3, 41, GLOBAL]),
            (op::VARIABLE, vec![3, 40, GLOBAL, 41]),
        ];
        code.splice(function..function, variables);
        module(&code)
    };
    let text = refused(
        &variable("a", LINKAGE_EXPORT, "b"),
        &[&variable("b", LINKAGE_EXPORT, "a")],
    );
    assert_eq!(text, "a.cpp contains a declaration that depends on itself");
}

#[test]
fn types_that_refer_to_symbols_need_no_recursion() {
    const CONSTANT_FUNCTION_POINTER: u16 = 5600;
    // Each imported function has an array type whose length is a pointer to the next function.
    let mut code = program();
    let functions = code.split_off(6);
    let calls: Code = (0..20_000)
        .flat_map(|number| {
            let [id, next] = [number, (number + 1) % 20_000].map(|number| 100 + number * 4);
            [
                linkage(id, &number.to_string(), LINKAGE_IMPORT),
                (CONSTANT_FUNCTION_POINTER, vec![3, id + 1, next]),
                (op::TYPE_ARRAY, vec![id + 2, 2, id + 1]),
                (op::FUNCTION, vec![1, id, 0, id + 2]),
                (op::FUNCTION_END, vec![]),
            ]
        })
        .collect();
    let in_functions = |i: &(u16, Vec<u32>)| matches!(i.0, op::FUNCTION | op::FUNCTION_END);
    let declared = |wanted: bool| {
        let all = calls.iter().cloned();
        all.filter(move |i| in_functions(i) == wanted)
    };
    code.extend(declared(false));
    code.extend(functions);
    code.extend(declared(true));
    let place = code
        .iter()
        .position(|(opcode, _)| *opcode == op::FUNCTION_CALL)
        .unwrap();
    code[place].1[2] = 100;
    let mut library = code.clone();
    for (_, operands) in library
        .iter_mut()
        .filter(|(opcode, _)| *opcode == op::DECORATE)
    {
        *operands.last_mut().unwrap() = LINKAGE_EXPORT;
    }
    linked(&module(&code), &[&module(&library)]).unwrap();
}

#[test]
fn unknown_instructions_are_named() {
    let mut code = program();
    code.insert(13, (60_000, vec![1]));
    let text = refused(&module(&code), &[]);
    assert!(
        text.starts_with("a.cpp contains instruction 60000,"),
        "{text}"
    );
}

#[test]
fn groups_of_decorations_stay() {
    let mut code = library(LINKAGE_EXPORT, integers());
    let group = [
        (op::DECORATE, vec![30, 44, 4]),
        (73, vec![30]),
        (op::GROUP_DECORATE, vec![30, 8, 21]),
    ];
    code.splice(0..0, group);
    let code = linked(&module(&program()), &[&module(&code)]).unwrap();
    let find = |wanted: u16| {
        let mut all = code.iter().filter(|(opcode, _)| *opcode == wanted);
        all.next().unwrap().1.clone()
    };
    let decorated = find(op::GROUP_DECORATE);
    assert_eq!(find(op::DECORATE), [decorated[0], 44, 4]);
    let parameters = code
        .iter()
        .filter(|(opcode, _)| *opcode == op::FUNCTION_PARAMETER);
    let parameters: Vec<u32> = parameters.map(|(_, operands)| operands[1]).collect();
    assert_eq!(decorated.len(), 2, "the unused function is left out");
    assert!(parameters.contains(&decorated[1]));
    assert!(!code.contains(&(op::CAPABILITY, vec![CAPABILITY_LINKAGE])));
}

/// The group 30 decorates targets in both modules. The library's structs 40 and 42 have the shapes of the program's 5
/// and 43.
#[test]
fn groups_keep_targets_that_were_not_merged() {
    let with_group = |mut code: Code, opcode: u16, targets: &[u32]| {
        let group = [
            (op::DECORATE, vec![30, DECORATION_CPACKED]),
            (73, vec![30]),
            (opcode, [&[30], targets].concat()),
        ];
        insert_after(&mut code, op::DECORATE, &group);
        code
    };
    let mut of_program = program();
    let pointer = of_program.iter().position(|i| i.0 == op::TYPE_POINTER);
    let structs = [
        (op::TYPE_STRUCT, vec![5, 2]),
        (op::TYPE_STRUCT, vec![43, 5]),
        (op::TYPE_POINTER, vec![3, GLOBAL, 43]),
    ];
    of_program.splice(pointer.unwrap()..=pointer.unwrap(), structs);
    let types = vec![
        (op::TYPE_INT, vec![3, 32, 0]),
        (op::TYPE_STRUCT, vec![40, 3]),
        (op::TYPE_STRUCT, vec![42, 40]),
        (op::TYPE_POINTER, vec![5, GLOBAL, 42]),
    ];
    let of_library = library(LINKAGE_EXPORT, types);
    for (opcode, program, library, kept, structs) in [
        (
            op::GROUP_DECORATE,
            &[5][..],
            &[40, 8][..],
            &[100_008][..],
            2,
        ),
        (op::GROUP_DECORATE, &[], &[40], &[100_040], 4),
        (
            op::GROUP_MEMBER_DECORATE,
            &[5, 0],
            &[40, 0, 42, 0],
            &[100_042, 0],
            3,
        ),
    ] {
        let program = module(&with_group(of_program.clone(), opcode, program));
        let library = module(&with_group(of_library.clone(), opcode, library));
        let code = linked(&program, &[&library]).unwrap();
        let mut groups = all(&code, opcode).into_iter();
        let group = groups.find(|group| group[0] == 100_030);
        assert_eq!(group.unwrap()[1..], *kept, "{opcode}");
        assert_eq!(count(&code, op::TYPE_STRUCT), structs, "{opcode}");
    }
}

#[test]
fn arguments_and_result_are_cast() {
    let program = vec![
        (op::ENTRY_POINT, with_text(&[6, 10], "k", &[])),
        linkage(11, "f", LINKAGE_IMPORT),
        linkage(40, "v", LINKAGE_IMPORT),
        (op::TYPE_VOID, vec![1]),
        (op::TYPE_INT, vec![2, 32, 0]),
        (op::TYPE_POINTER, vec![3, GLOBAL, 2]),
        (op::TYPE_FUNCTION, vec![4, 1, 3]),
        (op::TYPE_FUNCTION, vec![41, 3, 3, 3]),
        (op::VARIABLE, vec![3, 40, GLOBAL]),
        (op::FUNCTION, vec![3, 11, 0, 41]),
        (op::FUNCTION_PARAMETER, vec![3, 12]),
        (op::FUNCTION_PARAMETER, vec![3, 16]),
        (op::FUNCTION_END, vec![]),
        (op::FUNCTION, vec![1, 10, 0, 4]),
        (op::FUNCTION_PARAMETER, vec![3, 13]),
        (op::LABEL, vec![14]),
        (op::FUNCTION_CALL, vec![3, 15, 11, 13, 40]),
        (op::RETURN, vec![]),
        (op::FUNCTION_END, vec![]),
    ];
    let library = vec![
        linkage(7, "f", LINKAGE_EXPORT),
        linkage(52, "v", LINKAGE_EXPORT),
        (op::TYPE_FLOAT, vec![3, 32]),
        (op::TYPE_POINTER, vec![5, GLOBAL, 3]),
        (op::TYPE_INT, vec![50, 32, 0]),
        (op::TYPE_POINTER, vec![51, GLOBAL, 50]),
        (op::TYPE_FUNCTION, vec![6, 5, 5, 5]),
        (op::VARIABLE, vec![51, 52, GLOBAL]),
        (op::FUNCTION, vec![5, 7, 0, 6]),
        (op::FUNCTION_PARAMETER, vec![5, 8]),
        (op::FUNCTION_PARAMETER, vec![5, 9]),
        (op::LABEL, vec![10]),
        (254, vec![8]), // OpReturnValue
        (op::FUNCTION_END, vec![]),
    ];
    let code = linked(&module(&program), &[&module(&library)]).unwrap();
    let place = code.iter().position(|i| i.0 == op::BITCAST).unwrap();
    let expected = [
        (op::BITCAST, vec![100_005, 200_000, 13]),
        (op::BITCAST, vec![100_005, 200_001, 100_052]),
        (
            op::FUNCTION_CALL,
            vec![100_005, 200_002, 100_007, 200_000, 200_001],
        ),
        (op::BITCAST, vec![3, 15, 200_002]),
    ];
    assert_eq!(code[place..place + 4], expected);
}

#[test]
fn library_kernels_and_sources_are_dropped() {
    let source = |language: u32| {
        [
            (op::STRING, with_text(&[50], "a.cl", &[])),
            (op::SOURCE, vec![language, 100, 50]),
            (op::SOURCE_EXTENSION, literal("extension")),
        ]
    };
    let mut of_program = program();
    insert_after(&mut of_program, op::ENTRY_POINT, &source(4));
    let mut of_library = library(LINKAGE_EXPORT, integers());
    of_library.splice(0..0, source(3));
    let entry = (op::ENTRY_POINT, with_text(&[6, 20], "other", &[]));
    of_library.insert(0, entry);
    let code = linked(&module(&of_program), &[&module(&of_library)]).unwrap();
    let entry = with_text(&[6, 10], "k", &[]);
    assert_eq!(all(&code, op::ENTRY_POINT), [entry]);
    assert_eq!(all(&code, op::SOURCE), [[4, 100]]);
    assert_eq!(count(&code, op::SOURCE_EXTENSION), 0);
}

#[test]
fn cases_of_64_bit_switches_are_numbers() {
    let mut code = library(LINKAGE_EXPORT, integers());
    let constants = [
        (op::TYPE_INT, vec![60, 64, 0]),
        (op::CONSTANT, vec![60, 61, 5, 0]),
        (op::CONSTANT, vec![3, 63, 5]),
    ];
    insert_after(&mut code, op::TYPE_POINTER, &constants);
    let switches = [
        (op::SWITCH, vec![61, 62, 7, 0, 62]),
        (op::LABEL, vec![62]),
        (op::SWITCH, vec![63, 64, 7, 64]),
        (op::LABEL, vec![64]),
    ];
    insert_after(&mut code, op::LABEL, &switches);
    let code = linked(&module(&program()), &[&module(&code)]).unwrap();
    let expected = [
        vec![100_061, 100_062, 7, 0, 100_062],
        vec![100_063, 100_064, 7, 100_064],
    ];
    assert_eq!(all(&code, op::SWITCH), expected);
}

#[test]
fn interface_gets_variables_of_libraries() {
    for (minor, storage, is_listed) in [
        (2, STORAGE_INPUT, true),
        (2, STORAGE_OUTPUT, true),
        (2, GLOBAL, false),
        (3, GLOBAL, false),
        (4, GLOBAL, true),
    ] {
        let mut of_library = library(LINKAGE_EXPORT, integers());
        let variable = [
            (op::TYPE_POINTER, vec![50, storage, 3]),
            (op::VARIABLE, vec![50, 51, storage]),
        ];
        insert_after(&mut of_library, op::TYPE_POINTER, &variable);
        let load = (op::LOAD, vec![3, 52, 51]);
        insert_after(&mut of_library, op::LABEL, &[load]);
        let of_library = assemble(Version::new(1, minor), 2, &of_library);
        let code = linked(&module(&program()), &[&of_library]).unwrap();
        let listed: &[u32] = if is_listed { &[100_051] } else { &[] };
        let entry = with_text(&[6, 10], "k", listed);
        assert_eq!(all(&code, op::ENTRY_POINT), [entry], "{minor} {storage}");
    }
}
