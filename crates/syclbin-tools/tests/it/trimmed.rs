// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trims real modules to each of their kernels.

use syclbin::__private::spirv::words::{self, op};
use syclbin::__private::spirv::{Module, trim};
use syclbin::Image;

use super::linked::check;

/// Returns the SPIR-V modules of all test files, with the names of the files.
fn modules() -> Vec<(String, Vec<u8>)> {
    let files = [
        test_files::all("", ".syclbin"),
        test_files::all("described", ".syclbin"),
    ];
    let mut modules = Vec::new();
    for (name, bytes) in files.concat() {
        let file = syclbin::read::parse(&bytes).unwrap();
        let images = file.modules.iter().flat_map(|module| &module.images);
        let code = images.filter_map(Image::spirv);
        modules.extend(code.map(|code| (name.clone(), code.to_vec())));
    }
    modules
}

#[test]
fn every_kernel_can_be_trimmed_to() {
    let (mut kernels, mut smaller) = (0, 0);
    for (name, code) in modules() {
        let whole = Module::parse(&code).unwrap();
        for kernel in whole.kernels() {
            let trimmed = trim(&code, &[kernel]).unwrap_or_else(|error| panic!("{name}: {error}"));
            let module = Module::parse(&trimmed).unwrap();
            assert!(module.kernels().eq([kernel]), "{name}");
            let parameters = |module: &Module| module.parameters(kernel).unwrap();
            assert_eq!(parameters(&module), parameters(&whole), "{name}");
            let mut imports = whole.imports();
            assert!(
                module
                    .imports()
                    .all(|import| imports.any(|other| other == import))
            );
            check(&trimmed, &[&code]);
            assert!(trim(&trimmed, &[kernel]).unwrap() == trimmed, "{name}");
            kernels += 1;
            smaller += usize::from(trimmed.len() < code.len());
        }
        let all: Vec<&str> = whole.kernels().collect();
        let trimmed = trim(&code, &all).unwrap();
        assert!(Module::parse(&trimmed).unwrap().kernels().eq(all), "{name}");
        check(&trimmed, &[&code]);
    }
    assert!(kernels > 25 && smaller > 25, "{smaller} of {kernels}");
}

#[test]
fn capabilities_of_variables_go_with_the_variables() {
    let (mut kept, mut removed) = (0, 0);
    for (name, code) in modules() {
        let has = |code: &[u8], opcode, place: usize, numbers: &[u32]| {
            let words = words::words(code).unwrap();
            let mut instructions = words::instructions(&words).map(Result::unwrap);
            let number = |operands: &[u32]| operands.get(place).copied().unwrap_or_default();
            instructions.any(|it| it.opcode == opcode && numbers.contains(&number(it.operands)))
        };
        // SPV_INTEL_global_variable_decorations and SPV_INTEL_global_variable_host_access.
        let asks = |code: &[u8]| has(code, op::CAPABILITY, 0, &[6146, 6187]);
        let decorates = |code: &[u8]| has(code, op::DECORATE, 1, &[6147, 6188]);
        for kernel in Module::parse(&code).unwrap().kernels() {
            let trimmed = trim(&code, &[kernel]).unwrap();
            assert_eq!(asks(&trimmed), asks(&code) && decorates(&trimmed), "{name}");
            kept += usize::from(asks(&trimmed));
            removed += usize::from(asks(&code) && !asks(&trimmed));
        }
    }
    assert!(kept > 0 && removed > 0, "{kept} and {removed}");
}

#[test]
fn unknown_entry_point_is_an_error() {
    let (_, code) = modules().remove(0);
    let error = trim(&code, &["absent"]).unwrap_err().to_string();
    assert!(
        error.contains("it does not contain the entry point absent"),
        "{error}"
    );
}

#[test]
fn damaged_modules_are_errors_or_trimmed() {
    let code = test_files::read("functor.object.syclbin");
    let file = syclbin::read::parse(&code).unwrap();
    let code = file.modules[0].images[0].spirv().unwrap();
    let whole = Module::parse(code).unwrap();
    let kernel = whole.kernels().next().unwrap();
    let (mut refused, mut trimmed) = (0, 0);
    for at in 0..code.len() / 4 {
        for value in [0, 1, 7, 14, 0xffff, u32::MAX] {
            let mut damaged = code.to_vec();
            damaged[at * 4..at * 4 + 4].copy_from_slice(&u32::to_le_bytes(value));
            match trim(&damaged, &[kernel]) {
                Ok(_) => trimmed += 1,
                Err(_) => refused += 1,
            }
        }
        refused += usize::from(trim(&code[..at * 4], &[kernel]).is_err());
    }
    assert!(refused > 100 && trimmed > 100, "{refused} {trimmed}");
}
