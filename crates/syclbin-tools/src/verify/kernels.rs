// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels and symbols: whether the code has what the metadata names, and nothing is missing.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::sets::{Located, Module, Sets};
use super::{Findings, Severity, nvidia, shown};
use syclbin::__private::spirv::{self, ASSERT_FAIL, Import};
use syclbin::Content;
use syclbin::State;
use syclbin::metadata::without_run_prefix;
use syclbin::property::{PropertySet, set};
use syclbin::ptx;
use syclbin::read::Owner;

/// The kernels and symbols found in the code of a module.
#[derive(Default)]
struct Code {
    /// Kernels of images whose kernels can be read; `None` without such an image.
    kernels: Option<BTreeSet<String>>,
    imports: BTreeSet<String>,
    /// Kernels of the SPIR-V, if there is some.
    spirv: Option<BTreeSet<String>>,
    ptx: Vec<ptx::Module>,
}

pub(super) fn check(sets: &Sets<'_>, findings: &mut Findings) {
    let code: Vec<Code> = sets.modules.iter().map(read_code).collect();
    // The first module that has a kernel as SPIR-V.
    let mut owners: BTreeMap<&str, Owner> = BTreeMap::new();
    for (module, code) in sets.modules.iter().zip(&code) {
        check_names(module, code, findings);
        for ptx in &code.ptx {
            nvidia::check_names(module, code.spirv.as_ref(), ptx, findings);
        }
        for kernel in code.spirv.iter().flatten() {
            if let Some(first) = owners.insert(kernel, module.owner) {
                let reason = format!("kernel {} is in {first} as well", shown(kernel));
                findings.add(
                    Severity::Warning,
                    module.module.offset,
                    module.owner,
                    reason,
                );
            }
        }
    }
    check_imports(sets, &code, findings);
}

fn read_code(module: &Module<'_>) -> Code {
    let mut code = Code::default();
    let mut found: Option<BTreeSet<String>> = None;
    for (image, _) in &module.images {
        match Content::of(image.bytes()) {
            Content::SpirV => {
                // The check of the images has reported the damage.
                let Ok(spirv) = spirv::Module::parse(image.bytes()) else {
                    continue;
                };
                let names = || spirv.kernels().map(String::from);
                found.get_or_insert_default().extend(names());
                code.kernels.get_or_insert_default().extend(names());
                code.imports.extend(spirv.imports().map(String::from));
            }
            Content::Ptx => {
                let ptx = ptx::Module::read(image.bytes()).0;
                let kernels = code.kernels.get_or_insert_default();
                kernels.extend(ptx.kernels.iter().map(|kernel| kernel.name.clone()));
                code.imports.extend(ptx.imports.iter().cloned());
                code.ptx.push(ptx);
            }
            _ => {}
        }
    }
    code.spirv = found;
    code
}

fn check_names(module: &Module<'_>, code: &Code, findings: &mut Findings) {
    let Located { offset, says } = &module.module;
    let mut add = |severity, reason| findings.add(severity, *offset, module.owner, reason);
    let exported = says.metadata.set(set::EXPORTED_SYMBOLS);
    let is_exported = |name: &str| exported.is_some_and(|set| set.get(name).is_some());
    let named: BTreeSet<&str> = says.kernel_names().collect();
    let Some(kernels) = &code.kernels else {
        return;
    };
    for name in &named {
        if kernels.contains(*name) {
            continue;
        }
        // Compilers list exported functions among the kernels.
        if is_exported(name) {
            add(
                Severity::Note,
                format!(
                    "{} is named as a kernel, and is an exported function",
                    shown(name)
                ),
            );
        } else {
            add(
                Severity::Error,
                format!("kernel {} is in none of its images", shown(name)),
            );
        }
    }
    for kernel in kernels.iter().filter(|name| !named.contains(name.as_str())) {
        add(
            Severity::Warning,
            format!(
                "kernel {} is not named, so no runtime finds it",
                shown(kernel)
            ),
        );
    }
    for of_kernels in [set::KERNEL_PARAM_OPT, set::KERNELS] {
        let keys = says
            .metadata
            .set(of_kernels)
            .into_iter()
            .flat_map(PropertySet::keys);
        for name in keys.filter(|name| !named.contains(name) && without_run_prefix(name) == *name) {
            add(
                Severity::Note,
                format!(
                    "set `{of_kernels}` names {}, which is not a kernel",
                    shown(name)
                ),
            );
        }
    }
}

/// Imports must be exported by a module of the file, once it is executable.
fn check_imports(sets: &Sets<'_>, code: &[Code], findings: &mut Findings) {
    let symbols = |module: &Module<'_>, name: &str| -> BTreeSet<String> {
        let set = module.module.says.metadata.set(name).into_iter();
        set.flat_map(PropertySet::keys).map(String::from).collect()
    };
    let exported: BTreeSet<String> = sets
        .modules
        .iter()
        .flat_map(|module| symbols(module, set::EXPORTED_SYMBOLS))
        .collect();
    let (severity, remedy) = match sets.file.says.state() {
        Some(State::Input | State::Object) => (Severity::Note, "to be linked"),
        _ => (
            Severity::Error,
            "the state is executable, so it should have been linked",
        ),
    };
    for (module, code) in sets.modules.iter().zip(code) {
        let mut imports = symbols(module, set::IMPORTED_SYMBOLS);
        imports.extend(code.imports.iter().cloned());
        for import in imports.difference(&exported) {
            let what = match Import::of(import) {
                Import::SpecializationConstant => "reads a specialization constant through",
                Import::DeviceLibrary => "needs the device library's",
                Import::Symbol => "imports",
            };
            let (severity, remedy) = match Import::of(import) {
                Import::SpecializationConstant => (
                    Severity::Error,
                    "the compiler left it unlowered, and drivers cannot run it; compile with a DPC++ clang++ (-fsyclbin), or pass the value as an argument",
                ),
                Import::DeviceLibrary if import == ASSERT_FAIL => (
                    Severity::Note,
                    "an `assert` that fails ends the process, on devices with cl_intel_devicelib_assert; others do not load it",
                ),
                _ => (severity, remedy),
            };
            let reason = format!("it {what} {}: {remedy}", shown(import));
            let offset = module.module.offset;
            findings.add(severity, offset, module.owner.to_string(), reason);
        }
    }
}
