// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates the kernels that a setting asks for, and compiles them as a user's build script would.

use std::path::{Path, PathBuf};

use random_kernels::{Program, Setting, differential, signatures};
use syclbin_build::Build;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("OUT_DIR of Cargo"));
    let setting = self::setting("SYCLBIN_RANDOM_SIGNATURES", 50);
    compile(&out, "signatures", &signatures::program(&setting), &[]);
    let setting = self::setting("SYCLBIN_RANDOM_DIFFERENTIAL", 25);
    let exact = ["-ffp-contract=off", "-Wno-tautological-compare"];
    compile(
        &out,
        "differential",
        &differential::program(&setting),
        &exact,
    );
}

/// What the variable `name` says. By default so many kernels of seed 1 are generated.
fn setting(name: &str, count: usize) -> Setting {
    println!("cargo::rerun-if-env-changed={name}");
    println!("cargo::rerun-if-changed=build.rs");
    let default = Setting {
        seed: 1,
        first: 0,
        count,
        keep: None,
        stray: None,
    };
    let text = std::env::var(name).unwrap_or_default();
    Setting::parse(&text, &default).expect("a setting")
}

fn compile(out: &Path, name: &str, program: &Program, flags: &[&str]) {
    for source in &program.sources {
        let path = out.join(format!("{}.cpp", source.name));
        write(&path, &source.text);
        let build = flags.iter().fold(Build::new(), Build::flag);
        build.source(&path).compile(&source.name);
    }
    write(&out.join(format!("{name}.rs")), &program.calls);
}

/// Writes a file unless it has these bytes.
fn write(path: &Path, text: &str) {
    if std::fs::read(path).is_ok_and(|before| before == text.as_bytes()) {
        return;
    }
    std::fs::write(path, text).expect("a file in OUT_DIR");
}
