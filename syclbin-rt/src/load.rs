//! Loading: an abstract module becomes a built program, or the reasons why no image of it does.

use std::sync::Arc;

use syclbin::Image;
use syclbin::metadata::{IdRange, ModuleMetadata};
use syclbin::property::PropertySets;
use syclbin::signature::spirv as code;

use crate::backend::opencl::{BuildError, Ir, Program};
use crate::cache::Cache;
use crate::choice::{ImageChoice, ImageVerdict};
use crate::global::{self, Variable};
use crate::image;
use crate::kernel::{Symbol, max_range};
use crate::link::{Files, Place, Unit};
use crate::native;
use crate::programs::{self, Origin, Sharing};
use crate::queue::Queue;
use crate::requirements;
use crate::save;
use crate::specialization;

/// An abstract module of the file, loaded.
pub(crate) struct Part {
    pub(crate) kernels: Vec<Symbol>,
    /// The built program, or why each image was passed over.
    pub(crate) program: Result<Arc<Program>, Vec<String>>,
    pub(crate) choice: ImageChoice,
    /// What a saved file says of it; empty where there is no program.
    pub(crate) properties: PropertySets<'static>,
}

/// A file on its way to a device.
pub(crate) struct Loading<'l> {
    queue: &'l Queue,
    files: &'l Files<'l>,
    constants: &'l [(String, Vec<u8>)],
    variables: Vec<Variable>,
    cache: Option<Cache>,
}

/// A program, and what the file and the code say of it.
struct Built<'l> {
    program: Arc<Program>,
    /// What the SPIR-V says; native code says nothing of its kernels.
    code: Option<&'l code::Module>,
    metadata: &'l ModuleMetadata,
    /// Of all modules in the program the smallest.
    id_range: Option<IdRange>,
    properties: PropertySets<'static>,
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
            cache: Cache::of_environment(),
        }
    }

    /// The device globals of all modules that were loaded.
    pub(crate) fn into_variables(self) -> Vec<Variable> {
        self.variables
    }

    /// Loads a module of the file.
    pub(crate) fn part(&mut self, module: usize, unit: &'l Unit<'l>) -> Part {
        let names = unit.kernels();
        let (built, choice) = self.choose(module, unit);
        match built {
            Ok(built) => Part {
                kernels: symbols(unit, &built),
                program: Ok(built.program),
                choice,
                properties: built.properties,
            },
            Err(reason) => {
                let what = format!("module {module} ({names})");
                let mut reasons: Vec<String> = (choice.verdicts().enumerate())
                    .map(|(index, (image, verdict))| {
                        format!("{what}, image {index} ({image}): {verdict}")
                    })
                    .collect();
                if reasons.is_empty() {
                    reasons.push(format!("{what}, {reason}"));
                }
                let symbol = |name: &str| Symbol {
                    name: name.to_owned(),
                    ..Symbol::default()
                };
                Part {
                    kernels: unit.module.kernel_names().map(symbol).collect(),
                    program: Err(reasons),
                    choice,
                    properties: PropertySets::default(),
                }
            }
        }
    }

    /// Builds the first image that fits, of the native ones or else of the others.
    fn choose(
        &mut self,
        module: usize,
        unit: &'l Unit<'l>,
    ) -> (Result<Built<'l>, String>, ImageChoice) {
        let mut choice = ImageChoice {
            module,
            kernels: unit.kernels(),
            chosen: None,
            images: Vec::new(),
        };
        let metadata = match &unit.metadata {
            Ok(metadata) => metadata,
            Err(malformed) => return (Err(malformed.clone()), choice),
        };
        let images = unit.module.images.iter();
        choice.images = images
            .map(|image| ImageVerdict {
                image: image::describe(image),
                verdict: String::new(),
            })
            .collect();
        let images = || unit.module.images.iter().enumerate();
        let native = images().filter(|(_, image)| image.native);
        let mut built = None;
        for (index, image) in native.chain(images().filter(|(_, image)| !image.native)) {
            let place = Place {
                file: 0,
                module,
                image: index,
            };
            let verdict = match built {
                Some(_) => format!("not needed, as image {} fits", choice.chosen.unwrap_or(0)),
                None => match self.image(place, image, unit, metadata) {
                    Ok((done, reason)) => {
                        choice.chosen = Some(index);
                        built = Some(done);
                        format!("chosen: {reason}")
                    }
                    Err(reason) => reason,
                },
            };
            if let Some(image) = choice.images.get_mut(index) {
                image.verdict = verdict;
            }
        }
        (built.ok_or_else(|| "it holds no image".to_owned()), choice)
    }

    /// Builds an image, and says why it may be the one.
    fn image(
        &mut self,
        place: Place,
        image: &Image<'_>,
        unit: &'l Unit<'l>,
        metadata: &'l ModuleMetadata,
    ) -> Result<(Built<'l>, String), String> {
        let mut members = vec![place];
        let context = self.queue.raw().context();
        let (program, code, reason) = if image.native {
            let facts = self.queue.device().facts();
            requirements::check(metadata, facts)?;
            native::check(image, metadata, self.constants, facts)?;
            let program = Program::from_binary(context, &image.bytes).map_err(build_failure)?;
            // Both are made from one source, so they take the same.
            let other = (0..unit.module.images.len()).find_map(|image| {
                let place = Place { image, ..place };
                self.files.code(place).ok()
            });
            let reason = "the driver takes this native code".to_owned();
            (Arc::new(program), other, reason)
        } else {
            let code = self.files.code(place)?;
            members = self.files.closure(place)?;
            let modules = members.iter().map(|place| self.ir(*place));
            let modules = modules.collect::<Result<Vec<_>, _>>()?;
            // Each module has its own variables, as every bundle of SYCL has.
            let mut metadata = members.iter().filter_map(|place| {
                let unit = self.files.unit(*place)?;
                unit.metadata.as_ref().ok()
            });
            let sharing = match metadata.all(|metadata| metadata.device_globals.is_empty()) {
                true => Sharing::All,
                false => Sharing::None,
            };
            let cache = self.cache.as_ref();
            let got = programs::get(context, &modules, sharing, cache).map_err(build_failure)?;
            let (program, origin) = got;
            let mut reason = match origin {
                Origin::Built => "the driver compiles it",
                Origin::Cache => "the driver has compiled it in an earlier run",
                Origin::Process => "the driver has compiled it before",
            }
            .to_owned();
            if let Some(others) = members.get(1..).filter(|others| !others.is_empty()) {
                let others: Vec<String> = (others.iter())
                    .map(|place| self.files.name(*place))
                    .collect();
                reason.push_str(&format!(", linked with {}", others.join(", ")));
            }
            (program, Some(code), reason)
        };
        let described: Vec<&ModuleMetadata> = (members.iter())
            .filter_map(|place| self.files.unit(*place)?.metadata.as_ref().ok())
            .collect();
        // Only what is whole counts: a program that fails halfway has no variables.
        let mut variables = self.variables.clone();
        for metadata in &described {
            global::connect(self.queue, &program, metadata, &mut variables)?;
        }
        self.variables = variables;
        let linked = members.iter().skip(1);
        let linked: Vec<_> = linked
            .filter_map(|place| Some(&self.files.unit(*place)?.module))
            .collect();
        let ranges = described.iter().map(|metadata| metadata.misc.id_range);
        let id_range = ranges.min_by_key(|range| max_range(*range)).flatten();
        let constants = self.constants;
        let built = Built {
            program,
            code,
            metadata,
            properties: save::properties(&unit.module, metadata, &linked, constants, id_range),
            id_range,
        };
        Ok((built, reason))
    }

    /// What a driver is to compile of a SPIR-V image.
    fn ir(&self, place: Place) -> Result<Ir<'l>, String> {
        let unit = self.files.unit(place);
        let (Some(unit), Some(spirv)) = (unit, self.files.bytes(place)) else {
            return Err("there is no such image".to_owned());
        };
        let metadata = unit.metadata.as_ref().map_err(Clone::clone)?;
        let settings = specialization::settings(self.constants, &metadata.specialization, spirv)?;
        Ok(Ir { spirv, settings })
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
        parameters: (code
            .and_then(|code| code.parameters(&name))
            .into_iter()
            .flatten())
        .map(|parameter| parameter.ty)
        .collect(),
        sizes: (metadata.program.kernels.get(&name).cloned()).unwrap_or_default(),
        id_range: built.id_range,
        name,
    };
    names.into_iter().map(symbol).collect()
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
