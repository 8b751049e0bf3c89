// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

#[test]
fn variables_are_found_by_identifier_or_code_name() {
    let mut metadata = ModuleMetadata::default();
    let variable = |size| DeviceGlobal {
        size,
        image_scope: false,
    };
    metadata.device_globals.insert("rtc_0$_Z4bias", variable(4));
    metadata
        .program
        .global_names
        .insert("rtc_0$_Z4bias", "bias".to_owned());
    for name in ["_Z4bias", "bias"] {
        assert!(defines(&metadata, name), "{name}");
    }
    for name in ["_Z5table", "table", ""] {
        assert!(!defines(&metadata, name), "{name}");
    }
    // The name of a variable that the module does not contain.
    let names = &mut metadata.program.global_names;
    names.insert("_Z5table", "table".to_owned());
    assert!(!defines(&metadata, "table") && defines(&metadata, "bias"));
}
