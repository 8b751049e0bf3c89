// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each fuzz target on the files we have and on some that are made up, without a fuzzer.

use std::path::Path;

use crate::files;

/// The test files, and texts and beginnings that fuzzers like to start from.
fn inputs() -> Vec<Vec<u8>> {
    let files = files::files().into_iter();
    let mut inputs: Vec<Vec<u8>> = files.map(|(_, bytes)| bytes).collect();
    // The metadata of a file is a text that `property` understands.
    let text = inputs.iter().filter_map(|bytes| {
        let start = bytes.windows(9).position(|bytes| bytes == b"[SYCLBIN/")?;
        let end = bytes[start..].iter().position(|byte| *byte == 0)?;
        Some(bytes[start..start + end].to_vec())
    });
    let texts: Vec<_> = text.collect();
    assert!(texts.len() >= 12, "no text was found");
    inputs.extend(texts);
    inputs.extend([
        b"[a]\nk=1|1\n[a]\nk=2|AAAAAAAAAAA\nl=9|x\n".to_vec(),
        b"IBYS".to_vec(),
        b"\x10\xff\x10\xad".to_vec(),
        Vec::new(),
    ]);
    inputs
}

#[test]
fn every_target_takes_every_file() {
    for (name, target) in syclbin_fuzz::TARGETS {
        for input in inputs() {
            target(&input);
            // The upper half of the bits, the lower half, and all but the first byte.
            target(&input.iter().map(|byte| byte & 0xf0).collect::<Vec<_>>());
            target(input.get(1..).unwrap_or_default());
        }
        eprintln!("{name}: {} files, three ways each", inputs().len());
    }
}

/// The corpus contains seeds written by hand, and a sample of inputs that reach different code.
#[test]
fn every_target_takes_its_corpus() {
    for (name, target) in syclbin_fuzz::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(name);
        let entries = std::fs::read_dir(&folder).unwrap();
        let inputs = entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
        let count = inputs.map(|input| target(&input)).count();
        assert!(count > 0, "{} is empty", folder.display());
        eprintln!("{name}: {count} inputs");
    }
}

/// Found by fuzzing: linking panicked on an `OpGroupDecorate` without operands.
#[test]
fn group_without_operands_does_not_panic() {
    syclbin_fuzz::link(include_bytes!("found/group_without_operands.syclbin"));
}

#[test]
fn every_target_has_a_binary_of_its_name() {
    for (name, _) in syclbin_fuzz::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_targets");
        let source = std::fs::read_to_string(folder.join(format!("{name}.rs"))).unwrap();
        assert!(source.contains(&format!("syclbin_fuzz::{name}(bytes)")));
    }
}

#[test]
fn structural_changes_keep_files_readable() {
    let mut changed = 0;
    for (_, bytes) in test_files::all("", ".syclbin") {
        for seed in 0..20 {
            let change = |part: &mut Vec<u8>| syclbin_fuzz::structure::change(part, seed, 1 << 16);
            let file = syclbin_fuzz::mutated(&bytes, seed, 1 << 16, change);
            if let Some(file) = file.filter(|file| *file != bytes) {
                changed += 1;
                assert!(syclbin::read::parse(&file).is_ok());
                for (_, target) in syclbin_fuzz::TARGETS {
                    target(&file);
                }
            }
        }
    }
    assert!(changed > 100, "{changed} files were changed");
    eprintln!("{changed} files");
}
