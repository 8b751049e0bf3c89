//! The macro as rustc runs it: what compiles, and the errors of what does not.
//!
//! trybuild compiles each program in a crate of its own, whose folder paths are relative to; the
//! files that the programs embed are put there first. `TRYBUILD=overwrite` writes the expected
//! errors anew.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)] // a test may

use std::fs;
use std::path::{Path, PathBuf};

use syclbin::signature::declaration::Declaration;
use syclbin::{AbstractModule, State, Syclbin};

#[test]
fn programs_compile_or_fail_as_expected() {
    let folder = crate_of_trybuild();
    fs::create_dir_all(&folder).unwrap();
    let testfiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testfiles");
    for entry in fs::read_dir(testfiles).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "syclbin")
        {
            fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    }
    fs::write(folder.join("odd_names.syclbin"), odd_names()).unwrap();
    fs::write(folder.join("not.syclbin"), "no SYCLBIN file").unwrap();
    let whole = fs::read(folder.join("vector_ops.object.syclbin")).unwrap();
    fs::write(folder.join("truncated.syclbin"), &whole[..whole.len() / 2]).unwrap();

    let programs = trybuild::TestCases::new();
    programs.pass("tests/pass/*.rs");
    programs.compile_fail("tests/ui/*.rs");
}

/// Where trybuild puts its crate: in the target folder, which has this one beside it.
fn crate_of_trybuild() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("../tests/trybuild")
        .join(env!("CARGO_PKG_NAME"))
}

/// Kernels and parameters that are called like something in Rust or in the generated code.
fn odd_names() -> Vec<u8> {
    let mut module = AbstractModule::default();
    for (symbol, declaration) in [
        (
            "__sycl_kernel_move",
            "void move(int gen, int type, unsigned int self)",
        ),
        ("__sycl_kernel_gen", "void gen()"),
        (
            "__sycl_kernel_self",
            "void self(int None, int SYCLBIN, int Ok)",
        ),
        (
            "__sycl_kernel_load",
            "void load(const bool *module, bool kernel)",
        ),
        ("__sycl_kernel_clone", "void clone()"),
        ("__sycl_kernel_fmt", "void fmt(float *f)"),
        ("_ZN17__sycl_kernel_f323oneEf", "void f32::one(float value)"),
        (
            "_ZN18__sycl_kernel_core3newEd",
            "void core::new(double value)",
        ),
        (
            "_ZN24__sycl_kernel_syclbin_rt6BufferEi",
            "void syclbin_rt::Buffer(int Self)",
        ),
        (
            "_ZN20__sycl_kernel_Module7KernelsEv",
            "void Module::Kernels()",
        ),
        (
            "_ZN20__sycl_kernel_Module6Result2OkEv",
            "void Module::Result::Ok()",
        ),
    ] {
        module.add_kernel_name(symbol);
        let declaration = Declaration::parse(declaration).unwrap();
        syclbin::signature::record(&mut module, [(&symbol.to_owned(), &declaration)]);
    }
    let mut file = Syclbin::new(State::Executable);
    file.modules.push(module);
    syclbin::write::to_vec(&file, syclbin::Container::default()).unwrap()
}
