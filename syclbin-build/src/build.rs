//! [`Build`]: what to compile, and the way from sources to one file in `OUT_DIR`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use syclbin::signature::{self, debug_info, spirv};
use syclbin::{AbstractModule, Container, Image, State, Syclbin};

use crate::cargo;
use crate::compiler::{Compiler, Job};
use crate::depfile;
use crate::error::{Error, Result};
use crate::file;

/// Compiles SYCL C++ sources to one SYCLBIN file. See the [crate] for an example.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is compiled before `compile` is called"]
pub struct Build {
    sources: Vec<PathBuf>,
    arguments: Vec<OsString>,
    compiler: Option<PathBuf>,
}

impl Build {
    /// Nothing yet: add a source, then [`compile`](Self::compile).
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source; the path is relative to the folder of Cargo.toml.
    pub fn source(mut self, path: impl AsRef<Path>) -> Self {
        self.sources.push(path.as_ref().to_owned());
        self
    }

    /// Adds a folder to the search path for headers (`-I`).
    pub fn include(self, folder: impl AsRef<Path>) -> Self {
        let mut flag = OsString::from("-I");
        flag.push(folder.as_ref());
        self.flag(flag)
    }

    /// Defines a macro (`-D`): `define("N", "4")`, or `define("FAST", None)` without a value.
    pub fn define<'v>(self, name: &str, value: impl Into<Option<&'v str>>) -> Self {
        self.flag(match value.into() {
            Some(value) => format!("-D{name}={value}"),
            None => format!("-D{name}"),
        })
    }

    /// Adds an argument of the compiler, such as `-std=c++20`. The default is `-O2`.
    pub fn flag(mut self, flag: impl Into<OsString>) -> Self {
        self.arguments.push(flag.into());
        self
    }

    /// Compiles with this program and no other, whatever the environment says: a DPC++ `clang++` or
    /// `icpx` that has `-fsyclbin`, by its path or its name on `PATH`.
    pub fn compiler(mut self, program: impl AsRef<Path>) -> Self {
        self.compiler = Some(program.as_ref().to_owned());
        self
    }

    /// Compiles to `OUT_DIR/syclbin/NAME.syclbin`, for `include_syclbin! { mod kernels = "NAME"; }`,
    /// and tells Cargo which files and variables that depends on. The compiler's warnings become
    /// warnings of Cargo.
    ///
    /// Ends the build script when something goes wrong: clang's errors are shown as clang wrote
    /// them, then one line that says what to do.
    pub fn compile(self, name: &str) {
        if let Err(error) = self.try_compile(name) {
            let mut stderr = std::io::stderr().lock();
            if let Error::Compile { diagnostics, .. } | Error::Crash { diagnostics, .. } = &error {
                let _ = writeln!(stderr, "{}", diagnostics.trim_end());
            }
            let _ = writeln!(stderr, "error: {error}");
            drop(stderr);
            std::process::exit(1);
        }
    }

    /// Does what [`compile`](Self::compile) does, and returns the path of the file.
    ///
    /// # Errors
    ///
    /// See [`Error`]. Nothing half-written is left: an older file of that name stays as it was.
    pub fn try_compile(self, name: &str) -> Result<PathBuf> {
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(valid) {
            return Err(Error::Name(name.into()));
        }
        if self.sources.is_empty() {
            return Err(Error::NoSource);
        }
        for path in &self.sources {
            // Named even when it is missing, so that the script runs again once it is there.
            cargo::rerun_if_changed(path);
            readable(path).map_err(|source| Error::Source {
                path: path.clone(),
                source,
            })?;
        }
        let folder = PathBuf::from(cargo::env("OUT_DIR").ok_or(Error::NoOutDir)?).join("syclbin");
        create(&folder)?;
        let compiler = Compiler::find(self.compiler.as_deref(), &folder)?;
        for part in compiler.parts() {
            cargo::rerun_if_changed(part);
        }
        sweep(&folder);
        let work = tempfile::Builder::new()
            .prefix(&own_work())
            .tempdir_in(&folder)
            .map_err(|source| write_error(&folder, source))?;

        let mut whole = Syclbin::new(State::Executable);
        let mut origins = BTreeMap::new();
        for (index, source) in self.sources.iter().enumerate() {
            // A folder each: what one compile leaves is never taken for the output of another.
            let work = work.path().join(index.to_string());
            create(&work)?;
            let modules = self.compile_source(&compiler, source, &work)?;
            for symbol in modules.iter().flat_map(AbstractModule::kernel_names) {
                // Twice in one source is one kernel, compiled for two targets.
                if let Some(first) = origins.insert(symbol.to_owned(), index)
                    && first != index
                {
                    return Err(Error::Duplicate {
                        symbol: symbol.into(),
                        first: self.sources[first].clone(),
                        second: source.clone(),
                    });
                }
            }
            whole.modules.extend(modules);
        }
        let path = folder.join(format!("{name}.syclbin"));
        let bytes = syclbin::write::to_vec(&whole, Container::default())?;
        file::replace(&path, &bytes).map_err(|source| write_error(&path, source))?;
        Ok(path)
    }

    /// The modules of one source, with the declarations of their kernels, the types of their variables
    /// and the structs these name.
    fn compile_source(
        &self,
        compiler: &Compiler,
        source: &Path,
        work: &Path,
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
        flags.extend(self.arguments.iter().cloned());
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
        let list = std::fs::read(&dependencies).map_err(|error| {
            unusable(format!("no list of the files it read (-MD -MF): {error}"))
        })?;
        for path in depfile::prerequisites(&String::from_utf8_lossy(&list)) {
            if path.exists() {
                cargo::rerun_if_changed(&path);
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

/// A folder can be opened too, but not compiled.
fn readable(path: &Path) -> std::io::Result<()> {
    match std::fs::File::open(path)?.metadata()?.is_dir() {
        true => Err(std::io::ErrorKind::IsADirectory.into()),
        false => Ok(()),
    }
}

fn write_error(path: &Path, source: std::io::Error) -> Error {
    Error::Write {
        path: path.to_owned(),
        source,
    }
}

fn create(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|source| write_error(folder, source))
}
