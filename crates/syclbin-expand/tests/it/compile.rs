// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the macro in rustc: some programs compile, and the others fail with the expected errors.
//!
//! trybuild compiles the programs in a crate of its own, so the paths of embedded files are relative to that crate. The
//! test writes the files there first. `TRYBUILD=overwrite` rewrites the expected errors.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{errors, files};

#[test]
fn programs_compile_or_fail_as_expected() {
    let folder = crate_of_trybuild();
    fs::create_dir_all(&folder).unwrap();
    files::write_all(&folder);

    let programs = trybuild::TestCases::new();
    programs.pass("tests/pass/*.rs");
    for entry in fs::read_dir("tests/ui").unwrap() {
        let program = entry.unwrap().path();
        let expected = program.with_extension("stderr");
        // The module `errors` covers programs whose errors all come from the macro.
        if program.extension().is_some_and(|is| is == "rs")
            && (!expected.exists() || errors::has_errors_of_rustc(&expected))
        {
            programs.compile_fail(program);
        }
    }
}

/// The directory of trybuild's crate. Both this crate's temporary directory and that crate are in the target directory.
fn crate_of_trybuild() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("../tests/trybuild")
        .join(env!("CARGO_PKG_NAME"))
}
