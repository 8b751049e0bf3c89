// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles a source file to modules by calling the compiler library in this process.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use syclbin::__private::spirv;
use syclbin::metadata::ModuleMetadata;
use syclbin::property::set;
use syclbin::{AbstractModule, Image, IrType, State, Syclbin};

use crate::command_line::depfile;
use crate::command_line::targets::NVIDIA;
use crate::library::{self, DeviceImage};
use crate::link::imports::named_with;
use crate::lower::{self, signed_bools};
use crate::make::write;
use crate::nvidia::{self, Ptx};
use crate::{Failure, Result, context, describe, own};

const SPIRV: &str = "spir64-unknown-unknown";

/// Compiles `source` with clang's `arguments`. If `dependencies` requests a depfile, also returns the files that clang
/// read. Warnings go to standard error. SPIR-V keeps the debug information that [`describe::read`] needs.
pub(crate) fn compile(
    source: &Path,
    mut arguments: Vec<String>,
    state: State,
    dependencies: Option<&str>,
    ptx: Option<Ptx>,
) -> Result<(Syclbin<'static>, Vec<PathBuf>)> {
    let text = read(source)?;
    arguments.splice(0..0, library::include_arguments(library::ASSERT_PATH));
    arguments.splice(0..0, lower::unit_arguments(&text));
    let is_optimized = describe::is_optimized(&arguments);
    let mut header = None;
    match ptx {
        Some(ptx) => arguments = ptx.prepare(arguments)?,
        None => {
            let sink = Sink::new()?;
            arguments.extend(describe::arguments(&arguments, &sink.path));
            header = Some(sink);
        }
    }
    let name = source.to_string_lossy();
    let sink = dependencies.map(|_| Sink::new()).transpose()?;
    if let (Some(option), Some(sink)) = (dependencies, &sink) {
        arguments.extend([option.into(), "-MF".into(), sink.path.clone()]);
    }
    let gpu = ptx.map(|ptx| ptx.gpu);
    let output = library::compile(&library::find()?, &name, text, arguments, gpu, false);
    let output = output.map_err(explained)?;
    let log = nvidia::without_notes(&output.log);
    if !log.trim().is_empty() {
        let _ = writeln!(std::io::stderr().lock(), "{}", diagnostics(&log).trim_end());
    }
    let mut file = named_with(&name, assemble(output.images, state, ptx.is_some()))?;
    if let Some(header) = header {
        let header = header.finish()?;
        for module in &mut file.modules {
            describe::note_dimensions(module, &header);
            for image in module.images.iter_mut().filter(|_| is_optimized) {
                if let Some(code) = signed_bools::repair(&image.bytes) {
                    image.bytes = code.into();
                }
            }
        }
    }
    let rule = sink.map(Sink::finish).transpose()?.unwrap_or_default();
    Ok((file, depfile::files(&rule)))
}

/// Compiles the LLVM bitcode at `path`, which comes from the input `name`, with clang's `arguments`.
pub(crate) fn compile_bitcode(
    path: &Path,
    name: &str,
    arguments: Vec<String>,
    state: State,
) -> Result<Syclbin<'static>> {
    let output = library::compile(&library::find()?, name, read(path)?, arguments, None, false);
    let output = output.map_err(|failure| match failure {
        Failure::Diagnostics(log) => Failure::Own(format!(
            "'{name}': cannot compile the LLVM bitcode: {}",
            diagnostics(&log).trim()
        )),
        other => other,
    })?;
    let file = named_with(name, assemble(output.images, state, false))?;
    let has_code = |module: &AbstractModule<'_>| {
        module.kernel_names().next().is_some()
            || module.metadata.set(set::EXPORTED_SYMBOLS).is_some()
            || module.metadata.set(set::VIRTUAL_FUNCTIONS).is_some()
    };
    if !file.modules.iter().any(has_code) {
        return own(format!(
            "'{name}': the LLVM bitcode contains neither kernels nor SYCL_EXTERNAL functions; recompile its sources \
             with DPC++ and -fsycl for spir64, or remove the file from the inputs"
        ));
    }
    Ok(file)
}

/// Compiles a source to LLVM bitcode, in the form that DPC++ stores in objects, and writes it to `output`.
pub(crate) fn save_bitcode(source: &Path, output: &Path, mut arguments: Vec<String>) -> Result<()> {
    let (name, text) = (source.to_string_lossy(), read(source)?);
    arguments.splice(0..0, lower::unit_arguments(&text));
    let made = library::compile(&library::find()?, &name, text, arguments, None, true);
    write(output, &made.map_err(explained)?.bitcode)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    syclbin_toolchain::file::read(path)
        .or_else(|error| own(format!("cannot read source '{}': {error}", path.display())))
}

/// Lowers the specialization constants in a module's PTX, exports its device globals, and returns the result. Adds the
/// constants to the module's properties. Unless `state` is executable, also adds the exports, because the library reports
/// exports only for SPIR-V.
fn finish(code: Vec<u8>, module: &mut AbstractModule<'_>, state: State) -> Result<Vec<u8>> {
    let Ok(text) = std::str::from_utf8(&code) else {
        return own("the compiler library emitted invalid PTX: it is not UTF-8");
    };
    if text.contains("__init_array_object_") {
        return own(
            "the initial value of a global variable is not a constant expression; declare the variable constexpr, \
             or compute the value in the kernel",
        );
    }
    let lowered = lower::lower_ptx(text).or_else(|why| own(why.to_string()))?;
    let code = lowered.map_or(code, |lowered| {
        lowered.constants.write(&mut module.metadata);
        lowered.code
    });
    let metadata = ModuleMetadata::read(&module.metadata);
    let metadata = metadata.or_else(|error| own(format!("the compiler's output: {error}")))?;
    let globals = metadata.program.global_names.iter();
    let code = lower::export_variables(&code, globals.map(|(_, name)| name));
    if state != State::Executable {
        let text = syclbin::ptx::Module::parse(&code)
            .or_else(|error| own(format!("the compiler library emitted invalid PTX: {error}")))?;
        for symbol in text.exports {
            module.metadata.insert(set::EXPORTED_SYMBOLS, symbol, 1u32);
        }
    }
    Ok(code)
}

/// Removes the library's own text from clang's diagnostics. If the library rejected an option, returns a message that
/// suggests a remedy instead.
fn explained(failure: Failure) -> Failure {
    let Failure::Diagnostics(log) = failure else {
        return failure;
    };
    let words = diagnostics(&nvidia::without_notes(&log));
    let text = words
        .trim()
        .strip_suffix("' is not supported for SYCL runtime compilation");
    match text.and_then(|text| text.strip_prefix("Option '")) {
        Some(option) => Failure::Own(format!(
            "option '{option}' is not supported by the compiler library; remove it, or use a DPC++ clang++ \
             (SYCLBIN_CLANG)"
        )),
        None => Failure::Diagnostics(words),
    }
}

/// Returns clang's own output, without the two-line heading and the tab that the library puts before errors.
fn diagnostics(log: &str) -> String {
    let Some((_, details)) = log.split_once("Detailed information:\n") else {
        return log.into();
    };
    details.strip_prefix('\t').unwrap_or(details).into()
}

/// Creates an abstract module from each image, with the properties that the library returned, and lowers its
/// specialization constants.
fn assemble(images: Vec<DeviceImage>, state: State, is_ptx: bool) -> Result<Syclbin<'static>> {
    let mut file = Syclbin::new(state);
    for (code, metadata) in images {
        let mut module = AbstractModule {
            metadata,
            ..AbstractModule::default()
        };
        if is_ptx {
            // Keep only the argument masks of kernels. The library also creates masks for built-in functions that are
            // implemented in PTX.
            let kernels: BTreeSet<String> = module.kernel_names().map(str::to_owned).collect();
            let masks = set::KERNEL_PARAM_OPT;
            module.metadata.retain(masks, |name| kernels.contains(name));
            let code = finish(code, &mut module, state)?;
            module.images.push(Image::ir(IrType::Ptx, NVIDIA, code));
        } else {
            let parsed = spirv::Module::parse(&code).map_err(describe::unreadable)?;
            if let Some(variable) = parsed.mutable_globals.first() {
                return own(format!(
                    "kernels use the global variable {}, whose value is not a compile-time constant; declare it \
                     constexpr, pass it as an argument, or make it a device_global",
                    lower::shown(variable.split('.').next().unwrap_or_default())
                ));
            }
            let image = Image::ir(IrType::SpirV, SPIRV, code);
            module.images.push(image);
            lower::lower_module(&mut module).or_else(|why| own(why.to_string()))?;
        }
        file.modules.push(module);
    }
    Ok(file)
}

/// A file that the library writes in addition to the code, such as the depfile. The library terminates the process if
/// it cannot write the file, so it must not write to the user's path. On Linux, the file is in memory, where a full
/// disk does not matter. On other systems, it is a temporary file.
struct Sink {
    path: String,
    /// Keeps the file alive until it has been read.
    #[cfg(target_os = "linux")]
    _file: std::fs::File,
    #[cfg(not(target_os = "linux"))]
    _file: tempfile::TempPath,
}

impl Sink {
    #[cfg(target_os = "linux")]
    fn new() -> Result<Self> {
        let file = rustix::fs::memfd_create("syclbin-clang", rustix::fs::MemfdFlags::CLOEXEC)
            .map_err(context("cannot allocate memory for a temporary file"))?;
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
        Ok(Self {
            path: format!("/proc/self/fd/{descriptor}"),
            _file: file.into(),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn new() -> Result<Self> {
        let file = tempfile::NamedTempFile::new()
            .map_err(context("cannot create a temporary file"))?
            .into_temp_path();
        let path = file.display().to_string();
        Ok(Self { path, _file: file })
    }

    fn finish(self) -> Result<String> {
        let bytes = std::fs::read(&self.path).map_err(context(
            "cannot read a file that the compiler library wrote",
        ))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_librarys_heading_is_taken_off_clangs_words() {
        let log =
            "Device compilation failed\nDetailed information:\n\te.cpp:1:1: error: x\n  1 | y\n";
        assert_eq!(diagnostics(log), "e.cpp:1:1: error: x\n  1 | y\n");
        let warning = "w.cpp:2:2: warning: hello\n";
        assert_eq!(diagnostics(warning), warning);
    }

    #[test]
    fn unsupported_library_option_is_named() {
        let log = "Invalid arguments\nDetailed information:\n\tOption '-undef' is not supported for SYCL \
                   runtime compilation\n";
        let Failure::Own(text) = explained(Failure::Diagnostics(log.into())) else {
            panic!("expected a message from this program");
        };
        assert!(
            text.starts_with("option '-undef' is not supported"),
            "{text}"
        );
        assert!(matches!(
            explained(Failure::Diagnostics("k.cpp:1:1: error".into())),
            Failure::Diagnostics(_)
        ));
    }
}
