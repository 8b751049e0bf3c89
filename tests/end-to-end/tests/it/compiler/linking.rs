// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device functions across files: compiled each by itself, and linked when a program loads them.
#![allow(unsafe_code)] // loading a file and launching a kernel are unsafe

use std::path::Path;

use syclbin::__private::spirv;
use syclbin::property::set;
use syclbin_rt::{Arg, ErrorKind, Launch, Module, Queue};

use crate::common::{clang, queue};

const KERNEL: &str = r#"
#include <syclbin/kernel.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
SYCL_EXTERNAL int scaled(int x);
SYCL_EXTERNAL int base() { return 100; }
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void fill(int *out) {
  size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  out[i] = scaled(static_cast<int>(i));
}
"#;

/// Calls back into the file of the kernel.
const SCALED: &str = r#"
#include <syclbin/kernel.hpp>
SYCL_EXTERNAL int base();
SYCL_EXTERNAL int step(int x);
SYCL_EXTERNAL int scaled(int x) { return base() + step(x); }
"#;

const STEP: &str = r#"
#include <syclbin/kernel.hpp>
SYCL_EXTERNAL int step(int x) { return 7 * x; }
"#;

/// The same function with another meaning.
const OTHER_STEP: &str = r#"
#include <syclbin/kernel.hpp>
SYCL_EXTERNAL int step(int x) { return -x; }
"#;

/// The same kernel, with a function of its own.
const KERNEL_AND_STEP: &str = r#"
#include <syclbin/kernel.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
SYCL_EXTERNAL int scaled(int x);
SYCL_EXTERNAL int base() { return 1; }
SYCL_EXTERNAL int step(int x) { return 2 * x; }
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void fill(int *out) {
  size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  out[i] = scaled(static_cast<int>(i));
}
"#;

const SPECIALIZED: &str = r#"
#include <syclbin/constants.hpp>
constexpr sycl::specialization_id<int> shift(5);
SYCL_EXTERNAL int shifted(int x, sycl::kernel_handler h) {
  return x + h.get_specialization_constant<shift>();
}
namespace syclexp = sycl::ext::oneapi::experimental;
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void unused(int *out, sycl::kernel_handler h) { *out = shifted(*out, h); }
"#;

const SHIFTING: &str = r#"
#include <syclbin/constants.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
constexpr sycl::specialization_id<int> factor(10);
SYCL_EXTERNAL int shifted(int x, sycl::kernel_handler h);
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void fill(int *out, sycl::kernel_handler h) {
  size_t i = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
  out[i] = h.get_specialization_constant<factor>() * shifted(static_cast<int>(i), h);
}
"#;

/// Compiles a source by itself; what it imports stays open.
fn compile(source: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.cpp"), source).unwrap();
    let allowed = "-fsycl-allow-device-image-dependencies";
    let (output, _) = run(
        folder.path(),
        &["-fsyclbin=object", "-O2", allowed, "in.cpp"],
    );
    output
}

/// Runs the compiler, and returns its file and what it said.
fn run(folder: &Path, arguments: &[&str]) -> (Vec<u8>, String) {
    let arguments = [&["-fsycl", "-o", "out.syclbin"], arguments].concat();
    let output = clang::clang(&arguments, folder);
    let said = clang::said(&output);
    assert!(output.status.success(), "{said}");
    (std::fs::read(folder.join("out.syclbin")).unwrap(), said)
}

/// Links objects ahead of time.
fn link(objects: &[&[u8]], arguments: &[&str]) -> (Vec<u8>, String) {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..objects.len())
        .map(|number| format!("{number}.syclbin"))
        .collect();
    for (name, bytes) in names.iter().zip(objects) {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    run(
        folder.path(),
        &[&["-fsycl-link"], arguments, &names].concat(),
    )
}

/// Returns how many images of native code the modules with kernels have, and whether these modules import anything.
fn shape(file: &[u8]) -> (usize, bool) {
    let file = syclbin::read::parse(file).unwrap();
    let mut native = 0;
    let mut imports = false;
    for module in file
        .modules
        .iter()
        .filter(|module| module.kernel_names().next().is_some())
    {
        imports |= module.metadata.set(set::IMPORTED_SYMBOLS).is_some();
        for image in &module.images {
            native += usize::from(image.native);
            if let Some(code) = image.spirv() {
                imports |= spirv::Module::parse(code)
                    .unwrap()
                    .imports()
                    .next()
                    .is_some();
            }
        }
    }
    (native, imports)
}

fn filled(queue: &Queue, module: &Module) -> [i32; 4] {
    let kernel = module.kernel("fill");
    let mut out = queue.zeroed::<i32>(4).unwrap();
    let args = [Arg::write(&mut out)];
    // SAFETY: a work-item for each element.
    unsafe { Launch::new(&kernel, &["out"], args).launch(4) }.unwrap();
    queue.download(&out).unwrap().try_into().unwrap()
}

#[test]
fn functions_call_across_three_files_and_back() {
    let Some(queue) = queue() else { return };
    let [kernel, scaled, step] = [KERNEL, SCALED, STEP].map(compile);
    let builder = Module::builder(&queue).link(&step).link(&scaled);
    // SAFETY: they were compiled for this test.
    let module = unsafe { builder.load(&kernel) }.unwrap();
    assert_eq!(filled(&queue, &module), [100, 107, 114, 121]);

    // What a linked file itself needs is named with the module that needs it.
    let builder = Module::builder(&queue).link(&scaled);
    // SAFETY: as above.
    let message = unsafe { builder.load(&kernel) }.unwrap_err().to_string();
    assert!(
        message.contains("step(int) [_Z4stepi] (used by module 0 (")
            && message.contains("of linked file 1)"),
        "{message}"
    );
}

#[test]
fn linked_code_computes_what_load_time_linking_does() {
    let Some(queue) = queue() else { return };
    let [kernel, scaled, step] = [KERNEL, SCALED, STEP].map(compile);
    let objects = [&kernel[..], &scaled, &step];
    for (targets, native) in [
        ("-fsycl-targets=spir64", 0),
        ("-fsycl-targets=spir64,spir64_x86_64", 1),
        ("-fsycl-targets=spir64_x86_64", 1),
    ] {
        let (linked, said) = link(&objects, &[targets]);
        assert_eq!(
            (said.as_str(), shape(&linked)),
            ("", (native, false)),
            "{targets}"
        );
        // SAFETY: it was compiled for this test.
        let module = unsafe { Module::load(&queue, &linked) }.unwrap();
        assert_eq!(filled(&queue, &module), [100, 107, 114, 121], "{targets}");
    }
}

#[test]
fn what_cannot_be_linked_now_is_linked_later() {
    let Some(queue) = queue() else { return };
    let [kernel, function] = [SHIFTING, SPECIALIZED].map(compile);
    let (linked, said) = link(&[&kernel, &function], &["-fsycl-targets=spir64"]);
    assert!(
        said.contains("kernel fill: kernel unused has specialization constants"),
        "{said}"
    );
    assert_eq!(shape(&linked), (0, true));
    // SAFETY: it was compiled for this test.
    let module = unsafe { Module::load(&queue, &linked) }.unwrap();
    let kernel = module.kernel("fill");
    let mut out = queue.zeroed::<i32>(2).unwrap();
    let args = [Arg::write(&mut out), Arg::kernel_handler()];
    // SAFETY: a work-item for each element.
    unsafe { Launch::new(&kernel, &["out", "h"], args).launch(2) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [50, 60]);
}

/// A function that is `inline`, as headers have them, in a kernel's own file.
const INLINE: &str = r#"
#include <syclbin/kernel.hpp>
SYCL_EXTERNAL __attribute__((noinline)) inline int scaled(int x) { return 3 * x + 1; }
"#;

#[test]
fn linked_modules_may_share_inline_functions() {
    let Some(queue) = queue() else { return };
    let user = |name: &str| {
        compile(&format!(
            "{INLINE}SYCL_EXTERNAL int {name}(int x) {{ return scaled(x); }}"
        ))
    };
    let [step, base] = [user("step"), user("other")];
    let kernel = compile(KERNEL);
    // Two files have it, and either may be taken.
    let builder = Module::builder(&queue).link(&step).link(&base);
    // SAFETY: they were compiled for this test.
    let module = unsafe { builder.load(&kernel) }.unwrap();
    assert_eq!(filled(&queue, &module), [1, 4, 7, 10]);
    let (linked, _) = link(&[&kernel, &step, &base], &["-fsycl-targets=spir64_x86_64"]);
    assert_eq!(shape(&linked), (1, false));
    // SAFETY: as above.
    let module = unsafe { Module::load(&queue, &linked) }.unwrap();
    assert_eq!(filled(&queue, &module), [1, 4, 7, 10]);
    // Two modules of one program have it.
    let own = KERNEL.replace("SYCL_EXTERNAL int scaled(int x);", "");
    let own = own.replace("#include <syclbin/kernel.hpp>", INLINE);
    let own = own.replace("= scaled(", "= step(1) + scaled(");
    let own = compile(&own.replace(
        "SYCL_EXTERNAL int base()",
        "SYCL_EXTERNAL int step(int x);\nint base()",
    ));
    let builder = Module::builder(&queue).link(&step);
    // SAFETY: as above.
    let module = unsafe { builder.load(&own) }.unwrap();
    module.build().unwrap();
    let choice = module.images().next().unwrap().to_string();
    assert!(choice.contains("of linked file 1"), "{choice}");
    assert_eq!(filled(&queue, &module), [5, 8, 11, 14]);
    // Nor is one in the way that is not `inline` elsewhere.
    let strong = INLINE.replace("inline int", "int");
    let strong = compile(&format!(
        "{strong}SYCL_EXTERNAL int step(int x) {{ return scaled(x); }}"
    ));
    let builder = Module::builder(&queue).link(&strong);
    // SAFETY: as above.
    let module = unsafe { builder.load(&own) }.unwrap();
    assert_eq!(filled(&queue, &module), [5, 8, 11, 14]);
}

#[test]
fn function_of_two_needed_modules_is_refused() {
    let Some(queue) = queue() else { return };
    let [kernel, scaled, other] = [KERNEL_AND_STEP, SCALED, OTHER_STEP].map(compile);
    // `scaled` finds the `step` that came along with the kernel.
    let builder = Module::builder(&queue).link(&scaled);
    // SAFETY: they were compiled for this test.
    let module = unsafe { builder.load(&kernel) }.unwrap();
    assert_eq!(filled(&queue, &module), [1, 3, 5, 7]);

    let scaled_and_step = compile(&format!(
        "{SCALED}\nSYCL_EXTERNAL int step(int x) {{ return x; }}\n"
    ));
    let builder = Module::builder(&queue).link(&scaled_and_step);
    // SAFETY: as above.
    let error = unsafe { builder.load(&kernel) }.unwrap_err();
    assert!(
        error.kind() == ErrorKind::Unavailable
            && error
                .to_string()
                .contains("nothing in this SYCLBIN file can run"),
        "{error}"
    );
    let message = error.to_string();
    assert!(
        message.contains("step(int) [_Z4stepi] is defined by both module 0"),
        "{message}"
    );
    // One that is not asked for does not matter.
    let builder = Module::builder(&queue).link(&scaled).link(&other);
    // SAFETY: as above.
    let module = unsafe { builder.load(&kernel) }.unwrap();
    assert_eq!(filled(&queue, &module), [1, 3, 5, 7]);
}

#[test]
fn specialization_constants_of_all_linked_modules_are_set() {
    let Some(queue) = queue() else { return };
    let [kernel, function] = [SHIFTING, SPECIALIZED].map(compile);
    let builder = || Module::builder(&queue).link(&function);
    let run = |builder: syclbin_rt::ModuleBuilder<'_>| {
        // SAFETY: they were compiled for this test.
        let module = unsafe { builder.load(&kernel) }.unwrap();
        let kernel = module.kernel("fill");
        let mut out = queue.zeroed::<i32>(2).unwrap();
        let args = [Arg::write(&mut out), Arg::kernel_handler()];
        // SAFETY: a work-item for each element.
        unsafe { Launch::new(&kernel, &["out", "h"], args).launch(2) }.unwrap();
        queue.download(&out).unwrap()
    };
    let name = |file: &[u8]| {
        let file = syclbin::read::parse(file).unwrap();
        let metadata = syclbin::metadata::ModuleMetadata::read(&file.modules[0].metadata).unwrap();
        metadata
            .specialization
            .constants
            .names()
            .next()
            .unwrap()
            .to_owned()
    };
    let (factor, shift) = (name(&kernel), name(&function));
    assert_eq!(run(builder()), [50, 60]);
    assert_eq!(
        run(builder().specialization_constant(&factor, 2i32)),
        [10, 12]
    );
    assert_eq!(
        run(builder().specialization_constant(&shift, -1i32)),
        [-10, 0]
    );
    let both = builder()
        .specialization_constant(&shift, 0i32)
        .specialization_constant(factor, 3i32);
    assert_eq!(run(both), [0, 3]);
}
