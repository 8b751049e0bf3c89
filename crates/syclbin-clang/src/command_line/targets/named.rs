// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses target names in every accepted spelling.

use syclbin::Architecture;
use syclbin::architecture::Family;

use super::{NVIDIA, Target};
use crate::nvidia::gpu::NvidiaGpu;
use crate::{Result, own};

/// The advice to use another compiler, with the variable that selects it.
const ELSEWHERE: &str = "for others, set SYCLBIN_CLANG to a DPC++ clang++";

pub(super) fn names<'v>(value: &'v str, option: &str) -> Result<impl Iterator<Item = &'v str>> {
    if value.split(',').any(str::is_empty) {
        return own(format!("'{option}': a target name is missing"));
    }
    Ok(value.split(','))
}

/// Returns the architecture of a triple.
pub(super) fn first_part(triple: &str) -> &str {
    triple.split('-').next().unwrap_or_default()
}

/// Returns the target with this name, in any accepted spelling.
pub(super) fn target_named(name: &str) -> Option<Target> {
    match first_part(name) {
        "spir64" => Some(Target::Spirv),
        "spir64_x86_64" => Some(Target::Cpu { processor: None }),
        "spir64_gen" => Some(Target::Gpu { device: None }),
        gpu if gpu.starts_with("intel_gpu_") => gpu_named(gpu),
        "nvptx64" => Some(Target::Nvidia { gpu: None }),
        gpu => {
            let gpu = NvidiaGpu::named(gpu.strip_prefix("nvidia_gpu_")?)?;
            Some(Target::Nvidia { gpu: Some(gpu) })
        }
    }
}

/// Returns the targets that `name` covers. The name of an Intel GPU family covers all its members.
pub(super) fn targets(name: &str, option: &str) -> Result<Vec<Target>> {
    let mut members = Vec::new();
    if target_named(name).is_none() && name.starts_with("intel_gpu_") {
        let known = Architecture::members(name).into_iter();
        members.extend(known.filter_map(|member| gpu_named(member.name()?)));
    }
    if members.is_empty() {
        members.push(target(name, option)?);
    }
    Ok(members)
}

fn gpu_named(name: &str) -> Option<Target> {
    let known = Architecture::from_name(name).filter(|a| a.family() == Family::IntelGpu);
    let device = known?.name()?.strip_prefix("intel_gpu_")?;
    Some(Target::Gpu {
        device: Some(device),
    })
}

fn target(name: &str, option: &str) -> Result<Target> {
    if let Some(target) = target_named(name) {
        return Ok(target);
    }
    if name.starts_with("intel_gpu_") {
        return gpu(name, option);
    }
    if let Some(gpu) = name.strip_prefix("nvidia_gpu_") {
        let gpu = Some(nvidia_gpu(gpu, option)?);
        return Ok(Target::Nvidia { gpu });
    }
    own(format!(
        "'{option}': target '{name}' is not supported; supported targets are spir64, spir64_x86_64, spir64_gen, \
        intel_gpu_..., \
         {NVIDIA} and nvidia_gpu_...; {ELSEWHERE}"
    ))
}

/// The names of each processor: the name for clang++ and opencl-aot, and the name for Intel's CPU device.
const PROCESSORS: [(&str, &str); 13] = [
    ("sse42", "corei7"),
    ("sse4.2", "corei7"),
    ("corei7", "corei7"),
    ("avx", "corei7-avx"),
    ("corei7-avx", "corei7-avx"),
    ("avx2", "core-avx2"),
    ("core-avx2", "core-avx2"),
    ("avx512", "skx"),
    ("skx", "skx"),
    ("skylake-avx512", "skx"),
    ("sapphirerapids", "sapphirerapids"),
    ("graniterapids", "graniterapids"),
    ("diamondrapids", "diamondrapids"),
];

/// Returns the CPU device's name for a processor.
pub(crate) fn processor(name: &str) -> Option<&'static str> {
    let row = PROCESSORS.iter().find(|(known, _)| *known == name);
    row.map(|(_, processor)| *processor)
}

/// Lists the processor names, for messages.
pub(crate) fn processors() -> String {
    PROCESSORS.map(|(name, _)| name).join(", ")
}

pub(super) fn architecture(name: &str, option: &str) -> Result<Target> {
    if let Some(processor) = processor(name) {
        let processor = Some(processor);
        return Ok(Target::Cpu { processor });
    }
    match Architecture::from_name(name).map(Architecture::family) {
        Some(Family::IntelGpu) => gpu(name, option),
        _ if name.starts_with("sm_") => {
            let gpu = Some(nvidia_gpu(name, option)?);
            Ok(Target::Nvidia { gpu })
        }
        _ => own(format!(
            "'{option}': architecture '{name}' is not supported; supported architectures are GPUs (pvc, bmg_g21, \
             sm_80 ...) and processors ({}); {ELSEWHERE}",
            processors()
        )),
    }
}

pub(super) fn nvidia_gpu(name: &str, option: &str) -> Result<NvidiaGpu> {
    match NvidiaGpu::named(name) {
        Some(gpu) => Ok(gpu),
        None => own(format!(
            "'{option}': unknown NVIDIA GPU '{name}'; supported GPUs are {}",
            NvidiaGpu::all()
        )),
    }
}

fn gpu(name: &str, option: &str) -> Result<Target> {
    match gpu_named(name) {
        Some(gpu) => Ok(gpu),
        None => own(format!(
            "'{option}': unknown Intel GPU '{name}'; for a newer GPU use \
             -fsycl-targets=spir64_gen -Xsycl-target-backend=spir64_gen '-device NAME'"
        )),
    }
}
