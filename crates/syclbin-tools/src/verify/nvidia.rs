// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code for NVIDIA GPUs: whether it is for what its metadata says, and has what its module names.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;

use super::shown;
use super::{Findings, Severity, sets::Module};
use syclbin::Content;
use syclbin::cubin::{self, EntryKind};
use syclbin::metadata::without_run_prefix;
use syclbin::property::{PropertySet, Value, key, set};
use syclbin::ptx::{self, Target, constant_variable};

/// Takes an offset in the image, and what there is to say of it.
type Add<'a> = dyn FnMut(u64, Severity, String) + 'a;

/// Checks a PTX text that is filed as such.
pub(super) fn check_ptx(bytes: &[u8], target: &str, add: &mut Add<'_>) {
    if !target.is_empty() && !target.starts_with("nvptx") {
        let reason = format!("it is PTX, and its target is {}", shown(target));
        add(0, Severity::Error, reason);
    }
    check_text(bytes, None, add);
}

/// Checks whether native code is for `arch`, if it is for NVIDIA's GPUs.
pub(super) fn check_native(bytes: &[u8], arch: &str, add: &mut Add<'_>) {
    let content = Content::of(bytes);
    let is_cuda = matches!(
        content,
        Content::Ptx
            | Content::CudaFatbin
            | Content::Elf {
                machine: cubin::MACHINE
            }
    );
    if !is_cuda || arch.is_empty() {
        return;
    }
    let Some(named) = Target::parse(arch) else {
        let reason = format!(
            "its architecture {} is not an NVIDIA architecture, such as sm_80",
            shown(arch)
        );
        return add(0, Severity::Warning, reason);
    };
    match content {
        Content::Ptx => check_text(bytes, Some(named), add),
        Content::CudaFatbin => check_entries(bytes, named, add),
        _ => match cubin::target(bytes) {
            // The file may not tell its suffix.
            Ok(target) if target.number == named.number => {}
            Ok(target) => {
                let reason = format!("its architecture is {named}, and its code is for {target}");
                add(0, Severity::Error, reason);
            }
            Err(error) => add(error.offset(), Severity::Error, format!("{}", error.kind())),
        },
    }
}

fn check_text(bytes: &[u8], named: Option<Target>, add: &mut Add<'_>) {
    let module = match ptx::Module::parse(bytes) {
        Ok(module) => module,
        Err(error) => {
            return add(error.offset(), Severity::Error, format!("{}", error.kind()));
        }
    };
    let (target, version) = (module.target, module.version);
    match target.first_version() {
        Some(first) if version < first => {
            let reason = format!(
                "{target} came with PTX {first}, and it is PTX {version}: no driver takes it"
            );
            add(0, Severity::Error, reason);
        }
        Some(_) => {}
        None => {
            let reason = format!("its target {target} is unknown");
            add(0, Severity::Note, reason);
        }
    }
    if let Some(named) = named
        && !target.ptx_runs_on(named.major(), named.minor())
    {
        let reason = format!("its architecture is {named}, and its PTX is for {target} and newer");
        add(0, Severity::Error, reason);
    }
}

/// Checks that a fat binary has code for the named target, or PTX that can become such code.
fn check_entries(bytes: &[u8], named: Target, add: &mut Add<'_>) {
    let entries = match cubin::entries(bytes) {
        Ok(entries) => entries,
        Err(error) => {
            return add(error.offset(), Severity::Error, format!("{}", error.kind()));
        }
    };
    let (mut fits, mut targets) = (false, String::new());
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                return add(error.offset(), Severity::Error, format!("{}", error.kind()));
            }
        };
        let (major, minor) = (named.major(), named.minor());
        fits |= match entry.kind {
            EntryKind::Elf => entry.target.native_runs_on(major, minor),
            EntryKind::Ptx => entry.target.ptx_runs_on(major, minor),
            // The content of such an entry is unknown.
            _ => true,
        };
        if targets.len() < 100 {
            targets += if targets.is_empty() { "" } else { ", " };
            targets += &format!("{}", entry.target);
        }
    }
    if !fits {
        let code = if targets.is_empty() {
            "it is empty".into()
        } else {
            format!("it has code for {targets}")
        };
        let reason = format!("its architecture is {named}, and {code}");
        add(0, Severity::Error, reason);
    }
}

/// Checks whether the PTX of a module has what its metadata and its SPIR-V name.
pub(super) fn check_names(
    module: &Module<'_>,
    spirv: Option<&BTreeSet<String>>,
    ptx: &ptx::Module,
    findings: &mut Findings,
) {
    let offset = module.module.offset;
    let sets = &module.module.says.metadata;
    let mut add = |severity, reason| findings.add(severity, offset, module.owner, reason);
    let kernels: BTreeSet<&str> = ptx
        .kernels
        .iter()
        .map(|kernel| kernel.name.as_str())
        .collect();
    for kernel in spirv.into_iter().flatten() {
        if !kernels.contains(kernel.as_str()) {
            let reason = format!(
                "kernel {} is in the SPIR-V, and not in the PTX",
                shown(kernel)
            );
            add(Severity::Error, reason);
        }
    }
    for kernel in kernels {
        if spirv.is_some_and(|spirv| !spirv.contains(kernel)) {
            let reason = format!(
                "kernel {} is in the PTX, and not in the SPIR-V",
                shown(kernel)
            );
            add(Severity::Error, reason);
        }
    }
    let variables: BTreeSet<&str> = ptx
        .variables
        .iter()
        .map(|found| found.name.as_str())
        .collect();
    let keys = |name| sets.set(name).into_iter().flat_map(PropertySet::keys);
    for global in keys(set::DEVICE_GLOBALS).map(without_run_prefix) {
        let mapping = format!("{global}@{}", key::GLOBAL_ID_MAPPING);
        let symbol = sets
            .get(set::PROGRAM_METADATA, &mapping)
            .and_then(Value::as_str);
        if symbol.is_none_or(|symbol| !variables.contains(symbol)) {
            let reason = format!(
                "device global {} is not in the PTX by the name that `{mapping}` says; no host reaches it there",
                shown(global)
            );
            add(Severity::Warning, reason);
        }
    }
    for constant in keys(set::SPECIALIZATION_CONSTANTS) {
        if !variables.contains(constant_variable(constant).as_str()) {
            let reason = format!(
                "specialization constant {} has no variable in the PTX; it keeps its default value there",
                shown(constant)
            );
            add(Severity::Warning, reason);
        }
    }
}
