// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds programs: passes a module's suitable images to the driver, one after the other, until one of them builds.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use syclbin::__private::spirv::portable::has_debug_info;
use syclbin::__private::spirv::portable::lift::{Global, Layout, Lifted, lift};
use syclbin::__private::{failed_assert, listed, spirv};
use syclbin::metadata::{DeviceGlobal, IdRange, without_run_prefix};

use crate::backend::{BuildOptions, Program, Source};
use crate::launch::kernel::{ConstantsBuffer, max_range};
use crate::load::constants::{self, Values};
use crate::load::files::{Files, ImageIndex, Unit};
use crate::load::native::{self, SavedOn};
use crate::load::{code, link, requirements};
use crate::log;
use crate::module::global::{self, Variable, Variables};
use crate::module::save;
use crate::program_cache::{self, Origin};
use crate::queue::Queue;

pub(crate) struct Builder {
    pub(crate) queue: Queue,
    pub(crate) files: Files<'static>,
    /// The values that were set for specialization constants.
    pub(crate) constants: Values,
    /// The device globals of all programs.
    pub(crate) variables: Mutex<Variables>,
}

/// A part of a module that is built as one program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The module's native code.
    Native,
    /// The module's SPIR-V or PTX.
    Code,
    /// The SPIR-V of a single kernel.
    Kernel(String),
}

#[derive(Default)]
pub(crate) struct Build {
    pub(crate) program: Option<BuiltProgram>,
    /// The verdicts on the part's images up to the one that the driver accepted.
    pub(crate) verdicts: Vec<Verdict>,
}

/// The index of an image, and how it was built, or why it does not fit.
pub(crate) type Verdict = (usize, Result<String, String>);

/// A program, with the properties that come from the file and the code.
pub(crate) struct BuiltProgram {
    /// The images of the program, starting with the module's own image.
    pub(crate) members: Vec<ImageIndex>,
    pub(crate) program: Program,
    /// The kernels that the device cannot run or that its driver miscompiles, each with the reason.
    pub(crate) unfit: BTreeMap<String, String>,
    /// The smallest id range among the program's modules.
    pub(crate) id_range: Option<IdRange>,
    /// The hidden arguments of the program's kernels.
    pub(crate) hidden: Option<Layout>,
    /// The specialization constants that the program's kernels read from memory.
    pub(crate) constants: Option<ConstantsBuffer>,
}

/// The code of a program's images, in a form that the driver accepts.
#[derive(Default)]
struct Codes<'l> {
    codes: Vec<Cow<'l, [u8]>>,
    hidden: Option<Layout>,
    /// The device globals that are missing from the program, because the program's only kernel does not use them.
    unreached: BTreeSet<String>,
    unfit: BTreeMap<String, String>,
}

impl Builder {
    /// Returns the device global called `name`, if a program that has been built contains it.
    pub(crate) fn variable(&self, name: &str) -> Option<Variable> {
        let variables = self.variables.lock();
        let variables = variables.unwrap_or_else(PoisonError::into_inner);
        let is_called = |known: &&Variable| known.code_name.as_deref() == Some(name);
        let by_code_name = || variables.values().find(is_called);
        variables.get(name).or_else(by_code_name).cloned()
    }

    /// Returns a module of the loaded file, if it is valid.
    pub(crate) fn unit(&self, module: usize) -> Option<&Unit<'static>> {
        self.files.loaded().get(module)?.as_ref().ok()
    }

    /// Tries the images of `part` in order until the driver accepts one.
    pub(crate) fn build(&self, module: usize, part: &Part) -> Build {
        let mut build = Build::default();
        for index in self.candidates(module, part) {
            let built = self.build_image(index, part).map(|(program, origin)| {
                let how = self.describe(index, origin, &program);
                build.program = Some(program);
                format!("chosen: {how}")
            });
            let (device, name, number) = (self.queue.device(), self.files.name(index), index.image);
            let (Ok(verdict) | Err(verdict)) = &built;
            log::debug(format_args!(
                "for {device}, {name}, image {number}: {verdict}"
            ));
            build.verdicts.push((number, built));
            if build.program.is_some() {
                break;
            }
        }
        build
    }

    fn describe(&self, index: ImageIndex, origin: Origin, built: &BuiltProgram) -> String {
        let how = match origin {
            Origin::Built if self.files.image(index).native => {
                "the driver accepts this native code"
            }
            Origin::Built => "the driver compiles it",
            Origin::Cache => "the driver compiled it in an earlier run",
            Origin::Process => "the driver compiled it earlier",
        };
        let linked = built.members.iter().skip(1);
        match listed(linked.map(|index| self.files.name(*index))) {
            linked if linked.is_empty() => how.to_owned(),
            linked => format!("{how}, linked with {linked}"),
        }
    }

    /// Predicts which images of a part fit, without calling the driver.
    pub(crate) fn preview(&self, module: usize, part: &Part) -> Vec<Verdict> {
        let verdicts = self.candidates(module, part).into_iter().map(|index| {
            let fits = |_| "fits; built when one of its kernels is first used".to_owned();
            (index.image, self.members(index, part).map(fits))
        });
        verdicts.collect()
    }

    /// Returns whether each kernel of a module is built separately. This requires SPIR-V with several kernels. Imports
    /// that can be linked, debug information (debuggers need all code) and device globals with image scope prevent
    /// separate builds. The record of failed asserts does not, because each program stores its own record. If the
    /// complete code cannot be linked, some of the kernels may not need the undefined symbols.
    pub(crate) fn divides(&self, module: usize) -> bool {
        let Some(unit) = self.unit(module) else {
            return false;
        };
        let mut candidates = self.candidates(module, &Part::Code).into_iter();
        let is_alone = |index| match self.members(index, &Part::Code) {
            Ok(members) if members.len() == 1 => {
                Some(!has_debug_info(&self.files.image(index).bytes))
            }
            Ok(_) => Some(false),
            Err(_) => None,
        };
        let is_shareable = |(_, global): (&str, &DeviceGlobal)| !global.image_scope;
        self.files.facts.ptx.is_none()
            && unit.metadata.device_globals.iter().all(is_shareable)
            && unit.module.kernel_names().nth(1).is_some()
            && candidates.find_map(is_alone) != Some(false)
    }

    /// Returns whether a program of a module may contain the device global that `is_global` looks for.
    pub(crate) fn may_have(&self, module: usize, is_global: &impl Fn(&Unit<'_>) -> bool) -> bool {
        let parts = [Part::Native, Part::Code];
        let mut candidates = parts.iter().flat_map(|part| self.candidates(module, part));
        candidates.any(|index| {
            let members = self
                .members(index, &Part::Code)
                .unwrap_or_else(|_| vec![index]);
            self.units(&members).any(is_global)
        })
    }

    /// Returns the images of a part, in the order in which they are passed to the driver. Native code that was saved on
    /// this device comes first.
    fn candidates(&self, module: usize, part: &Part) -> Vec<ImageIndex> {
        let Some(unit) = self.unit(module) else {
            return Vec::new();
        };
        let images = unit.module.images.iter().enumerate();
        let images = images.filter(|(_, image)| image.native == (*part == Part::Native));
        let mut images: Vec<_> = images.collect();
        let here = Some(SavedOn::device(self.files.facts));
        images.sort_by_key(|(_, image)| SavedOn::read(image, &unit.module.metadata) != here);
        let index = |(image, _)| ImageIndex {
            file: 0,
            module,
            image,
        };
        images.into_iter().map(index).collect()
    }

    /// Returns the image at `index` and the images that are linked into the program of `part`, if the device accepts
    /// them.
    fn members(&self, index: ImageIndex, part: &Part) -> Result<Vec<ImageIndex>, String> {
        let facts = self.files.facts;
        let (unit, image) = (self.files.unit(index), self.files.image(index));
        if !native::is_native(image, facts) {
            let whole = link::closure(&self.files, index);
            let is_alone = |code: spirv::Module| code.imports().next().is_none();
            if let (Part::Kernel(kernel), Err(_)) = (part, &whole)
                && let Ok(code) = self.files.code(index)
                && code.kernels().contains(&kernel.as_str())
                && unit.metadata.virtual_functions.uses.0.is_empty()
                && spirv::Module::parse(&trimmed(&image.bytes, kernel)).is_ok_and(is_alone)
            {
                return Ok(vec![index]);
            }
            return whole;
        }
        let (metadata, sets) = (&unit.metadata, &unit.module.metadata);
        requirements::check(metadata, facts)?;
        native::check(image, metadata, sets, &self.constants, facts)?;
        Ok(vec![index])
    }

    fn build_image(
        &self,
        index: ImageIndex,
        part: &Part,
    ) -> Result<(BuiltProgram, Origin), String> {
        let (unit, image) = (self.files.unit(index), self.files.image(index));
        let members = self.members(index, part)?;
        let native = native::is_native(image, self.files.facts);
        let code = if native {
            Codes {
                codes: vec![Cow::Borrowed(&image.bytes)],
                hidden: save::hidden_arguments(&unit.module.metadata),
                ..Codes::default()
            }
        } else {
            self.codes(&members, part)?
        };
        let sources = members.iter().zip(code.codes);
        let sources = sources.map(|(index, code)| self.source(*index, code));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let context = self.queue.raw().context();
        let built = if native {
            let built = context.build_native(&sources[0]);
            built.map(|program| (program, Origin::Built))
        } else {
            // Each module has its own variables, like a kernel bundle in SYCL, so programs with variables are not
            // shared.
            let mut globals = self.globals(&members);
            let shared = globals.all(|(id, _)| code.unreached.contains(id));
            let cache = program_cache::of_environment();
            program_cache::get(&context, &sources, shared, cache.as_ref())
        };
        let (program, origin) = built.map_err(|error| error.to_string())?;
        if let Some(layout) = &code.hidden {
            let queue = self.queue.raw();
            let added = queue.add_hidden_arguments(&program, layout.clone());
            added.map_err(|failure| failure.to_string())?;
        }
        self.connect_variables(&program, &members, &code.unreached)?;
        let ranges = self.units(&members).map(|unit| unit.metadata.misc.id_range);
        let built = BuiltProgram {
            program,
            constants: self.emulated_constants(index)?,
            unfit: code.unfit,
            id_range: ranges.min_by_key(|range| max_range(*range)).flatten(),
            hidden: code.hidden,
            members,
        };
        Ok((built, origin))
    }

    /// Connects all device globals of a program, or none if one of them fails.
    fn connect_variables(
        &self,
        program: &Program,
        members: &[ImageIndex],
        unreached: &BTreeSet<String>,
    ) -> Result<(), String> {
        let mut variables = (self.variables.lock()).unwrap_or_else(PoisonError::into_inner);
        let mut connected = variables.clone();
        for unit in self.units(members) {
            let metadata = &unit.metadata;
            global::connect(&self.queue, program, metadata, unreached, &mut connected)?;
        }
        *variables = connected;
        Ok(())
    }

    /// Uploads the specialization constants of the image at `index`, if its kernels read them from memory.
    fn emulated_constants(&self, index: ImageIndex) -> Result<Option<ConstantsBuffer>, String> {
        let (unit, image) = (self.files.unit(index), self.files.image(index));
        if !constants::are_emulated(image, &unit.metadata, self.files.facts) {
            return Ok(None);
        }
        let blob = constants::blob(&self.constants, &unit.metadata.specialization);
        let buffer = blob.map(|blob| ConstantsBuffer::new(&self.queue, &blob));
        buffer.transpose().map_err(|failure| failure.to_string())
    }

    fn globals(&self, members: &[ImageIndex]) -> impl Iterator<Item = (&str, DeviceGlobal)> {
        let units = self.units(members);
        let globals = units.flat_map(|unit| unit.metadata.device_globals.iter());
        globals.map(|(name, global)| (without_run_prefix(name), *global))
    }

    fn codes(&self, members: &[ImageIndex], part: &Part) -> Result<Codes<'_>, String> {
        let facts = self.files.facts;
        let codes = members.iter().map(|index| {
            let code: &[u8] = &self.files.image(*index).bytes;
            match part {
                Part::Kernel(kernel) if members.len() == 1 => trimmed(code, kernel),
                _ => Cow::Borrowed(code),
            }
        });
        let mut codes: Vec<Cow<'_, [u8]>> = codes.collect();
        let is_reached = |id: &str| match part {
            Part::Kernel(_) => codes.iter().any(|code| spirv_names(code, id)),
            Part::Native | Part::Code => true,
        };
        let ids = self.globals(members).map(|(id, _)| id);
        let unreached = ids.filter(|id| !is_reached(id)).map(str::to_owned);
        let unreached = unreached.collect();
        let globals = self.globals(members).map(|(id, global)| Global {
            id,
            holds_value: global.image_scope || id == failed_assert::VARIABLE,
        });
        let globals: Vec<Global<'_>> = globals.collect();
        let mut hidden = None;
        if facts.lifts_variables && !globals.is_empty() {
            let parts: Vec<&[u8]> = codes.iter().map(AsRef::as_ref).collect();
            let lifted = lift(&parts, &globals).map_err(|unfit| unfit.to_string())?;
            if let Some(Lifted { modules, layout }) = lifted {
                codes = modules.into_iter().map(Cow::Owned).collect();
                hidden = Some(layout);
            }
        }
        if facts.ptx.is_none() {
            codes = code::portable(codes, facts)?;
        }
        Ok(Codes {
            unfit: code::unfit_kernels(&codes, facts)?,
            codes,
            hidden,
            unreached,
        })
    }

    pub(crate) fn units(&self, members: &[ImageIndex]) -> impl Iterator<Item = &Unit<'static>> {
        members.iter().map(|index| self.files.unit(*index))
    }

    /// Combines an image's `code`, in a form that the driver accepts, with its constants and build options. Native
    /// code compiled from SPIR-V already contains the values of constants.
    fn source<'c>(&self, index: ImageIndex, mut code: Cow<'c, [u8]>) -> Result<Source<'c>, String> {
        let unit = self.files.unit(index);
        let facts = self.files.facts;
        let mut options = BuildOptions::of(&unit.metadata.misc, facts);
        // The value of such a variable is not restored between the runs of a launch that runs twice.
        let mut globals = unit.metadata.device_globals.iter();
        options.reversible &=
            globals.all(|(id, global)| !global.image_scope || id == failed_assert::VARIABLE);
        let held = &unit.metadata.specialization;
        let mut variables = Vec::new();
        if facts.ptx.is_some() {
            variables = constants::variables(&self.constants, held)?;
        } else if !self.files.image(index).native {
            code = constants::as_defaults(&self.constants, held, code)?;
        }
        Ok(Source {
            constants: variables,
            options,
            code,
        })
    }
}

/// Returns whether SPIR-V contains `name` as a string that starts at a word boundary and ends with a NUL.
fn spirv_names(code: &[u8], name: &str) -> bool {
    let text = [name.as_bytes(), &[0]].concat();
    let words = (0..code.len()).step_by(4);
    let mut rests = words.filter_map(|start| code.get(start..));
    rests.any(|rest| rest.starts_with(&text))
}

/// Returns only the code that a kernel reaches, or all code if that cannot be determined.
fn trimmed<'c>(code: &'c [u8], kernel: &str) -> Cow<'c, [u8]> {
    match spirv::trim(code, &[kernel]) {
        Ok(trimmed) => Cow::Owned(trimmed),
        Err(error) => {
            log::debug(format_args!(
                "kernel {kernel} is compiled together with all others: {error}"
            ));
            Cow::Borrowed(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::builder::SourceFile;
    use crate::{Device, Module};
    use syclbin::AbstractModule;
    use syclbin::property::set;

    #[test]
    fn kernels_that_need_nothing_else_are_built_separately() {
        let queue = Device::best().unwrap().queue().unwrap();
        if queue.device().facts().ptx.is_some() {
            return;
        }
        let library = [SourceFile::Embedded(test_files::bytes(
            "export_side.object.syclbin",
        ))];
        let divides = |name: &str, change: &dyn Fn(&mut AbstractModule<'_>)| {
            let mut file = syclbin::read::parse(test_files::bytes(name)).unwrap();
            change(&mut file.modules[0]);
            let bytes = syclbin::write::to_vec(&file, syclbin::Container::default()).unwrap();
            let file = SourceFile::Given(&bytes);
            let module = Module::read(&queue, file, &library, &Values::default());
            module.unwrap().0.builder.divides(0)
        };
        assert!(divides("vector_ops.object.syclbin", &|_| {}));
        let with_debug_info = "described/described.syclbin";
        // PoCL (6.0) does not support half precision, which the file requires.
        if queue.device().has(syclbin::Aspect::FP16) {
            assert!(!divides(with_debug_info, &|_| {}));
        }
        let with_import = "import_side.object.syclbin";
        assert!(!divides(with_import, &|module| module.add_kernel_name("another")));
        // All programs share `table`, but each has a `bias` of its own.
        for (variable, is_shared) in [("table", true), ("bias", false)] {
            let found = divides("globals.object.syclbin", &|module| {
                let metadata = &mut module.metadata;
                metadata.retain(set::DEVICE_GLOBALS, |name| name.contains(variable));
            });
            assert_eq!(found, is_shared, "{variable}");
        }
    }
}
