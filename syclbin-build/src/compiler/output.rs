// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the result of compiling one source: modules, input files and diagnostics. Incomplete output is an error.

use std::path::{Path, PathBuf};

use syclbin::__private::debug_info::Described;
use syclbin::__private::{is_complete, record, spirv};
use syclbin::{AbstractModule, Syclbin};
use syclbin_tools::__private::exports;

use crate::compiler::depfile;
use crate::error::{Error, Result};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Compiled {
    /// The modules, with a description of each kernel and variable.
    pub(crate) modules: Vec<AbstractModule<'static>>,
    /// All files that the compiler read, except its built-in headers, which do not exist on disk.
    pub(crate) files: Vec<PathBuf>,
    /// Warnings, without colors.
    pub(crate) diagnostics: String,
    /// Whether the result contains a kernel or an exported function.
    pub(crate) is_of_use: bool,
}

/// The output files for one source.
pub(crate) struct Outputs {
    pub(crate) code: PathBuf,
    /// The output of the compile with debug information. `None` for `syclbin-clang`, which writes kernel descriptions
    /// to `code`.
    pub(crate) described: Option<PathBuf>,
    pub(crate) dependencies: PathBuf,
}

impl Outputs {
    /// Returns the files for one source. Each source needs its own directory, because these file names are the same for
    /// all sources.
    pub(crate) fn in_folder(work: &Path, describes_itself: bool) -> Self {
        Self {
            code: work.join("code.syclbin"),
            described: (!describes_itself).then(|| work.join("debug.syclbin")),
            dependencies: work.join("code.d"),
        }
    }

    pub(crate) fn read(
        &self,
        program: &Path,
        source: &Path,
        diagnostics: String,
    ) -> Result<Compiled> {
        let (program, source_file) = (program.to_owned(), source.to_owned());
        match self.read_as(diagnostics) {
            Ok(compiled) if compiled.modules.iter().all(is_complete) => Ok(compiled),
            Ok(_) => Err(Error::OtherRelease {
                program,
                source_file,
            }),
            Err(problem) => Err(Error::Output {
                program,
                source_file,
                problem: problem.to_string(),
            }),
        }
    }

    fn read_as(&self, diagnostics: String) -> Result<Compiled, Box<dyn std::error::Error>> {
        let bytes = std::fs::read(&self.code)?;
        let code = syclbin::read::parse(&bytes)?;
        // Without the list of headers, kernels would silently become stale.
        let list = std::fs::read(&self.dependencies).map_err(|error| {
            format!("cannot read the list of included files (-MD -MF): {error}")
        })?;
        let files = depfile::prerequisites(&String::from_utf8_lossy(&list));
        let has_kernel = has_kernel(&code)?;
        let exports = code.modules.iter().flat_map(exports).count();
        let modules = code.modules.into_iter().map(AbstractModule::into_owned);
        let mut modules: Vec<_> = modules.collect();
        if let Some(path) = &self.described {
            let described = Described::of(&syclbin::read::parse(&std::fs::read(path)?)?)?;
            for module in &mut modules {
                record(module, &described)?;
            }
        }
        Ok(Compiled {
            modules,
            files: files.into_iter().filter(|path| path.exists()).collect(),
            diagnostics,
            is_of_use: has_kernel || exports > 0,
        })
    }
}

/// Returns a warning for a source without kernels, with likely causes. Compilers do not warn about this.
pub(crate) fn no_kernel(files: &[PathBuf]) -> String {
    let is_slim = |file: &PathBuf| file.ends_with("syclbin/kernel.hpp");
    let macros = if files.iter().any(is_slim) {
        "SYCLBIN_KERNEL(1)"
    } else {
        "SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))"
    };
    format!(
        "no kernel was found; write {macros} before a function to make it a kernel, or remove the source from \
         the build if it contains only host code. If the macro is already there, use a separate macro for each \
         property: two properties in one macro, ((a, b)), form a C++ comma expression, so the function is not a kernel"
    )
}

/// Returns whether the code contains a kernel. Looks for kernels in SPIR-V itself, because the list of kernel names may
/// include exported functions.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exported_functions_are_not_kernels() {
        for (name, expected) in [("export_side", false), ("vector_ops", true)] {
            let bytes = test_files::read(&format!("{name}.object.syclbin"));
            let file = syclbin::read::parse(&bytes).unwrap();
            assert_eq!(has_kernel(&file), Ok(expected), "{name}");
        }
        let empty = Syclbin::new(syclbin::State::Object);
        assert_eq!(has_kernel(&empty), Ok(false));
    }
}
