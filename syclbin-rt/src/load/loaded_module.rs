// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loaded modules: the result of loading an abstract module of a file on a device.

use syclbin::__private::spirv::portable::lift::OWN_KERNELS;
use syclbin::metadata::{KernelSizes, ModuleMetadata};
use syclbin::property::PropertySets;

use crate::backend::dispatch::program::Program;
use crate::load::build::{BuiltModule, BuiltProgram};
use crate::load::device_code::Code;
use crate::load::files::Files;
use crate::load::image;
use crate::load::image_choice::{ImageChoice, ImageVerdict};
use crate::load::unit::{MalformedModule, Unit, list_of_kernels};
use crate::load::verdict::Verdict;
use crate::module::constants_buffer::ConstantsBuffer;
use crate::module::kernel::Symbol;

/// An abstract module of the file, loaded.
pub(crate) struct LoadedModule {
    pub(crate) kernels: Vec<Symbol>,
    /// The names under which kernels were registered, with their symbols.
    pub(crate) registered: Vec<(String, String)>,
    /// The built program, or the reason why each image was skipped.
    pub(crate) program: Result<Program, Vec<String>>,
    /// Whether the program is native code of the file.
    pub(crate) native: bool,
    /// The specialization constants that its kernels read from memory.
    pub(crate) constants: Option<ConstantsBuffer>,
    pub(crate) choice: ImageChoice,
    /// The properties for a saved file; empty without a program.
    pub(crate) properties: PropertySets<'static>,
}

impl LoadedModule {
    /// Describes the kernels of a built module.
    pub(crate) fn new(files: &Files<'_>, built: BuiltModule<'_>) -> Self {
        let unit = built.unit;
        let verdict = |(image, verdict): (_, &Verdict)| ImageVerdict {
            image: image::describe(image),
            verdict: verdict.to_string(),
        };
        let images = unit.module.images.iter().zip(built.verdicts.values());
        let choice = ImageChoice {
            module: built.module,
            kernels: unit.kernels(),
            chosen: built.program.as_ref().map(|program| program.image),
            images: images.map(verdict).collect(),
        };
        let registered = unit.metadata.registered_kernels.iter();
        let registered = registered.map(|(name, symbol)| (name.to_owned(), symbol.clone()));
        let registered = registered.collect();
        match built.program {
            Some(program) => Self {
                kernels: symbols(files, unit, &program),
                registered,
                program: Ok(program.program),
                native: program.native,
                constants: program.constants,
                choice,
                properties: program.properties,
            },
            None => Self {
                registered,
                ..Self::without_program(
                    unit.module.kernel_names(),
                    reasons(&choice, "it holds no image"),
                    choice,
                )
            },
        }
    }

    /// Lists the kernels of a malformed module, which has no program.
    pub(crate) fn malformed(module: usize, malformed: &MalformedModule) -> Self {
        let kernels = || malformed.kernels.iter().map(String::as_str);
        let choice = ImageChoice {
            module,
            kernels: list_of_kernels(kernels()),
            chosen: None,
            images: Vec::new(),
        };
        let reasons = reasons(&choice, &malformed.reason.to_string());
        Self::without_program(kernels(), reasons, choice)
    }

    fn without_program<'n>(
        kernels: impl Iterator<Item = &'n str>,
        reasons: Vec<String>,
        choice: ImageChoice,
    ) -> Self {
        let symbol = |name: &str| Symbol {
            name: name.to_owned(),
            ..Symbol::default()
        };
        Self {
            kernels: kernels.map(symbol).collect(),
            registered: Vec::new(),
            program: Err(reasons),
            native: false,
            constants: None,
            choice,
            properties: PropertySets::default(),
        }
    }
}

/// Returns the reason why each image of a module was skipped, or `without_images`.
fn reasons(choice: &ImageChoice, without_images: &str) -> Vec<String> {
    let module = format!("module {} ({})", choice.module, choice.kernels);
    if choice.images.is_empty() {
        return vec![format!("{module}, {without_images}")];
    }
    let verdicts = choice.verdicts().enumerate();
    verdicts
        .map(|(index, (image, verdict))| format!("{module}, image {index} ({image}): {verdict}"))
        .collect()
}

/// Returns the sizes of a kernel. Compilers write the dimensions of a required work-group size for the kernel,
/// for the module, or for both. Explicit SIMD has sub-groups of one work-item, which no device lists.
fn sizes(metadata: &ModuleMetadata, kernel: &str) -> KernelSizes {
    let mut sizes = (metadata.program.kernels.get(kernel).cloned()).unwrap_or_default();
    let wanted = &metadata.requirements;
    if wanted.work_group.is_some() {
        sizes.dimensions = sizes.dimensions.or(wanted.dimensions);
    }
    if metadata.misc.esimd == Some(true) {
        sizes.required_sub_group = None;
    }
    sizes
}

/// Returns the kernels of a module.
fn symbols(files: &Files<'_>, unit: &Unit<'_>, built: &BuiltProgram<'_>) -> Vec<Symbol> {
    let metadata = &unit.metadata;
    let mut names: Vec<String> = unit.module.kernel_names().map(str::to_owned).collect();
    if names.is_empty() {
        // Files from before 2025 have no list of kernels; the driver makes a list.
        names = built.program.kernel_names().unwrap_or_else(|_| {
            // Drivers of CUDA before 12.4 do not list kernels.
            let kernels = built.code.into_iter().flat_map(Code::kernels);
            kernels.map(str::to_owned).collect()
        });
        names.retain(|name| !name.starts_with(OWN_KERNELS));
    }
    let symbol = |name: String| {
        let mask = metadata.argument_masks.get(&name);
        let code = built.code.or_else(|| files.code_of(&name, mask));
        let last_is_local = metadata.implicit_local_arguments.get(&name).is_some();
        let described = match code {
            Some(Code::SpirV(_)) => code,
            // PTX does not distinguish all pointers from numbers.
            other => unit.described().or(other),
        };
        Symbol {
            eliminated: mask.map(|mask| mask.removed.clone()).unwrap_or_default(),
            parameters: described
                .and_then(|code| code.takes(&name))
                .unwrap_or_default(),
            scratch: files.facts().ptx.is_some() && last_is_local,
            last_is_local,
            slots: code.and_then(|code| code.slots(&name)),
            sizes: sizes(metadata, &name),
            id_range: built.id_range,
            unfit: built.unfit.get(&name).cloned(),
            name,
        }
    };
    names.into_iter().map(symbol).collect()
}
