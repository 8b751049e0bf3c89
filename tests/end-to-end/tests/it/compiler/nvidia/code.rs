// SPDX-License-Identifier: MIT OR Apache-2.0
//! The code for NVIDIA GPUs in the files that the build script compiled.

use super::*;

#[test]
fn modules_have_spirv_ptx_and_native_images() {
    if component().is_none() {
        return;
    }
    for name in WHOLE {
        let bytes = built(name);
        let file = syclbin::read::parse(&bytes).unwrap();
        assert!(!file.modules.is_empty());
        for module in &file.modules {
            assert_eq!(images(module), ["SpirV", "Ptx", "sm_80", "sm_90"], "{name}");
            assert!(ptx(module).contains("\n.target sm_80"), "{name}");
            for image in &module.images[2..] {
                assert!(image.bytes.starts_with(b"\x7fELF"), "{name}");
            }
        }
    }
}

#[test]
fn ptx_of_importing_module_can_be_linked() {
    let Some(component) = component() else { return };
    let bytes = built(IMPORTING);
    let file = syclbin::read::parse(&bytes).unwrap();
    assert_eq!(images(&file.modules[0]), ["SpirV", "Ptx"]);
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("import.ptx");
    std::fs::write(&source, ptx(&file.modules[0])).unwrap();
    let [source, object] =
        [source, folder.path().join("import.o")].map(|p| p.display().to_string());
    for arch in ["-arch=sm_80", "-arch=sm_90"] {
        let alone = ptxas(&component, &[arch, &source, "-o", &object]);
        assert!(said(&alone).contains("_Z5shapef"), "{}", said(&alone));
        let to_link = ptxas(&component, &["-c", arch, &source, "-o", &object]);
        assert!(to_link.status.success(), "{}", said(&to_link));
    }
    let bytes = built("export_side");
    let exporting = syclbin::read::parse(&bytes).unwrap();
    assert!(ptx(&exporting.modules[0]).contains(".visible .func"));
}

#[test]
fn linked_sources_have_native_code() {
    if component().is_none() {
        return;
    }
    linked_code("alone", &["SpirV"]);
    linked_code("linked", &["SpirV", "x86_64"]);
}

/// Checks and runs the file `name`, whose first module has these `images`.
fn linked_code(name: &str, expected: &[&str]) {
    let bytes = built(name);
    let findings = syclbin_tools::verify::verify(&bytes);
    assert!(findings.is_empty(), "{findings:?}");
    let file = syclbin::read::parse(&bytes).unwrap();
    let of_kernel: Vec<_> = file
        .modules
        .iter()
        .filter(|module| module.kernel_names().next().is_some())
        .map(|module| (images(module), module.metadata.set(set::IMPORTED_SYMBOLS)))
        .collect();
    let [(spirv, None), (ptx, Some(_)), (native, None)] = of_kernel.as_slice() else {
        panic!("{of_kernel:?}");
    };
    assert_eq!(spirv.as_slice(), expected);
    assert_eq!(ptx.as_slice(), ["sm_80"]);
    assert_eq!(native.as_slice(), ["sm_80", "sm_90"]);
    let last = file.modules.last().unwrap();
    for (image, sm) in last.images.iter().zip([80, 90]) {
        let target = syclbin::cubin::target(&image.bytes).unwrap();
        assert_eq!(target.number, sm);
        let text = b".text._Z5shapef";
        assert!(image.bytes.windows(text.len()).any(|part| part == text));
    }
    // The CPU device takes its native code, and a simulated driver links the PTX.
    let Some(queue) = common::queue() else { return };
    // SAFETY: the compiler made the file.
    let module = unsafe { Module::load(&queue, &bytes) }.unwrap();
    let kernel = module.kernel("apply");
    let x = queue.upload(&[3.0f32; 8]).unwrap();
    let mut y = queue.upload(&[0.0f32; 8]).unwrap();
    let args = [Arg::read(&x), Arg::write(&mut y)];
    // SAFETY: both buffers hold 8 elements.
    unsafe { Launch::new(&kernel, &["x", "y"], args).launch(8) }.unwrap();
    assert_eq!(queue.download(&y).unwrap(), [10.0; 8]);
}

/// Compiles sources of which each calls a function of the next, and returns the file and what the compiler said.
fn chained(last: &str) -> (Syclbin<'static>, String) {
    let folder =
        folder("__attribute__((sycl_device)) int f(int);\nKERNEL k(int *x) { *x = f(*x); }\n");
    let middle = "__attribute__((sycl_device)) int g(int);\n\
                  __attribute__((sycl_device)) int f(int x) { return g(x) + 1; }\n";
    std::fs::write(folder.path().join("f.cpp"), middle).unwrap();
    std::fs::write(folder.path().join("g.cpp"), last).unwrap();
    let targets = "-fsycl-targets=spir64,nvidia_gpu_sm_80";
    let arguments = [
        "-fsyclbin",
        targets,
        "k.cpp",
        "f.cpp",
        "g.cpp",
        "-o",
        "k.syclbin",
    ];
    let output = clang(&arguments, folder.path());
    assert!(output.status.success(), "{}", said(&output));
    (read(&folder.path().join("k.syclbin")), said(&output))
}

#[test]
fn native_code_holds_functions_of_all_sources() {
    if component().is_none() {
        return;
    }
    let (file, said) = chained("__attribute__((sycl_device)) int g(int x) { return x * 2; }\n");
    assert_eq!(said, "");
    let native = file.modules.last().unwrap();
    assert_eq!(
        native.kernel_names().collect::<Vec<_>>(),
        ["__sycl_kernel_k"]
    );
    assert_eq!(images(native), ["sm_80"]);
    assert!(native.images[0].bytes.starts_with(b"\x7fELF"));
}

#[test]
fn variables_of_other_sources_leave_ptx_only() {
    if component().is_none() {
        return;
    }
    let (file, said) = chained(
        "#include <sycl/ext/oneapi/device_global/device_global.hpp>
sycl::ext::oneapi::experimental::device_global<int> number;
__attribute__((sycl_device)) int g(int x) { return x + number.get(); }
",
    );
    assert!(
        said.contains(
            "kernel k: generated only PTX, not native code, for sm_80, because the module cannot be linked:"
        ) && said.contains("device globals"),
        "{said}"
    );
    let with_kernel = |module: &&AbstractModule<'_>| module.kernel_names().next().is_some();
    let kernels: Vec<_> = file.modules.iter().filter(with_kernel).collect();
    assert_eq!(kernels.len(), 1);
    assert_eq!(images(kernels[0]), ["SpirV", "Ptx"]);
}

#[test]
fn ptx_of_whole_programs_is_assembled() {
    let Some(component) = component() else { return };
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/programs.syclbin"));
    let file = syclbin::read::parse(bytes).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [source, object] =
        ["k.ptx", "k.o"].map(|name| folder.path().join(name).display().to_string());
    let mut kernels = 0;
    for module in &file.modules {
        let text = ptx(module);
        std::fs::write(&source, text).unwrap();
        let output = ptxas(&component, &["-arch=sm_80", &source, "-o", &object]);
        assert!(output.status.success(), "{}", said(&output));
        for name in module.kernel_names() {
            assert!(text.contains(&format!(".entry {name}(")), "{name}");
            kernels += 1;
        }
    }
    assert!(kernels >= 24, "{kernels}");
}

#[test]
fn ptx_and_spirv_kernels_have_equal_signatures() {
    if component().is_none() {
        return;
    }
    for name in WHOLE.into_iter().chain([IMPORTING]) {
        let bytes = built(name);
        let signatures = |kept: IrType| -> Vec<KernelSignature> {
            let mut file = syclbin::read::parse(&bytes).unwrap();
            for module in &mut file.modules {
                let is_kept =
                    |kind: ImageKind<'_>| matches!(kind, ImageKind::Ir { ty, .. } if ty == kept);
                module.images.retain(|image| is_kept(image.kind()));
            }
            signature::kernels(&file).unwrap().kernels
        };
        let (by_spirv, by_ptx) = (signatures(IrType::SpirV), signatures(IrType::Ptx));
        assert_eq!(by_spirv, by_ptx, "{name}");
    }
}

#[test]
fn files_with_code_for_nvidia_verify() {
    if component().is_none() {
        return;
    }
    for name in WHOLE.into_iter().chain([IMPORTING]) {
        let findings = syclbin_tools::verify::verify(&built(name));
        let is_error = |one: &&syclbin_tools::verify::Finding| {
            one.severity == syclbin_tools::verify::Severity::Error
        };
        let errors: Vec<_> = findings.iter().filter(is_error).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}
