// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constants that are lowered.

use syclbin::__private::spirv;
use syclbin::__private::spirv::edit::{Instruction, Module};
use syclbin::__private::spirv::words::{
    DECORATION_ALIGNMENT, DECORATION_CPACKED, DECORATION_SPEC_ID, bytes, op,
};
use syclbin::metadata::SpecConstantDescriptor;

use super::builder::{BOOL, BYTE, Builder, INT, LONG, PAIR, READ, TO_BYTE, one, through_a_local};
use super::{count, is_lowered, part, reference};
use crate::lower::index::STORAGE_FUNCTION;
use crate::lower::lower;

#[test]
fn constants_are_lowered_in_order_of_reads() {
    let code = reference();
    assert!(!is_lowered(&code));
    let lowered = lower(&code).unwrap().unwrap();
    let mut constants = lowered.constants.constants.iter();
    assert_eq!(
        constants.next(),
        Some((
            "____ZL7stencil",
            &vec![part(0, 0, 4), part(1, 4, 4), part(2, 8, 4), part(3, 12, 4)]
        ))
    );
    assert_eq!(
        constants.next(),
        Some(("____ZL4gain", &vec![part(4, 0, 8)]))
    );
    assert_eq!(
        constants.next(),
        Some(("____ZL6offset", &vec![part(5, 0, 4)]))
    );
    assert_eq!(constants.next(), None);
    let stencil = [0.25f32, 0.5, 0.25].map(f32::to_le_bytes).concat();
    let others = [&1i32.to_le_bytes()[..], &2.5f64.to_le_bytes()];
    let all = [&stencil[..], &others.concat(), &7i32.to_le_bytes()].concat();
    assert_eq!(lowered.constants.defaults, Some(all));
    assert!(lowered.constants.layout().is_ok());

    let code = &lowered.code;
    assert!(is_lowered(code));
    assert_eq!(count(code, op::FUNCTION_CALL), 0);
    assert_eq!(count(code, op::SPEC_CONSTANT), 6);
    // One composite contains the three floats, the other contains that composite and the radius.
    assert_eq!(count(code, op::SPEC_CONSTANT_COMPOSITE), 2);
    assert!(
        lower(code).unwrap().is_none(),
        "there is nothing more to do"
    );
}

#[test]
fn lowering_removes_what_only_the_calls_used() {
    let lowered = lower(&reference()).unwrap().unwrap();
    let module = Module::read(&lowered.code).unwrap();
    let variables = module.instructions.iter();
    let variables: Vec<u32> = variables
        .filter(|i| i.opcode == op::VARIABLE)
        .filter_map(|i| i.operand(2))
        .collect();
    // Two built-in inputs and the stencil remain. The symbol text is gone: SPIR-V does not even allow it in its former
    // storage class.
    let input = 1;
    assert_eq!(variables, [input, input, STORAGE_FUNCTION]);
    let defined: Vec<u32> = module
        .instructions
        .iter()
        .filter_map(Instruction::result)
        .collect();
    for instruction in &module.instructions {
        if let (op::NAME | op::DECORATE, Some(id)) = (instruction.opcode, instruction.operand(0)) {
            assert!(defined.contains(&id), "{id} has a name, and is nowhere");
        }
    }
}

#[test]
fn bool_becomes_a_true_or_false_constant() {
    for (byte, expected, other) in [
        (1, op::SPEC_CONSTANT_TRUE, op::SPEC_CONSTANT_FALSE),
        (0, op::SPEC_CONSTANT_FALSE, op::SPEC_CONSTANT_TRUE),
    ] {
        let lowered = one(BOOL, |b| b.global(op::CONSTANT, BYTE, &[byte]));
        let lowered = lowered.lower().unwrap();
        assert_eq!(count(&lowered.code, expected), 1);
        assert_eq!(count(&lowered.code, other), 0);
        let constants = lowered.constants.constants;
        assert_eq!(
            constants.get("____ZN2nsL6radiusE"),
            Some(&vec![part(0, 0, 1)])
        );
        assert_eq!(
            lowered.constants.defaults,
            Some(vec![u8::try_from(byte).unwrap()])
        );
    }
}

#[test]
fn struct_padding_is_in_the_value_only() {
    let pair = |builder: &mut Builder| {
        let byte = builder.global(op::CONSTANT, BYTE, &[0xab]);
        let long = builder.global(op::CONSTANT, LONG, &[1, 2]);
        let int = builder.global(op::CONSTANT, INT, &[3]);
        builder.global(op::CONSTANT_COMPOSITE, PAIR, &[byte, long, int])
    };
    let lowered = one(PAIR, pair).lower().unwrap();
    let parts = vec![
        part(0, 0, 1),
        part(1, 8, 8),
        part(2, 16, 4),
        part(SpecConstantDescriptor::PADDING, 20, 4),
    ];
    let constants = &lowered.constants;
    assert_eq!(constants.constants.iter().next().unwrap().1, &parts);
    let mut bytes = [0; 24];
    bytes[0] = 0xab;
    bytes[8] = 1;
    bytes[12] = 2;
    bytes[16] = 3;
    assert_eq!(constants.defaults, Some(bytes.to_vec()));
    // The value is stored where the call would have stored it.
    assert_eq!(count(&lowered.code, op::STORE), 1);
}

#[test]
fn parts_without_a_value_are_left_out() {
    let pair = |builder: &mut Builder| {
        let byte = builder.global(op::UNDEF, BYTE, &[]);
        let long = builder.global(op::CONSTANT_NULL, LONG, &[]);
        let int = builder.global(op::UNDEF, INT, &[]);
        builder.global(op::CONSTANT_COMPOSITE, PAIR, &[byte, long, int])
    };
    let lowered = one(PAIR, pair).lower().unwrap();
    let parts = vec![part(0, 8, 8), part(SpecConstantDescriptor::PADDING, 16, 8)];
    let constants = &lowered.constants;
    assert_eq!(constants.constants.iter().next().unwrap().1, &parts);
    assert_eq!(constants.defaults, Some(vec![0; 24]));
    assert_eq!(count(&lowered.code, op::SPEC_CONSTANT), 1);
}

#[test]
fn a_packed_struct_has_no_gaps() {
    let mut builder = one(PAIR, |b| b.global(op::CONSTANT_NULL, PAIR, &[]));
    let packed = Instruction::new(op::DECORATE, [PAIR, DECORATION_CPACKED]);
    builder.globals.insert(0, packed); // it only has to precede the functions
    let code = builder.build();
    let mut module = Module::read(&code).unwrap();
    let all = &mut module.instructions;
    let at = all
        .iter()
        .position(|i| i.operands == [PAIR, DECORATION_CPACKED]);
    let packed = all.remove(at.unwrap());
    all.insert(1, packed);
    let code = bytes(module.words().unwrap());
    let lowered = lower(&code).unwrap().unwrap();
    let parts = vec![part(0, 0, 1), part(1, 1, 8), part(2, 9, 4)];
    assert_eq!(lowered.constants.constants.iter().next().unwrap().1, &parts);
}

#[test]
fn the_same_constant_read_twice_is_one() {
    let mut builder = Builder::of(INT);
    let (first, second) = (builder.text("_Z1a"), builder.text("_Z1b"));
    let default = builder.global(op::CONSTANT, INT, &[5]);
    let value = builder.variable(default);
    for id in [second, first, second] {
        builder.read(id, value);
    }
    let lowered = builder.lower().unwrap();
    assert_eq!(count(&lowered.code, op::SPEC_CONSTANT), 2);
    assert_eq!(count(&lowered.code, op::COPY_OBJECT), 3);
    assert!(lowered.constants.constants.names().eq(["_Z1b", "_Z1a"]));

    let default = builder.global(op::CONSTANT, INT, &[6]);
    let other = builder.variable(default);
    builder.read(first, other);
    assert_eq!(
        builder.refused(),
        "specialization constant a (read by blur) cannot be compiled: it is read with different types or \
         default values; pass the value as a kernel argument instead"
    );
}

#[test]
fn symbols_are_followed_through_local_variables() {
    let lowered = through_a_local(false, 1).lower().unwrap();
    assert!(lowered.constants.constants.names().eq(["_Z1a"]));
    for opcode in [
        op::VARIABLE,
        op::STORE,
        op::LOAD,
        op::BITCAST,
        op::PTR_CAST_TO_GENERIC,
        op::FUNCTION_CALL,
    ] {
        assert_eq!(count(&lowered.code, opcode), 0, "opcode {opcode}");
    }
    let unknown = "the kernel chooses the constant only when it runs";
    for (volatile, stores) in [(false, 2), (false, 0), (true, 1)] {
        let refused = through_a_local(volatile, stores).refused();
        assert!(refused.contains(unknown), "{refused}");
    }
}

#[test]
fn calls_with_other_effects_stay() {
    let mut builder = Builder::of(INT);
    let id = builder.text("_Z1a");
    let default = builder.global(op::CONSTANT, INT, &[5]);
    let value = builder.variable(default);
    let other_function = 30;
    let buffer = builder.inside(op::FUNCTION_CALL, TO_BYTE, &[other_function]);
    builder.inside(op::FUNCTION_CALL, INT, &[READ, id, value, buffer]);
    let lowered = builder.lower().unwrap();
    assert_eq!(count(&lowered.code, op::FUNCTION_CALL), 1);
}

#[test]
fn code_without_constants_is_left_unchanged() {
    let lowered = lower(&reference()).unwrap().unwrap();
    assert!(lower(&lowered.code).unwrap().is_none());
    for bytes in [&[][..], &[1, 2, 3], b"\x7fELF", &spirv::MAGIC_BYTES] {
        assert!(lower(bytes).unwrap().is_none());
    }
}

#[test]
fn decorations_stand_before_types_and_constants_before_functions() {
    let lowered = lower(&reference()).unwrap().unwrap();
    let module = Module::read(&lowered.code).unwrap();
    let all = &module.instructions;
    let first = |opcode: u16| all.iter().position(|i| i.opcode == opcode).unwrap();
    let last = |opcode: u16| all.iter().rposition(|i| i.opcode == opcode).unwrap();
    assert!(last(op::DECORATE) < first(op::TYPE_INT));
    assert!(last(op::SPEC_CONSTANT_COMPOSITE) < first(op::FUNCTION));
    let decorated = all.iter().filter_map(|i| match i.operands[..] {
        [id, DECORATION_SPEC_ID, number] if i.opcode == op::DECORATE => Some((id, number)),
        _ => None,
    });
    let constants = all.iter().filter(|i| i.opcode == op::SPEC_CONSTANT);
    let expected = constants.filter_map(Instruction::result).zip(0..);
    assert!(decorated.eq(expected));
}

#[test]
fn lifetime_of_a_local_variable_is_no_access() {
    let mut builder = through_a_local(false, 1);
    let mut body = builder.body.iter();
    let local = body.find(|i| i.opcode == op::VARIABLE).unwrap().operands[1];
    let stop = Instruction::new(op::LIFETIME_STOP, [local, 8]);
    builder.body.push(stop);
    assert!(builder.lower().is_ok());
}

/// Adds a symbol and a default value. Returns the ids of both variables.
fn text_and_value(builder: &mut Builder) -> [u32; 2] {
    let id = builder.text("_Z1a");
    let default = builder.global(op::CONSTANT, INT, &[5]);
    [id, builder.variable(default)]
}

#[test]
fn zero_offsets_and_constant_casts_are_followed() {
    let read_at = |index: fn(&mut Builder) -> u32| {
        let mut builder = Builder::of(INT);
        let [id, value] = text_and_value(&mut builder);
        let null = builder.global(op::CONSTANT_NULL, LONG, &[]);
        let index = index(&mut builder);
        let indices = [id, null, index];
        let pointer = builder.inside(op::IN_BOUNDS_PTR_ACCESS_CHAIN, TO_BYTE, &indices);
        builder.read(pointer, value);
        builder
    };
    let lowered = read_at(|b| b.global(op::CONSTANT, INT, &[0]))
        .lower()
        .unwrap();
    assert_eq!(count(&lowered.code, op::IN_BOUNDS_PTR_ACCESS_CHAIN), 0);
    assert_eq!(count(&lowered.code, op::VARIABLE), 0);
    assert_eq!(
        count(&lowered.code, op::CONSTANT),
        1,
        "the length of an array type"
    );
    let unknown = "the kernel chooses the constant only when it runs";
    let elsewhere = read_at(|b| b.global(op::CONSTANT, LONG, &[0, 1])).refused();
    assert!(elsewhere.contains(unknown), "{elsewhere}");
    let elsewhere = read_at(|b| b.global(op::UNDEF, INT, &[])).refused();
    assert!(elsewhere.contains(unknown), "{elsewhere}");

    const NOT: u16 = 200;
    for (opcode, is_followed) in [(op::BITCAST, true), (NOT, false)] {
        let mut builder = Builder::of(INT);
        let [id, value] = text_and_value(&mut builder);
        let operands = [opcode.into(), id];
        let pointer = builder.global(op::SPEC_CONSTANT_OP, TO_BYTE, &operands);
        builder.read(pointer, value);
        match builder.lower() {
            Ok(lowered) => assert_eq!(count(&lowered.code, op::SPEC_CONSTANT_OP), 0),
            Err(refused) => assert!(refused.contains(unknown), "{refused}"),
        }
        assert_eq!(builder.lower().is_ok(), is_followed, "opcode {opcode}");
    }
}

#[test]
fn local_text_is_no_symbol() {
    let mut builder = Builder::of(INT);
    let [_, value] = text_and_value(&mut builder);
    let mut globals = builder.globals.iter();
    let text = globals.find(|i| i.opcode == op::VARIABLE).unwrap();
    let operands = [STORAGE_FUNCTION, text.operands[3]];
    let local = builder.inside(op::VARIABLE, TO_BYTE, &operands);
    builder.read(local, value);
    assert!(builder.refused().contains("only when it runs"));
}

#[test]
fn extended_instructions_may_write_local_variables() {
    let is_lowered = |set: &str| {
        let mut builder = through_a_local(false, 1);
        let mut body = builder.body.iter();
        let local = body.find(|i| i.opcode == op::VARIABLE).unwrap().operands[1];
        let import = builder.id();
        let (name, _) = set.as_bytes().as_chunks();
        let name = name.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let operands = [import].into_iter().chain(name);
        let instruction = Instruction::new(op::EXT_INST_IMPORT, operands);
        builder.globals.insert(0, instruction);
        builder.inside(op::EXT_INST, INT, &[import, 28, local]);
        builder.lower().is_ok()
    };
    assert!(is_lowered("OpenCL.DebugInfo.100\0\0\0\0"));
    assert!(!is_lowered("OpenCL.std\0\0"));
}

#[test]
fn volatile_loads_stay() {
    for (memory, loads) in [(&[1][..], 1), (&[2, 8], 0), (&[], 0)] {
        let mut builder = Builder::of(INT);
        let [id, value] = text_and_value(&mut builder);
        let local = builder.inside(op::VARIABLE, TO_BYTE, &[STORAGE_FUNCTION]);
        let operands = [&[local], memory].concat();
        let loaded = builder.inside(op::LOAD, TO_BYTE, &operands);
        builder.inside(op::FUNCTION_CALL, INT, &[READ, id, value, loaded]);
        let lowered = builder.lower().unwrap();
        assert_eq!(count(&lowered.code, op::LOAD), loads, "{memory:?}");
    }
}

#[test]
fn value_is_stored_with_the_recorded_alignment() {
    let mut builder = one(PAIR, |b| b.global(op::CONSTANT_NULL, PAIR, &[]));
    let stored = |builder: &Builder| {
        let module = Module::read(&builder.lower().unwrap().code).unwrap();
        let store = module.instructions.iter().find(|i| i.opcode == op::STORE);
        store.unwrap().operands[2..].to_vec()
    };
    assert_eq!(stored(&builder), [2, 8], "the type's");
    let parameter = 21;
    let operands = [parameter, DECORATION_ALIGNMENT, 32];
    builder
        .globals
        .insert(0, Instruction::new(op::DECORATE, operands));
    assert_eq!(stored(&builder), [2, 32]);
}

#[test]
fn entry_points_lose_only_removed_variables() {
    let mut builder = Builder::of(INT);
    let [id, value] = text_and_value(&mut builder);
    let input = builder.global(op::VARIABLE, TO_BYTE, &[1]);
    builder.read(id, value);
    let mut module = Module::read(&builder.build()).unwrap();
    module.instructions[0].operands.extend([id, input, value]);
    let lowered = lower(&bytes(module.words().unwrap())).unwrap().unwrap();
    let module = Module::read(&lowered.code).unwrap();
    let (interface, _) = module.instructions[0].operands.split_last().unwrap();
    assert_eq!(*interface, input);
    assert_eq!(module.instructions[0].operands.len(), 5);
}

#[test]
fn prefix_of_a_source_has_hexadecimal_digits() {
    let of = crate::lower::without_unit;
    assert_eq!(of("syclbin0123456789abcdefrest"), "rest");
    assert_eq!(
        of("syclbin0123456789abcdxyrest"),
        "syclbin0123456789abcdxyrest"
    );
    assert_eq!(of("syclbin01"), "syclbin01");
}
