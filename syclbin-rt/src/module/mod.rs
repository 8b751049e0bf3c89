// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules: a loaded file's kernels, constants and globals are found by name, or an error lists the names.

pub(crate) mod builder;
pub(crate) mod constants_buffer;
pub(crate) mod global;
#[cfg(test)]
mod hidden_arguments_tests;
pub(crate) mod kernel;
pub(crate) mod kernel_attributes;
pub(crate) mod save;
pub(crate) mod save_code;
pub(crate) mod source_file;
pub(crate) mod specialization;
pub(crate) mod stubs;
pub(crate) mod watched_file;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;
use syclbin::__private::mangled::KERNEL_PREFIX;
use syclbin::metadata::without_run_prefix;
use syclbin::property::PropertySets;
use syclbin::{State, Syclbin};

use crate::error::{ErrorKind, Result};
use crate::load;
use crate::load::files::Files;
use crate::load::image_choice::ImageChoice;
use crate::load::loaded_module::LoadedModule;
use crate::module::builder::{Embedded, ModuleBuilder};
use crate::module::global::{Global, Variable};
use crate::module::kernel::{Kernel, Symbol};
use crate::module::source_file::SourceFile;
use crate::queue::Queue;

/// The kernels of a SYCLBIN file on one device. A clone is the same module.
///
/// For each abstract module of the file, a single image is built when the file is loaded. This is the first
/// native image that is for this device and that its driver takes, else the first SPIR-V image. An image that
/// was saved on the same device comes before other native images.
///
/// SPIR-V is not built where another module has native code of all its kernels. If two modules have the same
/// kernel, the native kernel runs. [`Module::images`] lists the chosen images with the reasons.
///
/// A module keeps a copy of its files, unless they are embedded in the program, for [`Module::to_syclbin_in`].
#[derive(Clone)]
pub struct Module(Arc<Inner>);

struct Inner {
    queue: Queue,
    global: PropertySets<'static>,
    state: Option<State>,
    /// The loaded file, and the files that it is linked with.
    files: Vec<Cow<'static, [u8]>>,
    /// The given values of specialization constants.
    constants: Vec<(String, Vec<u8>)>,
    modules: Vec<LoadedModule>,
    variables: Vec<Variable>,
}

impl Module {
    /// Reads a SYCLBIN file and builds its kernels for the device of `queue`.
    ///
    /// If some abstract modules do not fit the device, the others still load. A request for a kernel of an
    /// unfit module returns the reason.
    ///
    /// # Errors
    ///
    /// When `bytes` is not a SYCLBIN file, and when nothing in it fits the device. The latter error names the
    /// reason for each image, with the driver's build log if the build started.
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
        let mut files = vec![syclbin::read::parse(file.bytes()).map_err(ErrorKind::File)?];
        for (index, file) in (1..).zip(linked) {
            let file = syclbin::read::parse(file.bytes());
            files.push(file.map_err(|error| ErrorKind::LinkedFile { index, error })?);
        }
        source_file::check_states(&files)?;
        let state = files.first().and_then(Syclbin::state);
        let global = files.first().map(|file| file.global.clone().into_owned());
        let files = Files::new(files, queue.device().facts());
        let metadata = files.units().map(|unit| &unit.metadata);
        specialization::check(constants, metadata)?;
        let (modules, variables) = load::load(queue, &files, constants);
        if !modules.is_empty() && modules.iter().all(|module| module.program.is_err()) {
            let reasons = modules
                .into_iter()
                .filter_map(|module| module.program.err());
            return Err(ErrorKind::NoImage {
                device: queue.device().to_string(),
                reasons: reasons.flatten().collect(),
            }
            .into());
        }
        Ok(Self(Arc::new(Inner {
            queue: queue.clone(),
            global: global.unwrap_or_default(),
            state,
            files: std::iter::once(&file)
                .chain(linked)
                .map(|file| file.into_owned())
                .collect(),
            constants: constants.to_vec(),
            modules,
            variables,
        })))
    }

    /// Returns the kernel called `name`: a symbol, or the name of an `extern "C"` kernel without the compiler's
    /// prefix `__sycl_kernel_`. If there is none, it is a registered name, such as `ns::scale<int>`
    /// (`registered_names` in SYCL, property set `SYCL/registered kernels`).
    ///
    /// Every call creates a separate kernel object. Two threads can launch two of them at the same time without
    /// waiting for each other.
    ///
    /// # Errors
    ///
    /// When the file has no such kernel; when no image with the kernel fits this device; and when the driver
    /// refuses.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        // A compiler files every target as a separate abstract module, so the same kernel may be in several.
        let mut holders = self.holders(name);
        if holders.is_empty() {
            holders = self.holders(&format!("{KERNEL_PREFIX}{name}"));
        }
        if holders.is_empty() {
            let mut registered = self.registered();
            if let Some((_, symbol)) = registered.find(|(registered, _)| *registered == name) {
                holders = self.holders(without_run_prefix(symbol));
            }
        }
        // The first native module was compiled for this device ahead of time.
        holders.sort_by_key(|(module, _)| !module.native);
        let mut reasons = Vec::new();
        for (module, symbol) in &holders {
            match &module.program {
                Ok(program) => {
                    let constants = module.constants.as_ref();
                    return Kernel::new(self.queue(), program, symbol, constants);
                }
                Err(skipped) => reasons.extend(skipped.iter().cloned()),
            }
        }
        if holders.is_empty() {
            return Err(ErrorKind::NoKernel {
                name: name.to_owned(),
                available: self
                    .kernel_names()
                    .chain(self.registered().map(|(name, _)| name))
                    .map(str::to_owned)
                    .collect(),
            }
            .into());
        }
        Err(ErrorKind::KernelUnavailable {
            kernel: name.to_owned(),
            device: self.queue().device().to_string(),
            reasons,
        }
        .into())
    }

    /// Returns the device global called `name`. This is its unique identifier, which is the mangled name, or
    /// its name in the code. The latter is the plain name for a variable outside of namespaces. `T` has the
    /// layout of the C++ type.
    ///
    /// # Errors
    ///
    /// When this device has no such variable, and when `T` has another size.
    pub fn global<T: Pod>(&self, name: &str) -> Result<Global<T>> {
        let mut variables = self.0.variables.iter();
        let Some(variable) = variables.find(|variable| variable.is_called(name)) else {
            return Err(ErrorKind::NoGlobal {
                name: name.to_owned(),
                device: self.queue().device().to_string(),
                available: self.0.variables.iter().map(Variable::name).collect(),
            }
            .into());
        };
        Global::new(self.queue(), variable)
    }

    /// Returns the symbols of the module's kernels, also of kernels that do not fit the device. A kernel that
    /// was compiled for several targets is listed several times.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        let kernels = self.0.modules.iter().flat_map(|module| &module.kernels);
        kernels.map(|kernel| kernel.name.as_str())
    }

    /// Returns the image that was chosen for each abstract module, with the reason.
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
    pub fn images(&self) -> impl Iterator<Item = &ImageChoice> {
        self.0.modules.iter().map(|module| &module.choice)
    }

    /// Returns the state of the file that the module was loaded from; `None` if the file does not say.
    ///
    /// A loaded module can run whatever its state was: loading has compiled code of state
    /// [input](State::Input), and linked code of state [object](State::Object). A file of state
    /// [executable](State::Executable) was linked before, so it is not linked with other files.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        self.0.state
    }

    /// Returns the registered names of kernels, with their symbols.
    fn registered(&self) -> impl Iterator<Item = (&str, &str)> {
        let registered = self.0.modules.iter().flat_map(|module| &module.registered);
        registered.map(|(name, symbol)| (name.as_str(), symbol.as_str()))
    }

    /// Returns the queue on which the kernels are launched.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.0.queue
    }

    fn holders(&self, symbol: &str) -> Vec<(&LoadedModule, &Symbol)> {
        let modules = self.0.modules.iter();
        modules
            .filter_map(|module| {
                let kernel = module.kernels.iter().find(|kernel| kernel.name == symbol)?;
                Some((module, kernel))
            })
            .collect()
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
