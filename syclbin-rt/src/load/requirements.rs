// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks whether a device supports the features that a module's property sets require.
//!
//! All decisions depend only on the file and the device's facts.

use std::collections::BTreeSet;

use syclbin::__private::listed;
use syclbin::Aspect;
use syclbin::architecture::Architecture;
use syclbin::metadata::{Bfloat16, DeviceRequirements, ModuleMetadata, Target, VirtualFunctions};

use crate::backend::facts::{DeviceKind, Facts, lacking};

/// The extension that devices with dedicated instructions for `bfloat16` conversions support.
const BFLOAT16: &str = "cl_intel_bfloat16_conversions";

/// The lowest compute capability with matrix instructions.
const FIRST_TENSOR_CORES: u32 = 70;

/// Checks whether the device can run a module's kernels at all, whichever image is used.
///
/// # Errors
///
/// Returns the reason why the device cannot run the module.
pub(crate) fn check(metadata: &ModuleMetadata, facts: &Facts) -> Result<(), String> {
    check_runtime(metadata)?;
    let wanted = &metadata.requirements;
    check_fixed_targets(&wanted.fixed_targets, facts)?;
    let lacking = lacking(&wanted.aspects, &facts.aspects);
    if !lacking.is_empty() {
        let s = if lacking.len() == 1 { "" } else { "s" };
        return Err(format!(
            "it requires aspect{s} {}, which the device does not support",
            listed(lacking)
        ));
    }
    if let Some(size) = wanted.work_group {
        let xyz = size.xyz();
        let max = facts.max_work_item_sizes;
        let fits = |(size, max): (&u64, &usize)| *size <= *max as u64;
        let items = xyz.iter().copied().try_fold(1, u64::checked_mul);
        let few = items.is_some_and(|items| items <= facts.max_work_group_size as u64);
        if !few || !xyz.iter().zip(&max).all(fits) {
            return Err(format!(
                "it requires work-groups of {xyz:?}, but the device allows at most {} work-items in a work-group and \
                 {max:?} in each dimension (x first)",
                facts.max_work_group_size
            ));
        }
    }
    if let Some(size) = wanted.sub_group
        && metadata.misc.esimd != Some(true)
    {
        check_sub_group(size as usize, &facts.sub_group_sizes)
            .map_err(|problem| format!("it requires sub-groups of {size}, {problem}"))?;
    }
    check_matrices(wanted, facts)?;
    check_virtual_functions(&metadata.virtual_functions, facts)?;
    if let Some(target) = &wanted.compile_target
        && !is_compiled_for(target, facts)
    {
        return Err(format!(
            "it was compiled for {target}, but the device is {}",
            architecture(facts)
        ));
    }
    if metadata.device_libraries.bfloat16 == Some(Bfloat16::Native) && !facts.has(BFLOAT16) {
        return Err(format!("the device lacks {BFLOAT16}"));
    }
    Ok(())
}

/// Checks that a device with sub-groups of the `available` sizes supports `size`.
///
/// # Errors
///
/// Returns what the device supports instead, phrased to follow a comma.
pub(crate) fn check_sub_group(size: usize, available: &[usize]) -> Result<(), String> {
    match available {
        [] => Err("but the device chooses their size itself".to_owned()),
        _ if available.contains(&size) => Ok(()),
        _ => Err(format!("but the device only supports sizes {available:?}")),
    }
}

/// Checks that the code does not rely on a part of the reference runtime that this crate lacks.
fn check_runtime(metadata: &ModuleMetadata) -> Result<(), String> {
    if let Some(sanitizer) = &metadata.misc.sanitizer {
        let (name, option) = match sanitizer.as_str() {
            "asan" => ("AddressSanitizer", "address"),
            "msan" => ("MemorySanitizer", "memory"),
            "tsan" => ("ThreadSanitizer", "thread"),
            name => (name, name),
        };
        return Err(format!(
            "it was compiled with {name}, which reports to DPC++'s runtime; recompile without \
             -fsanitize={option}"
        ));
    }
    if metadata.host_pipes.names().next().is_some() {
        return Err(format!(
            "it uses host pipes, which syclbin-rt does not support: {}; pass the data in buffers",
            listed(metadata.host_pipes.names())
        ));
    }
    Ok(())
}

/// Checks that the device matches a target of `-fsycl-fixed-targets`. These targets are aspects, such as `cpu`.
fn check_fixed_targets(targets: &[u32], facts: &Facts) -> Result<(), String> {
    let targets: Vec<Aspect> = targets.iter().copied().map(Aspect).collect();
    if targets.is_empty() || targets.iter().any(|target| facts.aspects.contains(target)) {
        return Ok(());
    }
    let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
    Err(format!(
        "it was compiled for {} only (-fsycl-fixed-targets), but the device kind is {}",
        names.join(" and "),
        facts.kind
    ))
}

/// Checks that the device has matrix instructions, if the module uses matrices. Drivers do not report the supported
/// sizes and types of matrices, but reject unsupported ones when they build the code.
fn check_matrices(wanted: &DeviceRequirements, facts: &Facts) -> Result<(), String> {
    let matrices = wanted.matrices.0.iter().chain(&wanted.matrix_products.0);
    let matrices: Vec<String> = matrices.map(|fields| fields.join(" ")).collect();
    let has_instructions = match facts.ptx {
        Some(ptx) => ptx.sm >= FIRST_TENSOR_CORES,
        None => facts.aspects.contains(&Aspect::EXT_INTEL_MATRIX),
    };
    let uses_half = matrices.iter().any(|matrix| matrix.contains("::fp16"));
    let lacking = match facts.kind {
        _ if matrices.is_empty() => return Ok(()),
        _ if !has_instructions => "",
        DeviceKind::Cpu if uses_half && !facts.half_matrices => " for half precision",
        _ => return Ok(()),
    };
    Err(format!(
        "it uses joint_matrix ({}), but the device has no matrix instructions{lacking}",
        matrices.join("; ")
    ))
}

/// Checks that the device supports virtual functions, if the module uses or defines them. Without support, drivers
/// crash or fail at launch.
fn check_virtual_functions(sets: &VirtualFunctions, facts: &Facts) -> Result<(), String> {
    let sets: BTreeSet<&String> = sets.uses.0.iter().chain(&sets.defines.0).collect();
    let aspect = Aspect::EXT_ONEAPI_VIRTUAL_FUNCTIONS;
    if sets.is_empty() || facts.ptx.is_some() || facts.aspects.contains(&aspect) {
        return Ok(());
    }
    Err(format!(
        "it uses or defines virtual functions of {}, but the device lacks aspect {aspect}",
        listed(sets)
    ))
}

/// Returns whether the architecture or target `compiled` matches this device.
pub(crate) fn is_compiled_for(compiled: &str, facts: &Facts) -> bool {
    if Target::of_triple(compiled) == Target::Spir64X86_64 {
        return facts.kind == DeviceKind::Cpu;
    }
    let mut members = Architecture::members(compiled).into_iter();
    members.any(|member| Some(member) == facts.architecture)
}

pub(crate) fn architecture(facts: &Facts) -> String {
    match facts.architecture {
        Some(architecture) => architecture.to_string(),
        None => "of an unknown architecture, because its driver does not report one".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::facts::PtxFacts;
    use syclbin::metadata::WorkGroupSize;

    fn cpu() -> Facts {
        Facts {
            kind: DeviceKind::Cpu,
            aspects: [Aspect::CPU, Aspect::FP64].into(),
            architecture: Architecture::from_name("x86_64"),
            max_work_group_size: 512,
            max_work_item_sizes: [512, 512, 4],
            sub_group_sizes: vec![4, 8, 16],
            ..Facts::default()
        }
    }

    fn refusal(change: impl FnOnce(&mut ModuleMetadata)) -> String {
        let mut metadata = ModuleMetadata::default();
        assert_eq!(check(&metadata, &cpu()), Ok(()));
        change(&mut metadata);
        check(&metadata, &cpu()).unwrap_err()
    }

    #[test]
    fn aspects_the_device_lacks_are_named() {
        let message = refusal(|module| {
            module.requirements.aspects = vec![Aspect::FP16, Aspect::FP64, Aspect::ATOMIC64];
        });
        assert_eq!(
            message,
            "it requires aspects fp16, atomic64, which the device does not support"
        );
    }

    #[test]
    fn unsupported_size_error_lists_the_devices_sizes() {
        let sized = |sycl: &[u64]| {
            let size = WorkGroupSize::from_sycl(sycl);
            refusal(|module| module.requirements.work_group = size)
        };
        let mut largest = ModuleMetadata::default();
        for sycl in [&[512u64][..], &[4, 128, 1], &[512, 1]] {
            largest.requirements.work_group = WorkGroupSize::from_sycl(sycl);
            assert_eq!(check(&largest, &cpu()), Ok(()));
        }
        assert!(sized(&[1024]).contains("[1024, 1, 1]"));
        assert!(sized(&[8, 1, 1]).contains("at most 512 work-items"));
        assert!(sized(&[u64::MAX, 2]).contains("x first"));
        let message = refusal(|module| module.requirements.sub_group = Some(128));
        assert_eq!(
            message,
            "it requires sub-groups of 128, but the device only supports sizes [4, 8, 16]"
        );
    }

    #[test]
    fn sub_groups_need_no_size_in_some_cases() {
        let result = |esimd, sizes: &[usize]| {
            let mut metadata = ModuleMetadata::default();
            metadata.requirements.sub_group = Some(1);
            metadata.misc.esimd = esimd;
            let facts = Facts {
                sub_group_sizes: sizes.to_vec(),
                ..cpu()
            };
            check(&metadata, &facts).is_ok()
        };
        assert!(!result(None, &[8, 16]) && !result(Some(false), &[8]));
        // Explicit SIMD uses sub-groups of one work-item, a size that no device lists.
        assert!(result(Some(true), &[8, 16]));
        assert!(result(Some(true), &[]) && result(None, &[8, 1]));
        // A device without sizes compiles the code for a size of its own choice.
        assert!(!result(None, &[]));
        let message = check_sub_group(8, &[]).unwrap_err();
        assert_eq!(message, "but the device chooses their size itself");
    }

    #[test]
    fn a_target_is_an_architecture_or_any_cpu() {
        for fitting in ["x86_64", "spir64_x86_64"] {
            let mut metadata = ModuleMetadata::default();
            metadata.requirements.compile_target = Some(fitting.to_owned());
            assert_eq!(check(&metadata, &cpu()), Ok(()));
        }
        let target = Some("intel_gpu_pvc".to_owned());
        let message = refusal(|module| module.requirements.compile_target = target);
        assert_eq!(
            message,
            "it was compiled for intel_gpu_pvc, but the device is x86_64"
        );
    }

    #[test]
    fn conversions_of_bfloat16_by_instructions_need_the_instructions() {
        let native = |module: &mut ModuleMetadata| {
            module.device_libraries.bfloat16 = Some(Bfloat16::Native);
        };
        assert_eq!(refusal(native), format!("the device lacks {BFLOAT16}"));
    }

    #[test]
    fn sanitized_code_names_sanitizer_and_option() {
        let message = refusal(|module| module.misc.sanitizer = Some("asan".to_owned()));
        assert_eq!(
            message,
            "it was compiled with AddressSanitizer, which reports to DPC++'s runtime; recompile \
             without -fsanitize=address"
        );
        let message = refusal(|module| module.misc.sanitizer = Some("usan".to_owned()));
        assert!(message.ends_with("without -fsanitize=usan"), "{message}");
    }

    #[test]
    fn host_pipes_are_refused_by_name() {
        let message = refusal(|module| {
            module.host_pipes.insert("_ZN4pipeE", 4);
        });
        assert!(
            message.starts_with("it uses host pipes") && message.contains(": _ZN4pipeE;"),
            "{message}"
        );
    }

    #[test]
    fn one_fixed_target_must_be_the_device() {
        let numbers = |aspects: &[Aspect]| aspects.iter().map(|aspect| aspect.number()).collect();
        let mut metadata = ModuleMetadata::default();
        metadata.requirements.fixed_targets = numbers(&[Aspect::CPU, Aspect::GPU]);
        assert_eq!(check(&metadata, &cpu()), Ok(()));
        let targets = numbers(&[Aspect::GPU, Aspect::ACCELERATOR]);
        let message = refusal(|module| module.requirements.fixed_targets = targets);
        assert_eq!(
            message,
            "it was compiled for gpu and accelerator only (-fsycl-fixed-targets), but the device kind is cpu"
        );
    }

    #[test]
    fn matrices_need_matrix_instructions() {
        let fields = ["matrix_type::fp16", "use::a", "8", "16"].map(str::to_owned);
        let mut metadata = ModuleMetadata::default();
        metadata.requirements.matrices = syclbin::metadata::Records(vec![fields.to_vec()]);
        assert_eq!(
            check(&metadata, &cpu()).unwrap_err(),
            "it uses joint_matrix (matrix_type::fp16 use::a 8 16), but the device has no matrix instructions"
        );
        let mut able = cpu();
        able.aspects.insert(Aspect::EXT_INTEL_MATRIX);
        assert_eq!(
            check(&metadata, &able).unwrap_err(),
            "it uses joint_matrix (matrix_type::fp16 use::a 8 16), but the device has no matrix instructions for \
             half precision"
        );
        able.half_matrices = true;
        assert_eq!(check(&metadata, &able), Ok(()));
        let nvidia = |sm| Facts {
            kind: DeviceKind::Gpu,
            ptx: Some(PtxFacts {
                sm,
                ptx: (8, 4),
                driver: 12040,
            }),
            ..cpu()
        };
        assert_eq!(check(&metadata, &nvidia(75)), Ok(()));
        assert_eq!(check(&metadata, &nvidia(70)), Ok(()));
        assert!(check(&metadata, &nvidia(61)).is_err());
    }

    #[test]
    fn virtual_functions_need_function_pointers() {
        let uses = |module: &mut ModuleMetadata| {
            module
                .virtual_functions
                .uses
                .0
                .push("_ZTS5Shape".to_owned());
        };
        assert_eq!(
            refusal(uses),
            "it uses or defines virtual functions of _ZTS5Shape, but the device lacks aspect \
             ext_oneapi_virtual_functions"
        );
    }
}
