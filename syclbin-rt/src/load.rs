//! Loading: an abstract module becomes a built program, or the reasons why no image of it does.

use std::sync::Arc;

use syclbin::metadata::{IdRange, ModuleMetadata};
use syclbin::signature::spirv as code;

use crate::backend::opencl::{BuildError, Ir, Program};
use crate::global::{self, Variable};
use crate::image;
use crate::kernel::Symbol;
use crate::link::{Files, Place, Unit};
use crate::queue::Queue;
use crate::specialization;

/// An abstract module of the file, loaded.
pub(crate) struct Part {
    pub(crate) kernels: Vec<Symbol>,
    /// The built program, or why each image was passed over.
    pub(crate) program: Result<Arc<Program>, Vec<String>>,
}

/// A file on its way to a device.
pub(crate) struct Loading<'l> {
    queue: &'l Queue,
    files: &'l Files<'l>,
    constants: &'l [(String, Vec<u8>)],
    variables: Vec<Variable>,
}

/// A program, and what the file and the code say of it.
struct Built<'l> {
    program: Arc<Program>,
    code: &'l code::Module,
    metadata: &'l ModuleMetadata,
    /// Of all modules in the program the smallest.
    id_range: Option<IdRange>,
}

impl<'l> Loading<'l> {
    pub(crate) fn new(
        queue: &'l Queue,
        files: &'l Files<'l>,
        constants: &'l [(String, Vec<u8>)],
    ) -> Self {
        Self {
            queue,
            files,
            constants,
            variables: Vec::new(),
        }
    }

    /// The device globals of all modules that were loaded.
    pub(crate) fn into_variables(self) -> Vec<Variable> {
        self.variables
    }

    /// Loads module `index` of the file.
    pub(crate) fn part(&mut self, index: usize) -> Part {
        let Some(unit) = self.files.loaded().get(index) else {
            let program = Err(vec![format!("there is no module {index}")]);
            let kernels = Vec::new();
            return Part { kernels, program };
        };
        match self.build(index, unit) {
            Ok(built) => Part {
                kernels: symbols(unit, &built),
                program: Ok(built.program),
            },
            Err(reasons) => {
                let names = unit.kernels();
                let reasons = reasons.into_iter();
                let reasons = reasons.map(|reason| format!("module {index} ({names}), {reason}"));
                let symbol = |name: &str| Symbol {
                    name: name.to_owned(),
                    ..Symbol::default()
                };
                Part {
                    kernels: unit.module.kernel_names().map(symbol).collect(),
                    program: Err(reasons.collect()),
                }
            }
        }
    }

    /// Builds the first image that fits, or says of each one why it does not.
    fn build(&mut self, module: usize, unit: &'l Unit<'l>) -> Result<Built<'l>, Vec<String>> {
        let metadata = unit.metadata.as_ref();
        let metadata = metadata.map_err(|malformed| vec![malformed.clone()])?;
        let mut reasons = Vec::new();
        for (index, image) in unit.module.images.iter().enumerate() {
            let place = Place {
                file: 0,
                module,
                image: index,
            };
            match self.image(place, metadata) {
                Ok(built) => return Ok(built),
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

    fn image(&mut self, place: Place, metadata: &'l ModuleMetadata) -> Result<Built<'l>, String> {
        let code = self.files.code(place)?;
        let mut modules = Vec::new();
        let mut described = Vec::new();
        for place in self.files.closure(place)? {
            // Whatever is in a closure has both.
            let (Some(unit), Some(spirv)) = (self.files.unit(place), self.files.bytes(place))
            else {
                continue;
            };
            let metadata = unit.metadata.as_ref().map_err(Clone::clone)?;
            let constants = &metadata.specialization;
            let settings = specialization::settings(self.constants, constants, spirv)?;
            modules.push(Ir { spirv, settings });
            described.push(metadata);
        }
        let context = self.queue.raw().context();
        let program = Program::build(context, &modules).map_err(build_failure)?;
        let program = Arc::new(program);
        // Only what is whole counts: a program that fails halfway has no variables.
        let mut variables = self.variables.clone();
        for metadata in &described {
            global::connect(self.queue, &program, metadata, &mut variables)?;
        }
        self.variables = variables;
        let ranges = described.iter().map(|metadata| metadata.misc.id_range);
        Ok(Built {
            program,
            code,
            metadata,
            id_range: ranges
                .min_by_key(|range| crate::kernel::max_range(*range))
                .flatten(),
        })
    }
}

/// The kernels of a module.
fn symbols(unit: &Unit<'_>, built: &Built<'_>) -> Vec<Symbol> {
    let Built { code, metadata, .. } = built;
    let mut names: Vec<String> = unit.module.kernel_names().map(str::to_owned).collect();
    if names.is_empty() {
        // Files from before 2025 have no list of kernels; the driver makes one.
        names = built.program.kernel_names().unwrap_or_default();
    }
    let symbol = |name: String| Symbol {
        eliminated: (metadata.argument_masks.get(&name))
            .map(|mask| mask.removed.clone())
            .unwrap_or_default(),
        parameters: (code.parameters(&name).into_iter().flatten())
            .map(|parameter| parameter.ty)
            .collect(),
        sizes: (metadata.program.kernels.get(&name).cloned()).unwrap_or_default(),
        id_range: built.id_range,
        name,
    };
    names.into_iter().map(symbol).collect()
}

fn build_failure(error: BuildError) -> String {
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
