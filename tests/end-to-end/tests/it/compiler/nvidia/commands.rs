// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command lines for NVIDIA GPUs, and their messages.

use super::*;

#[test]
fn ptx_alone_has_declared_types() {
    if component().is_none() {
        return;
    }
    let folder = folder(
        "struct Two { unsigned of[2]; };\nKERNEL k(unsigned n, const Two *from, int *to) { *to = n; }",
    );
    let kernels = |targets| {
        let file = well(&["-fsyclbin", targets, "k.cpp"], folder.path());
        let images = file.modules.iter().map(images).collect::<Vec<_>>();
        (signature::kernels(&file).unwrap().kernels, images)
    };
    let (spirv, _) = kernels("-fsycl-targets=spir64");
    let (ptx, images) = kernels("-fsycl-targets=nvptx64");
    assert_eq!(ptx, spirv);
    assert_eq!(images, [["Ptx"]]);
    assert!(format!("{spirv:?}").contains("U32"), "{spirv:?}");
}

/// Once this fails, `device_library.rs` of `syclbin-clang` can go.
#[test]
fn library_still_searches_for_device_library() {
    if component().is_none() {
        return;
    }
    let folder = folder(STRUCT);
    let output = clang(
        &["-fsyclbin", "--compile-ptx=sm_75,unserved", "k.cpp"],
        folder.path(),
    );
    assert!(!output.status.success());
    let text = said(&output);
    let path = "/lib/clang/23/lib/nvptx64-nvidia-cuda/libspirv.l64.signed_char.bc";
    assert!(text.contains(path), "{text}");
}

/// Once this fails, clang may be told the true GPU.
#[test]
fn library_still_crashes_with_known_gpu() {
    if component().is_none() {
        return;
    }
    let folder = folder(STRUCT);
    let output = clang(
        &["-fsyclbin", "--compile-ptx=sm_80,unhidden", "k.cpp"],
        folder.path(),
    );
    assert_eq!(output.status.code(), None, "{}", said(&output));
}

#[test]
fn hidden_gpu_determines_the_code() {
    if component().is_none() {
        return;
    }
    let folder = folder("");
    let source = test_files::path("work_group.cpp");
    let source = source.to_str().unwrap();
    let made = |option: &str| {
        let file = well(&["-fsyclbin", option, "-O2", source], folder.path());
        file.modules
            .iter()
            .map(|module| ptx(module).to_owned())
            .collect::<Vec<_>>()
    };
    // No kernel of it has a struct by value, so it compiles either way.
    let hidden = made("--compile-ptx=sm_80");
    assert_eq!(hidden, made("--compile-ptx=sm_80,unhidden"));
    assert_ne!(hidden, made("--compile-ptx=sm_90"));
}

#[test]
fn structs_by_value_compile_for_every_gpu() {
    let Some(component) = component() else { return };
    let folder = folder(STRUCT);
    let gpus = "75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f";
    for gpu in gpus.split(' ') {
        let option = format!("--compile-ptx=sm_{gpu}");
        let file = well(&["-fsyclbin", &option, "-O2", "k.cpp"], folder.path());
        let text = ptx(&file.modules[0]);
        assert!(text.contains(&format!("\n.target sm_{gpu}\n")), "{text}");
        let [source, object] = ["k.ptx", "k.o"].map(|name| folder.path().join(name));
        std::fs::write(&source, text).unwrap();
        let [source, object] = [source, object].map(|path| path.display().to_string());
        let output = ptxas(
            &component,
            &[&format!("-arch=sm_{gpu}"), &source, "-o", &object],
        );
        assert!(output.status.success(), "sm_{gpu}: {}", said(&output));
    }
}

#[test]
fn all_parameter_kinds_compile() {
    if component().is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("k.cpp"),
        "#include <sycl/accessor.hpp>
#include <syclbin/kernel.hpp>
#include <syclbin/math.hpp>
#include <syclbin/vector.hpp>
namespace syclexp = sycl::ext::oneapi::experimental;
struct Four { int of[4]; float *to; };
#define KERNEL extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>)) void
KERNEL k(Four four, sycl::half h, sycl::float4 v, sycl::vec<int, 3> w, sycl::id<2> i, sycl::range<3> r,
         sycl::accessor<float, 1> a, sycl::local_accessor<float, 1> l, float *to) {
  size_t at = sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_id(0);
  l[at % 8] = a[at];
  to[at] = l[at % 8] + four.of[at % 4] * four.to[at] + float(h) + v.x() * w.y() + i[1] + r[2] + sycl::sin(v.y());
}
",
    )
    .unwrap();
    for level in ["-O0", "-O2", "-g"] {
        let arguments = [
            "-fsyclbin",
            "-fsycl-targets=spir64,nvidia_gpu_sm_80",
            level,
            "k.cpp",
        ];
        let file = well(&arguments, folder.path());
        assert_eq!(
            images(&file.modules[0]),
            ["SpirV", "Ptx", "sm_80"],
            "{level}"
        );
    }
}

#[test]
fn sources_may_use_the_named_gpu() {
    if component().is_none() {
        return;
    }
    let folder = folder(
        "#if defined(__NVPTX__)
static_assert(__SYCL_CUDA_ARCH__ == 800);
#endif
KERNEL k(__bf16 *x) {
#if defined(__NVPTX__)
  x[0] = __nvvm_fma_rn_bf16(x[1], x[2], x[3]);
#endif
}
",
    );
    let line = [
        "-fsyclbin",
        "-fsycl-targets=spir64,nvptx64-nvidia-cuda",
        "-O2",
        "k.cpp",
    ];
    let named = [
        "-Xsycl-target-backend=nvptx64-nvidia-cuda",
        "--cuda-gpu-arch=sm_80",
    ];
    let file = well(&[&line[..], &named].concat(), folder.path());
    assert!(ptx(&file.modules[0]).contains("fma.rn.bf16"));
    assert_eq!(images(&file.modules[0]), ["SpirV", "Ptx", "sm_80"]);
    let without = clang(&line, folder.path());
    assert!(
        said(&without).contains("static assertion failed"),
        "{}",
        said(&without)
    );
}

#[test]
fn warning_of_both_compiles_is_shown_once() {
    if component().is_none() {
        return;
    }
    let folder = folder("#warning \"look here\"\nKERNEL k(int *to) { *to = 1; }\n");
    let arguments = [
        "-fsyclbin",
        "-fsycl-targets=spir64,nvptx64-nvidia-cuda",
        "k.cpp",
    ];
    let output = clang(&arguments, folder.path());
    assert!(output.status.success());
    assert_eq!(
        said(&output).matches("warning: \"look here\"").count(),
        1,
        "{}",
        said(&output)
    );
    assert!(!said(&output).contains("NOTE"), "{}", said(&output));
    std::fs::write(folder.path().join("k.cpp"), "int x = y;\n").unwrap();
    let output = clang(&arguments, folder.path());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        said(&output).matches("undeclared identifier").count(),
        1,
        "{}",
        said(&output)
    );
}

#[test]
fn depfile_has_headers_of_either_compile() {
    if component().is_none() {
        return;
    }
    let folder = folder(
        "#if defined(__NVPTX__)\n#include \"nvidia.hpp\"\n#else\n#include \"other.hpp\"\n#endif\n\
         KERNEL k(int *to) { *to = VALUE; }\n",
    );
    for name in ["nvidia.hpp", "other.hpp"] {
        std::fs::write(folder.path().join(name), "#define VALUE 1\n").unwrap();
    }
    let arguments = [
        "-fsyclbin",
        "-fsycl-targets=spir64,nvptx64-nvidia-cuda",
        "-MMD",
        "k.cpp",
    ];
    well(&arguments, folder.path());
    let rule = std::fs::read_to_string(folder.path().join("a.d")).unwrap();
    assert!(
        rule.contains("nvidia.hpp") && rule.contains("other.hpp"),
        "{rule}"
    );
    assert_eq!(rule.matches("k.cpp").count(), 1, "{rule}");
}

#[test]
fn linking_adds_native_code_to_objects() {
    if component().is_none() {
        return;
    }
    let folder = folder(STRUCT);
    let other = format!("{HEAD}KERNEL other(int *to) {{ *to = 2; }}\n");
    std::fs::write(folder.path().join("other.cpp"), other).unwrap();
    let targets = "-fsycl-targets=spir64,nvptx64-nvidia-cuda";
    let object = |source: &str| {
        well(&["-fsyclbin=object", targets, source], folder.path());
        let made = folder.path().join(source).with_extension("syclbin");
        std::fs::rename(folder.path().join("a.syclbin"), made).unwrap();
    };
    object("k.cpp");
    object("other.cpp");
    let inputs = ["k.syclbin", "other.syclbin"];
    let all = |modules: &Syclbin<'_>| -> Vec<Vec<String>> {
        modules.modules.iter().map(images).collect()
    };
    let joined = well(&["-fsyclbin", inputs[0], inputs[1]], folder.path());
    assert_eq!(all(&joined), [["SpirV", "Ptx"], ["SpirV", "Ptx"]]);
    let linked = well(
        &[
            "-fsyclbin",
            targets,
            "--offload-arch=sm_80",
            inputs[0],
            "other.cpp",
        ],
        folder.path(),
    );
    let expected = ["SpirV", "Ptx", "sm_80"];
    assert_eq!(all(&linked), [expected, expected]);
    let alone = well(
        &["-fsyclbin", "-fsycl-targets=nvptx64", "k.cpp", "other.cpp"],
        folder.path(),
    );
    assert_eq!(all(&alone), [["Ptx"], ["Ptx"]]);
}

#[test]
fn kernels_without_ptx_are_named() {
    if component().is_none() {
        return;
    }
    let folder = folder(STRUCT);
    well(&["-fsyclbin=object", "k.cpp"], folder.path());
    let arguments = [
        "-fsyclbin",
        "-fsycl-targets=spir64,nvptx64",
        "a.syclbin",
        "-o",
        "b.syclbin",
    ];
    let output = clang(&arguments, folder.path());
    assert!(output.status.success());
    let text = said(&output);
    assert!(
        text.contains("no NVIDIA GPU code was generated for k, because"),
        "{text}"
    );
    assert_eq!(
        images(&read(&folder.path().join("b.syclbin")).modules[0]),
        ["SpirV"]
    );
}

#[test]
fn functions_that_every_driver_has_are_no_import() {
    if component().is_none() {
        return;
    }
    let folder = folder(
        "#include <sycl/ext/oneapi/experimental/builtins.hpp>
KERNEL k(int *x) { sycl::ext::oneapi::experimental::printf(\"%d\\n\", *x); }
",
    );
    let targets = "-fsycl-targets=spir64,nvidia_gpu_sm_80";
    let file = well(&["-fsyclbin", targets, "k.cpp"], folder.path());
    assert!(ptx(&file.modules[0]).contains("vprintf"));
    assert_eq!(images(&file.modules[0]), ["SpirV", "Ptx", "sm_80"]);
}

#[test]
fn ptx_crash_names_source_and_target() {
    if component().is_none() {
        return;
    }
    let crash = "#if defined(__NVPTX__)\n#pragma clang __debug crash\n#endif\n";
    let folder = folder(&format!("{STRUCT}{crash}"));
    let arguments = [
        "-fsyclbin",
        "-fsycl-targets=spir64,nvptx64-nvidia-cuda",
        "k.cpp",
    ];
    let output = clang(&arguments, folder.path());
    assert_eq!(output.status.code(), Some(254));
    let text = said(&output);
    assert!(
        text.contains("crashed on k.cpp for target nvptx64-nvidia-cuda"),
        "{text}"
    );
    assert!(
        text.contains("crashes only for nvptx64-nvidia-cuda, remove that target"),
        "{text}"
    );
    assert!(!folder.path().join("a.syclbin").exists());
}

#[test]
fn the_steps_are_shown_and_not_done() {
    if component().is_none() {
        return;
    }
    let folder = folder(STRUCT);
    let arguments = [
        "-###",
        "-fsyclbin",
        "-fsycl-targets=spir64,nvidia_gpu_sm_80",
        "k.cpp",
    ];
    let text = said(&clang(&arguments, folder.path()));
    let steps: Vec<_> = text.lines().collect();
    assert_eq!(steps.len(), 3, "{text}");
    assert!(steps[1].contains("\"--compile-ptx=sm_80\""), "{text}");
    assert!(
        steps[2].contains("ptxas\" \"-arch=sm_80\" \"MODULE.ptx\""),
        "{text}"
    );
    assert!(!folder.path().join("a.syclbin").exists());
}

#[cfg(unix)]
#[test]
fn missing_component_is_named_with_install_command() {
    let folder = folder(STRUCT);
    // Beside an installation without the component.
    let program = folder.path().join("syclbin-clang");
    std::fs::copy(clang::program(), &program).unwrap();
    let run = |arguments: &str| {
        let mut command = Command::new(&program);
        command
            .args(arguments.split(' '))
            .current_dir(folder.path());
        command.env(HOME_VARIABLE, folder.path());
        command.env("XDG_CACHE_HOME", folder.path());
        said(&command.output().unwrap())
    };
    let install = "cargo syclbin toolchain install --component nvidia";
    let text = run("-fsyclbin -fsycl-targets=spir64,nvptx64-nvidia-cuda k.cpp");
    assert!(
        text.contains("libdevice") && text.contains(install),
        "{text}"
    );
    // A CUDA of the user's that has no assembler.
    let text = run("-fsyclbin -fsycl-targets=nvidia_gpu_sm_80 --cuda-path=/no/cuda k.cpp");
    assert!(
        text.contains("'/no/cuda/bin/ptxas'") && text.contains(install),
        "{text}"
    );
}
