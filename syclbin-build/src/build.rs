//! [`Build`]: what to compile, and the way from sources to one file in `OUT_DIR`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use syclbin::metadata::Sources;
use syclbin::{Container, Syclbin};
use syclbin_toolchain::INSTALL_COMMAND;

use crate::abandoned;
use crate::cargo;
use crate::compiler::Compiler;
use crate::default_targets;
use crate::error::{Error, Result};
use crate::file;
use crate::headers;
use crate::listing;
use crate::orders::{self, Order, Orders, Outcome, Report};
use crate::prebuilt::{self, Prebuilt};
use crate::sources::{self, TARGETS, Wanted};

/// Why there are no kernels where files are only checked.
const CHECKED: &str = "`cargo syclbin build --check` compiles nothing";

/// Compiles SYCL C++ sources to one SYCLBIN file. See the [crate] for an example.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is compiled before `compile` is called"]
pub struct Build {
    sources: Vec<PathBuf>,
    arguments: Vec<OsString>,
    compiler: Option<PathBuf>,
    prebuilt: Option<PathBuf>,
    links_at_load: bool,
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

    /// Keeps `assert` in kernels: defines `SYCLBIN_NATIVE_ASSERT`, without which `syclbin-clang` refuses a
    /// source that has one in its device code (a DPC++ `clang++` keeps it in any case). If not told
    /// otherwise, define `NDEBUG` to leave asserts out.
    ///
    /// **A failed assert ends the process.** The driver prints the condition, the file, the line and the
    /// ids of the work-item to standard error, and aborts: the program that launched the kernel is gone,
    /// and no `Err` is returned. OpenCL has no other way, so this is for finding mistakes, not for a
    /// release. A device without the extension `cl_intel_devicelib_assert` does not load such kernels,
    /// with an error that says so; Intel's CPU device has it.
    pub fn native_assert(self, yes: bool) -> Self {
        match yes {
            true => self.define("SYCLBIN_NATIVE_ASSERT", None),
            false => self,
        }
    }

    /// Adds an argument of the compiler, such as `-std=c++20`. The default is `-O2`.
    pub fn flag(mut self, flag: impl Into<OsString>) -> Self {
        self.arguments.push(flag.into());
        self
    }

    /// Compiles for these targets (`-fsycl-targets`), all in one file, and for no others.
    ///
    /// By default a build compiles for all that the compiler has without a question of which device: SPIR-V,
    /// which every device of OpenCL with SPIR-V takes, and PTX, which every NVIDIA GPU from sm_75 on takes, where
    /// `syclbin-clang` has component `nvidia` (`cargo syclbin toolchain install` installs it where there is an
    /// NVIDIA GPU). PTX is made by a process of its own beside that for SPIR-V; the [crate] documentation says
    /// what it costs. A source that cannot be compiled to PTX is warned of, and has none. `SYCLBIN_TARGETS`
    /// names other defaults, for all builds: `SYCLBIN_TARGETS=spir64`.
    ///
    /// Targets of `syclbin-clang`: `spir64`; `nvptx64-nvidia-cuda`, PTX; `nvidia_gpu_sm_80` and its like, PTX for
    /// the lowest GPU that is named and native code for each; `spir64_x86_64`, native code for processors,
    /// which needs the installed CPU device; Intel GPUs such as `intel_gpu_pvc`, which need `ocloc`.
    ///
    /// One file for Intel's GPUs, for processors and for NVIDIA's GPUs, the last with native code for two:
    ///
    /// ```no_run
    /// syclbin_build::Build::new()
    ///     .source("kernels/saxpy.cpp")
    ///     .targets(["spir64", "nvidia_gpu_sm_80", "nvidia_gpu_sm_90"])
    ///     .compile("saxpy");
    /// ```
    ///
    /// A program takes native code that fits its device, and else SPIR-V or PTX: keep `spir64` among them.
    pub fn targets<T: AsRef<str>>(self, targets: impl IntoIterator<Item = T>) -> Self {
        let mut flag = String::from(TARGETS);
        for (index, target) in targets.into_iter().enumerate() {
            if index > 0 {
                flag.push(',');
            }
            flag.push_str(target.as_ref());
        }
        self.flag(flag)
    }

    /// Makes a file that a program links with others when it loads it: functions and variables that no
    /// source defines are left to those, and what is `SYCL_EXTERNAL` here is kept for them. Both
    /// files want this: `drawing::Module::builder(&queue).link(shapes::Module::FILE).load()`. If not
    /// told otherwise, what no source defines is an error.
    pub fn link_at_load(mut self, yes: bool) -> Self {
        self.links_at_load = yes;
        self
    }

    /// Compiles with this program and no other, whatever the environment says: a DPC++ `clang++` or
    /// `icpx` that has `-fsyclbin`, by its path or its name on `PATH`.
    pub fn compiler(mut self, program: impl AsRef<Path>) -> Self {
        self.compiler = Some(program.as_ref().to_owned());
        self
    }

    /// Takes this SYCLBIN file where no compiler is found, and on docs.rs; the path is relative to the
    /// folder of Cargo.toml. `cargo syclbin build --commit` writes it. See the [crate] for when it is
    /// stale.
    pub fn prebuilt(mut self, path: impl AsRef<Path>) -> Self {
        self.prebuilt = Some(path.as_ref().to_owned());
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
            fail(&error);
        }
    }

    /// Does what [`compile`](Self::compile) does, and returns the path of the file.
    ///
    /// # Errors
    ///
    /// See [`Error`]; [`Error::diagnostics`] has the errors of the compiler, which are not shown.
    /// Nothing half-written is left: an older file of that name stays as it was, and so do those of
    /// other names.
    pub fn try_compile(self, name: &str) -> Result<PathBuf> {
        let made = self.make(name);
        if made.is_err() {
            abandoned::restore_others();
        }
        made
    }

    fn make(&self, name: &str) -> Result<PathBuf> {
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(valid) {
            return Err(Error::Name(name.into()));
        }
        if self.sources.is_empty() {
            return Err(Error::NoSource);
        }
        let out_dir = PathBuf::from(cargo::env("OUT_DIR").ok_or(Error::NoOutDir)?);
        let place = Place {
            folder: listing::folder(&out_dir),
            file: listing::file(&out_dir, name),
            root: std::env::current_dir().map_err(|source| write_error(Path::new("."), source))?,
            out_dir,
        };
        let folder_error = |source| write_error(&place.folder, source);
        abandoned::claim(&place.out_dir, name).map_err(folder_error)?;
        let made = self.make_in(&place, name)?;
        abandoned::set_aside_others(&place.out_dir).map_err(folder_error)?;
        Ok(made)
    }

    /// Makes the file, in whichever way is asked for.
    fn make_in(&self, place: &Place, name: &str) -> Result<PathBuf> {
        if cargo::env("DOCS_RS").is_some() {
            return self.on_docs_rs(place, name);
        }
        for path in &self.sources {
            if path.to_string_lossy().contains(['\n', '\r']) {
                return Err(Error::LineBreak(path.clone()));
            }
            // Named even when it is missing, so that the script runs again once it is there.
            cargo::rerun_if_changed(path);
            readable(path).map_err(|source| Error::Source {
                path: path.clone(),
                source,
            })?;
        }
        create(&place.folder)?;
        self.note(place, name)?;
        let orders = cargo::env(orders::VARIABLE).map(PathBuf::from);
        let order = orders
            .as_ref()
            .and_then(|folder| Orders::read(folder, &place.root));
        let report = |outcome| match &orders {
            Some(folder) => Report {
                package: place.root.clone(),
                file: self.prebuilt.clone().unwrap_or_default(),
                outcome,
            }
            .leave(folder)
            .map_err(|source| write_error(folder, source)),
            None => Ok(()),
        };
        let Some(kept) = &self.prebuilt else {
            if order == Some(Order::Check) {
                // There is nothing to check, and perhaps nothing to compile with.
                report(Outcome::NotKept)?;
                return place.write(&prebuilt::placeholder(CHECKED)?);
            }
            let compiler = self.find_compiler(place)?;
            let (whole, _) = self.compile_sources(&compiler, place)?;
            return place.write(&to_bytes(&whole)?);
        };
        if kept.exists() {
            cargo::rerun_if_changed(kept);
        }
        match order {
            Some(Order::Check) => self.check(kept, place, report),
            Some(Order::Commit) => {
                let compiler = self.find_compiler(place)?;
                self.commit(kept, &compiler, place, report)
            }
            None => match self.find_compiler(place) {
                Ok(compiler) => {
                    let (whole, _) = self.compile_sources(&compiler, place)?;
                    place.write(&to_bytes(&whole)?)
                }
                Err(none @ Error::NoCompiler { .. }) => self.take(kept, place, none),
                // Somebody wanted that compiler.
                Err(other) => Err(other),
            },
        }
    }

    /// Leaves a note for `cargo syclbin list`.
    fn note(&self, place: &Place, name: &str) -> Result<()> {
        listing::write(&place.out_dir, name, &self.sources)
            .map_err(|source| write_error(&place.folder, source))
    }

    /// The kernels of all sources, and the files that these were read from.
    fn compile_sources(
        &self,
        compiler: &Compiler,
        place: &Place,
    ) -> Result<(Syclbin<'static>, BTreeSet<PathBuf>)> {
        let mut arguments = self.arguments.clone();
        if !default_targets::are_named(arguments.iter()) {
            arguments.extend(compiler.default_targets());
        }
        arguments.extend(headers::arguments());
        let wanted = Wanted {
            sources: &self.sources,
            arguments: &arguments,
            links_at_load: self.links_at_load,
        };
        sources::compile(compiler, &wanted, &place.folder)
    }

    fn find_compiler(&self, place: &Place) -> Result<Compiler> {
        let compiler = Compiler::find(self.compiler.as_deref(), &place.folder)?;
        for part in compiler.parts() {
            cargo::rerun_if_changed(part);
        }
        Ok(compiler)
    }

    /// The kept file, or one without kernels; nothing is looked for and nothing compiled.
    fn on_docs_rs(&self, place: &Place, name: &str) -> Result<PathBuf> {
        create(&place.folder)?;
        self.note(place, name)?;
        let kept = match &self.prebuilt {
            Some(path) => {
                cargo::rerun_if_changed(path);
                Prebuilt::read(path)?
            }
            None => None,
        };
        match kept {
            Some(kept) => place.write(&kept.bytes),
            None => place.write(&prebuilt::placeholder("DOCS_RS is set")?),
        }
    }

    /// Takes the kept file, as there is no compiler.
    fn take(&self, path: &Path, place: &Place, none: Error) -> Result<PathBuf> {
        let Some(kept) = Prebuilt::read(path)? else {
            return Err(Error::PrebuiltMissing {
                path: path.to_owned(),
                compiler: Box::new(none),
            });
        };
        for file in kept.files(&place.root) {
            cargo::rerun_if_changed(&file);
        }
        if let Some(stale) = kept.stale(&place.root, &self.recorded_arguments(place)) {
            cargo::warning(&format!(
                "the sources were not compiled, as no compiler was found, and {} is stale: {stale}; \
                 install a compiler with `{INSTALL_COMMAND}`, or run `cargo syclbin build --commit` \
                 where there is one",
                path.display()
            ));
        }
        place.write(&kept.bytes)
    }

    /// Says whether the kept file is stale, with no compiler.
    fn check(
        &self,
        path: &Path,
        place: &Place,
        report: impl Fn(Outcome) -> Result<()>,
    ) -> Result<PathBuf> {
        let kept = match Prebuilt::read(path) {
            Ok(Some(kept)) => kept,
            Ok(None) => {
                report(Outcome::Stale("it is not there".to_owned()))?;
                return place.write(&prebuilt::placeholder(CHECKED)?);
            }
            Err(Error::Prebuilt { problem, .. }) => {
                report(Outcome::Stale(format!("it {problem}")))?;
                return place.write(&prebuilt::placeholder(CHECKED)?);
            }
            Err(error) => return Err(error),
        };
        report(
            match kept.stale(&place.root, &self.recorded_arguments(place)) {
                Some(stale) => Outcome::Stale(stale.to_string()),
                None => Outcome::Fresh,
            },
        )?;
        place.write(&kept.bytes)
    }

    /// Compiles, and keeps the file with a record of its sources.
    fn commit(
        &self,
        path: &Path,
        compiler: &Compiler,
        place: &Place,
        report: impl Fn(Outcome) -> Result<()>,
    ) -> Result<PathBuf> {
        let begun = prebuilt::begin();
        let (mut whole, files) = self.compile_sources(compiler, place)?;
        let made = to_bytes(&whole)?;
        let sources = Sources {
            arguments: self.recorded_arguments(place),
            compiler: compiler.version().to_owned(),
            ..Sources::default()
        };
        let folders = (&*place.root, &*place.out_dir);
        prebuilt::record(&mut whole, begun, folders, &files, sources)?;
        let bytes = to_bytes(&whole)?;
        let made = place.write(&made)?;
        let is_new = std::fs::read(path).map_or(true, |old| old != bytes);
        file::replace(path, &bytes).map_err(|source| write_error(path, source))?;
        report(match is_new {
            true => Outcome::Written,
            false => Outcome::Fresh,
        })?;
        Ok(made)
    }

    /// What the user wants of the compiler, as it is on every machine.
    fn recorded_arguments(&self, place: &Place) -> Vec<String> {
        let sources = self.sources.iter().map(|source| source.as_os_str());
        let arguments = self.arguments.iter().map(OsString::as_os_str);
        let linking = self.links_at_load.then_some(OsStr::new("link at load"));
        arguments
            .chain(linking)
            .chain(sources)
            .map(|argument| prebuilt::argument(argument, &place.root, &place.out_dir))
            .collect()
    }
}

/// Ends the build script, and says why.
pub(crate) fn fail(error: &Error) -> ! {
    let mut stderr = std::io::stderr().lock();
    let diagnostics = error.diagnostics().trim_end();
    if !diagnostics.is_empty() {
        let _ = writeln!(stderr, "{diagnostics}");
    }
    let _ = writeln!(stderr, "error: {error}");
    drop(stderr);
    std::process::exit(1)
}

/// Where a build happens.
struct Place {
    /// The folder of Cargo.toml, in which build scripts run.
    root: PathBuf,
    out_dir: PathBuf,
    /// Where our files are.
    folder: PathBuf,
    /// The one to be made.
    file: PathBuf,
}

impl Place {
    fn write(&self, bytes: &[u8]) -> Result<PathBuf> {
        file::replace(&self.file, bytes).map_err(|source| write_error(&self.file, source))?;
        Ok(self.file.clone())
    }
}

fn to_bytes(file: &Syclbin<'_>) -> Result<Vec<u8>> {
    Ok(syclbin::write::to_vec(file, Container::default())?)
}

/// A directory can be opened too, but not compiled, and a FIFO would have the compiler wait.
fn readable(path: &Path) -> std::io::Result<()> {
    syclbin_toolchain::file::open(path).map(drop)
}

pub(crate) fn write_error(path: &Path, source: std::io::Error) -> Error {
    Error::Write {
        path: path.to_owned(),
        source,
    }
}

pub(crate) fn create(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|source| write_error(folder, source))
}
