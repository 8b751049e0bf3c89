// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lifts handwritten modules, and compares the result word by word.

use super::*;
use crate::portable::lift::{Global, Layout, Slot, lift};
use crate::spirv::words::{LINKAGE_EXPORT, LINKAGE_IMPORT};

type Code = Vec<(u16, Vec<u32>)>;

const VERSION: Version = Version::new(1, 4);
/// The host can access `p`, a pointer to a buffer, and `v`, a number.
const GLOBALS: [Global<'_>; 2] = [
    Global {
        id: "p",
        holds_value: false,
    },
    Global {
        id: "v",
        holds_value: true,
    },
];
const CHAIN: u16 = op::IN_BOUNDS_PTR_ACCESS_CHAIN;
const HOST_ACCESS: u32 = 6188;
const LINKAGE: u32 = 41;

fn named(before: &[u32], name: &str, after: &[u32]) -> Vec<u32> {
    [before, &literal(name), after].concat()
}

fn code(instructions: &[(u16, &[u32])]) -> Code {
    let owned = instructions.iter();
    owned
        .map(|(opcode, operands)| (*opcode, operands.to_vec()))
        .collect()
}

fn built(code: &Code) -> Vec<u8> {
    let borrowed = code
        .iter()
        .map(|(opcode, operands)| (*opcode, &operands[..]));
    module(VERSION, &borrowed.collect::<Vec<_>>())
}

fn function(id: u32, body: &[(u16, &[u32])]) -> Code {
    let start: [(u16, &[u32]); 2] = [(op::FUNCTION, &[1, id, 0, 2]), (op::LABEL, &[id + 10])];
    let end: [(u16, &[u32]); 2] = [(op::RETURN, &[]), (op::FUNCTION_END, &[])];
    code(&[&start, body, &end].concat())
}

/// Types that modules here have: nothing, a function, a byte, a number, and pointers to the last two.
const TYPES: [(u16, &[u32]); 6] = [
    (op::TYPE_VOID, &[1]),
    (op::TYPE_FUNCTION, &[2, 1]),
    (op::TYPE_INT, &[3, 8, 0]),
    (op::TYPE_INT, &[4, 32, 0]),
    (op::TYPE_POINTER, &[6, 5, 3]),
    (op::TYPE_POINTER, &[8, 5, 4]),
];

/// The declarations of a module with the kernel 30, the function 31, and the function 32 of another program.
fn declarations() -> Code {
    let mut all = code(&[
        (op::CAPABILITY, &[6]),
        (op::CAPABILITY, &[39]),
        (op::CAPABILITY, &[6187]),
    ]);
    all.push((
        op::EXTENSION,
        literal("SPV_INTEL_global_variable_host_access"),
    ));
    all.extend(code(&[(op::MEMORY_MODEL, &[2, 2])]));
    all.push((op::ENTRY_POINT, named(&[6, 30], "k", &[20, 21])));
    all.push((op::NAME, named(&[20], "variable", &[])));
    all.push((op::DECORATE, named(&[20, HOST_ACCESS, 3], "p", &[])));
    all.push((op::DECORATE, named(&[21, HOST_ACCESS, 3], "v", &[])));
    all.push((
        op::DECORATE,
        named(&[32, LINKAGE], "other", &[LINKAGE_IMPORT]),
    ));
    all.extend(code(&TYPES));
    all.extend(code(&[
        // Pointers to the pointers.
        (op::TYPE_POINTER, &[7, 5, 6]),
        (op::TYPE_POINTER, &[9, 5, 8]),
        (op::TYPE_STRUCT, &[12, 9, 9]),
        (op::CONSTANT, &[4, 10, 7]),
        (op::CONSTANT_NULL, &[6, 11]),
        (op::VARIABLE, &[7, 20, 5, 11]),
        (op::VARIABLE, &[8, 21, 5, 10]),
        (op::SPEC_CONSTANT_OP, &[9, 22, 124, 20]),
        (op::CONSTANT_COMPOSITE, &[12, 23, 22, 22]),
    ]));
    all
}

/// Lifts the module with these declarations, and these instructions in its kernel. Returns the layout and the new code.
fn lifted(
    declarations: Code,
    kernel: &[(u16, &[u32])],
) -> Result<(Layout, Code), UnsupportedModule> {
    let last = code(&[(op::FUNCTION, &[1, 32, 0, 2]), (op::FUNCTION_END, &[])]);
    let helper = function(31, &[(op::STORE, &[20, 60])]);
    let whole = [declarations, function(30, kernel), helper, last].concat();
    let lifted = lift(&[&built(&whole)], &GLOBALS)?.unwrap();
    let (version, code) = contents(&lifted.modules[0]);
    assert_eq!(version, VERSION);
    Ok((lifted.layout, code))
}

/// Returns the first function without its label and the instructions around it.
fn first_body(code: &Code) -> Vec<(u16, &[u32])> {
    let all = code
        .iter()
        .map(|(opcode, operands)| (*opcode, &operands[..]));
    let body = all.skip_while(|(opcode, _)| *opcode != op::LABEL).skip(1);
    body.take_while(|(opcode, _)| *opcode != op::RETURN)
        .collect()
}

#[test]
fn lifted_module_has_slots_and_setup_kernel() {
    let kernel: [(u16, &[u32]); 2] = [(op::LOAD, &[6, 50, 20]), (op::LOAD, &[4, 51, 21])];
    let (layout, found) = lifted(declarations(), &kernel).unwrap();
    let slot = |offset, bytes| Slot { offset, bytes };
    let slots = [
        ("p".to_string(), slot(0, 8)),
        ("v".to_string(), slot(128, 4)),
    ];
    let expected = Layout {
        size: 256,
        modules: 1,
        slots: slots.into(),
        buffers: vec!["p".to_string()],
    };
    assert_eq!(layout, expected);
    // The kernel's hidden arguments are 100 and 101, those of the function 110 and 111, and those of the setup kernel
    // 114 and 115. The first one is the arena, and the other one is the buffer of `p`.
    let mut expected = code(&[
        (op::CAPABILITY, &[6]),
        (op::CAPABILITY, &[39]),
        (op::CAPABILITY, &[11]),
        (op::MEMORY_MODEL, &[2, 2]),
    ]);
    expected.push((op::ENTRY_POINT, named(&[6, 30], "k", &[])));
    let setup = named(&[6, 116], &layout.setup_kernel(0), &[119]);
    expected.push((op::ENTRY_POINT, setup));
    expected.push((
        op::DECORATE,
        named(&[32, LINKAGE], "other", &[LINKAGE_IMPORT]),
    ));
    let types = declarations();
    let first = types
        .iter()
        .position(|(opcode, _)| *opcode == op::TYPE_VOID)
        .unwrap();
    let last = types
        .iter()
        .position(|(opcode, _)| *opcode == op::VARIABLE)
        .unwrap();
    expected.extend_from_slice(&types[first..last]);
    expected.extend(code(&[
        (op::TYPE_FUNCTION, &[102, 1, 6, 6]),
        (op::TYPE_INT, &[103, 64, 0]),
        (op::CONSTANT, &[103, 104, 0, 0]),
        (op::CONSTANT, &[103, 107, 128, 0]),
        // The initial value of `v`.
        (op::TYPE_POINTER, &[118, 0, 4]),
        (op::VARIABLE, &[118, 119, 0, 10]),
        (op::CONSTANT, &[103, 122, 4, 0]),
        (op::FUNCTION, &[1, 30, 0, 102]),
        (op::FUNCTION_PARAMETER, &[6, 100]),
        (op::FUNCTION_PARAMETER, &[6, 101]),
        (op::LABEL, &[40]),
        (CHAIN, &[6, 105, 100, 104]),
        (op::BITCAST, &[7, 106, 105]),
        (CHAIN, &[6, 108, 100, 107]),
        (op::BITCAST, &[8, 109, 108]),
        (op::COPY_OBJECT, &[6, 50, 101]),
        (op::LOAD, &[4, 51, 109]),
        (op::RETURN, &[]),
        (op::FUNCTION_END, &[]),
        // Only kernels store pointers in slots.
        (op::FUNCTION, &[1, 31, 0, 102]),
        (op::FUNCTION_PARAMETER, &[6, 110]),
        (op::FUNCTION_PARAMETER, &[6, 111]),
        (op::LABEL, &[41]),
        (CHAIN, &[6, 112, 110, 104]),
        (op::BITCAST, &[7, 113, 112]),
        (op::STORE, &[113, 60]),
        (op::RETURN, &[]),
        (op::FUNCTION_END, &[]),
        // The program does not define this function.
        (op::FUNCTION, &[1, 32, 0, 2]),
        (op::FUNCTION_END, &[]),
        (op::FUNCTION, &[1, 116, 0, 102]),
        (op::FUNCTION_PARAMETER, &[6, 114]),
        (op::FUNCTION_PARAMETER, &[6, 115]),
        (op::LABEL, &[117]),
        (CHAIN, &[6, 120, 114, 107]),
        (op::BITCAST, &[8, 121, 120]),
        (op::COPY_MEMORY_SIZED, &[121, 119, 122]),
        (op::RETURN, &[]),
        (op::FUNCTION_END, &[]),
    ]));
    assert_eq!(found, expected);
}

#[test]
fn kernels_store_pointers_that_others_may_read() {
    // The first instructions compute the slot of `p`.
    let slot: &[(u16, &[u32])] = &[(CHAIN, &[6, 105, 100, 104]), (op::BITCAST, &[7, 106, 105])];
    let stored: &[(u16, &[u32])] = &[slot, &[(op::STORE, &[106, 101, 2, 8])]].concat();
    let again: &[(u16, &[u32])] = &[(CHAIN, &[6, 107, 100, 104]), (op::BITCAST, &[7, 108, 107])];
    let and_view: &[(u16, &[u32])] = &[stored, again, &[(op::BITCAST, &[9, 109, 108])]].concat();
    type Body<'b> = &'b [(u16, &'b [u32])];
    let cases: &[(Body<'_>, Body<'_>, Body<'_>)] = &[
        // Loads of the pointer are the hidden argument.
        (
            &[(op::BITCAST, &[9, 50, 20]), (op::LOAD, &[8, 51, 50, 2, 8])],
            slot,
            &[(op::BITCAST, &[9, 50, 106]), (op::BITCAST, &[8, 51, 101])],
        ),
        // Everything else needs the slot.
        (
            &[(op::COPY_OBJECT, &[7, 50, 20])],
            &[stored, again].concat(),
            &[(op::COPY_OBJECT, &[7, 50, 108])],
        ),
        (
            &[(op::LOAD, &[8, 50, 22])],
            and_view,
            &[(op::LOAD, &[8, 50, 109])],
        ),
        (
            &[(op::BITCAST, &[7, 50, 22])],
            and_view,
            &[(op::BITCAST, &[7, 50, 109])],
        ),
        (
            &[(op::COPY_OBJECT, &[12, 50, 23])],
            and_view,
            &[
                (op::COMPOSITE_CONSTRUCT, &[12, 110, 109, 109]),
                (op::COPY_OBJECT, &[12, 50, 110]),
            ],
        ),
        // Functions of the program may need it. They take the hidden arguments.
        (
            &[(op::FUNCTION_CALL, &[1, 50, 31])],
            stored,
            &[(op::FUNCTION_CALL, &[1, 50, 31, 100, 101])],
        ),
        (
            &[(op::FUNCTION_CALL, &[1, 50, 32])],
            stored,
            &[(op::FUNCTION_CALL, &[1, 50, 32])],
        ),
        // An unknown instruction without variables.
        (&[(4999, &[50, 7])], &[], &[(4999, &[50, 7])]),
    ];
    for (body, start, end) in cases {
        let (_, found) = lifted(declarations(), body).unwrap();
        assert_eq!(first_body(&found), [*start, *end].concat(), "{body:?}");
    }
}

#[test]
fn initial_values_of_zero_are_not_copied() {
    const NOT: u32 = 200;
    let cast = u32::from(op::BITCAST);
    for (constant, is_copied) in [
        ((op::CONSTANT, &[4, 24, 0][..]), false),
        ((op::CONSTANT, &[4, 24, 1]), true),
        ((op::CONSTANT_NULL, &[4, 24]), false),
        ((op::SPEC_CONSTANT_OP, &[4, 24, cast, 25]), false),
        ((op::SPEC_CONSTANT_OP, &[4, 24, cast, 10]), true),
        // All bits of the inverted zero are set.
        ((op::SPEC_CONSTANT_OP, &[4, 24, NOT, 25]), true),
    ] {
        let zero: (u16, &[u32]) = (op::CONSTANT, &[4, 25, 0]);
        let added = code(&[zero, constant, (op::VARIABLE, &[8, 26, 5, 24])]);
        let (_, found) = lifted([declarations(), added].concat(), &[]).unwrap();
        let copies = found
            .iter()
            .filter(|(opcode, _)| *opcode == op::COPY_MEMORY_SIZED);
        // One copy is for `v`.
        assert_eq!(copies.count() == 2, is_copied, "{constant:?}");
    }
}

#[test]
fn offsets_beyond_32_bits_have_two_words() {
    let added = code(&[
        (op::TYPE_INT, &[13, 64, 0]),
        // An array of 8 GiB.
        (op::CONSTANT, &[13, 14, 0, 2]),
        (op::TYPE_ARRAY, &[15, 3, 14]),
        (op::TYPE_POINTER, &[16, 5, 15]),
        (op::VARIABLE, &[16, 24, 5]),
        (op::VARIABLE, &[8, 25, 5]),
    ]);
    let load: [(u16, &[u32]); 1] = [(op::LOAD, &[4, 50, 25])];
    let (layout, found) = lifted([declarations(), added].concat(), &load).unwrap();
    assert_eq!(layout.size, 256 + (8 << 30) + 128);
    let [(CHAIN, [6, _, 100, offset]), ..] = first_body(&found)[..] else {
        panic!("{found:?}");
    };
    let expected = (op::CONSTANT, vec![13, *offset, 256, 2]);
    assert!(found.contains(&expected), "{found:?}");
}

#[test]
fn what_cannot_be_lifted_is_an_error() {
    let indirect = "it contains indirect calls, such as calls through function pointers";
    let address = "an initial value is the address of a variable";
    let unknown = "an unknown instruction may use a variable";
    let expression =
        "a constant expression applies an unsupported operation to a variable's address";
    let damaged = "its variables or their names are damaged";
    let link = named(&[24, LINKAGE], "gone", &[LINKAGE_IMPORT]);
    let lines = named(&[24, HOST_ACCESS, 3], "two\nlines", &[]);
    let variable: (u16, &[u32]) = (op::VARIABLE, &[8, 24, 5]);
    type Added<'c> = &'c [(u16, &'c [u32])];
    let cases: [(Added<'_>, Added<'_>, &str); 7] = [
        (&[(op::CAPABILITY, &[19])], &[], indirect),
        (&[(op::CAPABILITY, &[5603])], &[], indirect),
        (&[(op::VARIABLE, &[9, 24, 5, 22])], &[], address),
        (&[], &[(4999, &[50, 20])], unknown),
        // The last operand is not an id.
        (
            &[(op::SPEC_CONSTANT_OP, &[9, 24, 81, 23, 0])],
            &[(op::LOAD, &[8, 50, 24])],
            expression,
        ),
        (&[(op::DECORATE, &lines), variable], &[], damaged),
        (
            &[(op::DECORATE, &link), variable],
            &[],
            "it imports a variable that no module defines",
        ),
    ];
    for (added, kernel, expected) in cases {
        let found = lifted([declarations(), code(added)].concat(), kernel);
        assert_eq!(found, Err(UnsupportedModule::Variable(expected)));
    }
}

#[test]
fn copies_of_a_device_global_share_a_slot() {
    let copy = |variable: (u16, &[u32])| {
        let mut all = code(&[(op::MEMORY_MODEL, &[2, 2])]);
        all.push((op::DECORATE, named(&[21, HOST_ACCESS, 3], "v", &[])));
        all.extend(code(&[(op::GROUP_DECORATE, &[40, 20, 21])]));
        all.extend(code(&TYPES));
        all.extend(code(&[variable, (op::VARIABLE, &[8, 20, 5])]));
        built(&[all, function(31, &[(op::LOAD, &[4, 50, 21])])].concat())
    };
    let number = copy((op::VARIABLE, &[8, 21, 5]));
    let lifted = lift(&[&number, &number], &GLOBALS).unwrap().unwrap();
    // Two variables without a name, and one that both modules have.
    assert_eq!(lifted.layout.size, 3 * 128);
    let (_, found) = contents(&lifted.modules[0]);
    assert!(found.contains(&(op::GROUP_DECORATE, vec![40])), "{found:?}");
    let byte = copy((op::VARIABLE, &[6, 21, 5]));
    let lifted = lift(&[&number, &byte], &GLOBALS).unwrap().unwrap();
    assert_eq!(lifted.layout.size, 4 * 128);
}

#[test]
fn linked_modules_share_variables_and_hidden_arguments() {
    let part = |linkage, body: &[(u16, &[u32])], last: &[(u16, &[u32])]| {
        let mut all = code(&[(op::MEMORY_MODEL, &[2, 2])]);
        all.push((op::DECORATE, named(&[20, LINKAGE], "number", &[linkage])));
        all.push((op::DECORATE, named(&[30, LINKAGE], "function", &[linkage])));
        all.extend(code(&TYPES));
        all.extend(code(&[(op::VARIABLE, &[8, 20, 5])]));
        built(&[all, function(31, body), code(last)].concat())
    };
    let body: [(u16, &[u32]); 2] = [(op::LOAD, &[4, 50, 20]), (op::FUNCTION_CALL, &[1, 51, 30])];
    let declared: [(u16, &[u32]); 2] = [(op::FUNCTION, &[1, 30, 0, 2]), (op::FUNCTION_END, &[])];
    let defined: [(u16, &[u32]); 4] = [
        declared[0],
        (op::LABEL, &[60]),
        (op::RETURN, &[]),
        declared[1],
    ];
    let modules = [
        part(LINKAGE_EXPORT, &body, &defined),
        part(LINKAGE_IMPORT, &body, &declared),
    ];
    let borrowed = modules.each_ref().map(Vec::as_slice);
    let lifted = lift(&borrowed, &[]).unwrap().unwrap();
    assert_eq!((lifted.layout.size, lifted.layout.modules), (128, 2));
    for module in &lifted.modules {
        let (_, found) = contents(module);
        // The arena is 100, the offset 103, and the address 105.
        let expected: [(u16, &[u32]); 4] = [
            (CHAIN, &[6, 104, 100, 103]),
            (op::BITCAST, &[8, 105, 104]),
            (op::LOAD, &[4, 50, 105]),
            (op::FUNCTION_CALL, &[1, 51, 30, 100]),
        ];
        assert_eq!(first_body(&found), expected);
        let offset = (op::CONSTANT, vec![102, 103, 0, 0]);
        assert!(found.contains(&offset), "{found:?}");
        let functions = found.iter().filter(|(opcode, _)| *opcode == op::FUNCTION);
        let mut types = functions.map(|(_, operands)| operands[3]);
        assert!(types.all(|ty| ty == 101), "{found:?}");
    }
}
