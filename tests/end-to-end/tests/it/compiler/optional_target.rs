// SPDX-License-Identifier: MIT OR Apache-2.0
//! Targets that a source may do without: `--optional-target`, by which builds compile to PTX by default.

use std::path::Path;

use syclbin::{ImageKind, IrType};

use crate::common::clang::{clang, said};

const OPTION: &str = "--optional-target=nvptx64-nvidia-cuda";

/// Compiles files of this package: whether that went well, what the compiler said, and for each module the kinds of
/// its images.
fn compile(options: &[&str], sources: &[&str]) -> (bool, String, Vec<Vec<IrType>>) {
    let folder = tempfile::tempdir().unwrap();
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources: Vec<String> = (sources.iter())
        .map(|source| package.join(source).display().to_string())
        .collect();
    let mut arguments = vec!["-fsyclbin=object", "-O2", "-o", "k.syclbin"];
    arguments.extend(options);
    arguments.extend(sources.iter().map(String::as_str));
    let output = clang(&arguments, folder.path());
    let bytes = std::fs::read(folder.path().join("k.syclbin")).unwrap_or_default();
    let file = syclbin::read::parse(&bytes).ok();
    let modules = file.iter().flat_map(|file| &file.modules);
    let kinds = modules.map(|module| {
        let kind = |image: &syclbin::Image<'_>| match image.kind() {
            ImageKind::Ir { ty, .. } => ty,
            ImageKind::Native { .. } => panic!("native code was not requested"),
        };
        module.images.iter().map(kind).collect()
    });
    (output.status.success(), said(&output), kinds.collect())
}

#[test]
fn optional_ptx_joins_spirv() {
    let (made, said, kinds) = compile(&[OPTION], &["../files/functor.cpp"]);
    assert!(made && said.is_empty(), "{said}");
    assert_eq!(kinds, [[IrType::SpirV, IrType::Ptx]]);
}

#[test]
fn source_without_ptx_gets_a_warning() {
    // The first has a constant of an enumeration of 8 bits, which is not lowered in PTX.
    let sources = ["tests/kernels/specialized.cpp", "../files/functor.cpp"];
    let (made, said, kinds) = compile(&[OPTION], &sources);
    assert!(made, "{said}");
    assert!(kinds.contains(&vec![IrType::SpirV]), "{kinds:?}");
    assert!(
        kinds.contains(&vec![IrType::SpirV, IrType::Ptx]),
        "{kinds:?}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.starts_with("syclbin-clang: warning: cannot compile "),
        "{said}"
    );
    assert!(
        said.contains("specialized.cpp for target nvptx64-nvidia-cuda: "),
        "{said}"
    );
    // Where it is not optional, that is an error.
    let (made, said, _) = compile(
        &["-fsycl-targets=spir64,nvptx64-nvidia-cuda"],
        &sources[..1],
    );
    assert!(!made && said.contains("error: "), "{said}");
}

#[test]
fn mistakes_in_a_source_are_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("wrong.cpp");
    std::fs::write(&source, "int f() { return none; }\n").unwrap();
    let (made, said, _) = compile(&[OPTION], &[source.to_str().unwrap()]);
    assert!(!made, "{said}");
    assert_eq!(
        said.matches("undeclared identifier 'none'").count(),
        1,
        "{said}"
    );
    assert!(!said.contains("warning: cannot compile"), "{said}");
}

#[test]
fn only_ptx_can_be_optional() {
    let (made, said, _) = compile(&["--optional-target=spir64"], &["../files/functor.cpp"]);
    assert!(
        !made && said.contains("only nvptx64-nvidia-cuda can be optional"),
        "{said}"
    );
}
