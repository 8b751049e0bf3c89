// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++ programs over the reference runtime, compiled by `g++` and kept until their source changes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::runtime::Runtime;
use crate::wheels::at;

/// Compiles `programs/NAME.cpp`, whose text is `source`, unless the program there is made of the same.
pub(crate) fn compile(runtime: &Runtime, name: &str, source: &str) -> Result<PathBuf> {
    let program = runtime.folder.join(name);
    let copy = runtime.folder.join(format!("{name}.cpp"));
    if program.exists() && std::fs::read_to_string(&copy).ok().as_deref() == Some(source) {
        return Ok(program);
    }
    // The copy is left beside the program only once that is there.
    let _ = std::fs::remove_file(&copy);
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("programs/{name}.cpp"));
    let status = Command::new("g++")
        .args(["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror"])
        // The headers warn of every compiler but their own.
        .arg("-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING")
        .arg("-isystem")
        .arg(runtime.headers())
        .arg(&from)
        .arg(runtime.library())
        // It leaves symbols of optional libraries open.
        .arg("-Wl,--allow-shlib-undefined")
        .arg("-o")
        .arg(&program)
        .status()
        .map_err(|error| format!("g++: {error}; install it"))?;
    if !status.success() {
        return Err(format!("{}: g++ ended with {status}", from.display()));
    }
    std::fs::write(&copy, source).map_err(|error| at(&copy, &error))?;
    Ok(program)
}
