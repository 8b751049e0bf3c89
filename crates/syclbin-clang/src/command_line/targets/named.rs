// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses target names in every accepted spelling.

use syclbin::Architecture;
use syclbin::architecture::Family;

use super::{NVIDIA, Target};
use crate::nvidia::gpu::NvidiaGpu;
use crate::{Failure, Result, own};

/// Advice for unsupported targets: the variable that selects another compiler.
const ELSEWHERE: &str = "for others, set SYCLBIN_CLANG to a DPC++ clang++";

/// The prefix of target names for Intel GPUs.
const INTEL_GPU: &str = "intel_gpu_";

pub(super) fn names<'v>(value: &'v str, option: &str) -> Result<impl Iterator<Item = &'v str>> {
    if value.split(',').any(str::is_empty) {
        return own(format!(
            "'{option}': a target name is missing; add one, or remove the extra comma"
        ));
    }
    Ok(value.split(','))
}

/// Returns the architecture of a triple.
pub(crate) fn first_part(triple: &str) -> &str {
    triple.split('-').next().unwrap_or_default()
}

/// Returns the targets that `name` covers, in any accepted spelling. The name of an Intel GPU family covers all its
/// members.
pub(super) fn targets(name: &str, option: &str) -> Result<Vec<Target>> {
    let target = match first_part(name) {
        "spir64" => Some(Target::Spirv),
        "spir64_x86_64" => Some(Target::Cpu(None)),
        "spir64_gen" => Some(Target::Gpu(None)),
        "nvptx64" => Some(Target::Nvidia(None)),
        gpu => match gpu.strip_prefix("nvidia_gpu_") {
            Some(gpu) => Some(Target::Nvidia(Some(nvidia_gpu(gpu, option)?))),
            None => gpu_named(gpu).filter(|_| gpu.starts_with(INTEL_GPU)),
        },
    };
    if let Some(target) = target {
        return Ok(vec![target]);
    }
    if !name.starts_with(INTEL_GPU) {
        return own(format!(
            "'{option}': target '{name}' is not supported; supported targets are spir64, spir64_x86_64, spir64_gen, \
             intel_gpu_..., {NVIDIA} and nvidia_gpu_...; {ELSEWHERE}"
        ));
    }
    let members = Architecture::members(name).into_iter();
    let members: Vec<_> = members
        .filter_map(|member| gpu_named(member.name()?))
        .collect();
    if members.is_empty() {
        return own(format!(
            "'{option}': unknown Intel GPU '{name}'; for a newer GPU use -fsycl-targets=spir64_gen \
             -Xsycl-target-backend=spir64_gen '-device NAME'"
        ));
    }
    Ok(members)
}

fn gpu_named(name: &str) -> Option<Target> {
    let known = Architecture::from_name(name).filter(|a| a.family() == Family::IntelGpu);
    let device = known?.name()?.strip_prefix(INTEL_GPU)?;
    Some(Target::Gpu(Some(device)))
}

/// Maps the names of processors in clang++ and opencl-aot to their names in Intel's CPU device.
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
    if name.starts_with("sm_") {
        let gpu = Some(nvidia_gpu(name, option)?);
        return Ok(Target::Nvidia(gpu));
    }
    let processor = processor(name).map(|processor| Target::Cpu(Some(processor)));
    processor.or_else(|| gpu_named(name)).ok_or_else(|| {
        Failure::Own(format!(
            "'{option}': architecture '{name}' is not supported; supported architectures are GPUs (pvc, bmg_g21, \
             sm_80 ...) and processors ({}); {ELSEWHERE}",
            processors()
        ))
    })
}

pub(super) fn nvidia_gpu(name: &str, option: &str) -> Result<NvidiaGpu> {
    NvidiaGpu::named(name).ok_or_else(|| {
        Failure::Own(format!(
            "'{option}': unknown NVIDIA GPU '{name}'; supported GPUs are {}",
            NvidiaGpu::all()
        ))
    })
}
