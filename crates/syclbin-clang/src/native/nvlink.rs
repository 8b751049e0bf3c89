// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links native code for NVIDIA GPUs if modules call functions in other modules.
//!
//! ptxas assembles the PTX of each module into an object. nvlink joins the objects that a module needs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syclbin::property::set;
use syclbin::{AbstractModule, Syclbin, ptx};
use syclbin_tools::__private::described;
use syclbin_tools::__private::link::linked_metadata;

use super::{Backend, has_constants, import};
use crate::command_line::options::Show;
use crate::make::write;
use crate::steps::{self, Step};
use crate::{Result, own};

/// The modules to link, and the processes that link them.
pub(super) struct Nvlink<'f> {
    modules: &'f [AbstractModule<'static>],
    folder: &'f Path,
    assemble: Vec<Step>,
    link: Vec<Step>,
    /// The assembled objects, by module index and backend number.
    objects: BTreeMap<(usize, usize), PathBuf>,
    /// The linked modules, by index in the file, with their outputs. They contain no code until the processes have run.
    linked: BTreeMap<usize, Linked<'f>>,
}

type Linked<'f> = (AbstractModule<'static>, Vec<(&'f Backend, PathBuf)>);

impl<'f> Nvlink<'f> {
    pub(super) fn new(file: &'f Syclbin<'static>, folder: &'f Path) -> Self {
        Self {
            modules: &file.modules,
            folder,
            assemble: Vec::new(),
            link: Vec::new(),
            objects: BTreeMap::new(),
            linked: BTreeMap::new(),
        }
    }

    /// Plans to link module `index` for backend `number`. Returns the reason if that is impossible.
    pub(super) fn add(
        &mut self,
        index: usize,
        number: usize,
        backend: &'f Backend,
    ) -> Result<Option<String>> {
        let linker = backend.program.with_file_name("nvlink");
        let (needed, metadata) = match self.needed(index, backend) {
            Ok(found) => found,
            Err(why) => return Ok(Some(why)),
        };
        if !linker.is_file() {
            return Ok(Some(format!(
                "uses functions from other sources, but the linker '{}' was not found; run `{} --component nvidia \
                 --force`, and remove any --cuda-path",
                linker.display(),
                syclbin_toolchain::INSTALL_COMMAND
            )));
        }
        let output = self.folder.join(format!("{index}.{number}.linked"));
        let mut arguments = vec![format!("-arch={}", backend.arch)];
        // A single argument with all names could exceed some systems' length limit.
        let kernels = self.modules[index].kernel_names();
        arguments.extend(kernels.map(|kernel| format!("--kernels-used={kernel}")));
        for module in needed {
            let object = self.object(module, number, backend)?;
            arguments.push(object.display().to_string());
        }
        arguments.extend(["-o".to_owned(), output.display().to_string()]);
        let subject = described(&self.modules[index]);
        self.link.push(Step::new(linker, &subject, arguments));
        let (module, outputs) = self.linked.entry(index).or_default();
        module.metadata = metadata;
        outputs.push((backend, output));
        Ok(None)
    }

    /// Returns the modules that module `start` needs, starting with itself, and the properties of the linked module.
    /// The error is the reason why the module cannot be linked.
    fn needed(
        &self,
        start: usize,
        backend: &Backend,
    ) -> std::result::Result<(Vec<usize>, syclbin::property::PropertySets<'static>), String> {
        let text = |module: &AbstractModule<'_>| ptx::Module::parse(backend.input(module)?).ok();
        let texts: Vec<Option<ptx::Module>> = self.modules.iter().map(text).collect();
        let mut needed = vec![start];
        let mut resolved = BTreeSet::new();
        let mut next = 0;
        while let Some(index) = needed.get(next).copied() {
            next += 1;
            for symbol in texts[index].iter().flat_map(|text| &text.imports) {
                // A strong definition takes precedence over weak definitions.
                let has = |text: &Option<ptx::Module>, weak: bool| {
                    text.as_ref().is_some_and(|text| {
                        text.exports.contains(symbol) && text.weak_exports.contains(symbol) == weak
                    })
                };
                let strong = texts.iter().position(|text| has(text, false));
                let found = strong.or_else(|| texts.iter().position(|text| has(text, true)));
                let Some(exporter) = found else {
                    return Err(import(&BTreeSet::from([symbol.clone()])).unwrap_or_default());
                };
                resolved.insert(symbol.as_str());
                if !needed.contains(&exporter) {
                    needed.push(exporter);
                }
            }
        }
        let mut others = needed[1..].iter();
        if let Some(index) = others.find(|index| has_constants(&self.modules[**index])) {
            return Err(format!(
                "uses {}, which reads specialization constants",
                described(&self.modules[*index])
            ));
        }
        let metadata = linked_metadata(self.modules, &needed, &resolved);
        let mut metadata = metadata.map_err(|obstacle| format!("cannot be linked: {obstacle}"))?;
        // At load time, other modules are linked with this module's PTX, not with its native code, so the native code
        // needs no exports.
        metadata.remove_set(set::EXPORTED_SYMBOLS);
        Ok((needed, metadata))
    }

    /// Returns the path of a module's object, and plans to assemble it.
    fn object(&mut self, index: usize, number: usize, backend: &Backend) -> Result<PathBuf> {
        if let Some(object) = self.objects.get(&(index, number)) {
            return Ok(object.clone());
        }
        let module = &self.modules[index];
        let input = self.folder.join(format!("{index}.{}", backend.suffix()));
        write(&input, backend.input(module).unwrap_or_default())?;
        let object = self.folder.join(format!("{index}.{number}.o"));
        let mut step = backend.step(&described(module), &input, &object);
        step.arguments.insert(0, "-c".to_owned());
        self.assemble.push(step);
        self.objects.insert((index, number), object.clone());
        Ok(object)
    }

    /// Runs the processes, and returns the linked modules.
    pub(super) fn run(self, show: Show) -> Result<Vec<AbstractModule<'static>>> {
        steps::run_all(&self.assemble, show)?;
        steps::run_all(&self.link, show)?;
        let modules = self.linked.into_values().map(|(mut module, outputs)| {
            for (backend, output) in outputs {
                let image = backend.image(&output).or_else(|error| {
                    own(format!(
                        "nvlink wrote no code for {}: {error}",
                        described(&module)
                    ))
                })?;
                module.images.push(image);
            }
            Ok(module)
        });
        modules.collect()
    }
}
