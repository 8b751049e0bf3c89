// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles SPIR-V and PTX to native images for processors and GPUs, ahead of time.
//!
//! An image for a CPU or an NVIDIA GPU is added to the module that contains the original code, because the image itself
//! names its device. An image for an Intel GPU gets its own module, because the property that names the GPU applies to
//! whole modules. NVIDIA code that is linked from several modules also gets its own module.

mod backend;
mod brought;
mod nvlink;
pub(crate) mod ocloc;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use syclbin::property::{key, set};
use syclbin::{AbstractModule, State, Syclbin};
use syclbin_tools::__private::described;

use crate::command_line::options::Show;
use crate::command_line::targets::Target;
use crate::link::imports;
use crate::link::imports::named;
use crate::make::write;
use crate::{Result, library, own, steps};

pub(crate) use backend::Backend;
pub(crate) use brought::discard_replaced;
use nvlink::Nvlink;

/// Returns the reason why a module cannot be compiled from SPIR-V to native code, if any.
fn objection(module: &AbstractModule<'_>) -> Result<Option<String>> {
    if has_constants(module) {
        let why =
            "reads specialization constants, whose values cannot be changed later in native code";
        return Ok(Some(why.to_owned()));
    }
    Ok(import(&imports::of_module(module)?))
}

fn has_constants(module: &AbstractModule<'_>) -> bool {
    let constants = module.metadata.set(set::SPECIALIZATION_CONSTANTS);
    constants.is_some_and(|constants| !constants.is_empty())
}

/// Returns why a module with these imports cannot be compiled to native code, or `None` if there are no imports.
fn import(imports: &BTreeSet<String>) -> Option<String> {
    let symbol = imports.first()?;
    Some(format!(
        "uses {}, which it does not define, and each module is compiled separately",
        named(symbol)
    ))
}

/// Compiles every module for every native target. Keeps the SPIR-V if `keep_spirv` is set. Returns warnings about
/// modules without native code for a target.
///
/// # Errors
///
/// Fails if a compiler rejects a module, or if a module gets no native code and its SPIR-V is not kept.
pub(crate) fn add(
    file: &mut Syclbin<'static>,
    backends: &[Backend],
    keep_spirv: bool,
    folder: &Path,
    show: Show,
) -> Result<Vec<String>> {
    let mut warnings = Vec::new();
    let mut steps = Vec::new();
    let mut places: Vec<Vec<(&Backend, PathBuf)>> = Vec::new();
    let mut nvlink = Nvlink::new(file, folder);
    for (index, module) in file.modules.iter().enumerate() {
        let mut outputs = Vec::new();
        let mut refused: Option<String> = None;
        let mut without: Option<(Vec<&str>, String)> = None;
        for (number, backend) in backends.iter().enumerate() {
            let Some(code) = backend.input(module) else {
                continue; // no code that this backend compiles
            };
            let what = described(module);
            if let Some(why) = backend.objection(module)? {
                if !backend.target.is_of_spirv() {
                    let is_used = module.kernel_names().next().is_some();
                    if file.state() == Some(State::Executable)
                        && is_used
                        && let Some(why) = nvlink.add(index, number, backend)?
                    {
                        let (gpus, _) = without.get_or_insert((Vec::new(), why));
                        gpus.push(backend.arch.as_str());
                    }
                    continue;
                }
                let name = backend.named();
                // In an object file, a module with imports is compiled to native code at link time, so do not warn.
                let is_linked_later = file.state() == Some(State::Object)
                    && keep_spirv
                    && !imports::of_module(module)?.is_empty();
                let outcome = if keep_spirv {
                    "generated only SPIR-V, not native code,"
                } else {
                    "cannot generate native code"
                };
                let text = format!("{what}: {outcome} for {name}, because the module {why}");
                warnings.extend((!is_linked_later).then(|| text.clone()));
                refused.get_or_insert(text);
                continue;
            }
            let input = folder.join(format!("{index}.{}", backend.suffix()));
            write(&input, code)?;
            let output = folder.join(format!("{index}.{number}.native"));
            steps.push(backend.step(&what, &input, &output));
            outputs.push((backend, output));
        }
        if let Some(refused) = refused.filter(|_| outputs.is_empty() && !keep_spirv) {
            return own(format!(
                "{refused}; add spir64 to the targets to compile the module at run time"
            ));
        }
        if let Some((gpus, why)) = without {
            let (what, gpus) = (described(module), gpus.join(" and "));
            warnings.push(format!(
                "{what}: generated only PTX, not native code, for {gpus}, because the module {why}"
            ));
        }
        places.push(outputs);
    }
    steps::run_all(&steps, show)?;
    let linked = nvlink.run(show)?;
    let modules = std::mem::take(&mut file.modules);
    for (module, outputs) in modules.into_iter().zip(places) {
        add_to_module(module, outputs, keep_spirv, &mut file.modules)?;
    }
    file.modules.extend(linked);
    Ok(warnings)
}

fn add_to_module(
    mut module: AbstractModule<'static>,
    outputs: Vec<(&Backend, PathBuf)>,
    keep_spirv: bool,
    modules: &mut Vec<AbstractModule<'static>>,
) -> Result<()> {
    let mut of_gpus = Vec::new();
    let made_of_spirv = |(backend, _): &(&Backend, PathBuf)| backend.target.is_of_spirv();
    if !keep_spirv && outputs.iter().any(made_of_spirv) {
        module.images.retain(|image| image.spirv().is_none());
    }
    let metadata = module.metadata.clone();
    for (backend, output) in outputs {
        let image = backend.image(&output).or_else(|error| {
            own(format!(
                "the compiler for {} wrote no code for {}: {error}",
                backend.named(),
                described(&module)
            ))
        })?;
        let is_gpu = matches!(backend.target, Target::Gpu(_));
        let mut separate = is_gpu.then(|| AbstractModule {
            metadata: metadata.clone(),
            ..AbstractModule::default()
        });
        let own = separate.as_mut().unwrap_or(&mut module);
        if let (true, Some(name)) = (own.images.is_empty(), backend.compile_target()) {
            let (set, key) = (set::DEVICE_REQUIREMENTS, key::COMPILE_TARGET);
            own.metadata.insert(set, key, name);
        }
        own.images.push(image);
        of_gpus.extend(separate);
    }
    if !module.images.is_empty() {
        modules.push(module);
    }
    modules.extend(of_gpus);
    Ok(())
}

/// Compiles one module on the CPU device, in this process. A driver crash terminates this process, so call this only in
/// a child process.
pub(crate) fn build_for_cpu(spirv: &Path, output: &Path, options: &str) -> Result<()> {
    let code = syclbin_toolchain::file::read(spirv)
        .or_else(|error| own(format!("cannot read '{}': {error}", spirv.display())))?;
    let built = library::build_for_cpu(&code, options)
        .or_else(|error| own(format!("target spir64_x86_64: {error}")))?;
    write(output, &built)
}

#[cfg(test)]
mod tests;
