// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constants that cannot be lowered, and damaged modules.

use syclbin::__private::spirv::edit::{Instruction, Module};
use syclbin::__private::spirv::words::op;
use syclbin::__private::spirv::{self, Import};

use super::builder::{
    BYTE, Builder, CROSS_WORKGROUP, FIRST, INT, LONG, PAIR, READ, TO_BYTE, one, through_a_local,
};
use super::reference;
use crate::lower::index::Index;
use crate::lower::{NOT_CALLED, lower};

#[test]
fn what_cannot_be_lowered_is_named() {
    let pointer = one(TO_BYTE, |b| b.global(op::CONSTANT_NULL, TO_BYTE, &[]));
    assert_eq!(
        pointer.refused(),
        "specialization constant ns::radius (read by blur) cannot be compiled: it contains a pointer, which SPIR-V \
         cannot specialize; pass the value as a kernel argument instead"
    );
    let other = one(LONG, |b| b.global(op::CONSTANT, INT, &[1]));
    assert!(
        other
            .refused()
            .contains("differs from the type of its default value")
    );
    let unknown = one(INT, |b| b.global(op::SPEC_CONSTANT, INT, &[1]));
    assert!(
        unknown
            .refused()
            .contains("its default value cannot be determined")
    );

    let mut builder = Builder::of(INT);
    let id = builder.text("_Z1a");
    let elsewhere = builder.global(op::VARIABLE, TO_BYTE, &[CROSS_WORKGROUP]);
    builder.read(id, elsewhere);
    let refused = builder.refused();
    assert!(refused.contains("constant a (read by blur)"));
    assert!(refused.contains("its default value is not defined in this source file"));
}

#[test]
fn run_time_choice_of_constant_is_refused() {
    let mut builder = Builder::of(INT);
    let (a, b) = (builder.text("_Z1a"), builder.text("_Z1b"));
    let default = builder.global(op::CONSTANT, INT, &[5]);
    let value = builder.variable(default);
    let either = builder.inside(op::PHI, TO_BYTE, &[a, 22, b, 22]);
    builder.read(either, value);
    assert_eq!(
        builder.refused(),
        "a specialization constant (read by blur) cannot be compiled: the kernel chooses the constant only when it \
         runs; pass the value as a kernel argument instead"
    );
}

#[test]
fn read_without_a_call_is_refused() {
    let mut builder = one(INT, |b| b.global(op::CONSTANT, INT, &[5]));
    builder.inside(op::COPY_OBJECT, TO_BYTE, &[READ]);
    assert!(builder.refused().contains(NOT_CALLED));
    let mut builder = Builder::of(INT);
    builder.inside(op::FUNCTION_CALL, INT, &[READ, 1]);
    assert!(builder.refused().contains(NOT_CALLED));
}

#[test]
fn circles_and_enormous_types_are_no_trouble() {
    // Casts that form a cycle, and a local variable whose aliases form a cycle.
    let mut builder = Builder::of(INT);
    let (a, b) = (FIRST + 1, FIRST + 2);
    builder.inside(op::BITCAST, TO_BYTE, &[b]);
    builder.inside(op::BITCAST, TO_BYTE, &[a]);
    builder.read(a, b);
    assert!(builder.refused().contains("only when it runs"));

    // Nested arrays with 2 to the power of 8 * 32 bytes.
    let refused = one(PAIR, |builder| {
        let count = builder.global(op::CONSTANT, INT, &[u32::MAX]);
        let mut ty = BYTE;
        for _ in 0..8 {
            let array = builder.id();
            let instruction = Instruction::new(op::TYPE_ARRAY, [array, ty, count]);
            builder.globals.push(instruction);
            ty = array;
        }
        builder.global(op::CONSTANT_NULL, ty, &[])
    });
    assert!(
        refused
            .refused()
            .contains("its default value cannot be determined")
    );

    // Structs nested a hundred thousand levels deep, with a value of the same depth.
    let deep = one(PAIR, |builder| {
        let (mut ty, mut value) = (INT, builder.global(op::CONSTANT, INT, &[1]));
        for _ in 0..100_000 {
            let outer = builder.id();
            builder
                .globals
                .push(Instruction::new(op::TYPE_STRUCT, [outer, ty]));
            value = builder.global(op::CONSTANT_COMPOSITE, outer, &[value]);
            ty = outer;
        }
        value
    });
    assert!(
        deep.refused()
            .contains("its default value cannot be determined")
    );
}

#[test]
fn too_many_parts_are_refused() {
    for (length, expected) in [(65_532u32, true), (65_533, false)] {
        let mut builder = Builder::of(PAIR);
        let id = builder.text("_Z1a");
        let count = builder.global(op::CONSTANT, INT, &[length]);
        let array = builder.id();
        let instruction = Instruction::new(op::TYPE_ARRAY, [array, BYTE, count]);
        builder.globals.push(instruction);
        let value = builder.global(op::CONSTANT_NULL, array, &[]);
        let value = builder.variable(value);
        builder.value = array;
        builder.read(id, value);
        match builder.lower() {
            Ok(_) => assert!(expected, "{length} parts"),
            Err(refused) => {
                assert!(refused.contains("more parts than SPIR-V can express"));
                assert!(!expected, "{length} parts: {refused}");
            }
        }
    }
}

/// Lowering ends for any input, and lowered code never reads a constant through a call. The test damages every fifth
/// byte, so that all four byte positions within a word are covered. The fuzz target `lower` explores the rest.
#[test]
fn damaged_modules_end_in_an_answer() {
    let mut outcomes = [0; 3];
    let mut check = |code: &[u8]| {
        outcomes[match lower(code) {
            Ok(Some(lowered)) => {
                let module = Module::read(&lowered.code).expect("it wrote no SPIR-V");
                let types = spirv::Module::parse(&lowered.code).expect("it wrote no SPIR-V");
                let imports = Index::new(&module, types).code.imports;
                let mut names = imports.iter().map(|(_, name)| name.as_str());
                assert!(
                    names.all(|name| Import::of(name) != Import::SpecializationConstant),
                    "a read of a constant stayed"
                );
                0
            }
            Ok(None) => 1,
            Err(_) => 2,
        }] += 1;
    };
    let local = through_a_local(false, 1).build();
    for code in [reference(), local] {
        for at in (0..code.len()).step_by(5) {
            let mut damaged = code.clone();
            for flipped in [1, 0xff] {
                damaged[at] = code[at] ^ flipped;
                check(&damaged);
            }
            damaged[at] = 0;
            check(&damaged);
        }
        for at in (0..code.len()).step_by(4 * 5) {
            check(&code[..at]);
            // Replaces one id with another.
            for id in [9u32, 102, u32::MAX] {
                let mut damaged = code.clone();
                damaged[at..at + 4].copy_from_slice(&id.to_le_bytes());
                check(&damaged);
            }
        }
    }
    assert!(
        outcomes.iter().all(|count| *count > 100),
        "lowered, left alone, refused: {outcomes:?}"
    );
}
