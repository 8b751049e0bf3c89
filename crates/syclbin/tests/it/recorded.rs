// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recorded descriptions: they say what inference says, without code, and a damaged one concerns its kernel only.

use syclbin::__private::failed_assert::VARIABLE;
use syclbin::__private::{dimensions, is_complete};
use syclbin::metadata::{DeviceGlobal, Property};
use syclbin::property::set;
use syclbin::signature::{self, Signatures};
use syclbin::{AbstractModule, Syclbin, Value, read};
use test_files::Declared;

fn signatures(file: &Syclbin<'_>) -> Signatures {
    signature::kernels(file).unwrap()
}

/// A file whose kernels and variables have all kinds of types, with descriptions.
fn described() -> Syclbin<'static> {
    let mut file = read::parse(test_files::bytes("described/described.syclbin")).unwrap();
    Declared::default().record(&mut file.modules[0]);
    file
}

#[test]
fn recorded_descriptions_replace_the_code() {
    let (mut kernels, mut equal) = (0, 0);
    for folder in ["", "nvidia", "described", "made"] {
        for (name, bytes) in test_files::all(folder, ".syclbin") {
            let mut file = read::parse(&bytes).unwrap();
            for module in &mut file.modules {
                for set in [set::KERNELS, set::VARIABLES] {
                    module.metadata.remove_set(set);
                }
            }
            let inferred = signatures(&file);
            for module in &mut file.modules {
                Declared::default().record(module);
                module.images.clear();
            }
            let recorded = signatures(&file);
            kernels += recorded.kernels.len();
            assert_eq!(recorded.differences(&inferred), [], "{name}");
            assert_eq!(inferred.differences(&recorded), [], "{name}");
            // Only structs that a kernel takes are recorded, so the others may have other numbers.
            if recorded.layouts == inferred.layouts {
                assert_eq!(recorded, inferred, "{name}");
                equal += 1;
            }
        }
    }
    assert!(kernels > 50 && equal > 30, "{kernels}, {equal}");
}

#[test]
fn damaged_descriptions_concern_their_kernel_only() {
    let mut file = described();
    let whole = signatures(&file);
    let set = file.modules[0].metadata.set(set::KERNELS).unwrap();
    let values: Vec<_> = set
        .iter()
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect();
    let mut refused = 0;
    for (symbol, value) in values.into_iter().step_by(6) {
        let bytes = value.as_bytes().unwrap();
        let cut = (0..bytes.len()).map(|length| bytes[..length].to_vec());
        let changed = (0..bytes.len()).flat_map(|at| {
            [1, 0x80, 0xff].map(|byte| {
                let mut changed = bytes.to_vec();
                changed[at] = byte;
                changed
            })
        });
        let damaged: Vec<_> = cut
            .map(|bytes| (bytes, true))
            .chain(changed.map(|bytes| (bytes, false)))
            .collect();
        for (bytes, is_cut) in damaged {
            let sets = &mut file.modules[0].metadata;
            sets.insert(set::KERNELS, symbol.clone(), Value::from(bytes));
            let found = signatures(&file);
            for (found, whole) in found.kernels.iter().zip(&whole.kernels) {
                if found.symbol != symbol {
                    assert_eq!(found.parameters.is_ok(), whole.parameters.is_ok());
                } else if let Err(reason) = &found.parameters {
                    refused += usize::from(reason.to_string().contains("build the file again"));
                } else {
                    assert!(!is_cut, "{symbol}");
                }
            }
        }
        let sets = &mut file.modules[0].metadata;
        sets.insert(set::KERNELS, symbol, value);
    }
    assert!(refused > 300, "{refused}");
    assert_eq!(signatures(&file), whole);
}

#[test]
fn recorded_dimensions_are_read() {
    let mut module = AbstractModule::default();
    let mut declared = Declared::default();
    for (symbol, dimensions) in [("a", Some(0)), ("b", Some(3)), ("c", None)] {
        module.add_kernel_name(symbol);
        declared = declared.kernel(symbol, "void k(int n)");
        let kernel = declared.0.kernels.get_mut(symbol).unwrap();
        kernel.dimensions = dimensions;
    }
    declared.record(&mut module);
    let found = ["a", "b", "c", "d"].map(|symbol| dimensions(&module, symbol));
    assert_eq!(found, [Some(0), Some(3), None, None]);
}

#[test]
fn complete_modules_describe_all_kernels_and_variables() {
    let mut module = AbstractModule::default();
    assert!(is_complete(&module));
    module.add_kernel_name("k");
    assert!(!is_complete(&module));
    let size = DeviceGlobal {
        size: 4,
        image_scope: false,
    };
    let declared = Declared::default().kernel("k", "void k(int n)");
    declared.record(&mut module);
    assert!(is_complete(&module));
    // The record of a failed assert is for the runtime.
    let sets = &mut module.metadata;
    sets.insert(set::DEVICE_GLOBALS, VARIABLE, size.to_value());
    assert!(is_complete(&module));
    let sets = &mut module.metadata;
    sets.insert(set::DEVICE_GLOBALS, "_Z5table", size.to_value());
    assert!(!is_complete(&module));
    declared.variable("_Z5table", "int").record(&mut module);
    assert!(is_complete(&module));
}

#[test]
fn descriptions_of_other_releases_are_reasons() {
    let mut file = described();
    let symbol = file.kernel_names().next().unwrap().to_owned();
    let sets = &mut file.modules[0].metadata;
    sets.insert(set::KERNELS, symbol, Value::from(vec![1]));
    let reason = signatures(&file).kernels[0].parameters.clone().unwrap_err();
    assert!(reason.to_string().contains("another release"), "{reason}");
}

/// A description of some bytes must not be read as one of many.
#[test]
fn counts_beyond_the_value_are_damage() {
    let mut file = described();
    let symbol = file.kernel_names().next().unwrap().to_owned();
    for bytes in [
        &[2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1][..],
        &[2, 0xff, 0xff, 0xff, 0xff, 0x0f],
        // A struct without a name, of an array of arrays of arrays.
        &[&[2, 1, 0, 1, 1, 1, 0, 0][..], &[3; 500]].concat(),
    ] {
        let sets = &mut file.modules[0].metadata;
        sets.insert(set::KERNELS, symbol.clone(), Value::from(bytes.to_vec()));
        let reason = signatures(&file).kernels[0].parameters.clone().unwrap_err();
        assert!(reason.to_string().contains("is damaged"), "{reason}");
    }
}
