// SPDX-License-Identifier: MIT OR Apache-2.0
mod builder;
mod lowered;
mod refused;

use syclbin::__private::spirv::edit::Module;
use syclbin::__private::spirv::{self, Import};
use syclbin::metadata::SpecConstantDescriptor;

/// Returns the SPIR-V that the compiler library produced from tests/files/constants.cpp.
fn reference() -> Vec<u8> {
    let bytes = test_files::read("constants.object.syclbin");
    let file = syclbin::read::parse(&bytes).unwrap();
    file.modules[0].images[0].bytes.to_vec()
}

fn part(id: u32, offset: u32, size: u32) -> SpecConstantDescriptor {
    SpecConstantDescriptor { id, offset, size }
}

fn is_lowered(code: &[u8]) -> bool {
    spirv::Module::parse(code).is_ok_and(|module| {
        let mut imports = module.imports();
        imports.all(|symbol| Import::of(symbol) != Import::SpecializationConstant)
    })
}

/// Returns the number of instructions with this opcode.
fn count(code: &[u8], opcode: u16) -> usize {
    let module = Module::read(code).unwrap();
    let all = module.instructions.iter();
    all.filter(|i| i.opcode == opcode).count()
}
