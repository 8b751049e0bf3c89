//! Modules: each kernel, constant and global of a loaded file is found by its name, or an error lists the names.

pub(crate) mod builder;
pub(crate) mod global;
pub(crate) mod kernel;
pub(crate) mod save;
pub(crate) mod specialization;

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;
use syclbin::property::PropertySets;
use syclbin::signature::mangled::KERNEL_PREFIX;

use crate::device::discovery::Discovery;
use crate::error::{ErrorKind, Result};
use crate::load::Loading;
use crate::load::image_choice::ImageChoice;
use crate::load::link::Files;
use crate::load::loaded_module::LoadedModule;
use crate::module::builder::{Embedded, ModuleBuilder};
use crate::module::global::{Global, Variable};
use crate::module::kernel::{Kernel, Symbol};
use crate::queue::Queue;

/// The kernels of a SYCLBIN file on one device. A clone is the same module.
///
/// From every abstract module of the file one image is built at once: the first native one that is
/// for this device and that its driver takes, else the first SPIR-V one. SPIR-V is left alone where
/// another module has native code of all its kernels; of two modules with one kernel the native one
/// runs. [`Module::images`] tells which images were chosen, and why.
#[derive(Clone)]
pub struct Module(Arc<Inner>);

struct Inner {
    queue: Queue,
    global: PropertySets<'static>,
    parts: Vec<LoadedModule>,
    variables: Vec<Variable>,
}

impl Module {
    /// Reads a SYCLBIN file and builds its kernels for the device of `queue`.
    ///
    /// Where some abstract modules do not fit the device, the others load all the same; the kernels
    /// of the former say why when they are asked for.
    ///
    /// # Errors
    ///
    /// When `bytes` are no SYCLBIN file, and when nothing in it fits the device. The latter names
    /// the reason for each image, with the driver's build log if it came that far, and the devices of this
    /// machine that could run it.
    ///
    /// # Safety
    ///
    /// The file itself may be damaged in any way. The code in its images is handed to a driver that
    /// runs in this process, and not every driver survives every code: the caller vouches that each
    /// image is what a compiler made.
    #[allow(
        unsafe_code,
        reason = "what a driver does with code is beyond every check; the duty is the caller's"
    )]
    pub unsafe fn load(queue: &Queue, bytes: &[u8]) -> Result<Self> {
        Self::read(queue, bytes, &[], &[])
    }

    /// For generated code only. Safe, because whoever made `file` vouches for its code.
    #[doc(hidden)]
    pub fn load_embedded(queue: &Queue, file: Embedded) -> Result<Self> {
        Self::read(queue, file.as_ref(), &[], &[])
    }

    /// A module that is loaded with other values of its specialization constants, or linked with
    /// other files.
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
        bytes: &[u8],
        linked: &[&[u8]],
        constants: &[(String, Vec<u8>)],
    ) -> Result<Self> {
        let mut files = vec![syclbin::read::parse(bytes).map_err(ErrorKind::File)?];
        for (index, bytes) in (1..).zip(linked) {
            let file = syclbin::read::parse(bytes);
            files.push(file.map_err(|error| ErrorKind::LinkedFile { index, error })?);
        }
        let global = files.first().map(|file| file.global.clone().into_owned());
        let files = Files::new(files, queue.device().facts());
        let metadata = files.units().filter_map(|unit| unit.metadata.as_ref().ok());
        specialization::check(constants, metadata)?;
        let mut loading = Loading::new(queue, &files, constants);
        let parts = loading.parts();
        if !parts.is_empty() && parts.iter().all(|part| part.program.is_err()) {
            let reasons = parts.into_iter().filter_map(|part| part.program.err());
            let file = syclbin::read::parse(bytes).map_err(ErrorKind::File)?;
            return Err(ErrorKind::NoImage {
                device: queue.device().to_string(),
                reasons: reasons.flatten().collect(),
                able: Discovery::of_system().able(&file, queue.device()),
            }
            .into());
        }
        Ok(Self(Arc::new(Inner {
            queue: queue.clone(),
            global: global.unwrap_or_default(),
            parts,
            variables: loading.into_variables(),
        })))
    }

    /// The kernel called `name`: a symbol, or the name of an `extern "C"` kernel without the
    /// compiler's prefix `__sycl_kernel_`.
    ///
    /// Every call makes a kernel object of its own. Two of them can be launched at the same time
    /// from two threads without waiting for each other.
    ///
    /// # Errors
    ///
    /// When the file has no such kernel; when it has, but no image of it fits this device; and when
    /// the driver refuses.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        // A compiler files every target as an abstract module of its own, so one kernel may be in
        // several.
        let mut holders = self.holders(name);
        if holders.is_empty() {
            holders = self.holders(&format!("{KERNEL_PREFIX}{name}"));
        }
        // The first native one was compiled for this device ahead of time.
        holders.sort_by_key(|(part, _)| !part.native);
        let mut reasons = Vec::new();
        for (part, symbol) in &holders {
            match &part.program {
                Ok(program) => {
                    return Kernel::new(self.queue(), program, symbol);
                }
                Err(passed_over) => reasons.extend(passed_over.iter().cloned()),
            }
        }
        if holders.is_empty() {
            return Err(ErrorKind::NoKernel {
                name: name.to_owned(),
                available: self.kernel_names().map(str::to_owned).collect(),
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

    /// The device global called `name`: its unique identifier, which is the mangled name, or its
    /// name in the code, which is the plain one for a variable outside of namespaces. `T` is laid
    /// out like the C++ type.
    ///
    /// # Errors
    ///
    /// When there is none on this device, when `T` has another size, and when the driver has no
    /// functions for it.
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

    /// The symbols of its kernels, also of those that do not fit the device. A kernel that was
    /// compiled for several targets comes as often.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        let kernels = self.0.parts.iter().flat_map(|part| &part.kernels);
        kernels.map(|kernel| kernel.name.as_str())
    }

    /// Which image of each abstract module was chosen for the device, and why.
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
        self.0.parts.iter().map(|part| &part.choice)
    }

    /// The module as a SYCLBIN file in state executable, with the native code that the driver of
    /// this device has made, and so without compiling at the next load. The reference runtime loads
    /// it too.
    ///
    /// What was linked and the values of specialization constants are compiled in: other values are
    /// refused when the file is loaded. Modules of the file that do not fit this device are left
    /// out. Another device or another version of the driver may not take the file: keep the one
    /// that it was made of.
    ///
    /// Save in a process that loads no other native code of files before. Intel's CPU driver (2026.2)
    /// makes code for the processor it runs on, until a process loads code for a lesser one: from then
    /// on it compiles for that one too, and refuses all code for better ones, such as a file that
    /// was saved before. Other processes take that file.
    ///
    /// ```no_run
    /// # let bytes = std::fs::read("saxpy.syclbin").unwrap();
    /// # let queue = syclbin_rt::Device::best_for(&bytes)?.queue()?;
    /// # // SAFETY: a compiler made the file.
    /// # let module = unsafe { syclbin_rt::Module::load(&queue, &bytes)? };
    /// std::fs::write("saxpy.native.syclbin", module.to_syclbin()?).unwrap();
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the driver does not hand out its code, and when modules were compiled before and after
    /// code for a lesser processor was loaded, as no driver would take such a file for long.
    pub fn to_syclbin(&self) -> Result<Vec<u8>> {
        save::to_vec(self.queue(), &self.0.global, &self.0.parts)
    }

    /// The queue that its kernels are launched on.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.0.queue
    }

    fn holders(&self, symbol: &str) -> Vec<(&LoadedModule, &Symbol)> {
        let parts = self.0.parts.iter();
        parts
            .filter_map(|part| {
                let kernel = part.kernels.iter().find(|kernel| kernel.name == symbol)?;
                Some((part, kernel))
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
