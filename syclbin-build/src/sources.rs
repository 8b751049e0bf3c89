//! Sources, compiled: their kernels with declarations, and every file that was read for them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use syclbin::signature::{self, debug_info, spirv};
use syclbin::{AbstractModule, Image, State, Syclbin};

use crate::build::{create, write_error};
use crate::cargo;
use crate::compiler::{Compiler, Job};
use crate::depfile;
use crate::error::{Error, Result};

/// The kernels of all sources, and the files that these were read from.
pub(crate) fn compile(
    compiler: &Compiler,
    sources: &[PathBuf],
    arguments: &[OsString],
    folder: &Path,
) -> Result<(Syclbin<'static>, BTreeSet<PathBuf>)> {
    sweep(folder);
    let work = tempfile::Builder::new()
        .prefix(&own_work())
        .tempdir_in(folder)
        .map_err(|source| write_error(folder, source))?;

    let mut whole = Syclbin::new(State::Executable);
    let mut origins = BTreeMap::new();
    let mut files: BTreeSet<PathBuf> = sources.iter().cloned().collect();
    for (index, source) in sources.iter().enumerate() {
        // A folder each: what one compile leaves is never taken for the output of another.
        let work = work.path().join(index.to_string());
        create(&work)?;
        let modules = compile_source(compiler, source, arguments, &work, &mut files)?;
        for symbol in modules.iter().flat_map(AbstractModule::kernel_names) {
            // Twice in one source is one kernel, compiled for two targets.
            if let Some(first) = origins.insert(symbol.to_owned(), index)
                && first != index
            {
                return Err(Error::Duplicate {
                    symbol: symbol.into(),
                    first: sources[first].clone(),
                    second: source.clone(),
                });
            }
        }
        whole.modules.extend(modules);
    }
    Ok((whole, files))
}

/// The modules of one source, with the declarations of their kernels, the types of their variables
/// and the structs these name.
fn compile_source(
    compiler: &Compiler,
    source: &Path,
    arguments: &[OsString],
    work: &Path,
    files: &mut BTreeSet<PathBuf>,
) -> Result<Vec<AbstractModule<'static>>> {
    let output = work.join("code.syclbin");
    let described = work.join("debug.syclbin");
    let dependencies = work.join("code.d");
    let mut flags: Vec<OsString> = vec![
        "-fsycl".into(),
        "-fsyclbin=executable".into(),
        // Drivers whose default is the old way of offloading ignore `-fsyclbin` without.
        "--offload-new-driver".into(),
        // Keeps the names of parameters.
        "-fno-discard-value-names".into(),
        "-O2".into(),
    ];
    flags.extend(arguments.iter().cloned());
    // The code that runs, and at the same time a second compile that is only read: debug
    // information turns optimization off, but it alone tells `unsigned n` from `int n`.
    let code = compiler.start(&Job {
        flags: flags.clone(),
        source,
        output: &output,
        depfile: Some(&dependencies),
    })?;
    flags.push("-g".into());
    let debug = compiler.start(&Job {
        flags,
        source,
        output: &described,
        depfile: None,
    })?;
    // Both are waited for before either error is reported: the folder they write to goes away.
    let (code, debug) = (code.finish(), debug.finish());
    let diagnostics = code?;
    debug?;

    cargo::warning(&diagnostics);
    let unusable = |problem: String| Error::Output {
        program: compiler.program().to_owned(),
        source_file: source.to_owned(),
        problem,
    };
    let bytes = std::fs::read(&output).map_err(|error| unusable(error.to_string()))?;
    let compiled = syclbin::read::parse(&bytes).map_err(|error| unusable(error.to_string()))?;
    let bytes = std::fs::read(&described).map_err(|error| unusable(error.to_string()))?;
    let debug = syclbin::read::parse(&bytes).map_err(|error| unusable(error.to_string()))?;
    let described = describe(&debug).map_err(|error| unusable(error.to_string()))?;
    // Without the list of headers, kernels would go stale in silence.
    let list = std::fs::read(&dependencies)
        .map_err(|error| unusable(format!("no list of the files it read (-MD -MF): {error}")))?;
    for path in depfile::prerequisites(&String::from_utf8_lossy(&list)) {
        if path.exists() {
            cargo::rerun_if_changed(&path);
            files.insert(path);
        }
    }
    if !has_kernel(&compiled).map_err(|error| unusable(error.to_string()))? {
        cargo::warning(&format!("{}: {NO_KERNEL}", source.display()));
    }
    Ok(compiled
        .modules
        .into_iter()
        .map(|module| {
            let mut module = module.into_owned();
            signature::record(&mut module, &described.declarations);
            signature::record_variables(&mut module, &described.variables);
            signature::record_layouts(&mut module, described.definitions.values());
            module
        })
        .collect())
}

/// The likely causes, as measured: both are silent in the compiler.
const NO_KERNEL: &str = "no kernel was found in it. A free function becomes a kernel by \
    SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>)) before it; \
    two properties in one macro, ((a, b)), are a C++ comma expression and make none: give each its own macro";

/// Whether there is a kernel in the code. The names alone do not tell: exported functions are
/// among them.
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

/// What the debug information in `file` tells of its kernels.
fn describe(file: &Syclbin<'_>) -> Result<debug_info::Described, syclbin::Error> {
    let mut found = debug_info::Described::default();
    let images = file.modules.iter().flat_map(|module| &module.images);
    for code in images.filter_map(Image::spirv) {
        let mut described = debug_info::describe(&spirv::Module::parse(code)?);
        found.declarations.append(&mut described.declarations);
        found.variables.append(&mut described.variables);
        found.definitions.append(&mut described.definitions);
    }
    Ok(found)
}

/// What the names of working folders begin with.
const WORK: &str = ".compile-";

/// The same for this process, which may run several builds at once.
fn own_work() -> String {
    format!("{WORK}{}-", std::process::id())
}

/// Removes what build scripts that were killed left behind. Cargo runs one at a time in `OUT_DIR`.
fn sweep(folder: &Path) {
    let own = own_work();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(WORK) && !name.starts_with(&own) {
            // What cannot be removed only takes room.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
