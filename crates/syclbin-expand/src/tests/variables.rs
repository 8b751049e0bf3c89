// SPDX-License-Identifier: MIT OR Apache-2.0
//! Specialization constants: which bytes of a value are checked.

use syclbin::metadata::{SpecConstantDescriptor, SpecializationConstants};

use super::*;

/// Returns the code for a constant of type `ty` and `size` bytes, without whitespace.
fn code(ty: &str, size: u32, layouts: &[&str]) -> String {
    let mut module = AbstractModule::default();
    let declared = test_files::Declared::default().types(layouts);
    let mut constants = SpecializationConstants::default();
    let part = SpecConstantDescriptor {
        id: 0,
        offset: 0,
        size,
    };
    constants.constants.insert("_Z5flags", vec![part]);
    constants.write(&mut module.metadata);
    declared.variable("_Z5flags", ty).record(&mut module);
    let mut file = Syclbin::new(State::Executable);
    file.modules.push(module);
    let bytes = syclbin::write::to_vec(&file, syclbin::Container::default()).unwrap();
    let file = File::parse(quote!("a.syclbin"), "a.syclbin".into(), &bytes).unwrap();
    formatted(&file).split_whitespace().collect()
}

#[test]
fn every_bool_of_a_constant_is_checked() {
    let layouts = [
        "struct Inner { bool set; /* 0 */ } /* size 1, align 1 */",
        "struct Flags { int n; /* 0 */ bool on; /* 4 */ Inner all[2]; /* 5 */ } /* size 8, align 4 */",
    ];
    let code = code("Flags", 8, &layouts);
    let expected = "specialization_constant_with_bools(\"_Z5flags\",value,&[4,5,6])";
    assert!(code.contains(expected), "{code}");
}

#[test]
fn constants_without_bools_are_not_checked() {
    let layouts = ["struct Pair { int a; /* 0 */ int b; /* 4 */ } /* size 8, align 4 */"];
    for (ty, size) in [("Pair", 8), ("bool", 1)] {
        let code = code(ty, size, &layouts);
        let expected = "specialization_constant(\"_Z5flags\",value)";
        assert!(code.contains(expected), "{code}");
    }
}

#[test]
fn constant_with_too_many_bools_is_left_out() {
    let layouts = ["struct Many { bool all[65]; /* 0 */ } /* size 65, align 1 */"];
    let code = code("Many", 65, &layouts);
    assert!(code.contains("itcontainsmorethan64`bool`s"), "{code}");
    assert!(!code.contains("specialization_constant"), "{code}");
}
