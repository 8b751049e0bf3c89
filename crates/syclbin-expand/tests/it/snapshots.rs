// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares the generated code for every file of tests/files with formatted snapshots. `BLESS=1` rewrites them;
//! `tests/pass/snapshots.rs` compiles them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

#[test]
fn generated_code_equals_the_snapshots() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let snapshots = folder.join("tests/snapshots");
    let bless = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    let mut files: Vec<String> = fs::read_dir(folder.join("../../tests/files"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".syclbin"))
        .collect();
    assert!(files.len() > 10, "{files:?}");
    // A file from `clang-sycl-linker`, which does not contain a SYCLBIN.
    files.push("extract/upstream.offload".to_owned());
    files.sort();
    let mut differing = String::new();
    let mut expected_files = Vec::new();
    for file in files {
        let bytes = fs::read(folder.join("../../tests/files").join(&file)).unwrap();
        // The path is relative to the snapshot.
        let path = format!("../../../../tests/files/{file}");
        let code = syclbin_expand::source(&bytes, &path, "").unwrap();
        let name = file.rsplit('/').next().unwrap();
        let name = format!("{}.rs", name.trim_end_matches(".syclbin").replace('.', "_"));
        let snapshot = snapshots.join(&name);
        if bless {
            fs::write(&snapshot, &code).unwrap();
        }
        if fs::read_to_string(&snapshot).unwrap_or_default() != code {
            writeln!(differing, "tests/snapshots/{name}:\n{code}").unwrap();
        }
        expected_files.push(name);
    }
    assert!(
        differing.is_empty(),
        "BLESS=1 writes these anew: {differing}"
    );
    let mut there: Vec<String> = fs::read_dir(snapshots)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort();
    expected_files.sort();
    assert_eq!(there, expected_files, "a snapshot of no file is left over");
}
