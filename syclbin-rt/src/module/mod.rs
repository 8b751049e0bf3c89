// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules, in which programs look up the kernels and device globals of a loaded file by name. If a name is unknown,
//! the error lists the known names.
//!
//! Loading reads and checks the files ([`crate::load`]) without calling a driver. [`build::Builder`] passes
//! suitable images to the driver, and [`loaded::LoadedModule`] builds each part of a module only once.

pub(crate) mod ahead_of_time;
pub(crate) mod build;
pub(crate) mod builder;
pub(crate) mod global;
#[cfg(test)]
mod hidden_arguments_tests;
pub(crate) mod loaded;
pub(crate) mod save;
pub(crate) mod stub;
pub(crate) mod watched_file;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use bytemuck::Pod;
use syclbin::__private::mangled::KERNEL_PREFIX;
use syclbin::State;
use syclbin::metadata::without_run_prefix;

use crate::backend::gate;
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result, join, list};
use crate::launch::kernel::{Kernel, no_kernel, unavailable};
use crate::load::constants::{self, Values};
use crate::load::files::{Files, Unit};
use crate::module::build::{Builder, Part};
use crate::module::builder::{ModuleBuilder, SourceFile, check_states};
use crate::module::global::Global;
use crate::module::loaded::{ImageChoice, LoadedModule, NativeCode};
use crate::queue::Queue;

/// The kernels of a SYCLBIN file on one device. Clones refer to the same module.
///
/// # When kernels are built
///
/// Loading only reads and checks the file. A kernel is built when it is first used: by [`kernel`](Self::kernel), or by
/// the first launch in generated code. Other threads that use the same kernel wait until it is built. To avoid delays
/// later, [`build`](Self::build) builds all kernels at once and reports all errors.
///
/// The driver receives the first native image for this device in the kernel's abstract module, or else the first SPIR-V
/// or PTX image. An image that was saved on the same device is preferred to other native images. If two abstract
/// modules contain the same kernel, native code is preferred. [`images`](Self::images) explains the choice.
///
/// If SPIR-V contains several kernels, the driver receives only the code that the requested kernel reaches. It receives
/// all code of a module that contains debug information, imports, or device globals inside the program
/// (`device_image_scope`).
///
/// If the driver rejects a kernel, only uses of that kernel fail. If SPIR-V uses undefined symbols, the kernels that
/// import nothing can still be used.
///
/// A module holds a copy of its files, unless they are embedded in the program.
#[derive(Clone)]
pub struct Module(Arc<Inner>);

struct Inner {
    builder: Arc<Builder>,
    modules: Vec<LoadedModule>,
}

impl Module {
    /// Loads a SYCLBIN file for the device of `queue`. Each kernel is built when it is first used.
    ///
    /// If some abstract modules cannot run on the device, the others still load. Requesting a kernel from such a
    /// module returns the reason.
    ///
    /// # Errors
    ///
    /// Fails if `bytes` is not a SYCLBIN file, or if no image in it can run on the device. In the latter case, the
    /// error lists the reason for each image.
    ///
    /// # Safety
    ///
    /// Each image must be compiler output, because invalid code can crash some drivers, which run in this process. The
    /// rest of the file may be damaged in any way.
    #[allow(unsafe_code, reason = "loading code is unsafe")]
    pub unsafe fn load(queue: &Queue, bytes: &[u8]) -> Result<Self> {
        Self::read(queue, SourceFile::Given(bytes), &[], &Values::new())
    }

    /// Creates a builder, to set specialization constants or to link other files.
    ///
    /// ```no_run
    /// use syclbin_rt::{Device, Module};
    ///
    /// let file = std::fs::read("blur.syclbin").unwrap();
    /// let queue = Device::best_for(&file)?.queue()?;
    /// let module = Module::builder(&queue).specialization_constant("_ZL6radius", 3i32);
    /// // SAFETY: the file is compiler output.
    /// let module = unsafe { module.load(&file)? };
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    pub fn builder(queue: &Queue) -> ModuleBuilder<'_> {
        ModuleBuilder::new(queue)
    }

    pub(crate) fn read(
        queue: &Queue,
        file: SourceFile<'_>,
        linked: &[SourceFile<'_>],
        given: &Values,
    ) -> Result<Self> {
        let mut files = vec![file.parse().map_err(Error::file)?];
        for (index, file) in (1..).zip(linked) {
            files.push(file.parse().map_err(|error| {
                let message = format_args!("cannot read linked SYCLBIN file {index}");
                Error::caused_by(ErrorKind::InvalidFile, message, error)
            })?);
        }
        check_states(&files)?;
        let files = Files::new(files, queue.device().facts());
        constants::check_given(given, files.units().map(|unit| &unit.metadata))?;
        let builder = Arc::new(Builder {
            queue: queue.clone(),
            files,
            constants: given.clone(),
            variables: Mutex::default(),
        });
        let module = |index| LoadedModule::new(&builder, index);
        let modules = (0..builder.files.loaded().len()).map(module).collect();
        let module = Self(Arc::new(Inner { builder, modules }));
        module.check_fit().map(|()| module)
    }

    /// Checks, without calling the driver, whether the device might be able to run any of the modules.
    fn check_fit(&self) -> Result<()> {
        let modules = &self.0.modules;
        let mut choices = modules.iter().map(|module| module.choice(None));
        if modules.is_empty() || choices.any(|choice| choice.image().is_some()) {
            return Ok(());
        }
        let reasons = modules.iter().flat_map(LoadedModule::misfits);
        Err(unloadable(self.queue().device(), reasons.collect()))
    }

    /// Returns the kernel called `name`: a symbol, or the name of an `extern "C"` kernel without the compiler's prefix
    /// `__sycl_kernel_`. If there is no such kernel, `name` is looked up as a registered name, such as `ns::scale<int>`
    /// (`registered_names` in SYCL, property set `SYCL/registered kernels`).
    ///
    /// The first request for a kernel builds it, and may wait for all running kernels. So create all kernels before you
    /// launch a kernel that waits for the host.
    ///
    /// Every call creates a separate kernel object, so two threads that use separate objects can launch at the same
    /// time without waiting for each other.
    ///
    /// # Errors
    ///
    /// Fails if the file does not contain the kernel, if no image that contains the kernel can run on this device, or
    /// if the driver cannot build the kernel.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let Some((symbol, holders)) = self.find(name) else {
            let registered = self.registered().map(|(name, _)| name);
            return Err(no_kernel(name, self.kernel_names().chain(registered)));
        };
        // Compilers write a separate abstract module for each target, so several modules may contain the same
        // kernel. Native code is preferred, because it was compiled ahead of time for this device.
        let kernel = [true, false].into_iter().find_map(|native| {
            let mut holders = holders.iter();
            holders.find_map(|module| module.kernel(&symbol, native))
        });
        kernel.unwrap_or_else(|| {
            let reasons = holders.iter().flat_map(|module| module.reasons(&symbol));
            Err(unavailable(name, self.queue().device(), reasons.collect()))
        })
    }

    /// Returns the device global called `name`. The name is either the unique identifier (the mangled name) or the
    /// symbol in the device code (the plain name, if the variable is neither static nor in a namespace). `T` must have
    /// the layout of the C++ type. Builds all modules that contain the variable.
    ///
    /// # Errors
    ///
    /// Fails if no module for this device contains the variable, if the driver cannot build the modules that contain
    /// it, or if the size of `T` differs from that of the variable.
    pub fn global<T: Pod>(&self, name: &str) -> Result<Global<T>> {
        let builder = &self.0.builder;
        let is_global = |unit: &Unit<'_>| global::defines(&unit.metadata, name);
        let exists = builder.files.units().any(is_global);
        let has = |module: &&LoadedModule| exists && builder.may_have(module.index, &is_global);
        let modules: Vec<_> = self.0.modules.iter().filter(has).collect();
        self.build_modules(&modules);
        if let Some(variable) = builder.variable(name) {
            return Global::new(self.queue(), variable);
        }
        let reasons = modules.iter().flat_map(|module| module.misfits());
        self.all_built(reasons.collect())?;
        let units = builder.files.units();
        let globals = units.flat_map(|unit| global::names(&unit.metadata));
        let message = format_args!(
            "no device global {name} in this SYCLBIN file for {}; available device globals: {}",
            self.queue().device(),
            join(globals.collect::<BTreeSet<_>>())
        );
        Err(Error::new(ErrorKind::NotFound, message))
    }

    /// Returns the symbols of the module's kernels, including kernels that cannot run on the device. A kernel that
    /// was compiled for several targets is listed several times.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.0.modules.iter().flat_map(LoadedModule::kernels)
    }

    /// Returns the chosen image for each abstract module, with the reason. Builds nothing: until a module is built,
    /// this is the image that the driver would receive first. If a module cannot be built as a whole, it is the image
    /// for the first of its kernels that can.
    ///
    /// ```no_run
    /// # let bytes = std::fs::read("saxpy.syclbin").unwrap();
    /// # let queue = syclbin_rt::Device::best_for(&bytes)?.queue()?;
    /// # // SAFETY: the file is compiler output.
    /// # let module = unsafe { syclbin_rt::Module::load(&queue, &bytes)? };
    /// for choice in module.images() {
    ///     println!("{choice}");
    /// }
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    pub fn images(&self) -> impl Iterator<Item = ImageChoice> {
        let native = NativeCode::new(&self.0.modules);
        let modules = self.0.modules.iter();
        modules.map(move |module| module.choice(native.module_of(module)))
    }

    /// Returns the state recorded in the file that the module was loaded from, if any.
    ///
    /// Files in any state can be loaded: files in the [input](State::Input) and [object](State::Object) states are
    /// compiled and linked when their kernels are built. A file in the [executable](State::Executable) state is already
    /// linked, so it cannot be linked with other files.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        self.0.builder.files.head().state()
    }

    /// Returns the registered names of kernels, with their symbols.
    fn registered(&self) -> impl Iterator<Item = (&str, &str)> {
        let units = self.0.builder.files.loaded().iter().flatten();
        let registered = units.flat_map(|unit| unit.metadata.registered_kernels.iter());
        registered.map(|(name, symbol)| (name, symbol.as_str()))
    }

    /// Returns the queue on which the kernels are launched.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.0.builder.queue
    }

    /// Returns the symbol of the kernel `name`, and the modules that contain it.
    fn find(&self, name: &str) -> Option<(String, Vec<&LoadedModule>)> {
        let mut registered = self.registered();
        let registered = registered.find(|(registered, _)| *registered == name);
        let symbols = [
            Some(name.to_owned()),
            Some(format!("{KERNEL_PREFIX}{name}")),
            registered.map(|(_, symbol)| without_run_prefix(symbol).to_owned()),
        ];
        symbols.into_iter().flatten().find_map(|symbol| {
            let has = |module: &&LoadedModule| module.kernels().any(|kernel| kernel == symbol);
            let holders: Vec<_> = self.0.modules.iter().filter(has).collect();
            (!holders.is_empty()).then_some((symbol, holders))
        })
    }
}

pub(crate) fn unloadable(device: &Device, reasons: Vec<String>) -> Error {
    let message = format_args!(
        "nothing in this SYCLBIN file can run on {device}{}\n`Module::best_device()` of the generated code and \
         `Device::best_for(file)` return a device that can run the file, if this machine has one",
        list(&reasons)
    );
    Error::with_reasons(ErrorKind::Unavailable, message, reasons)
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.kernel_names().collect();
        f.debug_struct("Module")
            .field("queue", self.queue())
            .field("kernels", &names)
            .finish()
    }
}

impl Module {
    /// Builds all kernels now, on several threads. Without this call, each kernel is built when it is first used.
    ///
    /// ```no_run
    /// # let bytes = std::fs::read("saxpy.syclbin").unwrap();
    /// # let queue = syclbin_rt::Device::best_for(&bytes)?.queue()?;
    /// # // SAFETY: the file is compiler output.
    /// let module = unsafe { syclbin_rt::Module::load(&queue, &bytes)? };
    /// module.build()?;
    /// // From here on, no launch waits for a compiler, and `module.kernel` returns without building.
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if some kernels cannot run on the device, or if the driver rejects a module. The error contains all
    /// reasons, with the driver's build logs. All other kernels are built.
    pub fn build(&self) -> Result<()> {
        let has_kernels = |module: &&LoadedModule| module.kernels().next().is_some();
        let modules: Vec<_> = self.0.modules.iter().filter(has_kernels).collect();
        self.build_modules(&modules);
        let native = NativeCode::new(&self.0.modules);
        let mut reasons = Vec::new();
        for module in modules {
            let is_whole = module.program().is_some();
            let mut names: Vec<&str> = module.kernels().collect();
            if !is_whole && !module.divides() {
                names.clear();
            }
            let kernels = in_parallel(&names, |name| self.kernel(name));
            let errors = kernels.into_iter().filter_map(Result::err);
            let errors: Vec<String> = errors.map(|error| error.to_string()).collect();
            // If no kernel can be built, or if the driver rejects a module but accepts all of its kernels, the module's
            // reason is reported.
            if is_whole || errors.len() < names.len() && !(errors.is_empty() && module.links()) {
                reasons.extend(errors);
            } else if native.module_of(module).is_none() {
                reasons.extend(module.misfits());
            }
        }
        self.all_built(reasons)
    }

    /// Builds the kernels with these names now, on several threads. [`kernel`](Self::kernel) describes the names.
    ///
    /// # Errors
    ///
    /// Fails if some of the kernels do not exist or cannot run on the device. The error contains all reasons. All other
    /// kernels are built.
    pub fn build_kernels<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<()> {
        let names: Vec<&str> = names.into_iter().collect();
        let kernels = in_parallel(&names, |name| self.kernel(name));
        let errors = kernels.into_iter().filter_map(Result::err);
        self.all_built(errors.map(|error| error.to_string()).collect())
    }

    fn all_built(&self, reasons: Vec<String>) -> Result<()> {
        if reasons.is_empty() {
            return Ok(());
        }
        let device = self.queue().device();
        let message = format_args!("not all kernels run on {device}");
        Err(Error::listing(ErrorKind::Unavailable, message, reasons))
    }

    /// Builds all code of `modules`. Native code comes first, so that other code is built only for kernels without
    /// native code.
    pub(crate) fn build_modules(&self, modules: &[&LoadedModule]) {
        in_parallel(modules, |module| module.build(&Part::Native));
        let native = NativeCode::new(&self.0.modules);
        let lacks_native = |module: &&&LoadedModule| {
            module.program().is_none() && native.module_of(module).is_none()
        };
        let others: Vec<_> = modules.iter().filter(lacks_native).collect();
        in_parallel(&others, |module| module.build(&Part::Code));
    }
}

/// Calls `run` with each item, on one thread per available processor. Uses only this thread if the process is exiting,
/// because others would sleep at the closed gate. Returns the results in the order of the items.
pub fn in_parallel<T: Sync, R: Send + Sync>(items: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().ok();
    let processors = processors.filter(|_| !gate::is_closed());
    let processors = processors.map_or(1, usize::from);
    let results: Vec<_> = items.iter().map(|_| OnceLock::new()).collect();
    let unclaimed = Mutex::new(items.iter().zip(&results));
    let locked = || unclaimed.lock().unwrap_or_else(PoisonError::into_inner);
    // Releases the lock before `run` is called.
    let claim = || locked().next();
    let work = || {
        while let Some((item, result)) = claim() {
            let _ = result.set(run(item));
        }
    };
    thread::scope(|scope| {
        let others = 1..processors.min(items.len());
        // This thread does the work of those that cannot be started.
        let spawn = || thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = others.filter_map(|_| spawn()).collect();
        work();
        if let Some(panic) = others.into_iter().find_map(|other| other.join().err()) {
            std::panic::resume_unwind(panic);
        }
    });
    let results = results.into_iter();
    results.filter_map(OnceLock::into_inner).collect()
}
