// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native code and fat binaries that NVIDIA's tools made.

use syclbin::cubin::{Entry, entries, target};

fn shown(bytes: &[u8]) -> Vec<String> {
    let entries = match entries(bytes) {
        Ok(entries) => entries,
        Err(error) => return Vec::from([error.to_string()]),
    };
    let shown = entries.map(|entry| match entry {
        Ok(entry) => {
            let Entry {
                kind,
                target,
                compression,
                size,
                ..
            } = entry;
            let is_smaller = (entry.bytes.len() as u64) < size;
            assert_eq!(is_smaller, compression.is_some());
            format!("{kind:?} {target} {compression:?} {size}")
        }
        Err(error) => error.to_string(),
    });
    shown.collect()
}

#[test]
fn all_fatbinary_entry_forms_are_read() {
    assert_eq!(
        shown(test_files::bytes("nvidia/plain.fatbin")),
        ["Ptx sm_75 None 280", "Elf sm_80 None 2304"]
    );
    assert_eq!(
        shown(test_files::bytes("nvidia/zstd.fatbin")),
        [
            "Elf sm_80 Some(Zstd) 2304",
            "Ptx sm_75 Some(Zstd) 276",
            "Elf sm_90 Some(Zstd) 2560"
        ]
    );
    assert_eq!(
        shown(test_files::bytes("nvidia/lz4.fatbin")),
        ["Elf sm_80 Some(Lz4) 2304", "Ptx sm_75 Some(Lz4) 276"]
    );
    let several = shown(test_files::bytes("nvidia/several.fatbin"));
    assert_eq!(several, ["Several sm_0 Some(Zstd) 4864"]);
    let family = shown(test_files::bytes("nvidia/family.fatbin"));
    assert!(family[0].starts_with("Elf sm_100f None"), "{family:?}");
}

#[test]
fn uncompressed_fatbinary_entries_are_plain_code() {
    let found: Vec<_> = entries(test_files::bytes("nvidia/plain.fatbin"))
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    let [text, native] = found.as_slice() else {
        panic!("{} entries", found.len());
    };
    let module = syclbin::ptx::Module::parse(text.bytes).map(|module| module.exports);
    assert_eq!(module, Ok(Vec::from(["_Z5shapef".into()])));
    let target = target(native.bytes);
    assert_eq!(
        target.map(|target| target.to_string()).as_deref(),
        Ok("sm_80")
    );
}

#[test]
fn damaged_fatbinary_error_says_where() {
    let changed = |at: usize, value: u8| {
        let mut bytes = test_files::bytes("nvidia/plain.fatbin").to_vec();
        bytes[at] = value;
        shown(&bytes).concat()
    };
    for (found, expected) in [
        (
            changed(0, 0),
            "not a CUDA fat binary: it begins with 00 ed 55 ba",
        ),
        (changed(6, 8), "its header is too short (at offset 0x6)"),
        (changed(15, 1), "exceeds the fat binary"),
        (
            changed(20, 8),
            "an entry's header is too short (at offset 0x14)",
        ),
        (
            changed(31, 1),
            "an entry extends beyond the end of the fat binary (at offset 0x18)",
        ),
        (
            shown(&test_files::bytes("nvidia/plain.fatbin")[..12]).concat(),
            "its header is truncated",
        ),
        (
            shown(&test_files::bytes("nvidia/plain.fatbin")[..99]).concat(),
            "exceeds the fat binary",
        ),
    ] {
        assert!(found.contains(expected), "{found}");
    }
    // Its flags say that it is compressed, and its size that it has more bytes than there are.
    let mut bytes = test_files::bytes("nvidia/plain.fatbin").to_vec();
    (bytes[16 + 41], bytes[16 + 18]) = (0x80, 1);
    assert!(
        shown(&bytes)
            .concat()
            .contains("shorter than its recorded compressed size (at offset 0x20)")
    );
}

#[test]
fn native_code_of_nvidias_assembler_tells_its_target() {
    for (bytes, expected) in [
        (test_files::bytes("nvidia/export_side.sm_80.cubin"), "sm_80"),
        (test_files::bytes("nvidia/export_side.sm_90.cubin"), "sm_90"),
    ] {
        let found = target(bytes).map(|target| target.to_string());
        assert_eq!(found.as_deref(), Ok(expected));
    }
}
