// SPDX-License-Identifier: MIT OR Apache-2.0
use super::backend::PROCESSOR_VARIABLE;
use super::*;
use crate::Failure;
use syclbin::property::Value;
use syclbin::{Image, IrType, State};

pub(super) fn module(kernel: &'static str) -> AbstractModule<'static> {
    let mut module = AbstractModule::default();
    module.add_kernel_name(kernel);
    let target = "spir64-unknown-unknown";
    module
        .images
        .push(Image::ir(IrType::SpirV, target, vec![1]));
    module
}

pub(super) fn backend(target: Target, arch: &str) -> Backend {
    Backend {
        target,
        arch: arch.into(),
        options: Vec::new(),
        program: "ocloc".into(),
        variables: Vec::new(),
    }
}

pub(super) const CPU: Target = Target::Cpu(None);
pub(super) const PVC: Target = Target::Gpu(Some("pvc"));

pub(super) fn targets_of(module: &AbstractModule<'_>) -> Vec<&'static str> {
    let names = module.images.iter().map(|image| match image.kind() {
        syclbin::ImageKind::Native { target, .. } if target.starts_with("spir64_x86") => "cpu",
        syclbin::ImageKind::Native { .. } => "gpu",
        syclbin::ImageKind::Ir { .. } => "spirv",
    });
    names.collect()
}

#[test]
fn only_cpu_images_share_the_spirv_module() {
    let folder = tempfile::tempdir().unwrap();
    let [cpu, pvc] = [backend(CPU, "x86_64"), backend(PVC, "pvc")];
    let other = backend(Target::Gpu(None), "0x1234");
    let (one, two) = (folder.path().join("1"), folder.path().join("2"));
    std::fs::write(&one, "cpu").unwrap();
    std::fs::write(&two, "gpu").unwrap();
    for (keep, expected) in [
        (true, vec![vec!["spirv", "cpu"], vec!["gpu"], vec!["gpu"]]),
        (false, vec![vec!["cpu"], vec!["gpu"], vec!["gpu"]]),
    ] {
        let mut modules = Vec::new();
        let outputs = vec![
            (&cpu, one.clone()),
            (&pvc, two.clone()),
            (&other, two.clone()),
        ];
        add_to_module(module("k"), outputs, keep, &mut modules).unwrap();
        let found: Vec<_> = modules.iter().map(targets_of).collect();
        assert_eq!(found, expected);
        let named = |module: &AbstractModule<'_>| {
            let value = module
                .metadata
                .get(set::DEVICE_REQUIREMENTS, key::COMPILE_TARGET);
            value.and_then(Value::as_str).map(str::to_owned)
        };
        // The property applies to all images of its module, so the module must not also contain SPIR-V.
        let of_cpu = (!keep).then(|| "spir64_x86_64".to_owned());
        assert_eq!(named(&modules[0]), of_cpu);
        assert_eq!(named(&modules[1]).as_deref(), Some("intel_gpu_pvc"));
        assert_eq!(named(&modules[2]), None);
    }
    let none = vec![(&cpu, folder.path().join("none"))];
    let Err(Failure::Own(text)) = add_to_module(module("k"), none, true, &mut Vec::new()) else {
        panic!("there is no code");
    };
    assert!(text.contains("wrote no code for kernel k"), "{text}");
}

#[test]
fn module_with_constants_needs_its_spirv() {
    let mut with_constants = module("k");
    let constants = set::SPECIALIZATION_CONSTANTS;
    with_constants
        .metadata
        .insert(constants, "c", vec![0u8; 12]);
    let cpu = backend(CPU, "x86_64");
    let folder = tempfile::tempdir().unwrap();
    let run = |keep| {
        let mut file = Syclbin::new(State::Executable);
        file.modules.push(with_constants.clone());
        let added = add(
            &mut file,
            std::slice::from_ref(&cpu),
            keep,
            folder.path(),
            Show::Nothing,
        );
        added.map(|warnings| (warnings, file.modules.len()))
    };
    let (warnings, modules) = run(true).unwrap();
    assert_eq!(modules, 1);
    assert!(
        warnings[0].starts_with("kernel k: generated only SPIR-V"),
        "{warnings:?}"
    );
    let Err(Failure::Own(text)) = run(false) else {
        panic!("its constants would be lost");
    };
    assert!(text.contains("specialization constants"), "{text}");
}

#[test]
fn ptx_may_have_constants_but_no_imports() {
    let nvidia = backend(Target::Nvidia(None), "sm_75");
    let objection = |code: &str| {
        let text = format!(".version 6.3\n.target sm_75\n.address_size 64\n{code}");
        let image = Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", text.into_bytes());
        let mut module = module("k");
        let constants = set::SPECIALIZATION_CONSTANTS;
        module.metadata.insert(constants, "c", vec![0u8; 12]);
        module.images = vec![image];
        nvidia.objection(&module).unwrap()
    };
    assert_eq!(objection(".visible .entry k() { ret; }"), None);
    let why = objection(".extern .func f();\n.visible .entry k() { call f; ret; }");
    assert!(why.unwrap().starts_with("uses f, which"));
}

#[test]
fn doubles_are_refused_for_gpus_without_them() {
    let mut module = module("k");
    let fp64 = syclbin::Aspect::FP64.0.to_le_bytes().to_vec();
    let header = [0x0723_0203u32, 0x0001_0400, 0, 1, 0].map(u32::to_le_bytes);
    module.images[0].bytes = header.concat().into();
    let metadata = &mut module.metadata;
    metadata.insert(set::DEVICE_REQUIREMENTS, key::ASPECTS, fp64);
    for (name, refused) in [
        ("skl", false),
        ("tgllp", true),
        ("acm_g10", true),
        ("pvc", false),
    ] {
        let gpu = backend(Target::Gpu(Some(name)), name);
        let why = gpu.objection(&module).unwrap().unwrap_or_default();
        assert_eq!(why.contains("double precision"), refused, "{name}: {why}");
        assert_eq!(
            gpu.step("k", Path::new("in"), Path::new("out"))
                .gpu
                .as_deref(),
            Some(name)
        );
    }
}

#[test]
fn code_without_doubles_suits_every_gpu() {
    let mut module = module("k");
    let header = [0x0723_0203u32, 0x0001_0400, 0, 1, 0].map(u32::to_le_bytes);
    module.images[0].bytes = header.concat().into();
    let gpu = backend(Target::Gpu(Some("tgllp")), "tgllp");
    assert_eq!(gpu.objection(&module), Ok(None));
    assert_eq!(gpu.named(), "GPU tgllp");
    assert_eq!(backend(CPU, "x86_64").named(), "spir64_x86_64");
}

#[test]
fn cpu_options_are_translated_for_its_compiler() {
    let cpu = |options: &[&str]| {
        let options = options.iter().map(|&option| option.to_owned());
        Backend::cpu(None, options.collect())
    };
    let backend = cpu(&["-march=avx2", "--bo=-cl-opt-disable"]).unwrap();
    assert_eq!(backend.arch, "core-avx2");
    let step = backend.step("k", Path::new("in"), Path::new("out"));
    assert_eq!(
        step.arguments,
        ["--build-for-cpu", "in", "out", "-cl-opt-disable"]
    );
    let processor = (PROCESSOR_VARIABLE, "core-avx2".to_owned());
    assert!(step.variables.contains(&processor));
    assert!(matches!(cpu(&["-march=z80"]), Err(Failure::Own(text)) if text.contains("z80")));
    assert!(matches!(cpu(&["-x"]), Err(Failure::Own(text)) if text.contains("not supported")));
}
