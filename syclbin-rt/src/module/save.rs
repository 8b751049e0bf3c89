// SPDX-License-Identifier: MIT OR Apache-2.0
//! Saves a loaded module as a SYCLBIN file, either as an executable with native code for the module's device, or in
//! another state with the code that the module was loaded from.

use std::collections::BTreeSet;

use syclbin::__private::spirv::portable::lift::Layout;
use syclbin::metadata::{ModuleMetadata, SpecializationConstants, Target};
use syclbin::property::{PropertySets, key, set};
use syclbin::{AbstractModule, Container, Image, ImageKind, State, Syclbin};

use crate::backend::facts::{DeviceKind, Facts};
use crate::error::{Error, ErrorKind, Result};
use crate::load::constants::{self, Values};
use crate::load::files::{Unit, list_of_kernels};
use crate::load::native::SavedOn;
use crate::module::build::{Builder, BuiltProgram};
use crate::module::loaded::LoadedModule;
use crate::module::{Inner, Module};

/// The only key in the property set for hidden arguments.
const LAYOUT: &str = "layout";

impl Module {
    /// Saves the module as an executable SYCLBIN file, with native code from this device's driver, so that nothing is
    /// compiled when the file is loaded. The reference runtime can also load the file.
    ///
    /// Linked code and the values of specialization constants are compiled in, so loading the file with other values
    /// fails. Modules that cannot be built for this device are omitted. Keep the original file: the saved file records its
    /// device and driver, and may not load with any others.
    ///
    /// Save in a process that has not loaded other native code from files. Intel's CPU driver (2026.2) compiles for the
    /// processor that it runs on, until the process loads code for a less capable processor. From then on, it compiles
    /// for the less capable processor, and rejects code for more capable processors, such as a file that was saved
    /// earlier. Other processes still accept that file.
    ///
    /// ```no_run
    /// # let bytes = std::fs::read("saxpy.syclbin").unwrap();
    /// # let queue = syclbin_rt::Device::best_for(&bytes)?.queue()?;
    /// # // SAFETY: the file is compiler output.
    /// # let module = unsafe { syclbin_rt::Module::load(&queue, &bytes)? };
    /// std::fs::write("saxpy.native.syclbin", module.to_syclbin()?).unwrap();
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the driver can build none of the modules, or does not return the native code. Also fails if some modules
    /// were compiled before and others after the process loaded code for a less capable processor, because no process
    /// would accept the whole file.
    pub fn to_syclbin(&self) -> Result<Vec<u8>> {
        to_vec(&self.executable()?)
    }

    /// Saves the module and `others` as a single executable SYCLBIN file, with the native code of each. All of
    /// them must have been loaded from the same file, for different devices. When the saved file is loaded, each device
    /// uses its own code.
    ///
    /// The devices may use different drivers. To merge files that were saved on different machines, use
    /// `syclbin::merge`.
    ///
    /// ```no_run
    /// # let bytes = std::fs::read("saxpy.syclbin").unwrap();
    /// use syclbin_rt::{Device, Module};
    ///
    /// let load = |selector: &str| {
    ///     let queue = Device::select(selector)?.queue()?;
    ///     // SAFETY: the file is compiler output.
    ///     unsafe { Module::load(&queue, &bytes) }
    /// };
    /// let saved = load("gpu")?.to_syclbin_with(&[&load("cpu")?])?;
    /// std::fs::write("saxpy.native.syclbin", saved).unwrap();
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`to_syclbin`](Self::to_syclbin). Also fails if the modules were loaded from
    /// different files.
    pub fn to_syclbin_with(&self, others: &[&Self]) -> Result<Vec<u8>> {
        let first = self.executable()?;
        let others = others.iter().map(|other| other.executable());
        let merged = syclbin::merge(first, others.collect::<Result<Vec<_>>>()?);
        to_vec(&merged.map_err(|error| {
            let message = "cannot save the modules in one file";
            Error::caused_by(ErrorKind::InvalidArgument, message, error)
        })?)
    }

    /// Saves the module as a SYCLBIN file in the given state.
    ///
    /// - [Executable](State::Executable): native code, as [`to_syclbin`](Self::to_syclbin) saves it.
    /// - [Object](State::Object) and [input](State::Input): the code as it was loaded, for all devices, including the
    ///   linked files and their kernels. Native code is omitted if the code that it was compiled from is present. The
    ///   values of specialization constants are recorded, and can still be changed. If two linked files export the same
    ///   symbol, the saved file cannot be loaded.
    ///
    /// ```no_run
    /// # let bytes = std::fs::read("blur.syclbin").unwrap();
    /// # let queue = syclbin_rt::Device::best_for(&bytes)?.queue()?;
    /// use syclbin_rt::{Module, State};
    ///
    /// let builder = Module::builder(&queue).specialization_constant("_ZL6radius", 3i32);
    /// // SAFETY: the file is compiler output.
    /// let module = unsafe { builder.load(&bytes)? };
    /// std::fs::write("blur3.syclbin", module.to_syclbin_in(State::Input)?).unwrap();
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// For an executable, fails for the same reasons as [`to_syclbin`](Self::to_syclbin). In other states, fails if a
    /// module contains only native code, or if the file does not record the default of a constant that was set.
    pub fn to_syclbin_in(&self, state: State) -> Result<Vec<u8>> {
        if state == State::Executable {
            return self.to_syclbin();
        }
        let builder = &self.0.builder;
        let saved = with_code(builder.files.whole(), &builder.constants, state);
        let saved = saved.map_err(|reason| {
            let message = format_args!("cannot save the module in state {state}: {reason}");
            Error::invalid(message)
        })?;
        to_vec(&saved)
    }

    /// Returns the module with native code, building it first if necessary.
    fn executable(&self) -> Result<Syclbin<'static>> {
        let Inner { builder, modules } = &*self.0;
        self.build_modules(&modules.iter().collect::<Vec<_>>());
        let facts = builder.queue.device().facts();
        let mut file = without_modules(builder.files.head(), State::Executable);
        let context = builder.queue.raw().context();
        let mut first = None;
        for module in modules {
            let build = module.program();
            let Some(built) = build.as_ref().and_then(|build| build.program.as_ref()) else {
                continue;
            };
            let reading = format_args!("reading the native code of module {}", module.index);
            let failed = builder.queue.device().failed(reading);
            let code = built.program.binary().map_err(failed)?;
            if let Some(processor) = context.processor_of(&code) {
                let (first_module, of_first) = *first.get_or_insert((module.index, processor));
                if processor != of_first {
                    return Err(Error::invalid(format_args!(
                        "cannot save modules {first_module} and {} together: they are native code for different \
                         processors, because this process loaded other native code between compiling them, and \
                         Intel's CPU driver rejects such a file; save them in a process that has not loaded other \
                         native code",
                        module.index
                    )));
                }
            }
            let mut metadata = properties(builder, built);
            // NVIDIA's code records its own architecture.
            if facts.ptx.is_none() {
                SavedOn::device(facts).write(&mut metadata);
            }
            file.modules.push(AbstractModule {
                metadata,
                images: vec![native(facts, code, built.constants.is_some())],
                ..AbstractModule::default()
            });
        }
        if file.modules.is_empty() && !modules.is_empty() {
            let reasons = modules.iter().flat_map(LoadedModule::misfits);
            self.all_built(reasons.collect())?;
        }
        Ok(file)
    }
}

/// Returns a file in the given state, with the global properties of `file` but without its modules.
fn without_modules<'a>(file: &Syclbin<'a>, state: State) -> Syclbin<'a> {
    let mut empty = Syclbin {
        global: file.global.clone(),
        ..Syclbin::default()
    };
    empty.global.insert(set::GLOBAL, key::STATE, state.number());
    empty
}

pub(crate) fn hidden_arguments(sets: &PropertySets<'_>) -> Option<Layout> {
    Layout::of_text(sets.get(set::HIDDEN_ARGUMENTS, LAYOUT)?.as_str()?)
}

/// Returns the properties of a program for a saved file.
fn properties(builder: &Builder, built: &BuiltProgram) -> PropertySets<'static> {
    let units: Vec<&Unit<'_>> = builder.units(&built.members).collect();
    let [unit, linked @ ..] = &*units else {
        return PropertySets::default();
    };
    let metadata = &unit.metadata;
    let mut sets = unit.module.metadata.clone().into_owned();
    if built.id_range != metadata.misc.id_range {
        let mut misc = metadata.misc.clone();
        misc.id_range = built.id_range;
        misc.write(&mut sets);
    }
    // Every import has been resolved.
    sets.remove_set(set::IMPORTED_SYMBOLS);
    sets.remove_set(set::HIDDEN_ARGUMENTS);
    if let Some(layout) = &built.hidden {
        sets.insert(set::HIDDEN_ARGUMENTS, LAYOUT, layout.to_text());
    }
    // The program contains the variables of all linked modules.
    for other in linked {
        for name in [set::DEVICE_GLOBALS, set::PROGRAM_METADATA, set::VARIABLES] {
            for (name_in_set, value) in other.module.metadata.entries(name) {
                let about_a_kernel =
                    name == set::PROGRAM_METADATA && !name_in_set.ends_with(key::GLOBAL_ID_MAPPING);
                if !about_a_kernel && sets.get(name, name_in_set).is_none() {
                    sets.insert(name, name_in_set.to_owned(), value.clone());
                }
            }
        }
    }
    let linked = || linked.iter().map(|unit| &unit.metadata);
    // The program also inherits the linked modules' requirements.
    let mut requirements = metadata.requirements.clone();
    for aspect in linked().flat_map(|other| &other.requirements.aspects) {
        if !requirements.aspects.contains(aspect) {
            requirements.aspects.push(*aspect);
        }
    }
    if requirements != metadata.requirements {
        requirements.write(&mut sets);
    }
    let mut specialization = metadata.specialization.clone();
    for other in linked() {
        add_constants(&mut specialization, &other.specialization);
    }
    set_values(&mut sets, specialization, &builder.constants);
    // A program that loads native code cannot detect unfit kernels, so the saved file does not list them.
    let is_fit = |kernel: &str| !built.unfit.contains_key(kernel);
    sets.retain(set::KERNEL_NAMES, is_fit);
    sets
}

/// Adds the constants of `other`, with their defaults and current values. Adds nothing if `all` or `other` contains
/// constants without defaults, because the values could not be recorded.
fn add_constants(all: &mut SpecializationConstants, other: &SpecializationConstants) {
    let Some(defaults) = &other.defaults else {
        return;
    };
    if all.defaults.is_none() && !all.constants.is_empty() {
        return;
    }
    let values = other.set_values.as_ref().unwrap_or(defaults);
    // Malformed metadata was rejected earlier.
    for (name, place) in other.layout().unwrap_or_default().iter() {
        let (None, Some(parts)) = (all.constants.get(name), other.constants.get(name)) else {
            continue;
        };
        let [default, value] =
            [defaults, values].map(|blob| constants::part(blob, place.start, place.size));
        let (Some(default), Some(value)) = (default, value) else {
            continue;
        };
        let all_defaults = all.defaults.get_or_insert_default();
        if default != value || all.set_values.is_some() {
            let set = all.set_values.get_or_insert_with(|| all_defaults.clone());
            set.extend(value);
        }
        all_defaults.extend(default);
        all.constants.insert(name, parts.clone());
    }
}

/// Records the current values of specialization constants.
fn set_values(
    sets: &mut PropertySets<'static>,
    mut specialization: SpecializationConstants,
    given: &Values,
) {
    let Some(values) = constants::blob(given, &specialization) else {
        return;
    };
    let mut given = given.keys();
    let is_given = given.any(|name| specialization.constants.get(name).is_some());
    let is_set = is_given || specialization.set_values.is_some();
    specialization.set_values = is_set.then_some(values);
    specialization.write(sets);
}

fn to_vec(file: &Syclbin<'_>) -> Result<Vec<u8>> {
    syclbin::write::to_vec(file, Container::default()).map_err(|error| {
        let message = "cannot write the SYCLBIN file";
        Error::caused_by(ErrorKind::InvalidArgument, message, error)
    })
}

/// Returns a device's native code as an image. With `emulated`, its kernels receive specialization constants in a
/// hidden argument.
fn native(facts: &Facts, code: Vec<u8>, emulated: bool) -> Image<'static> {
    if let Some(takes) = facts.ptx {
        return Image::native(&format!("sm_{}", takes.sm), "nvptx64-nvidia-cuda", code);
    }
    // The reference runtime passes specialization constants in a hidden argument for all targets but the last.
    let target = match facts.kind {
        DeviceKind::Cpu if emulated => "spir64_x86_64-unknown-unknown",
        DeviceKind::Gpu if emulated => "spir64_gen-unknown-unknown",
        _ => "spir64-unknown-unknown",
    };
    // If the architecture is unknown, record the device name for human readers.
    let architecture = facts.architecture.as_ref().map(ToString::to_string);
    let architecture = architecture.unwrap_or_else(|| facts.name.clone());
    Image::native(&architecture, target, code)
}

/// Returns the modules of `files` as a file in the input or object state. The first file is the loaded file, and
/// `constants` are the values that were set for specialization constants.
///
/// # Errors
///
/// Returns the reason as text.
fn with_code<'a>(
    files: Vec<Syclbin<'a>>,
    constants: &Values,
    state: State,
) -> Result<Syclbin<'a>, String> {
    if !matches!(state, State::Input | State::Object) {
        return Err(
            "unknown state; use `State::Input`, `State::Object` or `State::Executable`".to_owned(),
        );
    }
    let all = || files.iter().flat_map(|file| &file.modules);
    let mut compiled_elsewhere = BTreeSet::new();
    for module in all() {
        for image in module.images.iter().filter(|image| is_code(image)) {
            let names = module.kernel_names().map(str::to_owned);
            compiled_elsewhere.extend(names.map(|name| (is_for_nvidia(image), name)));
        }
    }
    let mut whole = without_modules(&files[0], state);
    for file in files {
        let keeps_native = state == State::Object && file.state() == Some(State::Object);
        for (number, mut module) in file.modules.into_iter().enumerate() {
            let code = module.images.iter().filter(|image| is_code(image));
            let code: Vec<bool> = code.map(is_for_nvidia).collect();
            if !code.is_empty() {
                // Omit native code that the driver compiles again, possibly with other values of constants.
                let is_kept =
                    |image: &Image<'_>| is_code(image) || !code.contains(&is_for_nvidia(image));
                module.images.retain(is_kept);
            } else if !module.images.is_empty() && !keeps_native {
                let is_elsewhere = |name: &str| {
                    let mut images = module.images.iter().map(is_for_nvidia);
                    images.all(|nvidia| compiled_elsewhere.contains(&(nvidia, name.to_owned())))
                };
                let mut kernels = module.kernel_names().peekable();
                let has_kernels = kernels.peek().is_some();
                if has_kernels && kernels.all(is_elsewhere) {
                    continue;
                }
                return Err(format!(
                    "module {number} ({}) contains only native code; save the file as an executable instead \
                     (`State::Executable`)",
                    list_of_kernels(module.kernel_names())
                ));
            }
            whole.modules.push(with_values(module, constants)?);
        }
    }
    Ok(whole)
}

/// Returns whether a driver compiles the image. Compilers may label PTX as native code.
fn is_code(image: &Image<'_>) -> bool {
    !image.native || image.is_ptx()
}

/// Returns whether the image is for NVIDIA GPUs. Their native code comes from PTX, so SPIR-V does not replace it.
fn is_for_nvidia(image: &Image<'_>) -> bool {
    let (ImageKind::Ir { target, .. } | ImageKind::Native { target, .. }) = image.kind();
    Target::of_triple(target) == Target::Nvptx64
}

fn with_values<'a>(
    module: AbstractModule<'a>,
    constants: &Values,
) -> Result<AbstractModule<'a>, String> {
    // The loader skips modules with malformed metadata, so there are no values to record.
    let Ok(metadata) = ModuleMetadata::read(&module.metadata) else {
        return Ok(module);
    };
    let held = metadata.specialization;
    let mut given = constants.keys();
    let Some(name) = given.find(|name| held.constants.get(name).is_some()) else {
        return Ok(module);
    };
    if held.defaults.is_none() && held.set_values.is_none() {
        return Err(format!(
            "the file does not contain the default of specialization constant {name}, so its value cannot be recorded; \
             load the file without a value for the constant"
        ));
    }
    let mut module = module.into_owned();
    set_values(&mut module.metadata, held, constants);
    Ok(module)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syclbin::IrType;
    use syclbin::metadata::SpecConstantDescriptor;

    fn module(kernel: &str, images: &[Image<'static>]) -> AbstractModule<'static> {
        let mut module = AbstractModule::default();
        module.add_kernel_name(kernel.to_owned());
        module.images = images.to_vec();
        module
    }

    fn saved(
        from: State,
        modules: Vec<AbstractModule<'static>>,
        state: State,
    ) -> std::result::Result<Vec<usize>, String> {
        let mut file = Syclbin::new(from);
        file.modules = modules;
        let saved =
            with_code(vec![file], &Values::new(), state).map_err(|error| error.to_string())?;
        assert_eq!(saved.state(), Some(state));
        Ok(saved
            .modules
            .iter()
            .map(|module| module.images.len())
            .collect())
    }

    #[test]
    fn only_code_is_saved_before_linking() {
        use State::{Executable, Input, Object};
        let spirv = || Image::ir(IrType::SpirV, "spir64-unknown-unknown", vec![1]);
        let native = || Image::native("", "spir64_x86_64-unknown-unknown", vec![2]);
        let ptx = b".version 6.3\n.target sm_75\n".to_vec();
        let ptx = || Image::native("sm_75", "nvptx64-nvidia-cuda", ptx.clone());
        let both = || module("k", &[spirv(), native(), ptx()]);
        let alone = || module("k", &[native()]);
        for state in [Input, Object] {
            assert_eq!(saved(Executable, vec![both()], state), Ok(vec![2]));
            // Another module contains the code of its kernels.
            assert_eq!(saved(Executable, vec![alone(), both()], state), Ok(vec![2]));
            let refused = saved(Executable, vec![alone()], state).unwrap_err();
            assert_eq!(
                refused,
                "module 0 (k) contains only native code; save the file as an executable instead (`State::Executable`)"
            );
        }
        assert_eq!(saved(Object, vec![alone()], Object), Ok(vec![1]));
        assert!(saved(Object, vec![alone()], Input).is_err());
        assert!(saved(Object, vec![both()], State::Other(7)).is_err());
        // PTX is not the source of native code for processors.
        let mixed = || module("k", &[native(), ptx()]);
        assert_eq!(saved(Executable, vec![mixed()], Input), Ok(vec![2]));
        let of_nvidia = || module("k", &[ptx()]);
        assert!(saved(Executable, vec![of_nvidia(), alone()], Input).is_err());
        let cubin = || Image::native("sm_90", "nvptx64-nvidia-cuda", vec![3]);
        let modules = vec![of_nvidia(), module("k", &[cubin()])];
        assert_eq!(saved(Executable, modules, Input), Ok(vec![1]));
    }

    #[test]
    fn values_of_linked_constants_follow_their_defaults() {
        let constant = |name, value: u8, set: Option<u8>| {
            let mut constant = SpecializationConstants::default();
            let (id, offset, size) = (value.into(), 0, 1);
            let part = SpecConstantDescriptor { id, offset, size };
            constant.constants.insert(name, vec![part]);
            constant.defaults = Some(vec![value]);
            constant.set_values = set.map(|set| vec![set]);
            constant
        };
        let mut all = constant("a", 1, None);
        for (other, set_values) in [
            (constant("b", 2, Some(2)), None),
            (constant("c", 3, Some(7)), Some(vec![1, 2, 7])),
            (constant("d", 4, None), Some(vec![1, 2, 7, 4])),
        ] {
            add_constants(&mut all, &other);
            assert_eq!(all.set_values, set_values);
        }
        assert_eq!(all.defaults, Some(vec![1, 2, 3, 4]));
    }

    #[test]
    fn constants_without_defaults_are_not_merged() {
        let constant = |name, defaults: Option<Vec<u8>>| {
            let mut constant = SpecializationConstants::default();
            let part = SpecConstantDescriptor {
                id: 0,
                offset: 0,
                size: 1,
            };
            constant.constants.insert(name, vec![part]);
            constant.defaults = defaults;
            constant
        };
        let merged = |mut all: SpecializationConstants, other| {
            add_constants(&mut all, &other);
            let names = all.constants.names().map(str::to_owned);
            (names.collect::<Vec<_>>(), all.defaults)
        };
        let other = || constant("b", Some(vec![2]));
        let of = |name: &str, defaults| (vec![name.to_owned()], defaults);
        let none = SpecializationConstants::default();
        assert_eq!(merged(none, other()), of("b", Some(vec![2])));
        assert_eq!(merged(constant("a", None), other()), of("a", None));
        let known = constant("a", Some(vec![1]));
        assert_eq!(merged(known, constant("b", None)), of("a", Some(vec![1])));
    }

    #[test]
    fn saved_target_says_how_constants_are_passed() {
        let target = |kind, emulated| {
            let facts = Facts {
                kind,
                ..Facts::default()
            };
            let image = native(&facts, vec![1], emulated);
            match image.kind() {
                ImageKind::Native { target, .. } => target.to_owned(),
                ImageKind::Ir { .. } => unreachable!("it is native code"),
            }
        };
        for kind in [DeviceKind::Cpu, DeviceKind::Gpu] {
            assert_eq!(target(kind, false), "spir64-unknown-unknown");
        }
        assert_eq!(
            target(DeviceKind::Cpu, true),
            "spir64_x86_64-unknown-unknown"
        );
        assert_eq!(target(DeviceKind::Gpu, true), "spir64_gen-unknown-unknown");
    }
}
