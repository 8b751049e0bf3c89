// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the C++ blocks of the guide, and makes documentation of its pages, whose Rust blocks rustdoc then tests.
//!
//! A C++ block is compiled if its first line is `// kernels/NAME.cpp`. Rust blocks of the guide embed the result as
//! `include_syclbin! { mod kernels = "NAME"; }`.
#![allow(clippy::unwrap_used, reason = "a panic ends a build script")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use syclbin_build::Build;

fn main() {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let pages = package.join("../../book/src").canonicalize().unwrap();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    println!("cargo::rerun-if-changed={}", pages.display());
    let mut names: Vec<PathBuf> = fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .filter(|path| !path.ends_with("SUMMARY.md")) // only links
        .collect();
    names.sort();
    let mut modules = String::new();
    let mut sources = BTreeMap::new();
    for path in &names {
        let page = path.file_stem().unwrap().to_str().unwrap();
        let module = page.replace('-', "_");
        writeln!(
            modules,
            "#[doc = include_str!({path:?})]\npub mod {module} {{}}"
        )
        .unwrap();
        for (name, text) in kernels(&fs::read_to_string(path).unwrap()) {
            let before = sources.insert(name.clone(), text.clone());
            let is_new = before.is_none_or(|before| before == text);
            assert!(
                is_new,
                "{page}.md: another block of the guide is kernels/{name}.cpp too"
            );
        }
    }
    fs::write(out.join("pages.rs"), modules).unwrap();
    for (name, text) in sources {
        let path = out.join("kernels").join(&name).with_extension("cpp");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        Build::new().source(path).targets(["spir64"]).compile(&name);
    }
}

/// The names and texts of the blocks that are kernel sources.
fn kernels(page: &str) -> Vec<(String, String)> {
    let blocks = page.split("```cpp\n").skip(1);
    let blocks = blocks
        .filter_map(|rest| rest.split_once("```"))
        .map(|(block, _)| block);
    blocks
        .filter_map(|block| {
            let name = block
                .lines()
                .next()?
                .strip_prefix("// kernels/")?
                .strip_suffix(".cpp")?;
            Some((name.to_owned(), block.to_owned()))
        })
        .collect()
}
