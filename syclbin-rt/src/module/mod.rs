// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules: a loaded file's kernels, constants and globals are found by name, or an error lists the names.

pub(crate) mod build;
pub(crate) mod builder;
pub(crate) mod constants_buffer;
pub(crate) mod global;
#[cfg(test)]
mod hidden_arguments_tests;
pub(crate) mod kernel;
pub(crate) use crate::backend::kernel as kernel_attributes;
pub(crate) mod save;
pub(crate) mod save_code;
pub(crate) mod source_file;
pub(crate) mod specialization;
pub(crate) mod stub_kernel;
pub(crate) mod stubs;
pub(crate) mod watched_file;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;
use syclbin::__private::mangled::KERNEL_PREFIX;
use syclbin::State;
use syclbin::metadata::without_run_prefix;

use crate::error::{ErrorKind, Result};
use crate::load::build::Builder;
use crate::load::files::Files;
use crate::load::image_choice::ImageChoice;
use crate::load::loaded_module::{LoadedModule, NativeCode};
use crate::load::unit::Unit;
use crate::module::builder::{Embedded, ModuleBuilder};
use crate::module::global::Global;
use crate::module::kernel::Kernel;
use crate::module::source_file::SourceFile;
use crate::queue::Queue;

/// The kernels of a SYCLBIN file on one device. A clone is the same module.
///
/// # What is built when
///
/// Loading reads and checks the file, and builds nothing. A kernel is built when it is first used: by
/// [`kernel`](Self::kernel), or by the first launch in generated code. Other threads that use the same kernel wait for
/// that. [`build`](Self::build) builds all kernels at once and reports all errors.
///
/// The driver gets the first native image of the kernel's abstract module that is for this device, else the first
/// SPIR-V image. An image that was saved on the same device comes before other native images. If two modules have the
/// same kernel, the native kernel runs. [`images`](Self::images) lists the images with the reasons.
///
/// Of SPIR-V with several kernels, the driver gets only the code that the kernel reaches. It gets all code of a module
/// with debug information, with device globals in each program (`device_image_scope`), or with imports.
///
/// A driver's refusal is an error for this kernel only, whenever it is used.
///
/// A module keeps a copy of its files, unless they are embedded in the program.
#[derive(Clone)]
pub struct Module(Arc<Inner>);

struct Inner {
    builder: Builder,
    modules: Vec<LoadedModule>,
}

impl Module {
    /// Reads a SYCLBIN file for the device of `queue`. Each kernel is built when it is first used.
    ///
    /// If some abstract modules do not fit the device, the others still load. A request for a kernel of an
    /// unfit module returns the reason.
    ///
    /// # Errors
    ///
    /// When `bytes` is not a SYCLBIN file, and when nothing in it fits the device, as far as the file and the device
    /// tell. The latter error names the reason for each image.
    ///
    /// # Safety
    ///
    /// The file itself may be damaged in any way. But a driver in this process handles the code in its images,
    /// and some drivers do not survive invalid code. The caller guarantees that each image is compiler output.
    #[allow(
        unsafe_code,
        reason = "what a driver does with code is beyond every check; the duty is the caller's"
    )]
    pub unsafe fn load(queue: &Queue, bytes: &[u8]) -> Result<Self> {
        Self::read(queue, SourceFile::Given(bytes), &[], &[])
    }

    /// Loads an embedded file. For generated code only. This is safe because the maker of `file` guarantees its
    /// code.
    #[doc(hidden)]
    pub fn load_embedded(queue: &Queue, file: Embedded) -> Result<Self> {
        Self::read(queue, SourceFile::Embedded(file.bytes()), &[], &[])
    }

    /// Creates a builder, which loads a module with other values of its specialization constants, or linked
    /// with other files.
    ///
    /// ```no_run
    /// use syclbin_rt::{Device, Module};
    ///
    /// let file = std::fs::read("blur.syclbin").unwrap();
    /// let queue = Device::best_for(&file)?.queue()?;
    /// let module = Module::builder(&queue).specialization_constant("_ZL6radius", 3i32);
    /// // SAFETY: a compiler made the file.
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
        constants: &[(String, Vec<u8>)],
    ) -> Result<Self> {
        let mut files = vec![file.parse().map_err(ErrorKind::File)?];
        for (index, file) in (1..).zip(linked) {
            let file = file.parse();
            files.push(file.map_err(|error| ErrorKind::LinkedFile { index, error })?);
        }
        source_file::check_states(&files)?;
        let files = Files::new(files, queue.device().facts());
        let metadata = files.units().map(|unit| &unit.metadata);
        specialization::check(constants, metadata)?;
        let modules = (0..files.loaded().len()).map(LoadedModule::new).collect();
        let builder = Builder::new(queue, files, constants);
        let module = Self(Arc::new(Inner { builder, modules }));
        module.check_fit()?;
        Ok(module)
    }

    /// Checks that some module may run on the device, as far as is known without its driver.
    fn check_fit(&self) -> Result<()> {
        let mut reasons = Vec::new();
        for module in &self.0.modules {
            match module.misfits(&self.0.builder) {
                misfits if misfits.is_empty() => return Ok(()),
                misfits => reasons.extend(misfits),
            }
        }
        if reasons.is_empty() {
            return Ok(());
        }
        Err(ErrorKind::NoImage {
            device: self.queue().device().to_string(),
            reasons,
        }
        .into())
    }

    /// Returns the kernel called `name`: a symbol, or the name of an `extern "C"` kernel without the compiler's
    /// prefix `__sycl_kernel_`. If there is none, it is a registered name, such as `ns::scale<int>`
    /// (`registered_names` in SYCL, property set `SYCL/registered kernels`).
    ///
    /// The first request for a kernel builds it.
    ///
    /// Every call creates a separate kernel object. Two threads can launch two of them at the same time without
    /// waiting for each other.
    ///
    /// # Errors
    ///
    /// When the file has no such kernel; when no image with the kernel fits this device; and when the driver
    /// refuses.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let builder = &self.0.builder;
        let Some((symbol, holders)) = self.find(name) else {
            return Err(ErrorKind::NoKernel {
                name: name.to_owned(),
                available: self
                    .kernel_names()
                    .chain(self.registered().map(|(name, _)| name))
                    .map(str::to_owned)
                    .collect(),
            }
            .into());
        };
        // A compiler files every target as a separate abstract module, so the same kernel may be in several. The
        // first native module was compiled for this device ahead of time.
        for native in [true, false] {
            let mut kernels = holders
                .iter()
                .filter_map(|module| module.kernel(builder, &symbol, native));
            if let Some(kernel) = kernels.next() {
                return kernel;
            }
        }
        let reasons = holders
            .iter()
            .map(|module| module.reasons(builder, &symbol));
        Err(ErrorKind::KernelUnavailable {
            kernel: name.to_owned(),
            device: self.queue().device().to_string(),
            reasons: reasons.flatten().collect(),
        }
        .into())
    }

    /// Returns the device global called `name`. This is its unique identifier, which is the mangled name, or
    /// its name in the code. The latter is the plain name for a variable outside of namespaces. `T` has the
    /// layout of the C++ type. All modules with the variable are built now.
    ///
    /// # Errors
    ///
    /// When this device has no such variable or its driver refuses the modules that have it, and when `T` has another
    /// size.
    pub fn global<T: Pod>(&self, name: &str) -> Result<Global<T>> {
        let builder = &self.0.builder;
        let is_global = |unit: &Unit<'_>| global::defines(&unit.metadata, name);
        let exists = builder.files.units().any(is_global);
        let modules = self.0.modules.iter();
        let modules: Vec<_> = modules
            .filter(|module| exists && builder.may_have(module.index, &is_global))
            .collect();
        self.build_modules(&modules);
        let mut variables = builder.variables().into_iter();
        if let Some(variable) = variables.find(|variable| variable.is_called(name)) {
            return Global::new(self.queue(), &variable);
        }
        let reasons = modules.iter().flat_map(|module| module.misfits(builder));
        self.all_built(reasons.collect())?;
        let units = builder.files.units();
        let globals: BTreeSet<&str> = units
            .flat_map(|unit| global::names(&unit.metadata))
            .collect();
        Err(ErrorKind::NoGlobal {
            name: name.to_owned(),
            device: self.queue().device().to_string(),
            available: globals.into_iter().map(str::to_owned).collect(),
        }
        .into())
    }

    /// Returns the symbols of the module's kernels, also of kernels that do not fit the device. A kernel that
    /// was compiled for several targets is listed several times.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        let modules = self.0.modules.iter();
        modules.flat_map(|module| module.kernels(&self.0.builder))
    }

    /// Returns the image for each abstract module, with the reason. Before a module is built, this is the image that
    /// the driver gets first; nothing is built for the answer.
    ///
    /// ```no_run
    /// # let bytes = std::fs::read("saxpy.syclbin").unwrap();
    /// # let queue = syclbin_rt::Device::best_for(&bytes)?.queue()?;
    /// # // SAFETY: a compiler made the file.
    /// # let module = unsafe { syclbin_rt::Module::load(&queue, &bytes)? };
    /// for choice in module.images() {
    ///     println!("{choice}");
    /// }
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    pub fn images(&self) -> impl Iterator<Item = ImageChoice> {
        let Inner { builder, modules } = &*self.0;
        let native = NativeCode::new(builder, modules);
        modules
            .iter()
            .map(move |module| module.choice(builder, &native))
    }

    /// Returns the state of the file that the module was loaded from; `None` if the file does not say.
    ///
    /// A loaded module can run whatever its state was: loading has compiled code of state
    /// [input](State::Input), and linked code of state [object](State::Object). A file of state
    /// [executable](State::Executable) was linked before, so it is not linked with other files.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        self.0.builder.files.head()?.state()
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

    /// Returns the symbol of the kernel called `name`, and the modules that have it.
    fn find(&self, name: &str) -> Option<(String, Vec<&LoadedModule>)> {
        let registered = || {
            self.registered()
                .find(|(registered, _)| *registered == name)
        };
        let symbols: [&dyn Fn() -> Option<String>; 3] = [
            &|| Some(name.to_owned()),
            &|| Some(format!("{KERNEL_PREFIX}{name}")),
            &|| Some(without_run_prefix(registered()?.1).to_owned()),
        ];
        symbols.iter().find_map(|symbol| {
            let symbol = symbol()?;
            let has = |module: &&LoadedModule| {
                let mut kernels = module.kernels(&self.0.builder);
                kernels.any(|kernel| kernel == symbol)
            };
            let holders: Vec<_> = self.0.modules.iter().filter(has).collect();
            (!holders.is_empty()).then_some((symbol, holders))
        })
    }
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
