//! Loading: an abstract module becomes a built program, or an error that has the reason for each image.

pub(crate) mod ahead_of_time;
pub(crate) mod build_options;
pub(crate) mod coverage;
pub(crate) mod cubin;
pub(crate) mod device_code;
pub(crate) mod image;
pub(crate) mod image_choice;
pub(crate) mod link;
pub(crate) mod loaded_module;
pub(crate) mod native;
pub(crate) mod requirements;

use std::collections::{BTreeMap, BTreeSet};

use syclbin::Image;
use syclbin::metadata::{IdRange, ModuleMetadata};
use syclbin::property::PropertySets;

use crate::backend::dispatch::program::Program;
use crate::backend::source::{Constants, Source};
use crate::load::build_options::BuildOptions;
use crate::load::device_code::Code;
use crate::load::image_choice::{ImageChoice, ImageVerdict};
use crate::load::link::{Files, Place, Unit};
use crate::load::loaded_module::LoadedModule;
use crate::log;
use crate::module::global::{self, Variable};
use crate::module::kernel::{Symbol, max_range};
use crate::module::{save, specialization};
use crate::program_cache::disk::Cache;
use crate::program_cache::{self, Origin, Sharing};
use crate::queue::Queue;

/// The reason for choosing native code.
const NATIVE: &str = "the driver takes this native code";

/// A file that is being loaded for a device.
pub(crate) struct Loading<'l> {
    queue: &'l Queue,
    files: &'l Files<'l>,
    constants: &'l [(String, Vec<u8>)],
    variables: Vec<Variable>,
    cache: Option<Cache>,
    /// The kernels that native code exists for, with their modules.
    native_kernels: BTreeMap<&'l str, usize>,
    /// The variables of those modules.
    native_globals: BTreeSet<&'l str>,
}

/// A module, and its result so far.
struct Attempt<'l> {
    unit: &'l Unit<'l>,
    choice: ImageChoice,
    built: Option<(Vec<Symbol>, Built<'l>)>,
}

/// A program, with the properties from the file and the code.
struct Built<'l> {
    program: Program,
    native: bool,
    /// The SPIR-V's description of the kernels; native code has none.
    code: Option<&'l Code>,
    metadata: &'l ModuleMetadata,
    /// The smallest range of all modules in the program.
    id_range: Option<IdRange>,
    properties: PropertySets<'static>,
}

/// An image that a driver has built.
struct Compiled<'l> {
    program: Program,
    code: Option<&'l Code>,
    /// The images of the program, starting with this image.
    members: Vec<Place>,
    /// The reason why it may be chosen.
    reason: String,
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
            native_kernels: BTreeMap::new(),
            native_globals: BTreeSet::new(),
        }
    }

    /// Returns the device globals of all modules that were loaded.
    pub(crate) fn into_variables(self) -> Vec<Variable> {
        self.variables
    }

    /// Loads the modules of the file.
    ///
    /// Compilers file native code for some targets as a separate module, and the same kernels as SPIR-V in
    /// another module. So all native code is tried before any SPIR-V is compiled.
    pub(crate) fn parts(&mut self) -> Vec<LoadedModule> {
        let units = self.files.loaded().iter().enumerate();
        let mut attempts: Vec<Attempt<'l>> = units
            .map(|(module, unit)| Attempt::new(module, unit))
            .collect();
        for native in [true, false] {
            for attempt in &mut attempts {
                self.attempt(attempt, native);
            }
        }
        for attempt in &attempts {
            let device = self.queue.device();
            log::debug(format_args!("for {device}, {}", attempt.choice));
        }
        attempts.into_iter().map(Attempt::into_part).collect()
    }

    /// Builds the first image of a module that fits, among the native images or among the others.
    fn attempt(&mut self, attempt: &mut Attempt<'l>, native: bool) {
        let unit = attempt.unit;
        let Ok(metadata) = &unit.metadata else {
            return;
        };
        let module = attempt.choice.module;
        let unneeded = if native {
            None
        } else {
            self.native_elsewhere(unit, metadata)
        };
        let images = unit.module.images.iter().enumerate();
        for (index, image) in images.filter(|(_, image)| image.native == native) {
            let place = Place {
                file: 0,
                module,
                image: index,
            };
            let verdict = match (attempt.choice.chosen, &unneeded) {
                (Some(chosen), _) => format!("not needed, as image {chosen} fits"),
                (None, Some(other)) => {
                    format!("not needed, as module {other} has native code of its kernels")
                }
                (None, None) => match self.image(place, image, unit, metadata) {
                    Ok((built, reason)) => {
                        attempt.choice.chosen = Some(index);
                        if native {
                            self.record(module, unit, metadata);
                        }
                        attempt.built = Some((self.symbols(unit, &built), built));
                        format!("chosen: {reason}")
                    }
                    Err(reason) => reason,
                },
            };
            if let Some(image) = attempt.choice.images.get_mut(index) {
                image.verdict = verdict;
            }
        }
    }

    /// Records the kernels and variables that native code exists for.
    fn record(&mut self, module: usize, unit: &'l Unit<'l>, metadata: &'l ModuleMetadata) {
        for kernel in unit.module.kernel_names() {
            self.native_kernels.entry(kernel).or_insert(module);
        }
        let globals = metadata.device_globals.names();
        self.native_globals.extend(globals);
    }

    /// Returns a module with native code of this module's kernels, if native code contains all of its kernels
    /// and variables.
    fn native_elsewhere(&self, unit: &Unit<'_>, metadata: &ModuleMetadata) -> Option<usize> {
        let mut globals = metadata.device_globals.names();
        if !globals.all(|name| self.native_globals.contains(name)) {
            return None;
        }
        let mut found = None;
        for kernel in unit.module.kernel_names() {
            let module = self.native_kernels.get(kernel)?;
            found = found.or(Some(*module));
        }
        found
    }

    /// Builds an image, and returns the reason why it may be chosen.
    fn image(
        &mut self,
        place: Place,
        image: &Image<'_>,
        unit: &'l Unit<'l>,
        metadata: &'l ModuleMetadata,
    ) -> Result<(Built<'l>, String), String> {
        let Compiled {
            program,
            code,
            members,
            reason,
        } = self.compiled(place, image, unit, metadata)?;
        let described: Vec<&ModuleMetadata> = (members.iter())
            .filter_map(|place| self.files.unit(*place)?.metadata.as_ref().ok())
            .collect();
        // A program that fails halfway has no variables, so only complete programs count.
        let mut variables = self.variables.clone();
        for metadata in &described {
            global::connect(self.queue, &program, metadata, &mut variables)?;
        }
        self.variables = variables;
        let linked = members.iter().skip(1);
        let linked: Vec<_> = linked
            .filter_map(|place| {
                let unit = self.files.unit(*place)?;
                Some((&unit.module, unit.metadata.as_ref().ok()?))
            })
            .collect();
        let ranges = described.iter().map(|metadata| metadata.misc.id_range);
        let id_range = ranges.min_by_key(|range| max_range(*range)).flatten();
        let constants = self.constants;
        let built = Built {
            program,
            native: image.native,
            code,
            metadata,
            properties: save::properties(&unit.module, metadata, &linked, constants, id_range),
            id_range,
        };
        Ok((built, reason))
    }

    /// Builds an image with the driver.
    fn compiled(
        &self,
        place: Place,
        image: &Image<'_>,
        unit: &Unit<'_>,
        metadata: &ModuleMetadata,
    ) -> Result<Compiled<'l>, String> {
        let facts = self.queue.device().facts();
        let context = self.queue.raw().context();
        if native::is_native(image, facts) {
            requirements::check(metadata, facts)?;
            native::check(image, metadata, self.constants, facts)?;
            let source = self.source(place, true)?;
            let program =
                Program::from_file(&context, &source).map_err(|error| error.to_string())?;
            return Ok(Compiled {
                program,
                // All images are made from the same source, so they take the same parameters.
                code: (0..unit.module.images.len()).find_map(|image| {
                    let place = Place { image, ..place };
                    self.files.code(place).ok()
                }),
                members: vec![place],
                reason: NATIVE.to_owned(),
            });
        }
        let code = self.files.code(place)?;
        let members = self.files.closure(place)?;
        let sources = members.iter().map(|place| self.source(*place, false));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        // Each module has its own variables, as each bundle of SYCL does.
        let mut metadata = members.iter().filter_map(|place| {
            let unit = self.files.unit(*place)?;
            unit.metadata.as_ref().ok()
        });
        let sharing = if metadata.all(|metadata| metadata.device_globals.is_empty()) {
            Sharing::All
        } else {
            Sharing::None
        };
        let cache = self.cache.as_ref();
        let (program, origin) = program_cache::get(&context, &sources, sharing, cache)
            .map_err(|error| error.to_string())?;
        let reason = match origin {
            Origin::Built if image.native => NATIVE,
            Origin::Built => "the driver compiles it",
            Origin::Cache => "the driver has compiled it in an earlier run",
            Origin::Process => "the driver has compiled it before",
        };
        Ok(Compiled {
            program,
            code: Some(code),
            reason: self.with_members(reason, &members),
            members,
        })
    }

    /// Appends to `reason` the modules that the image is linked with.
    fn with_members(&self, reason: &str, members: &[Place]) -> String {
        match members.get(1..).filter(|others| !others.is_empty()) {
            None => reason.to_owned(),
            Some(others) => {
                let others = others.iter().map(|place| self.files.name(*place));
                let others: Vec<String> = others.collect();
                format!("{reason}, linked with {}", others.join(", "))
            }
        }
    }

    /// Returns the kernels of a module.
    fn symbols(&self, unit: &Unit<'_>, built: &Built<'_>) -> Vec<Symbol> {
        let metadata = built.metadata;
        let mut names: Vec<String> = unit.module.kernel_names().map(str::to_owned).collect();
        if names.is_empty() {
            // Files from before 2025 have no list of kernels; the driver makes a list.
            names = match (built.program.kernel_names(), built.code) {
                (Ok(names), _) => names,
                // Drivers of CUDA before 12.4 do not list kernels.
                (Err(_), code) => code
                    .into_iter()
                    .flat_map(Code::kernels)
                    .map(str::to_owned)
                    .collect(),
            };
        }
        let symbol = |name: String| {
            let mask = metadata.argument_masks.get(&name);
            let code = built.code.or_else(|| self.files.code_of(&name, mask));
            let told = match code {
                Some(Code::SpirV(_)) => code,
                // PTX does not distinguish all pointers from numbers.
                other => unit.described().or(other),
            };
            Symbol {
                eliminated: mask.map(|mask| mask.removed.clone()).unwrap_or_default(),
                parameters: told.and_then(|code| code.takes(&name)).unwrap_or_default(),
                scratch: self.queue.device().facts().ptx.is_some()
                    && metadata.implicit_local_arguments.get(&name).is_some(),
                slots: code.and_then(|code| code.slots(&name)),
                sizes: (metadata.program.kernels.get(&name).cloned()).unwrap_or_default(),
                id_range: built.id_range,
                name,
            }
        };
        names.into_iter().map(symbol).collect()
    }

    /// Returns the source of an image for a driver. Native code of SPIR-V has the values of its constants
    /// compiled in.
    fn source(&self, place: Place, native: bool) -> Result<Source<'l>, String> {
        let unit = self.files.unit(place);
        let (Some(unit), Some(code)) = (unit, self.files.bytes(place)) else {
            return Err("there is no such image".to_owned());
        };
        let metadata = unit.metadata.as_ref().map_err(Clone::clone)?;
        let facts = self.queue.device().facts();
        let constants = &metadata.specialization;
        Ok(Source {
            code,
            constants: if facts.ptx.is_some() {
                Constants::Named(specialization::variables(self.constants, constants)?)
            } else if native {
                Constants::Numbered(Vec::new())
            } else {
                Constants::Numbered(specialization::settings(self.constants, constants, code)?)
            },
            options: BuildOptions::of(&metadata.misc, facts),
        })
    }
}

impl<'l> Attempt<'l> {
    fn new(module: usize, unit: &'l Unit<'l>) -> Self {
        // Malformed metadata is not used any further.
        let images = unit.metadata.iter().flat_map(|_| &unit.module.images);
        let images = images.map(|image| ImageVerdict {
            image: image::describe(image),
            verdict: String::new(),
        });
        Self {
            unit,
            choice: ImageChoice {
                module,
                kernels: unit.kernels(),
                chosen: None,
                images: images.collect(),
            },
            built: None,
        }
    }

    fn into_part(self) -> LoadedModule {
        let Self {
            unit,
            choice,
            built,
        } = self;
        if let Some((kernels, built)) = built {
            return LoadedModule {
                kernels,
                program: Ok(built.program),
                native: built.native,
                choice,
                properties: built.properties,
            };
        }
        let what = format!("module {} ({})", choice.module, choice.kernels);
        let mut reasons: Vec<String> = (choice.verdicts().enumerate())
            .map(|(index, (image, verdict))| format!("{what}, image {index} ({image}): {verdict}"))
            .collect();
        if reasons.is_empty() {
            let reason = match &unit.metadata {
                Ok(_) => "it holds no image",
                Err(malformed) => malformed,
            };
            reasons.push(format!("{what}, {reason}"));
        }
        let symbol = |name: &str| Symbol {
            name: name.to_owned(),
            ..Symbol::default()
        };
        LoadedModule {
            kernels: unit.module.kernel_names().map(symbol).collect(),
            program: Err(reasons),
            native: false,
            choice,
            properties: PropertySets::default(),
        }
    }
}
