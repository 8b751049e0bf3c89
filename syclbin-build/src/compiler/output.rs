// SPDX-License-Identifier: MIT OR Apache-2.0
//! Output: the result of compiling one source. It is complete or an error: modules, list of files read,
//! diagnostics.

use std::path::{Path, PathBuf};

use syclbin::__private::{debug_info, record, spirv};
use syclbin::property::set;
use syclbin::{AbstractModule, Image, PropertySet, Syclbin};

use crate::compiler::depfile;
use crate::error::{Error, Result};

/// The result of compiling one source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Compiled {
    /// The modules, with a description of each kernel and variable.
    pub(crate) modules: Vec<AbstractModule<'static>>,
    /// All existing files that were read. Headers inside a compiler do not exist as files.
    pub(crate) files: Vec<PathBuf>,
    /// Warnings, without colours.
    pub(crate) diagnostics: String,
    /// Whether the result has a kernel or an exported function.
    pub(crate) is_of_use: bool,
}

/// The files that the two compiles of a source write.
pub(crate) struct Outputs {
    pub(crate) code: PathBuf,
    pub(crate) described: PathBuf,
    pub(crate) dependencies: PathBuf,
}

impl Outputs {
    /// Returns the files of one source, in a directory of its own. So the output of one compile is never
    /// mistaken for the output of another.
    pub(crate) fn in_folder(work: &Path) -> Self {
        Self {
            code: work.join("code.syclbin"),
            described: work.join("debug.syclbin"),
            dependencies: work.join("code.d"),
        }
    }

    /// Reads the files.
    pub(crate) fn read(
        &self,
        program: &Path,
        source: &Path,
        diagnostics: String,
    ) -> Result<Compiled> {
        let unusable = |problem: String| Error::Output {
            program: program.to_owned(),
            source_file: source.to_owned(),
            problem,
        };
        let bytes = std::fs::read(&self.code).map_err(|error| unusable(error.to_string()))?;
        let code = syclbin::read::parse(&bytes).map_err(|error| unusable(error.to_string()))?;
        let bytes = std::fs::read(&self.described).map_err(|error| unusable(error.to_string()))?;
        let debug = syclbin::read::parse(&bytes).map_err(|error| unusable(error.to_string()))?;
        let described = describe(&debug).map_err(|error| unusable(error.to_string()))?;
        // Without the list of headers, kernels would go stale silently.
        let list = std::fs::read(&self.dependencies).map_err(|error| {
            unusable(format!(
                "cannot read the list of files that it read (-MD -MF): {error}"
            ))
        })?;
        let files = depfile::prerequisites(&String::from_utf8_lossy(&list));
        let has_kernel = has_kernel(&code).map_err(|error| unusable(error.to_string()))?;
        let exports = code.modules.iter().flat_map(exports).count();
        let modules = code.modules.into_iter().map(|module| {
            let mut module = module.into_owned();
            record(&mut module, &described).map(|()| module)
        });
        let modules = modules.collect::<std::result::Result<_, _>>();
        Ok(Compiled {
            modules: modules.map_err(|error| unusable(error.to_string()))?,
            files: files.into_iter().filter(|path| path.exists()).collect(),
            diagnostics,
            is_of_use: has_kernel || exports > 0,
        })
    }
}

/// Returns a warning for a source without kernels, with the likely causes: compilers report none of them.
pub(crate) fn no_kernel(files: &[PathBuf]) -> String {
    let is_slim = |file: &PathBuf| file.ends_with("syclbin/kernel.hpp");
    let macros = if files.iter().any(is_slim) {
        "SYCLBIN_KERNEL(1)"
    } else {
        "SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))"
    };
    format!(
        "no kernel was found in it; write {macros} before a function to make it a kernel, or leave a source with host \
         code only out of the build. If the macro is there already, use a separate macro for each property: two in \
         one, ((a, b)), are a C++ comma expression, so the function is not a kernel"
    )
}

/// Returns whether the code has a kernel. The names alone do not decide this, because they include exported
/// functions.
fn has_kernel(file: &Syclbin<'_>) -> Result<bool, syclbin::Error> {
    for image in file.modules.iter().flat_map(|module| &module.images) {
        let kernels = match image.spirv() {
            Some(code) => spirv::Module::parse(code)?.kernels().count(),
            None => file.kernel_names().count(),
        };
        if kernels > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the symbols that a module exports.
pub(crate) fn exports<'m>(module: &'m AbstractModule<'_>) -> impl Iterator<Item = &'m str> {
    symbols(module, set::EXPORTED_SYMBOLS)
}

/// Returns the symbols in a property set of a module.
pub(crate) fn symbols<'m>(
    module: &'m AbstractModule<'_>,
    set: &str,
) -> impl Iterator<Item = &'m str> {
    let set = module.metadata.set(set);
    let all = set.into_iter().flat_map(PropertySet::iter);
    all.filter(|(_, value)| value.as_u32() != Some(0))
        .map(|(symbol, _)| symbol)
}

/// Returns the descriptions of the kernels from the debug information in `file`.
fn describe(file: &Syclbin<'_>) -> Result<debug_info::Described, syclbin::Error> {
    let mut found = debug_info::Described::default();
    let images = file.modules.iter().flat_map(|module| &module.images);
    for code in images.filter_map(Image::spirv) {
        found.append(debug_info::describe(&spirv::Module::parse(code)?));
    }
    Ok(found)
}
