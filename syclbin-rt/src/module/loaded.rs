// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loaded modules: each part of an abstract module is built once, when it is first needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use syclbin::__private::dimensions;
use syclbin::metadata::{Dimensions, KernelSizes};

use crate::backend::gate::CallGuard;
use crate::error::Result;
use crate::launch::kernel::{Kernel, Symbol};
use crate::load::code::{self, Code};
use crate::load::files::{self, Unit, list_of_kernels};
use crate::module::build::{Build, Builder, BuiltProgram, Part, Verdict};

/// An abstract module of the loaded file.
pub(crate) struct LoadedModule {
    builder: Arc<Builder>,
    pub(crate) index: usize,
    builds: Builds<Build>,
    /// Whether each kernel is built separately; filled on demand.
    divides: OnceLock<bool>,
}

/// The builds of parts, each made by the first thread that needs it. A failed build is not retried.
struct Builds<B>(Mutex<BTreeMap<Part, Arc<OnceLock<Arc<B>>>>>);

impl<B> Builds<B> {
    /// Returns the build of a part, building it first if necessary.
    fn get_or_build(&self, part: &Part, build: impl FnOnce() -> B) -> Arc<B> {
        // Must precede the initialization: once the process is exiting, `CallGuard::new` blocks forever, and the
        // exiting thread may wait for this part.
        let _guard = CallGuard::new();
        Arc::clone(self.slot(part).get_or_init(|| Arc::new(build())))
    }

    fn get(&self, part: &Part) -> Option<Arc<B>> {
        self.slot(part).get().cloned()
    }

    fn slot(&self, part: &Part) -> Arc<OnceLock<Arc<B>>> {
        let mut builds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(builds.entry(part.clone()).or_default())
    }
}

impl LoadedModule {
    pub(crate) fn new(builder: &Arc<Builder>, index: usize) -> Self {
        Self {
            builder: Arc::clone(builder),
            index,
            builds: Builds(Mutex::default()),
            divides: OnceLock::new(),
        }
    }

    pub(crate) fn build(&self, part: &Part) -> Arc<Build> {
        let build = || self.builder.build(self.index, part);
        self.builds.get_or_build(part, build)
    }

    /// Returns whether each kernel can be built separately.
    pub(crate) fn divides(&self) -> bool {
        let divides = || self.builder.divides(self.index);
        *self.divides.get_or_init(divides)
    }

    /// Returns whether the complete code can be linked.
    pub(crate) fn links(&self) -> bool {
        let images = self.builder.preview(self.index, &Part::Code);
        images.iter().any(|(_, verdict)| verdict.is_ok())
    }

    /// Returns the part that contains a kernel's code. If the driver rejects the complete code, the fault may be in
    /// another kernel.
    fn part_of(&self, kernel: &str) -> Part {
        let whole = self.builds.get(&Part::Code);
        if whole.is_none_or(|build| build.program.is_none()) && self.divides() {
            Part::Kernel(kernel.to_owned())
        } else {
            Part::Code
        }
    }

    /// Returns a kernel, built from native code if `native`, or else from other code. Returns `None` if no image of
    /// this kind can be built.
    pub(crate) fn kernel(&self, name: &str, native: bool) -> Option<Result<Kernel>> {
        let part = if native {
            Part::Native
        } else {
            self.part_of(name)
        };
        let build = self.build(&part);
        let (unit, built) = (self.builder.unit(self.index)?, build.program.as_ref()?);
        let symbol = symbol(&self.builder, unit, built, name);
        let (queue, constants) = (&self.builder.queue, built.constants.clone());
        Some(Kernel::new(queue, &built.program, symbol, constants))
    }

    /// Returns the build of the complete program, if the driver has built it.
    pub(crate) fn program(&self) -> Option<Arc<Build>> {
        let parts = [Part::Native, Part::Code];
        let mut builds = parts.iter().filter_map(|part| self.builds.get(part));
        builds.find(|build| build.program.is_some())
    }

    /// Returns the verdicts on the images of a part, or predicts them if the part is not built yet.
    fn verdicts(&self, part: &Part) -> Vec<Verdict> {
        match self.builds.get(part) {
            Some(build) => build.verdicts.clone(),
            None => self.builder.preview(self.index, part),
        }
    }

    pub(crate) fn kernels(&self) -> impl Iterator<Item = &str> {
        files::module(&self.builder.files.loaded()[self.index]).kernel_names()
    }

    /// Returns why none of the images can be used to run a kernel.
    pub(crate) fn reasons(&self, kernel: &str) -> Vec<String> {
        self.misfits_of(&self.part_of(kernel))
    }

    /// Returns the known reasons why no image fits all kernels; empty if an image may still fit.
    pub(crate) fn misfits(&self) -> Vec<String> {
        self.misfits_of(&Part::Code)
    }

    /// Returns the image that is chosen for all kernels, or else for the first kernel that can be built alone. Module
    /// `other`, if any, contains native code for the kernels.
    pub(crate) fn choice(&self, other: Option<usize>) -> ImageChoice {
        let choice = self.choice_for(&Part::Code, other);
        if choice.chosen.is_some() || other.is_some() || !self.divides() {
            return choice;
        }
        let fits = |part: &Part| {
            self.verdicts(part)
                .iter()
                .any(|(_, verdict)| verdict.is_ok())
        };
        let mut parts = self.kernels().map(|kernel| Part::Kernel(kernel.to_owned()));
        let part = parts.find(fits);
        part.map_or(choice, |part| self.choice_for(&part, None))
    }

    fn choice_for(&self, code: &Part, other: Option<usize>) -> ImageChoice {
        let mut verdicts = BTreeMap::new();
        let mut chosen = None;
        for part in [&Part::Native, code] {
            for (image, verdict) in self.verdicts(part) {
                let verdict = match (verdict, other) {
                    (Err(reason), _) => reason,
                    (Ok(_), _) if chosen.is_some() => continue,
                    (Ok(_), Some(module)) if part != &Part::Native => format!(
                        "not needed, because module {module} contains native code for these kernels"
                    ),
                    (Ok(how), _) => {
                        chosen = Some(image);
                        how
                    }
                };
                verdicts.insert(image, verdict);
            }
        }
        let unit = self.builder.unit(self.index);
        let images = unit.map_or(&[][..], |unit| &unit.module.images);
        let fitting = chosen.unwrap_or_default();
        let described = images.iter().enumerate().map(|(index, image)| {
            let needless = || format!("not needed, because image {fitting} fits");
            let verdict = verdicts.remove(&index).unwrap_or_else(needless);
            (code::describe(image), verdict)
        });
        ImageChoice {
            module: self.index,
            kernels: match code {
                Part::Kernel(kernel) => list_of_kernels([&**kernel].into_iter()),
                Part::Native | Part::Code => list_of_kernels(self.kernels()),
            },
            chosen,
            images: described.collect(),
        }
    }

    /// Returns the known reasons why no image of a part fits, one per image; empty if an image may still fit. If the
    /// module is malformed or contains no images, that is the only reason.
    fn misfits_of(&self, part: &Part) -> Vec<String> {
        let choice = self.choice_for(part, None);
        let module = format!("module {} ({})", choice.module, choice.kernels);
        if choice.chosen.is_some() {
            return Vec::new();
        }
        if choice.images.is_empty() {
            let reason = match &self.builder.files.loaded()[self.index] {
                Err(malformed) => malformed.reason.to_string(),
                Ok(_) => "it contains no images".to_owned(),
            };
            return vec![format!("{module}: {reason}")];
        }
        let verdicts = choice.verdicts().enumerate();
        let reasons = verdicts.map(|(index, (image, verdict))| {
            format!("{module}, image {index} ({image}): {verdict}")
        });
        reasons.collect()
    }
}

/// The kernels and variables in native code that the driver accepts.
#[derive(Default)]
pub(crate) struct NativeCode<'m> {
    /// The kernels, with the indices of their modules.
    kernels: BTreeMap<&'m str, usize>,
    globals: BTreeSet<&'m str>,
}

impl<'m> NativeCode<'m> {
    /// Collects the native code of `modules`. Code that is not built yet is assumed to be acceptable.
    pub(crate) fn new(modules: &'m [LoadedModule]) -> Self {
        let mut native = Self::default();
        // The driver has accepted native code of the module, or might still accept it.
        let has_native = |module: &&LoadedModule| {
            let verdicts = module.verdicts(&Part::Native);
            verdicts.iter().any(|(_, verdict)| verdict.is_ok())
        };
        for module in modules.iter().filter(has_native) {
            for kernel in module.kernels() {
                native.kernels.entry(kernel).or_insert(module.index);
            }
            let unit = module.builder.unit(module.index);
            let globals = unit.map(|unit| unit.metadata.device_globals.names());
            native.globals.extend(globals.into_iter().flatten());
        }
        native
    }

    /// Returns the index of a module with native code for the kernels of `module`, if native code covers all kernels
    /// and variables of `module`. Compilers put native code for some targets into a separate module.
    pub(crate) fn module_of(&self, module: &LoadedModule) -> Option<usize> {
        let unit = module.builder.unit(module.index)?;
        let mut globals = unit.metadata.device_globals.names();
        if !globals.all(|name| self.globals.contains(name)) {
            return None;
        }
        let mut first = None;
        for kernel in module.kernels() {
            first = first.or(Some(*self.kernels.get(kernel)?));
        }
        first
    }
}

/// Returns the launch sizes that a kernel requires. Explicit SIMD kernels use sub-groups of one work-item, a size that
/// no device lists, so their required sub-group size is ignored.
fn sizes(unit: &Unit<'_>, kernel: &str) -> KernelSizes {
    let metadata = &unit.metadata;
    let sizes = metadata.program.kernels.get(kernel).cloned();
    let mut sizes = metadata.requirements.complete(sizes.unwrap_or_default());
    let described = dimensions(&unit.module, kernel).map(u32::from);
    sizes.dimensions = described.and_then(Dimensions::new).or(sizes.dimensions);
    if metadata.misc.esimd == Some(true) {
        sizes.required_sub_group = None;
    }
    sizes
}

/// Collects the metadata that the file records about a kernel.
fn symbol(builder: &Builder, unit: &Unit<'_>, built: &BuiltProgram, name: &str) -> Symbol {
    let (files, metadata) = (&builder.files, &unit.metadata);
    let mask = metadata.argument_masks.get(name);
    let image = built.members.first();
    // All images of a module are compiled from the same source, so the kernel's parameters are the same.
    let code = image
        .and_then(|index| files.code(*index).ok())
        .or_else(|| unit.codes(files.facts).iter().flatten().next())
        .or_else(|| files.code_of(name, mask));
    let local = metadata.implicit_local_arguments.get(name);
    // -1, stored as `u32::MAX`, means that there is no such argument.
    let last_is_local = local.is_some_and(|index| *index != u32::MAX);
    let described = match code {
        Some(Code::SpirV(_)) => code,
        // PTX does not always distinguish pointers from numbers, so SPIR-V is preferred.
        other => unit.described().or(other),
    };
    let parameters = described.and_then(|code| code.takes(name));
    Symbol {
        eliminated: mask
            .map(|mask| mask.removed.clone())
            .filter(|removed| removed.contains(&true))
            .unwrap_or_default(),
        parameters: parameters.unwrap_or_default(),
        scratch: files.facts.ptx.is_some() && last_is_local,
        last_is_local,
        slots: code.and_then(|code| code.slots(name)),
        sizes: sizes(unit, name),
        id_range: built.id_range,
        unfit: built.unfit.get(name).cloned(),
        name: name.to_owned(),
    }
}

/// The image that was chosen for an abstract module, and why each other image was skipped. Returned by
/// [`Module::images`](crate::Module::images).
///
/// Its `Display` implementation writes one line for the module and one line per image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageChoice {
    module: usize,
    kernels: String,
    chosen: Option<usize>,
    /// A description of each image, with the verdict.
    images: Vec<(String, String)>,
}

impl ImageChoice {
    /// Returns the index of the abstract module in the file, starting at 0.
    #[must_use]
    pub fn module(&self) -> usize {
        self.module
    }

    /// Returns the index of the chosen image in the module, starting at 0; `None` if no image fits.
    #[must_use]
    pub fn image(&self) -> Option<usize> {
        self.chosen
    }

    /// Describes each image, with the reason why it was chosen or skipped.
    pub fn verdicts(&self) -> impl Iterator<Item = (&str, &str)> {
        let images = self.images.iter();
        images.map(|(image, verdict)| (image.as_str(), verdict.as_str()))
    }
}

impl fmt::Display for ImageChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "module {} ({})", self.module, self.kernels)?;
        for (index, (image, verdict)) in self.verdicts().enumerate() {
            write!(f, "\n  image {index} ({image}): {verdict}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::backend::gate;
    use crate::{Module, common};

    /// `cargo xtask miri` and a test of the gate run this in child processes, because a gate never reopens.
    #[test]
    fn a_child_exits_during_builds() {
        if std::env::var_os(gate::CHILD).is_none() {
            return;
        }
        let parts = || [Part::Native, Part::Code, Part::Kernel("k".to_owned())];
        let get = |builds: &Builds<Mutex<u32>>, part| {
            let build = builds.get_or_build(&part, || {
                let build = Mutex::new(0);
                *build.lock().unwrap() += 1;
                std::thread::yield_now();
                build
            });
            let calls = *build.lock().unwrap();
            (part, Arc::as_ptr(&build).addr(), calls)
        };
        let builds = Arc::new(Builds(Mutex::default()));
        let (sender, seen) = std::sync::mpsc::channel();
        for thread in 0..3 {
            let (builds, sender) = (Arc::clone(&builds), sender.clone());
            std::thread::spawn(move || {
                let mut parts = parts();
                parts.rotate_left(thread);
                for part in parts {
                    let _ = sender.send(get(&builds, part));
                }
            });
        }
        let first = seen.recv().unwrap();
        std::thread::spawn(|| {
            std::thread::sleep(std::time::Duration::from_secs(60));
            eprintln!("the exiting thread waits for a thread that sleeps at the gate");
            std::process::abort();
        });
        gate::close();
        let all = parts().map(|part| get(&builds, part));
        for seen in seen.try_iter().chain([first]) {
            assert!(all.contains(&seen), "{seen:?} is not in {all:?}");
        }
    }

    /// A test of the gate runs this in a child process.
    #[test]
    #[allow(unsafe_code, reason = "loading code is unsafe")]
    fn a_child_builds_while_it_exits() -> Result<()> {
        if std::env::var_os(gate::CHILD).is_none() {
            return Ok(());
        }
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let bytes = common::testfile("vector_ops.object.syclbin");
        // SAFETY: a compiler made the code.
        let module = unsafe { Module::load(&queue, &bytes)? };
        std::thread::spawn(|| {
            std::thread::sleep(std::time::Duration::from_secs(60));
            eprintln!("the exiting thread waits for a thread that sleeps at the gate");
            std::process::abort();
        });
        gate::close();
        module.build()
    }

    #[test]
    #[allow(unsafe_code, reason = "loading code is unsafe")]
    fn threads_share_one_build() -> Result<()> {
        let Some(queue) = common::opencl_queue() else {
            return Ok(());
        };
        let bytes = test_files::read("vector_ops.object.syclbin");
        // SAFETY: a compiler made the code.
        let module = unsafe { Module::load(&queue, &bytes)? };
        let modules = &module.0.modules;
        let start = Barrier::new(4);
        let build = || {
            start.wait();
            modules[0].build(&Part::Code)
        };
        let builds: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(build)).collect();
            let builds = threads.into_iter().map(|thread| thread.join().unwrap());
            builds.collect()
        });
        assert!(builds[0].program.is_some());
        assert!(builds.iter().all(|build| Arc::ptr_eq(build, &builds[0])));
        Ok(())
    }
}
