// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests the choice of the best device.

use syclbin::{Image, IrType, Syclbin};

use super::*;
use crate::backend::facts::PtxFacts;

/// Returns the best of `devices` for a file.
fn best_for(devices: &[&Facts], file: &Syclbin<'_>) -> Option<usize> {
    let fits: Vec<_> = (devices.iter())
        .map(|facts| (*facts, Coverage::of(file, facts)))
        .collect();
    best(&fits)
}

/// Returns the best of `devices` for a file that runs anywhere.
fn best_of(devices: &[&Facts]) -> Option<usize> {
    best_for(devices, &Syclbin::default())
}

/// Returns a device of the vendor "Maker".
pub(crate) fn device(name: &str, kind: DeviceKind, takes_spirv: bool) -> Facts {
    Facts {
        name: name.to_owned(),
        vendor: "Maker".to_owned(),
        kind,
        takes_spirv,
        ..Facts::default()
    }
}

/// Returns the devices of a varied machine.
pub(crate) fn machine() -> Vec<Facts> {
    vec![
        device("Portable CPU", DeviceKind::Cpu, false),
        device("Xeon CPU", DeviceKind::Cpu, true),
        device("Old GPU", DeviceKind::Gpu, false),
        device("Arc A750", DeviceKind::Gpu, true),
        device("Arc B580", DeviceKind::Gpu, true),
        device("Custom Chip", DeviceKind::Other, true),
    ]
}

#[test]
fn gpus_come_before_accelerators_and_cpus() {
    let mut machine = machine();
    machine.push(device("Accelerator", DeviceKind::Accelerator, true));
    let mut best_name = || {
        let devices: Vec<&Facts> = machine.iter().collect();
        let index = best_of(&devices)?;
        Some(machine.remove(index).name)
    };
    assert_eq!(best_name().unwrap(), "Arc A750");
    assert_eq!(best_name().unwrap(), "Arc B580");
    assert_eq!(best_name().unwrap(), "Accelerator");
    assert_eq!(best_name().unwrap(), "Xeon CPU");
    assert_eq!(best_name(), None);
}

/// Returns a CUDA GPU and a CPU.
pub(crate) fn gpu_and_cpu() -> [Facts; 2] {
    let cuda = PtxFacts {
        sm: 90,
        ptx: (8, 4),
        driver: 12040,
    };
    let gpu = Facts {
        ptx: Some(cuda),
        ..device("H200", DeviceKind::Gpu, false)
    };
    [gpu, device("Xeon CPU", DeviceKind::Cpu, true)]
}

/// Returns a file with one module for each element of `modules`, which lists the kinds of its images.
pub(crate) fn file(modules: &[&[IrType]]) -> Syclbin<'static> {
    // Code counts as SPIR-V if it starts with this header.
    let spirv: Vec<u8> = [0x0723_0203u32, 0x0001_0000, 0, 1, 0]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    let ptx = b".version 6.3\n.target sm_75\n.address_size 64\n".to_vec();
    let image = |ty: &IrType| match ty {
        IrType::SpirV => Image::ir(*ty, "spir64-unknown-unknown", spirv.clone()),
        _ => Image::ir(*ty, "nvptx64-nvidia-cuda", ptx.clone()),
    };
    let mut file = Syclbin::default();
    for (index, images) in modules.iter().enumerate() {
        let mut module = syclbin::AbstractModule::default();
        module.add_kernel_name(format!("kernel{index}"));
        module.images = images.iter().map(image).collect();
        file.modules.push(module);
    }
    file
}

#[test]
fn best_device_has_all_code_of_the_file() {
    let machine = gpu_and_cpu();
    let [gpu, cpu] = machine.each_ref();
    let (spirv, ptx) = (IrType::SpirV, IrType::Ptx);
    assert_eq!(best_of(&[cpu, gpu]), Some(1));
    for (modules, chosen) in [
        (vec![&[spirv][..]], Some(1)),
        (vec![&[spirv, ptx]], Some(0)),
        (vec![&[ptx]], Some(0)),
        (vec![&[spirv, ptx], &[spirv]], Some(1)),
        (vec![&[spirv, ptx], &[ptx]], Some(0)),
        (vec![&[IrType::AmdGcn]], None),
        (vec![], Some(0)),
    ] {
        let file = file(&modules);
        assert_eq!(best_for(&[gpu, cpu], &file), chosen, "{modules:?}");
    }
    // A device that runs part of the file is chosen only if no device runs all of it.
    let mixed = file(&[&[spirv, ptx], &[spirv]]);
    assert_eq!(best_for(&[gpu], &mixed), Some(0));
    assert_eq!(best_for(&[cpu], &file(&[&[ptx]])), None);
}

#[test]
fn separate_modules_may_contain_the_same_kernels() {
    let machine = gpu_and_cpu();
    let [gpu, cpu] = machine.each_ref();
    let mut file = file(&[&[IrType::SpirV], &[IrType::Ptx]]);
    file.modules[0].add_kernel_name("kernel1");
    let Coverage::Partial(reason) = Coverage::of(&file, gpu) else {
        panic!("kernel0 has no PTX");
    };
    assert!(reason.starts_with("module 0, image 0"), "{reason}");
    file.modules[1].add_kernel_name("kernel0");
    assert_eq!(Coverage::of(&file, gpu), Coverage::Whole);
    assert_eq!(Coverage::of(&file, cpu), Coverage::Whole);
    assert_eq!(best_for(&[cpu, gpu], &file), Some(1));
}

#[test]
fn skipped_devices_come_before_the_chosen_one() {
    let machine = gpu_and_cpu();
    let file = file(&[&[IrType::SpirV]]);
    let fits: Vec<_> = (machine.iter())
        .map(|facts| (facts, Coverage::of(&file, facts)))
        .collect();
    assert_eq!(skipped(&fits, 1), [0]);
    assert_eq!(
        super::reason(&fits, 1),
        "the gpu cannot run all kernels of the file; no accelerator was found; it is the first cpu that can run SYCLBIN kernels"
    );
    let reason = fits[0].1.reason().unwrap();
    let begin =
        "module 0, image 0 (SPIR-V, spir64-unknown-unknown): CUDA devices do not support SPIR-V";
    assert!(reason.starts_with(begin), "{reason}");
    assert_eq!(fits[1].1.reason(), None);
}

#[test]
fn missing_aspects_do_not_count_as_missing_code() {
    let cpu = device("Xeon CPU", DeviceKind::Cpu, true);
    let mut file = file(&[&[IrType::SpirV], &[IrType::SpirV]]);
    let needs = |file: &mut Syclbin<'_>, module: usize| {
        let aspect = syclbin::Aspect::FP64.number().to_le_bytes().to_vec();
        let metadata = &mut file.modules[module].metadata;
        metadata.insert("SYCL/device requirements", "aspects", aspect);
    };
    needs(&mut file, 0);
    assert_eq!(Coverage::of(&file, &cpu), Coverage::Whole);
    needs(&mut file, 1);
    let Coverage::Nothing(reasons) = Coverage::of(&file, &cpu) else {
        panic!("no module runs");
    };
    assert!(reasons[0].contains("aspect fp64"), "{reasons:?}");
}

#[test]
fn the_reason_says_what_would_have_come_first() {
    let machine = machine();
    let reason = |chosen: usize, of: &[Facts]| {
        let devices: Vec<_> = of.iter().map(|facts| (facts, Coverage::Whole)).collect();
        super::reason(&devices, chosen)
    };
    assert_eq!(
        reason(3, &machine),
        "it is the first gpu that can run SYCLBIN kernels"
    );
    assert_eq!(
        reason(1, &machine[..3]),
        "no gpu can run SYCLBIN kernels; no accelerator was found; it is the first cpu that can run \
         SYCLBIN kernels"
    );
}

#[test]
fn device_without_spirv_support_is_not_skipped() {
    let machine = machine();
    let file = file(&[&[IrType::SpirV]]);
    // An old CPU, a CPU and an old GPU.
    let fits: Vec<_> = (machine[..3].iter())
        .map(|facts| (facts, Coverage::of(&file, facts)))
        .collect();
    assert_eq!(best(&fits), Some(1));
    assert!(skipped(&fits, 1).is_empty());
}
