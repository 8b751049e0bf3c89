// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use alloc::vec;

fn text(text: &str) -> Vec<u32> {
    let mut bytes = Vec::from(text);
    bytes.resize(text.len() / 4 * 4 + 4, 0);
    let words = bytes.as_chunks().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

/// A kernel `k` with `count` parameters `x` of the type called `ty`.
fn module(ty: &str, count: u32) -> Module {
    let mut instructions = vec![
        (11, [vec![1], text(INSTRUCTION_SETS[1])].concat()),
        (15, [vec![6, 50], text("__sycl_kernel_k")].concat()),
        (7, [vec![2], text("k")].concat()),
        (7, [vec![3], text("x")].concat()),
        (7, [vec![4], text(ty)].concat()),
        (12, vec![0, 5, 1, TYPE_BASIC, 4]),
        (12, vec![0, 6, 1, FUNCTION, 2, 7]),
    ];
    let types = [vec![0, 7, 1, TYPE_FUNCTION, 0, 0], vec![5; count as usize]];
    instructions.push((12, types.concat()));
    for number in 1..=count {
        let operands = [3, 5, 0, 0, 0, 6, 0, number];
        let variable = [&[0, 100 + number, 1, LOCAL_VARIABLE][..], &operands].concat();
        instructions.push((12, variable));
    }
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 100, 0];
    for (opcode, operands) in instructions {
        words.push((u32::try_from(operands.len()).unwrap() + 1) << 16 | opcode);
        words.extend(operands);
    }
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    Module::parse(&bytes).unwrap()
}

#[test]
fn long_type_names_have_a_total_limit() {
    let short = describe(&module("int", 1000)).parameters;
    assert_eq!(short["__sycl_kernel_k"].len(), 1000);
    assert_eq!(short["__sycl_kernel_k"][999].ty, CppType::named("int"));
    let long = "x".repeat(10_000);
    let one = describe(&module(&long, 1)).parameters;
    assert_eq!(one["__sycl_kernel_k"][0].ty, CppType::named(long.clone()));
    assert!(describe(&module(&long, 1000)).parameters.is_empty());
}
