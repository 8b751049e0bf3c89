//! Linking: a kernel of one file, and a function of another.

use syclbin_rt::{Arg, Launch, Module, Queue};

use crate::clang;
use crate::common::queue;

syclbin_rt::include_syclbin! { pub mod importing_input = "importing_input"; }
syclbin_rt::include_syclbin! { pub mod importing_object = "importing_object"; }
syclbin_rt::include_syclbin! { mod importing_both = "importing_both"; }
syclbin_rt::include_syclbin! { mod importing_mixed_input = "importing_mixed_input"; }
syclbin_rt::include_syclbin! { mod importing_mixed_object = "importing_mixed_object"; }
syclbin_rt::include_syclbin! { mod exporting_input = "exporting_input"; }
syclbin_rt::include_syclbin! { mod exporting_object = "exporting_object"; }
syclbin_rt::include_syclbin! { mod exporting_both = "exporting_both"; }
syclbin_rt::include_syclbin! { mod exporting_mixed_input = "exporting_mixed_input"; }
syclbin_rt::include_syclbin! { mod exporting_mixed_object = "exporting_mixed_object"; }
syclbin_rt::include_syclbin! { mod linked_input = "linked_input"; }
syclbin_rt::include_syclbin! { mod linked_object = "linked_object"; }
syclbin_rt::include_syclbin! { mod linked_mixed = "linked_mixed"; }
syclbin_rt::include_syclbin! { mod linked_both = "linked_both"; }

/// Both kernels of a file write their numbers.
macro_rules! check {
    ($queue:ident, $kernels:expr, $what:expr) => {
        let kernels = $kernels;
        let expected: Vec<i32> = (0..10).collect();
        let mut out = $queue.zeroed::<i32>(10).unwrap();
        // SAFETY: it writes ten elements.
        unsafe { kernels.fill_all(&mut out, 10).launch(1) }.unwrap();
        assert_eq!($queue.download(&out).unwrap(), expected, "{}", $what);
        let mut out = $queue.zeroed::<i32>(10).unwrap();
        // SAFETY: as above; one work-item of all writes.
        unsafe { kernels.fill_once(&mut out, 10).launch(32) }.unwrap();
        assert_eq!($queue.download(&out).unwrap(), expected, "{}", $what);
    };
}

#[test]
fn a_function_is_found_in_a_file_of_each_kind() {
    let Some(queue) = queue() else { return };
    macro_rules! pairs {
        ($importing:ident: $($exporting:ident)*) => { $(
            let builder = $importing::Module::builder(&queue);
            let kernels = builder.link($exporting::Module::FILE).load().unwrap();
            let what = concat!(stringify!($importing), " + ", stringify!($exporting));
            check!(queue, kernels, what);
        )* };
    }
    pairs!(importing_input: exporting_input exporting_object exporting_both);
    pairs!(importing_object: exporting_input exporting_object exporting_both);
    pairs!(importing_both: exporting_input exporting_object exporting_both);
}

#[test]
fn code_of_different_levels_of_optimization_is_linked() {
    let Some(queue) = queue() else { return };
    let level = |bytes| {
        let file = syclbin::read::parse(bytes).unwrap();
        let metadata = syclbin::metadata::ModuleMetadata::read(&file.modules[0].metadata).unwrap();
        metadata.misc.opt_level
    };
    // Compilers tell no level from another but 0.
    assert_eq!(level(importing_mixed_input::SYCLBIN), Some(2));
    assert_eq!(level(exporting_mixed_input::SYCLBIN), Some(0));
    let builder = importing_mixed_input::Module::builder(&queue);
    let kernels = builder.link(exporting_mixed_input::Module::FILE).load();
    check!(queue, kernels.unwrap(), "input");
    let builder = importing_mixed_object::Module::builder(&queue);
    let kernels = builder.link(exporting_mixed_object::Module::FILE).load();
    check!(queue, kernels.unwrap(), "object");
}

#[test]
fn files_that_the_compiler_linked_run() {
    let Some(queue) = queue() else { return };
    check!(queue, linked_input::Module::load(&queue).unwrap(), "input");
    check!(
        queue,
        linked_object::Module::load(&queue).unwrap(),
        "object"
    );
    check!(queue, linked_mixed::Module::load(&queue).unwrap(), "mixed");
    check!(queue, linked_both::Module::load(&queue).unwrap(), "both");
}

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
fn a_kernel_that_is_compiled_at_run_time_uses_an_embedded_file() {
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
fn kernels_are_found_on_both_sides_of_a_link() {
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
fn native_objects_load_and_run_and_those_that_import_keep_their_spirv() {
    let Some(queue) = queue() else { return };
    // SAFETY: a compiler made it.
    let module = unsafe { Module::load(&queue, crate::load::basic_both::SYCLBIN) }.unwrap();
    let choice = module.images().next().unwrap().to_string();
    assert!(
        choice.contains("the driver takes this native code"),
        "{choice}"
    );
    let builder = Module::builder(&queue).link(exporting_both::SYCLBIN);
    // SAFETY: as above.
    let module = unsafe { builder.load(importing_both::SYCLBIN) }.unwrap();
    let choice = module.images().next().unwrap().to_string();
    assert!(choice.contains("linked with module 0"), "{choice}");
}
