// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that the kernels and symbols in the metadata match those in the code.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::sets::{Contents, Module};
use super::{Findings, Place, Severity, shown};
use syclbin::__private::listed;
use syclbin::__private::spirv::{self, ASSERT_FAIL, Import};
use syclbin::cubin::EntryKind;
use syclbin::metadata::without_run_prefix;
use syclbin::property::{Value, key, set};
use syclbin::ptx::{Target, constant_variable};
use syclbin::read::Owner;
use syclbin::{Content, Error, State, cubin, ptx};

#[derive(Default)]
struct Code {
    imports: BTreeSet<String>,
    /// The kernels of the SPIR-V image, if there is one.
    spirv: Option<BTreeSet<String>>,
    ptx: Vec<ptx::Module>,
}

pub(super) fn check(contents: &Contents<'_>, findings: &mut Findings) {
    let code: Vec<Code> = contents.modules.iter().map(read_code).collect();
    // For each SPIR-V kernel, the last module so far that contains it.
    let mut owners: BTreeMap<&str, Owner> = BTreeMap::new();
    for (module, code) in contents.modules.iter().zip(&code) {
        check_names(module, code, findings);
        for ptx in &code.ptx {
            check_ptx_names(module, code.spirv.as_ref(), ptx, findings);
        }
        for kernel in code.spirv.iter().flatten() {
            if let Some(first) = owners.insert(kernel, module.owner) {
                let reason = format!("kernel {} is also in {first}", shown(kernel));
                module.place(findings).warning(reason);
            }
        }
    }
    check_imports(contents, &code, findings);
}

fn read_code(module: &Module<'_>) -> Code {
    let mut code = Code::default();
    for (image, _) in &module.images {
        match Content::of(image.bytes) {
            Content::SpirV => {
                // The image check has already reported the damage.
                let Ok(spirv) = spirv::Module::parse(image.bytes) else {
                    continue;
                };
                let kernels = code.spirv.get_or_insert_default();
                kernels.extend(spirv.kernels().map(String::from));
                code.imports.extend(spirv.imports().map(String::from));
            }
            Content::Ptx => {
                let ptx = ptx::Module::read(image.bytes).0;
                code.imports.extend(ptx.imports.iter().cloned());
                code.ptx.push(ptx);
            }
            _ => {}
        }
    }
    code
}

fn check_names(module: &Module<'_>, code: &Code, findings: &mut Findings) {
    let mut place = module.place(findings);
    let metadata = &module.module.metadata;
    let named: BTreeSet<&str> = module.module.kernel_names().collect();
    if code.spirv.is_none() && code.ptx.is_empty() {
        return;
    }
    let in_ptx = code.ptx.iter().flat_map(|ptx| &ptx.kernels);
    let in_ptx = in_ptx.map(|kernel| &kernel.name);
    let kernels = code.spirv.iter().flatten().chain(in_ptx);
    let kernels: BTreeSet<&str> = kernels.map(String::as_str).collect();
    for name in named.difference(&kernels) {
        let shown = shown(name);
        // Compilers list exported functions among the kernels.
        if metadata.get(set::EXPORTED_SYMBOLS, name).is_some() {
            let reason = format!("{shown} is listed as a kernel, but is an exported function");
            place.note(reason);
        } else {
            place.error(format!("no image contains kernel {shown}"));
        }
    }
    for kernel in kernels.difference(&named) {
        let kernel = shown(kernel);
        let reason = format!("kernel {kernel} is not listed, so runtimes cannot find it");
        place.warning(reason);
    }
    for of_kernels in [set::KERNEL_PARAM_OPT, set::KERNELS] {
        let keys = metadata.keys(of_kernels);
        for name in keys.filter(|name| !named.contains(name) && without_run_prefix(name) == *name) {
            let name = shown(name);
            let reason = format!("set `{of_kernels}` lists {name}, which is not a kernel");
            place.note(reason);
        }
    }
}

/// Reports imports that no module of the file exports. A missing symbol is an error only in an executable: files in
/// other states may still be linked with a file that defines it.
fn check_imports(contents: &Contents<'_>, code: &[Code], findings: &mut Findings) {
    let symbols = |module: &Module<'_>, name: &str| -> BTreeSet<String> {
        let keys = module.module.metadata.keys(name);
        keys.map(String::from).collect()
    };
    let exported = contents.modules.iter();
    let exported = exported.flat_map(|module| symbols(module, set::EXPORTED_SYMBOLS));
    let exported: BTreeSet<String> = exported.collect();
    let (severity, remedy) = match contents.file.state() {
        Some(State::Executable) => (
            Severity::Error,
            "the state is executable, but no module of the file defines the symbol",
        ),
        _ => (
            Severity::Note,
            "link it with a module that defines the symbol",
        ),
    };
    for (module, code) in contents.modules.iter().zip(code) {
        let mut imports = symbols(module, set::IMPORTED_SYMBOLS);
        imports.extend(code.imports.iter().cloned());
        for import in imports.difference(&exported) {
            let (what, severity, remedy) = match Import::of(import) {
                Import::SpecializationConstant => (
                    "reads a specialization constant through",
                    Severity::Error,
                    "the compiler did not lower the constant, so drivers cannot run the code; compile with a DPC++ \
                     clang++ (-fsyclbin), or pass the value as an argument",
                ),
                Import::DeviceLibrary if import == ASSERT_FAIL => (
                    "needs the device library's",
                    Severity::Note,
                    "a failed `assert` terminates the process on devices with cl_intel_devicelib_assert; other \
                     devices cannot load the module",
                ),
                Import::DeviceLibrary => ("needs the device library's", severity, remedy),
                Import::Symbol => ("imports", severity, remedy),
            };
            let reason = format!("it {what} {}: {remedy}", shown(import));
            module.place(findings).add(severity, 0, reason);
        }
    }
}

/// Checks that native code for NVIDIA GPUs targets `arch`.
pub(super) fn check_native(bytes: &[u8], arch: &str, place: &mut Place<'_, Owner>) {
    let content = Content::of(bytes);
    let is_elf = matches!(content, Content::Elf { machine } if machine == cubin::MACHINE);
    let is_cuda = is_elf || matches!(content, Content::Ptx | Content::CudaFatbin);
    if arch.is_empty() || !is_cuda {
        return;
    }
    let Some(named) = Target::parse(arch) else {
        return place.warning(format!(
            "its architecture {} is not an NVIDIA architecture; expected a name such as sm_80",
            shown(arch)
        ));
    };
    match content {
        Content::Ptx => check_ptx(bytes, Some(named), place),
        Content::CudaFatbin => match check_entries(bytes, named) {
            Ok(None) => {}
            Ok(Some(code)) => place.error(format!("its architecture is {named}, but {code}")),
            Err(error) => place.damage(&error),
        },
        _ => match cubin::target(bytes) {
            // The file may not record the architecture's suffix, such as `a` in `sm_90a`.
            Ok(target) if target.number == named.number => {}
            Ok(target) => place.error(format!(
                "its architecture is {named}, but its code is for {target}"
            )),
            Err(error) => place.damage(&error),
        },
    }
}

/// Checks PTX, and, if an architecture is `named`, that the code is for it.
pub(super) fn check_ptx(bytes: &[u8], named: Option<Target>, place: &mut Place<'_, Owner>) {
    let module = match ptx::Module::parse(bytes) {
        Ok(module) => module,
        Err(error) => return place.damage(&error),
    };
    let (target, version) = (module.target, module.version);
    match target.first_version() {
        Some(first) if version < first => place.error(format!(
            "{target} requires PTX {first}, but the code is PTX {version}, so no driver accepts it"
        )),
        Some(_) => {}
        None => place.note(format!("its target {target} is unknown")),
    }
    if let Some(named) = named
        && !target.ptx_runs_on(named.major(), named.minor())
    {
        place.error(format!(
            "its architecture is {named}, but its PTX is for {target} and newer"
        ));
    }
}

/// Checks the targets of a fat binary. Returns `None` if it contains code that runs on `named` or PTX that can be
/// compiled for `named`. Otherwise, returns a description of its targets.
fn check_entries(bytes: &[u8], named: Target) -> Result<Option<String>, Error> {
    let (major, minor) = (named.major(), named.minor());
    let mut fits = false;
    for entry in cubin::entries(bytes)? {
        let entry = entry?;
        fits |= match entry.kind {
            EntryKind::Elf => entry.target.native_runs_on(major, minor),
            EntryKind::Ptx => entry.target.ptx_runs_on(major, minor),
            // The contents of other entries are unknown.
            _ => true,
        };
    }
    let targets = cubin::entries(bytes)?.flatten().map(|entry| entry.target);
    Ok((!fits).then(|| match &*listed(targets) {
        "" => "it is empty".into(),
        targets => format!("it contains code for {targets}"),
    }))
}

/// Checks that a module's PTX contains the same kernels as its SPIR-V, and the device globals and specialization
/// constants that its metadata lists.
pub(super) fn check_ptx_names(
    module: &Module<'_>,
    spirv: Option<&BTreeSet<String>>,
    ptx: &ptx::Module,
    findings: &mut Findings,
) {
    let sets = &module.module.metadata;
    let mut place = module.place(findings);
    if let Some(spirv) = spirv {
        let ptx = ptx.kernels.iter().map(|kernel| kernel.name.clone());
        let ptx = ptx.collect();
        for (these, those, names) in [
            (spirv, &ptx, ["SPIR-V", "PTX"]),
            (&ptx, spirv, ["PTX", "SPIR-V"]),
        ] {
            for kernel in these.difference(those) {
                let (kernel, [here, there]) = (shown(kernel), names);
                let reason = format!("kernel {kernel} is in the {here}, but not in the {there}");
                place.error(reason);
            }
        }
    }
    let variables = BTreeSet::from_iter(ptx.variables.iter().map(String::as_str));
    for global in sets.keys(set::DEVICE_GLOBALS).map(without_run_prefix) {
        let mapping = format!("{global}@{}", key::GLOBAL_ID_MAPPING);
        let symbol = sets.get(set::PROGRAM_METADATA, &mapping);
        let symbol = symbol.and_then(Value::as_str);
        if symbol.is_none_or(|symbol| !variables.contains(symbol)) {
            place.warning(format!(
                "device global {} is not in the PTX under the name that `{mapping}` records; the host cannot access \
                 it there",
                shown(global)
            ));
        }
    }
    for constant in sets.keys(set::SPECIALIZATION_CONSTANTS) {
        if !variables.contains(constant_variable(constant).as_str()) {
            place.warning(format!(
                "specialization constant {} has no variable in the PTX; it keeps its default value there",
                shown(constant)
            ));
        }
    }
}
