// SPDX-License-Identifier: MIT OR Apache-2.0
//! The macro as rustc runs it: what compiles, and the errors of what does not.
//!
//! trybuild compiles each program in a crate of its own, whose directory paths are relative to; the
//! files that the programs embed are put there first. `TRYBUILD=overwrite` writes the expected
//! errors anew.

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
        // `errors` compares those that the macro alone gives.
        if program.extension().is_some_and(|is| is == "rs")
            && (!expected.exists() || errors::has_errors_of_rustc(&expected))
        {
            programs.compile_fail(program);
        }
    }
}

/// Where trybuild puts its crate: in the target directory, which has this one beside it.
fn crate_of_trybuild() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("../tests/trybuild")
        .join(env!("CARGO_PKG_NAME"))
}
