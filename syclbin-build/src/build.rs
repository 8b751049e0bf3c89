//! [`Build`]: what to compile to one file in `OUT_DIR`. Either the whole file is made, or `OUT_DIR` stays as it was.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::action::{self, Action};
use crate::compiler::default_targets::TARGETS;
use crate::error::{Error, Result};
use crate::file;
use crate::out_dir::Paths;
use crate::out_dir::abandoned;
use crate::out_dir::listing;
use crate::request::Request;

/// Compiles SYCL C++ sources to one SYCLBIN file. See the [crate] for an example.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is compiled before `compile` is called"]
pub struct Build {
    request: Request,
}

impl Build {
    /// Nothing yet: add a source, then [`compile`](Self::compile).
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source; the path is relative to the folder of Cargo.toml.
    pub fn source(mut self, path: impl AsRef<Path>) -> Self {
        self.request.sources.push(path.as_ref().to_owned());
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
    /// source that has one in its device code (a DPC++ `clang++` keeps it in any case). Define `NDEBUG` to
    /// leave asserts out.
    ///
    /// **A failed assert ends the process.** The driver prints the condition, the file, the line and the
    /// ids of the work-item to standard error, and aborts: the program that launched the kernel is gone,
    /// and no `Err` is returned. OpenCL has no other way, so this is for finding mistakes, not for a
    /// release. A device without the extension `cl_intel_devicelib_assert` does not load such kernels,
    /// with an error that says so; Intel's CPU device has it.
    pub fn native_assert(self, yes: bool) -> Self {
        if yes {
            self.define("SYCLBIN_NATIVE_ASSERT", None)
        } else {
            self
        }
    }

    /// Adds an argument of the compiler, such as `-std=c++20`. The default is `-O2`.
    pub fn flag(mut self, flag: impl Into<OsString>) -> Self {
        self.request.arguments.push(flag.into());
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
    /// files want this: `drawing::Module::builder(&queue).link(shapes::Module::FILE).load()`. By default,
    /// what no source defines is an error.
    pub fn link_at_load(mut self, yes: bool) -> Self {
        self.request.links_at_load = yes;
        self
    }

    /// Compiles with this program and no other, whatever the environment says: a DPC++ `clang++` or
    /// `icpx` that has `-fsyclbin`, by its path or its name on `PATH`.
    pub fn compiler(mut self, program: impl AsRef<Path>) -> Self {
        self.request.compiler = Some(program.as_ref().to_owned());
        self
    }

    /// Takes this SYCLBIN file where no compiler is found, and on docs.rs; the path is relative to the
    /// folder of Cargo.toml. `cargo syclbin build --commit` writes it. See the [crate] for when it is
    /// stale.
    pub fn prebuilt(mut self, path: impl AsRef<Path>) -> Self {
        self.request.prebuilt = Some(path.as_ref().to_owned());
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
        if self.request.sources.is_empty() {
            return Err(Error::NoSource);
        }
        let paths = Paths::of(name)?;
        let (out_dir, directory) = (&paths.out_dir, &paths.directory);
        abandoned::claim(out_dir, name).map_err(Error::write(directory))?;
        if !action::is_on_docs_rs() {
            self.request.check_sources()?;
        }
        std::fs::create_dir_all(directory).map_err(Error::write(directory))?;
        listing::write(out_dir, name, &self.request.sources).map_err(Error::write(directory))?;
        let bytes = Action::choose(&self.request, &paths)?.run(&self.request, &paths)?;
        file::replace(&paths.file, &bytes).map_err(Error::write(&paths.file))?;
        abandoned::set_aside_others(out_dir).map_err(Error::write(directory))?;
        Ok(paths.file)
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
