// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenarios of the reference runtime in which a compiler runs beside the program; the others, and a table
//! of all, are in `device::scenarios`.
#![allow(unsafe_code)] // loading a file and launching a kernel are unsafe

use syclbin_rt::{Arg, Launch, Module, Queue};

use crate::common::clang;
use crate::common::queue;
use crate::device::scenarios::link::{
    exporting_input, exporting_object, importing_input, importing_object,
};

/// Compiles a source now; what it imports stays open.
fn compile(state: &str, source: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("now.cpp"), source).unwrap();
    let state = format!("-fsyclbin={state}");
    let open = "-fsycl-allow-device-image-dependencies";
    let output = clang::clang(&[&state, open, "now.cpp", "-o", "now"], folder.path());
    assert!(output.status.success(), "{}", clang::said(&output));
    std::fs::read(folder.path().join("now")).unwrap()
}

/// What a kernel of `(int *out, int n)` writes in work-groups of 16.
fn written(queue: &Queue, module: &Module, kernel: &str) -> Vec<i32> {
    let kernel = module.kernel(kernel);
    let mut out = queue.zeroed::<i32>(32).unwrap();
    let args = [Arg::write(&mut out), Arg::scalar(32)];
    let range = syclbin_rt::NdRange::new(32).local(16);
    // SAFETY: it writes 32 elements.
    unsafe { Launch::new(&kernel, &["out", "n"], args).launch(range) }.unwrap();
    queue.download(&out).unwrap()
}

const KERNEL: &str = r#"
#include <syclbin/kernel.hpp>
SYCL_EXTERNAL void fill(int *p, int n);
SYCLBIN_KERNEL(1) void compiled_now(int *out, int n) {
  if (syclbin::get_nd_item<1>().get_global_linear_id() == 0) fill(out, n);
}
"#;

#[test]
fn run_time_kernel_links_with_embedded_file() {
    let Some(queue) = queue() else { return };
    for (state, embedded) in [
        ("input", exporting_input::SYCLBIN),
        ("object", exporting_object::SYCLBIN),
    ] {
        let now = compile(state, KERNEL);
        let builder = Module::builder(&queue).link(embedded);
        // SAFETY: a compiler made both.
        let module = unsafe { builder.load(&now) }.unwrap();
        let expected: Vec<i32> = (0..32).collect();
        assert_eq!(written(&queue, &module, "compiled_now"), expected);
    }
}

const FUNCTION_AND_KERNEL: &str = r#"
#include <syclbin/kernel.hpp>
SYCL_EXTERNAL void fill(int *p, int n) { for (int i = 0; i < n; ++i) p[i] = i; }
SYCLBIN_KERNEL(1) void compiled_now(int *out, int n) {
  out[syclbin::get_nd_item<1>().get_global_linear_id()] = n;
}
"#;

#[test]
fn linked_module_has_only_its_own_kernels() {
    let Some(queue) = queue() else { return };
    for (state, embedded) in [
        ("input", importing_input::SYCLBIN),
        ("object", importing_object::SYCLBIN),
    ] {
        let now = compile(state, FUNCTION_AND_KERNEL);
        let builder = Module::builder(&queue).link(&now);
        // SAFETY: a compiler made both.
        let module = unsafe { builder.load(embedded) }.unwrap();
        let expected: Vec<i32> = (0..32).collect();
        assert_eq!(written(&queue, &module, "fill_once"), expected);
        // Its own kernels are loaded from the other file.
        assert!(module.kernel("compiled_now").is_err());
        // SAFETY: as above.
        let other = unsafe { Module::load(&queue, &now) }.unwrap();
        assert_eq!(written(&queue, &other, "compiled_now"), [32; 32]);
    }
}

#[test]
fn native_code_with_open_imports_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/importing.cpp");
    let line = ["-fsyclbin=object", "-fsycl-targets=spir64_x86_64", source];
    let output = clang::clang(&line, folder.path());
    let said = clang::said(&output);
    assert!(!output.status.success());
    assert!(
        said.contains("cannot generate native code") && said.contains("fill(int *, int)"),
        "{said}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn call_through_function_pointer_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let source = "#include <syclbin/kernel.hpp>\n\
        extern \"C\" SYCLBIN_PROPERTY(single_task_kernel)\n\
        void call(int *out, int (**f)(int)) { *out = (*f)(4); }\n";
    std::fs::write(folder.path().join("k.cpp"), source).unwrap();
    let output = clang::clang(&["-fsyclbin", "k.cpp"], folder.path());
    let said = clang::said(&output);
    assert!(
        said.contains("cannot call through a function pointer"),
        "{said}"
    );
    assert!(!folder.path().join("a.syclbin").exists());
}
