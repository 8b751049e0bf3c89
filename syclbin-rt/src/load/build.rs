// SPDX-License-Identifier: MIT OR Apache-2.0
//! Building: the driver gets the selected images of each module, until it has built one of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use syclbin::__private::spirv::portable::lift::{Global, Layout, Lifted, lift};
use syclbin::Image;
use syclbin::metadata::{IdRange, without_run_prefix};
use syclbin::property::{PropertySets, set};

use crate::backend::dispatch::program::Program;
use crate::backend::failure::BuildError;
use crate::backend::source::Source;
use crate::load::build_options::BuildOptions;
use crate::load::device_code::Code;
use crate::load::files::{Files, ImageIndex};
use crate::load::selection::{Form, SelectedImage, Selection};
use crate::load::unit::Unit;
use crate::load::verdict::{Chosen, Refusal, Verdict};
use crate::load::{constants, image, link};
use crate::module::constants_buffer::ConstantsBuffer;
use crate::module::global::{self, Variable};
use crate::module::kernel::max_range;
use crate::module::{save, specialization};
use crate::program_cache::disk::Cache;
use crate::program_cache::{self, Origin, Sharing};
use crate::queue::Queue;

/// Builds the modules of a file.
pub(crate) struct Builder<'l> {
    queue: &'l Queue,
    files: &'l Files<'l>,
    constants: &'l [(String, Vec<u8>)],
    cache: Option<Cache>,
    native: NativeCode<'l>,
    variables: Vec<Variable>,
}

/// A module, with its program if the driver has built an image.
pub(crate) struct BuiltModule<'l> {
    pub(crate) module: usize,
    pub(crate) unit: &'l Unit<'l>,
    /// The verdict on each image, by its index.
    pub(crate) verdicts: BTreeMap<usize, Verdict>,
    pub(crate) program: Option<BuiltProgram<'l>>,
}

/// A program, with the properties from the file and the code.
pub(crate) struct BuiltProgram<'l> {
    /// The index of the image in the module.
    pub(crate) image: usize,
    pub(crate) native: bool,
    pub(crate) program: Program,
    /// The code that describes its kernels. Native code alone does not.
    pub(crate) code: Option<&'l Code>,
    /// The kernels that the driver compiles wrongly, each with the reason.
    pub(crate) unfit: BTreeMap<String, String>,
    /// The smallest range of all modules in the program.
    pub(crate) id_range: Option<IdRange>,
    pub(crate) properties: PropertySets<'static>,
    /// The specialization constants that its kernels read from memory.
    pub(crate) constants: Option<ConstantsBuffer>,
}

/// An image that the driver has built.
struct Compiled<'l> {
    program: Program,
    origin: Origin,
    code: Option<&'l Code>,
    unfit: BTreeMap<String, String>,
    /// The hidden arguments of its kernels.
    hidden: Option<Layout>,
    /// The images of the program, starting with this image.
    members: Vec<ImageIndex>,
}

/// The code of a program's images, and the hidden arguments of its kernels.
type Codes<'l> = (Vec<Cow<'l, [u8]>>, Option<Layout>);

/// The kernels and variables that native code has been built for.
#[derive(Default)]
struct NativeCode<'l> {
    /// The kernels, with their modules.
    kernels: BTreeMap<&'l str, usize>,
    globals: BTreeSet<&'l str>,
}

impl<'l> Builder<'l> {
    pub(crate) fn new(
        queue: &'l Queue,
        files: &'l Files<'l>,
        constants: &'l [(String, Vec<u8>)],
    ) -> Self {
        Self {
            queue,
            files,
            constants,
            cache: Cache::of_environment(),
            native: NativeCode::default(),
            variables: Vec::new(),
        }
    }

    /// Returns the device globals of all programs.
    pub(crate) fn into_variables(self) -> Vec<Variable> {
        self.variables
    }

    /// Builds an image of each module.
    ///
    /// Compilers file native code for some targets as a separate module, and the same kernels as SPIR-V in
    /// another module. So all native code is tried before any SPIR-V is compiled.
    pub(crate) fn build(&mut self, selections: Vec<Selection<'l>>) -> Vec<BuiltModule<'l>> {
        let native = selections.into_iter().map(|selection| {
            let Selection {
                module,
                unit,
                native,
                ir,
            } = selection;
            let mut built = BuiltModule::new(module, unit);
            self.build_first(&mut built, native);
            if built.program.is_some() {
                self.native.add(module, unit);
            }
            (built, ir)
        });
        let native: Vec<_> = native.collect();
        let modules = native.into_iter().map(|(mut built, ir)| {
            match self.native.module_of(built.unit) {
                Some(other) if built.program.is_none() => {
                    let images = ir.iter().map(|image| image.index.image);
                    let verdicts = images.map(|image| (image, Verdict::OtherModule(other)));
                    built.verdicts.extend(verdicts);
                }
                _ => self.build_first(&mut built, ir),
            }
            built
        });
        modules.collect()
    }

    /// Builds the first of `images` that the driver takes, if the module has no program yet.
    fn build_first(&mut self, built: &mut BuiltModule<'l>, images: Vec<SelectedImage<'l>>) {
        for image in images {
            let number = image.index.image;
            let verdict = match &built.program {
                Some(program) => Verdict::OtherImage(program.image),
                None => match self.build_image(image, built.unit) {
                    Ok((program, chosen)) => {
                        built.program = Some(program);
                        Verdict::Chosen(chosen)
                    }
                    Err(reason) => Verdict::Refused(reason),
                },
            };
            built.verdicts.insert(number, verdict);
        }
    }

    fn build_image(
        &mut self,
        image: SelectedImage<'l>,
        unit: &'l Unit<'l>,
    ) -> Result<(BuiltProgram<'l>, Chosen), Refusal> {
        let SelectedImage { index, form } = image;
        let Compiled {
            program,
            origin,
            code,
            unfit,
            hidden,
            members,
        } = match form.map_err(Refusal::Unfit)? {
            Form::Native => self.compile_native(index, unit)?,
            Form::Code(code) => self.compile(index, code)?,
        };
        let units: Vec<&Unit<'_>> = self.units(&members).collect();
        if let Some(layout) = &hidden {
            let added = self
                .queue
                .raw()
                .add_hidden_arguments(&program, layout.clone());
            added.map_err(BuildError::from)?;
        }
        // A program that fails halfway has no variables, so only complete programs count.
        let mut variables = self.variables.clone();
        for unit in &units {
            global::connect(self.queue, &program, &unit.metadata, &mut variables)?;
        }
        self.variables = variables;
        let (linked_units, linked) = (units.get(1..), members.get(1..));
        let linked = linked.unwrap_or_default().iter();
        let ranges = units.iter().map(|unit| unit.metadata.misc.id_range);
        let id_range = ranges.min_by_key(|range| max_range(*range)).flatten();
        let image = unit.module.images.get(index.image);
        let native = image.is_some_and(|image| image.native);
        let chosen = Chosen {
            origin,
            native,
            linked: linked.map(|index| self.files.name(*index)).collect(),
        };
        let linked_units = linked_units.unwrap_or_default();
        let mut properties = save::properties(
            unit,
            linked_units,
            self.constants,
            id_range,
            hidden.as_ref(),
        );
        // A saved file has no code that tells which kernels are unfit, so it does not list them.
        properties.retain(set::KERNEL_NAMES, |kernel| !unfit.contains_key(kernel));
        let built = BuiltProgram {
            image: index.image,
            native,
            program,
            constants: image
                .map(|image| self.emulated_constants(image, unit))
                .transpose()?
                .flatten(),
            code,
            unfit,
            id_range,
            properties,
        };
        Ok((built, chosen))
    }

    /// Uploads the specialization constants that the kernels of `image` read from memory, if they do.
    fn emulated_constants(
        &self,
        image: &Image<'_>,
        unit: &Unit<'_>,
    ) -> Result<Option<ConstantsBuffer>, BuildError> {
        if !constants::are_emulated(image, &unit.metadata, self.files.facts()) {
            return Ok(None);
        }
        let blob = specialization::blob(self.constants, &unit.metadata.specialization);
        let buffer = blob.map(|blob| ConstantsBuffer::new(self.queue, &blob));
        buffer.transpose().map_err(BuildError::from)
    }

    /// Passes native code to the driver.
    fn compile_native(
        &self,
        index: ImageIndex,
        unit: &'l Unit<'l>,
    ) -> Result<Compiled<'l>, Refusal> {
        let code = self.bytes(index)?;
        let source = self.source(index, Cow::Borrowed(code), true)?;
        Ok(Compiled {
            hidden: save::hidden_arguments(&unit.module.metadata),
            program: Program::from_file(&self.queue.raw().context(), &source)?,
            origin: Origin::Built,
            // All images are made from the same source, so they take the same parameters.
            code: (unit.codes(self.files.facts()).iter()).find_map(|code| code.as_ref().ok()),
            unfit: BTreeMap::new(),
            members: vec![index],
        })
    }

    /// Compiles code with the driver, or takes what it has compiled before.
    fn compile(&self, index: ImageIndex, code: &'l Code) -> Result<Compiled<'l>, Refusal> {
        let members = link::closure(self.files, index)?;
        let (codes, hidden) = self.codes(&members)?;
        let unfit = image::unfit_kernels(&codes, self.files.facts());
        let sources = members.iter().zip(codes);
        let sources = sources.map(|(index, code)| self.source(*index, code, false));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        // Each module has its own variables, as each bundle of SYCL does.
        let has_globals = |unit: &Unit<'_>| !unit.metadata.device_globals.is_empty();
        let sharing = if self.units(&members).any(has_globals) {
            Sharing::None
        } else {
            Sharing::All
        };
        let context = self.queue.raw().context();
        let (program, origin) =
            program_cache::get(&context, &sources, sharing, self.cache.as_ref())?;
        Ok(Compiled {
            program,
            origin,
            code: Some(code),
            unfit,
            hidden,
            members,
        })
    }

    /// Returns the code of a program's images in the form that the driver takes, and the hidden arguments of
    /// its kernels.
    fn codes(&self, members: &[ImageIndex]) -> Result<Codes<'l>, Refusal> {
        let facts = self.files.facts();
        let codes = members.iter().map(|index| self.bytes(*index));
        let codes = codes.collect::<Result<Vec<&[u8]>, _>>()?;
        if facts.ptx.is_some() {
            return Ok((codes.into_iter().map(Cow::Borrowed).collect(), None));
        }
        let globals = self
            .units(members)
            .flat_map(|unit| unit.metadata.device_globals.iter());
        let globals = globals.map(|(name, global)| Global {
            id: without_run_prefix(name),
            holds_value: global.image_scope,
        });
        let globals: Vec<Global<'_>> = globals.collect();
        let lifted = if facts.lifts_variables && !globals.is_empty() {
            lift(&codes, &globals).map_err(|unfit| Refusal::Unfit(unfit.to_string()))?
        } else {
            None
        };
        let (codes, layout) = match lifted {
            Some(Lifted { modules, layout }) => {
                (modules.into_iter().map(Cow::Owned).collect(), Some(layout))
            }
            None => (
                codes.into_iter().map(Cow::Borrowed).collect::<Vec<_>>(),
                None,
            ),
        };
        let codes = image::portable(codes, facts).map_err(Refusal::Unfit)?;
        Ok((codes, layout))
    }

    fn bytes(&self, index: ImageIndex) -> Result<&'l [u8], Refusal> {
        let bytes = self.files.bytes(index);
        bytes.ok_or_else(|| Refusal::Unfit("there is no such image".to_owned()))
    }

    fn units<'m>(
        &self,
        members: &'m [ImageIndex],
    ) -> impl Iterator<Item = &'l Unit<'l>> + use<'l, 'm> {
        let files = self.files;
        members.iter().filter_map(|index| files.unit(*index))
    }

    /// Returns the source of an image for a driver; `code` is its bytes in the form that the driver takes.
    /// Native code of SPIR-V has the values of its constants compiled in.
    fn source(
        &self,
        index: ImageIndex,
        code: Cow<'l, [u8]>,
        native: bool,
    ) -> Result<Source<'l>, Refusal> {
        let Some(unit) = self.files.unit(index) else {
            return Err(Refusal::Unfit("there is no such image".to_owned()));
        };
        let facts = self.files.facts();
        let constants = &unit.metadata.specialization;
        let (constants, code) = if facts.ptx.is_some() {
            let variables = specialization::variables(self.constants, constants)?;
            (variables, code)
        } else if native {
            (Vec::new(), code)
        } else {
            let settings = specialization::settings(self.constants, constants, &code)?;
            let code = specialization::as_defaults(&settings, code).map_err(Refusal::Unfit)?;
            (Vec::new(), code)
        };
        Ok(Source {
            constants,
            options: BuildOptions::of(&unit.metadata.misc, facts),
            code,
        })
    }
}

impl<'l> BuiltModule<'l> {
    fn new(module: usize, unit: &'l Unit<'l>) -> Self {
        Self {
            module,
            unit,
            verdicts: BTreeMap::new(),
            program: None,
        }
    }
}

impl<'l> NativeCode<'l> {
    fn add(&mut self, module: usize, unit: &'l Unit<'l>) {
        for kernel in unit.module.kernel_names() {
            self.kernels.entry(kernel).or_insert(module);
        }
        self.globals.extend(unit.metadata.device_globals.names());
    }

    /// Returns a module with native code of this module's kernels, if native code contains all of its kernels
    /// and variables.
    fn module_of(&self, unit: &Unit<'_>) -> Option<usize> {
        let mut globals = unit.metadata.device_globals.names();
        if !globals.all(|name| self.globals.contains(name)) {
            return None;
        }
        let mut first = None;
        for kernel in unit.module.kernel_names() {
            let module = self.kernels.get(kernel)?;
            first = first.or(Some(*module));
        }
        first
    }
}
