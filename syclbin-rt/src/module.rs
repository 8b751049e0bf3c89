//! Modules: a SYCLBIN file, loaded onto the device of a queue.

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;
use syclbin::AbstractModule;
use syclbin::metadata::ModuleMetadata;
use syclbin::signature::mangled::KERNEL_PREFIX;
use syclbin::signature::spirv as code;

use crate::backend::opencl::{BuildError, Program};
use crate::error::{ErrorKind, Result};
use crate::global::{self, Global, Variable};
use crate::image;
use crate::kernel::{Kernel, Symbol};
use crate::queue::Queue;
use crate::specialization::{self, ModuleBuilder};

/// The kernels of a SYCLBIN file on one device. A clone is the same module.
///
/// From every abstract module of the file the first image that the device takes is built at
/// once. In this version those are the SPIR-V images; native ones are passed over.
#[derive(Clone)]
pub struct Module(Arc<Inner>);

struct Inner {
    queue: Queue,
    parts: Vec<Part>,
    variables: Vec<Variable>,
}

/// An abstract module of the file.
struct Part {
    kernels: Vec<Symbol>,
    /// The built program, or why each image was passed over.
    program: Result<Arc<Program>, Vec<String>>,
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
    /// the reason for each image, with the driver's build log if it came that far.
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
        Self::read(queue, bytes, &[])
    }

    /// For generated code only, which embeds what a compiler made and `include_syclbin!` has read.
    #[doc(hidden)]
    pub fn load_embedded(queue: &Queue, bytes: &'static [u8]) -> Result<Self> {
        Self::read(queue, bytes, &[])
    }

    /// A module that is loaded with other values of its specialization constants.
    ///
    /// ```no_run
    /// use syclbin_rt::{Device, Module};
    ///
    /// let queue = Device::best()?.queue()?;
    /// let module = Module::builder(&queue).specialization_constant("_ZL6radius", 3i32);
    /// // SAFETY: a compiler made the file.
    /// let module = unsafe { module.load(&std::fs::read("blur.syclbin").unwrap())? };
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    pub fn builder(queue: &Queue) -> ModuleBuilder<'_> {
        ModuleBuilder::new(queue)
    }

    pub(crate) fn read(
        queue: &Queue,
        bytes: &[u8],
        constants: &[(String, Vec<u8>)],
    ) -> Result<Self> {
        let file = syclbin::read::parse(bytes).map_err(ErrorKind::File)?;
        let modules = file.modules.iter();
        let described: Vec<_> = modules
            .map(|module| (module, ModuleMetadata::read(&module.metadata)))
            .collect();
        let metadata = described.iter().filter_map(|(_, read)| read.as_ref().ok());
        specialization::check(constants, metadata)?;
        let modules = described.into_iter().enumerate();
        let mut variables = Vec::new();
        let parts: Vec<Part> = modules
            .map(|(index, (module, metadata))| {
                // A value that means nothing may stand for anything: a launcher that skips it
                // launches wrongly.
                let built = metadata
                    .map_err(|malformed| vec![malformed.to_string()])
                    .and_then(|metadata| build(queue, module, metadata, constants, &mut variables));
                Part::new(index, module, built)
            })
            .collect();
        if !parts.is_empty() && parts.iter().all(|part| part.program.is_err()) {
            let reasons = parts.into_iter().filter_map(|part| part.program.err());
            return Err(ErrorKind::NoImage {
                device: queue.device().to_string(),
                reasons: reasons.flatten().collect(),
            }
            .into());
        }
        let queue = queue.clone();
        Ok(Self(Arc::new(Inner {
            queue,
            parts,
            variables,
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

    /// The queue that its kernels are launched on.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.0.queue
    }

    fn holders(&self, symbol: &str) -> Vec<(&Part, &Symbol)> {
        let parts = self.0.parts.iter();
        parts
            .filter_map(|part| {
                let kernel = part.kernels.iter().find(|kernel| kernel.name == symbol)?;
                Some((part, kernel))
            })
            .collect()
    }
}

impl Part {
    fn new(index: usize, module: &AbstractModule<'_>, built: Result<Built, Vec<String>>) -> Self {
        let built = built.map_err(|reasons| {
            let names: Vec<&str> = module.kernel_names().collect();
            let names = match names.as_slice() {
                [] => "no kernels".to_owned(),
                names => names.join(", "),
            };
            let reasons = reasons.iter();
            reasons
                .map(|reason| format!("module {index} ({names}), {reason}"))
                .collect()
        });
        let (program, code, metadata) = match built {
            Ok(built) => (Ok(built.program), built.code, built.metadata),
            Err(reasons) => (
                Err(reasons),
                code::Module::default(),
                ModuleMetadata::default(),
            ),
        };
        let mut names: Vec<String> = module.kernel_names().map(str::to_owned).collect();
        if names.is_empty() {
            // Files from before 2025 have no list of kernels; the driver makes one.
            if let Ok(program) = &program {
                names = program.kernel_names().unwrap_or_default();
            }
        }
        let kernels = names
            .into_iter()
            .map(|name| Symbol {
                eliminated: (metadata.argument_masks.get(&name))
                    .map(|mask| mask.removed.clone())
                    .unwrap_or_default(),
                parameters: (code.parameters(&name).into_iter().flatten())
                    .map(|parameter| parameter.ty)
                    .collect(),
                sizes: (metadata.program.kernels.get(&name).cloned()).unwrap_or_default(),
                id_range: metadata.misc.id_range,
                name,
            })
            .collect();
        Self { kernels, program }
    }
}

/// A program, and what the file and the code say of it.
struct Built {
    program: Arc<Program>,
    code: code::Module,
    metadata: ModuleMetadata,
}

/// Builds the first image that fits, or says of each one why it does not.
fn build(
    queue: &Queue,
    module: &AbstractModule<'_>,
    metadata: ModuleMetadata,
    constants: &[(String, Vec<u8>)],
    variables: &mut Vec<Variable>,
) -> Result<Built, Vec<String>> {
    let facts = queue.device().facts();
    let context = queue.raw().context();
    let mut reasons = Vec::new();
    for (index, image) in module.images.iter().enumerate() {
        let built = image::check_aspects(&metadata.requirements.aspects, facts)
            .and_then(|()| image::spirv(image, facts))
            .and_then(|(spirv, code)| {
                let settings =
                    specialization::settings(constants, &metadata.specialization, spirv)?;
                let program = Program::build(context, spirv, &settings).map_err(build_failure)?;
                let program = Arc::new(program);
                global::connect(queue, &program, &metadata, variables)?;
                Ok((program, code))
            });
        match built {
            Ok((program, code)) => {
                return Ok(Built {
                    program,
                    code,
                    metadata,
                });
            }
            Err(reason) => {
                let image = image::describe(image);
                reasons.push(format!("image {index} ({image}): {reason}"));
            }
        }
    }
    if reasons.is_empty() {
        reasons.push("it holds no image".to_owned());
    }
    Err(reasons)
}

pub(crate) fn build_failure(error: BuildError) -> String {
    let BuildError { failure, log } = error;
    let mut message = format!(
        "{} failed with {} ({})",
        failure.call,
        failure.name(),
        failure.code
    );
    if !log.is_empty() {
        message.push_str("; the driver's log:");
        for line in log.lines() {
            message.push_str("\n    ");
            message.push_str(line);
        }
    }
    message
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
