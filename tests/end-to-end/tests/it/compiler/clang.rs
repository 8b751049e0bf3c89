// SPDX-License-Identifier: MIT OR Apache-2.0
//! The installed `syclbin-clang`, called as CMake or make would call `clang++`.
#![allow(unsafe_code)] // loading a file and launching a kernel are unsafe

use std::collections::BTreeSet;
use std::path::Path;

use syclbin::State;
use syclbin::property::set;
use syclbin::signature::{Access, KernelSignature, Type, kernels};
use syclbin_rt::{Arg, Launch, Module};

use crate::common;
use crate::common::clang::{clang, said};

/// Compiles a test file to `state`.
fn compile(name: &str, state: &str) -> Vec<u8> {
    compile_with(name, state, "-O2")
}

fn compile_with(name: &str, state: &str, option: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let source = test_files::directory().join(format!("{name}.cpp"));
    let state = format!("-fsyclbin={state}");
    let arguments = [
        "-fsycl",
        &state,
        option,
        "-o",
        "out.syclbin",
        source.to_str().unwrap(),
    ];
    let output = clang(&arguments, folder.path());
    assert!(output.status.success(), "{name}: {}", said(&output));
    std::fs::read(folder.path().join("out.syclbin")).unwrap()
}

#[test]
fn kernels_match_those_of_reference_runtime() {
    for name in [
        "vector_ops",
        "structs",
        "work_group",
        "functor",
        "globals",
        "import_side",
    ] {
        let ours = compile(name, "object");
        let theirs = test_files::directory().join(format!("{name}.object.syclbin"));
        let theirs = std::fs::read(theirs).unwrap();
        let ours = syclbin::read::parse(&ours).unwrap();
        let theirs = syclbin::read::parse(&theirs).unwrap();
        let names = |file: &syclbin::Syclbin<'_>| -> BTreeSet<String> {
            file.kernel_names().map(String::from).collect()
        };
        assert_eq!(names(&ours), names(&theirs), "{name}");
        assert_eq!(ours.state(), Some(State::Object));
        for kernel in ours.kernel_names() {
            // What a launcher must know of it is the same, whatever module it ended up in.
            let facts = |file: &syclbin::Syclbin<'_>| {
                let mut modules = file.modules.iter();
                let module = modules.find(|module| module.kernel_names().any(|k| k == kernel));
                let module = module.unwrap();
                // The reference runtime fills masks up to whole bytes.
                let mut removed = module.eliminated_arguments(kernel).unwrap();
                while removed.last() == Some(&false) {
                    removed.pop();
                }
                (module.aspects(), removed)
            };
            assert_eq!(facts(&ours), facts(&theirs), "{name}: {kernel}");
        }
    }
}

/// Returns the accesses of a kernel's pointers.
fn accesses(kernel: &KernelSignature) -> Vec<Access> {
    let parameters = kernel.parameters.as_ref().unwrap().iter();
    let accesses = parameters.filter_map(|parameter| match parameter.ty {
        Type::Pointer { access, .. } => Some(access),
        _ => None,
    });
    accesses.collect()
}

#[test]
fn code_alone_shows_read_only_pointers() {
    let bytes = compile("vector_ops", "executable");
    let file = syclbin::read::parse(&bytes).unwrap();
    assert_eq!(file.state(), Some(State::Executable));
    let kernels = kernels(&file).unwrap().kernels;
    let saxpy = kernels.iter().find(|k| k.symbol == "__sycl_kernel_saxpy");
    assert_eq!(accesses(saxpy.unwrap()), [Access::Read, Access::ReadWrite]);
}

#[test]
fn pointers_without_const_are_read_only_if_proven() {
    const SOURCE: &str = r#"
        #include <sycl/queue.hpp>
        #include <syclbin/kernel.hpp>
        namespace syclexp = sycl::ext::oneapi::experimental;
        [[gnu::noinline]] float first(float *from, int i) { return from[2 * i]; }
        [[gnu::noinline]] void set(float *to, int i) { to[i + 1] = 1; }
        void reads(sycl::queue &q, float *in, float *out) {
            q.parallel_for<class Reads>(sycl::range<1>(64), [=](sycl::id<1> i) { out[i] = in[i]; });
        }
        void calls(sycl::queue &q, float *in, float *out) {
            q.single_task<class Calls>([=] {
                float *at = in;
                for (int i = 0; i < 8; ++i, at += 3) out[i] = first(at, i);
            });
        }
        void writes(sycl::queue &q, float *set_elsewhere, float *also, float **stored) {
            q.single_task<class Writes>([=] {
                set(set_elsewhere, 3);
                *stored = also;
            });
        }
        SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::single_task_kernel))
        void swapped(float *in, float *maybe, int n) {
            float *to = n > in[0] ? maybe : nullptr;
            if (to) *to = in[1];
        }
    "#;
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("k.cpp"), SOURCE).unwrap();
    let output = clang(&["-fsyclbin", "-o", "k.syclbin", "k.cpp"], directory.path());
    assert!(output.status.success(), "{}", said(&output));
    let bytes = std::fs::read(directory.path().join("k.syclbin")).unwrap();
    let kernels = kernels(&syclbin::read::parse(&bytes).unwrap())
        .unwrap()
        .kernels;
    let of = |name: &str| {
        let mut callable = kernels.iter().filter(|kernel| kernel.parameters.is_ok());
        let kernel = callable.find(|kernel| kernel.symbol.contains(name));
        let mut sorted = accesses(kernel.unwrap());
        sorted.sort_by_key(|access| *access == Access::ReadWrite);
        sorted
    };
    for name in ["Reads", "Calls", "swapped"] {
        assert_eq!(of(name), [Access::Read, Access::ReadWrite], "{name}");
    }
    assert_eq!(of("Writes"), [Access::ReadWrite; 3]);
}

#[test]
fn depfile_names_output_and_existing_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = "#include \"a b.hpp\"\n#include <sycl/ext/oneapi/free_function_queries.hpp>\n";
    std::fs::write(folder.path().join("k.cpp"), kernel).unwrap();
    std::fs::write(folder.path().join("a b.hpp"), "").unwrap();
    let output = clang(
        &["-fsyclbin", "-MD", "-o", "k.syclbin", "k.cpp"],
        folder.path(),
    );
    assert!(output.status.success(), "{}", said(&output));
    let text = std::fs::read_to_string(folder.path().join("k.d")).unwrap();
    assert!(text.starts_with("k.syclbin: \\\n  k.cpp \\\n"), "{text}");
    assert!(text.contains("  a\\ b.hpp"), "{text}");
    for line in text.lines().skip(1) {
        let path = line.trim().trim_end_matches(" \\").replace("\\ ", " ");
        assert!(folder.path().join(&path).exists(), "{path}");
    }
}

#[test]
fn errors_are_clangs_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.cpp"), "int f() { return x; }\n").unwrap();
    let arguments = ["-fsyclbin", "-MD", "-o", "k.syclbin", "k.cpp"];
    let output = clang(&arguments, folder.path());
    assert_eq!(output.status.code(), Some(1));
    let expected = "k.cpp:1:18: error: use of undeclared identifier 'x'\n    1 | int f() { return x; }\n      |                  ^\n";
    assert_eq!(said(&output), expected);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn dangerous_code_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (source, state, expected) in [
        (
            test_files::directory().join("import_side.cpp"),
            "executable",
            "undefined symbols in the device code: shape(float) [_Z5shapef]",
        ),
        (
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/unlowered.cpp"),
            "object",
            "specialization constant app::place (read by reads_a_pointer) cannot be compiled: it \
             contains a pointer",
        ),
    ] {
        let state = format!("-fsyclbin={state}");
        let name = source.to_str().unwrap();
        let arguments = [&state, "-o", "out.syclbin", name];
        let output = clang(&arguments, folder.path());
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(said(&output).contains(expected), "{}", said(&output));
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "{name}"
        );
    }
}

#[test]
fn global_variables_of_kernels_must_be_constant() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = |declaration: &str, expression: &str| {
        let text = format!(
            "#include <syclbin/kernel.hpp>\n{declaration}\nSYCLBIN_KERNEL(1) void k(double *x) {{ *x = {expression}; }}"
        );
        std::fs::write(folder.path().join("k.cpp"), text).unwrap();
    };
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../syclbin-build/include");
    let include = format!("-I{}", include.display());
    let computed = "#include <cmath>\nconst double value = std::sqrt(2.0);";
    let is_computed = "error: 'k.cpp': the initial value of a global variable is not a constant";
    let is_mutable = "error: 'k.cpp': kernels use the global variable value, whose value is not";
    let (spirv, ptx) = ("spir64", "nvptx64-nvidia-cuda");
    for (declaration, expression, target, expected) in [
        ("double value = 2;", "value++", spirv, is_mutable),
        ("static double value;", "value++", spirv, is_mutable),
        (
            "namespace app { double v; }",
            "app::v++",
            spirv,
            "app::v, whose",
        ),
        (computed, "value", spirv, "declare that variable constexpr"),
        (computed, "value", ptx, is_computed),
    ] {
        kernel(declaration, expression);
        let target = format!("-fsycl-targets={target}");
        let arguments = ["-fsyclbin", &target, &include, "-o", "k.syclbin", "k.cpp"];
        let output = clang(&arguments, folder.path());
        assert!(!output.status.success(), "{declaration} {target}");
        assert!(said(&output).contains(expected), "{}", said(&output));
    }
    kernel("const double value = 2;", "value");
    let arguments = ["-fsyclbin", "-O0", &include, "-o", "k.syclbin", "k.cpp"];
    let output = clang(&arguments, folder.path());
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn constants_are_lowered_in_unoptimized_code_too() {
    let Some(queue) = common::queue() else { return };
    for (option, state) in [
        ("-O0", "executable"),
        ("-g", "executable"),
        ("-O3", "object"),
    ] {
        let bytes = compile_with("constants", state, option);
        let builder = Module::builder(&queue)
            .specialization_constant("____ZL6offset", 100i32)
            .specialization_constant("____ZL7stencil", [1.0f32, 0.5, 2.0, f32::from_bits(1)]);
        // SAFETY: the compiler made the file just now.
        let module = unsafe { builder.load(&bytes) }.unwrap();
        let input = queue.upload(&[1.0f32, 2.0, 4.0, 8.0]).unwrap();
        let mut out = queue.zeroed::<f32>(4).unwrap();
        let arguments = [
            Arg::read(&input),
            Arg::write(&mut out),
            Arg::scalar(4i32),
            Arg::kernel_handler(),
        ];
        let kernel = module.kernel("__sycl_kernel_blur");
        let launch = Launch::new(&kernel, &["in", "out", "n", "h"], arguments);
        // SAFETY: both have four elements.
        unsafe { launch.launch(4) }.unwrap();
        // The gain stays at 2.5; the last four bytes of the stencil are its radius, one.
        let expected = [5.5, 10.0, 20.0, 24.0].map(|sum| 2.5 * sum + 100.0);
        assert_eq!(queue.download(&out).unwrap(), expected, "{option} {state}");
    }
}

#[test]
fn every_documented_option_has_an_effect() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("k.cpp", "#if !OK\n#error not ok\n#endif\n");
    write("inc/ok.hpp", "#define OK 1\n");
    write("uses.cpp", "#include <ok.hpp>\n#include \"k.cpp\"\n");
    write(
        "opt.cpp",
        "#ifdef __OPTIMIZE__\n#define OK 1\n#endif\n#include \"k.cpp\"\n",
    );
    write(
        "std.cpp",
        "#define OK (__cplusplus == 202302L)\n#include \"k.cpp\"\n",
    );
    write(
        "fast.cpp",
        "#ifdef __FAST_MATH__\n#define OK 1\n#endif\n#include \"k.cpp\"\n",
    );
    for (with, without) in [
        ("-DOK=1 k.cpp", "k.cpp"),
        ("-D OK=1 k.cpp", "-D OK=1 -U OK k.cpp"),
        ("-include inc/ok.hpp k.cpp", "k.cpp"),
        ("-I inc uses.cpp", "uses.cpp"),
        ("-Iinc uses.cpp", "uses.cpp"),
        ("-isystem inc uses.cpp", "uses.cpp"),
        ("-O2 opt.cpp", "-O0 opt.cpp"),
        ("-std=c++23 std.cpp", "-std=c++20 std.cpp"),
        ("-ffast-math fast.cpp", "fast.cpp"),
    ] {
        let compiles = |line: &str| {
            let mut arguments = vec!["-fsyclbin", "-o", "/dev/null"];
            arguments.extend(line.split(' '));
            let output = clang(&arguments, folder.path());
            (output.status.success(), said(&output))
        };
        let (compiled, log) = compiles(with);
        assert!(compiled, "{with}: {log}");
        let (compiled, log) = compiles(without);
        assert!(!compiled, "{without} compiles: {log}");
    }
    assert!(!Path::new("/dev/null").is_file(), "a device was replaced");
}

/// Asserts cost nothing where there are none, and only a driver's own is an import.
#[test]
fn only_code_with_asserts_records_them() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = "#include <cassert>\n#include <syclbin/kernel.hpp>\n\
        namespace syclexp = sycl::ext::oneapi::experimental;\n\
        extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::single_task_kernel))\n\
        void check(int *p) { assert(*p == 1); }\n";
    std::fs::write(folder.path().join("k.cpp"), kernel).unwrap();
    // The device globals, and whether the driver is to define the function.
    let compile = |arguments: &[&str]| {
        let arguments = [arguments, &["-fsyclbin=object", "-o", "k.syclbin", "k.cpp"]].concat();
        let output = clang(&arguments, folder.path());
        assert!(output.status.success(), "{}", said(&output));
        let bytes = std::fs::read(folder.path().join("k.syclbin")).unwrap();
        let file = syclbin::read::parse(&bytes).unwrap();
        let sets = file.modules.iter().map(|module| &module.metadata);
        let globals = sets.filter_map(|sets| sets.set(set::DEVICE_GLOBALS));
        let globals: Vec<String> = globals
            .flat_map(|globals| globals.names().map(str::to_owned))
            .collect();
        let native = b"__devicelib_assert_fail";
        (
            globals,
            bytes.windows(native.len()).any(|part| part == native),
        )
    };
    let variable = "_ZN7syclbin13failed_assertE".to_owned();
    assert_eq!(compile(&[]), (vec![variable], false));
    assert_eq!(compile(&["-DNDEBUG"]), (vec![], false));
    assert_eq!(compile(&["-DSYCLBIN_NATIVE_ASSERT"]), (vec![], true));
    // It came to the object on purpose.
    let output = clang(
        &["-fsyclbin", "-o", "linked.syclbin", "k.syclbin"],
        folder.path(),
    );
    assert!(output.status.success(), "{}", said(&output));
}

/// Kernels that hold a reference, in all ways that C++ has.
const REFERENCES: [&str; 4] = [
    "void f(sycl::queue &q, int n, int *p) { q.single_task([&] { p[0] = n; }); }",
    "void f(sycl::queue &q, int n, int *p) { q.single_task([=, &n] { p[0] = n; }); }",
    "void f(sycl::queue &q, int n, int *p) { q.single_task([p, &r = n] { p[0] = r; }); }",
    "struct H { int &r; int *p; void operator()() const { *p = r; } };\n\
     void f(sycl::queue &q, int n, int *p) { q.single_task(H{n, p}); }",
];

/// `syclbin-build` adds hints to these messages.
#[test]
fn messages_with_hints_are_the_compilers() {
    let folder = tempfile::tempdir().unwrap();
    let message = |source: &str| {
        std::fs::write(folder.path().join("a.cpp"), source).unwrap();
        let output = clang(&["-fsycl", "-fsyclbin", "a.cpp", "-o", "a"], folder.path());
        assert!(!output.status.success(), "{source}");
        let said = said(&output);
        let error = said.lines().find(|line| line.contains("error: "));
        error.unwrap_or_default().to_owned()
    };
    for source in REFERENCES {
        let message = message(&format!("#include <sycl/queue.hpp>\n{source}\n"));
        let expected = "&' cannot be used as the type of a kernel parameter";
        assert!(message.ends_with(expected), "{message}");
    }
    let missing = message("#include <mpi.h>\n");
    assert!(
        missing.ends_with("error: 'mpi.h' file not found"),
        "{missing}"
    );
}
