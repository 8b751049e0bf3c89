// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Build`] compiles sources to one SYCLBIN file in `OUT_DIR`. A failed build leaves the existing SYCLBIN files
//! unchanged.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use syclbin::signature::Unsupported;

use crate::compiler::default_targets::TARGETS;
use crate::error::{Error, Result};
use crate::out_dir::{Paths, abandoned, listing};
use crate::request::Request;
use crate::watch::Watch;
use crate::{action, cargo, file};

/// Compiles SYCL C++ sources to one SYCLBIN file. See the [crate] for an example.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is compiled until `compile` is called"]
pub struct Build {
    request: Request,
}

impl Build {
    /// Creates an empty build. Add a source, then call [`compile`](Self::compile).
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source file. The path is relative to the directory that contains Cargo.toml.
    pub fn source(mut self, path: impl AsRef<Path>) -> Self {
        self.request.sources.push(path.as_ref().to_owned());
        self
    }

    /// Adds all sources that match a pattern, such as `kernels/*.cpp` or `kernels/**/*.cpp`. The pattern is relative to
    /// the directory that contains Cargo.toml, and must start with a directory name. `*` and `?` match characters
    /// within a name, and `**` matches any number of directories. A matching file is skipped if
    /// another source includes it or if its name starts with a dot. The build script runs again when a file appears in
    /// the searched directories.
    ///
    /// ```no_run
    /// syclbin_build::Build::new()
    ///     .sources("kernels/*.cpp")
    ///     .compile("kernels");
    /// ```
    pub fn sources(mut self, pattern: impl Into<String>) -> Self {
        self.request.patterns.push(pattern.into());
        self
    }

    /// Adds a directory to the search path for headers (`-I`).
    pub fn include(self, folder: impl AsRef<Path>) -> Self {
        let words = [OsStr::new("-I"), folder.as_ref().as_os_str()];
        self.flag(OsString::from_iter(words))
    }

    /// Defines a macro (`-D`): `define("TILE", "4")`, or `define("FAST", None)` without a value.
    pub fn define<'v>(self, name: &str, value: impl Into<Option<&'v str>>) -> Self {
        self.flag(match value.into() {
            Some(value) => format!("-D{name}={value}"),
            None => format!("-D{name}"),
        })
    }

    /// Lets the driver handle failed asserts in kernels, by defining `SYCLBIN_NATIVE_ASSERT`.
    ///
    /// By default, a failed `assert` is recorded, and the kernel continues. The next `Queue::wait`, `Queue::read`,
    /// `Queue::download` or `Event::wait` in `syclbin-rt` returns `ErrorKind::Assert`, with the condition, file, line,
    /// function and work-item. This needs no support from the driver, and also works for code that calls
    /// `__assert_fail` directly. Sources without asserts compile to the same code either way. Define `NDEBUG` to remove
    /// asserts.
    ///
    /// With `native_assert(true)`, **a failed assert aborts the process** before the kernel does anything else. The
    /// driver prints the condition, the file, the line and the work-item's ids to standard error, and aborts the
    /// program that launched the kernel. Such kernels need the extension `cl_intel_devicelib_assert`, which Intel's CPU
    /// device supports. On a device without this extension, loading fails with an error that names it. On CUDA, the
    /// driver prints the condition, and every later call on the device fails.
    pub fn native_assert(self, yes: bool) -> Self {
        if yes {
            self.define("SYCLBIN_NATIVE_ASSERT", None)
        } else {
            self
        }
    }

    /// Silences compiler warnings (`-Wno-everything`) if `yes` is `false`, for example for third-party sources. By
    /// default, each compiler warning becomes a Cargo warning. Headers in a directory added with
    /// `.flag("-isystem").flag("include")` never cause warnings.
    ///
    /// Unlike [`warnings`](https://docs.rs/cc/latest/cc/struct.Build.html#method.warnings) in the crate `cc`, this
    /// method never adds `-Wall` or `-Wextra`.
    pub fn warnings(mut self, yes: bool) -> Self {
        const NONE: &str = "-Wno-everything";
        self.request.arguments.retain(|argument| argument != NONE);
        if yes { self } else { self.flag(NONE) }
    }

    /// Adds a compiler argument, such as `-std=c++20`. The default optimization level is `-O2`.
    pub fn flag(mut self, flag: impl Into<OsString>) -> Self {
        self.request.arguments.push(flag.into());
        self
    }

    /// Compiles only for these targets (`-fsycl-targets`). One file contains the code for all of them.
    ///
    /// By default, a build compiles for the targets that are not specific to a device model: SPIR-V, which runs on
    /// OpenCL devices, and PTX, which runs on NVIDIA GPUs of architecture sm_75 or newer. Builds include PTX if the
    /// component `nvidia` is installed for `syclbin-clang`. `cargo syclbin toolchain install` installs this component
    /// if the machine has an NVIDIA GPU. A separate process compiles the PTX in parallel with the SPIR-V; the [crate]
    /// documentation states the cost. If a source cannot be compiled to PTX, the build emits a warning and omits PTX
    /// for that source. `SYCLBIN_TARGETS` changes the default for all builds, as in `SYCLBIN_TARGETS=spir64`.
    ///
    /// `syclbin-clang` supports these targets:
    ///
    /// - `spir64`: SPIR-V,
    /// - `nvptx64-nvidia-cuda`: PTX,
    /// - `nvidia_gpu_sm_80` and similar names: PTX for the oldest of the named GPUs, and native code for each,
    /// - `spir64_x86_64`: native code for x86-64 processors, compiled by Intel's CPU device, which must be installed,
    /// - Intel GPUs such as `intel_gpu_pvc`, which need `ocloc`.
    ///
    /// The following build produces a file that runs on Intel GPUs, CPUs and NVIDIA GPUs, with native code for two
    /// NVIDIA architectures:
    ///
    /// ```no_run
    /// syclbin_build::Build::new()
    ///     .source("kernels/saxpy.cpp")
    ///     .targets(["spir64", "nvidia_gpu_sm_80", "nvidia_gpu_sm_90"])
    ///     .compile("saxpy");
    /// ```
    ///
    /// A program uses native code if it matches the device, and otherwise SPIR-V or PTX. So keep `spir64` among the
    /// targets.
    pub fn targets<T: AsRef<str>>(self, targets: impl IntoIterator<Item = T>) -> Self {
        let targets = targets.into_iter();
        let targets: Vec<_> = targets.map(|target| target.as_ref().to_owned()).collect();
        self.flag(format!("{TARGETS}{}", targets.join(",")))
    }

    /// Builds a file that a program links with other files at load time. The other files must define the functions and
    /// variables that this build's sources use but do not define. The file keeps all its `SYCL_EXTERNAL` definitions,
    /// so that the other files can use them. Set this for all files that a program links together, as in
    /// `drawing::Module::builder(&queue).link(shapes::Module::FILE).load()`. By default, an undefined function or
    /// variable is an error.
    pub fn link_at_load(mut self, yes: bool) -> Self {
        self.request.links_at_load = yes;
        self
    }

    /// Links the sources with one another at build time, instead of when a program loads the file. Every kernel then
    /// contains its own copy of the functions that it calls in other sources. By default, a build does this only for
    /// native targets, whose code cannot be linked later.
    ///
    /// Some code is still linked at load time, with a warning: calls to other sources that contain device globals,
    /// calls to functions in other sources that read specialization constants, and virtual functions. PTX is always
    /// linked at load time, but native code for NVIDIA GPUs is linked at build time. With
    /// [`link_at_load`](Self::link_at_load), this setting has no effect.
    pub fn link(mut self, yes: bool) -> Self {
        self.request.links = yes;
        self
    }

    /// Uses only this compiler, regardless of the environment: a DPC++ `clang++` or `icpx` that supports `-fsyclbin`,
    /// given as a path or as a name on `PATH`.
    pub fn compiler(mut self, program: impl AsRef<Path>) -> Self {
        self.request.compiler = Some(program.as_ref().to_owned());
        self
    }

    /// Uses this SYCLBIN file if no compiler is found, and on docs.rs. The path is relative to the directory that
    /// contains Cargo.toml. `cargo syclbin build --commit` writes the file. The [crate] documentation explains when the
    /// file is stale.
    pub fn prebuilt(mut self, path: impl AsRef<Path>) -> Self {
        self.request.prebuilt = Some(path.as_ref().to_owned());
        self
    }

    /// Compiles to `OUT_DIR/syclbin/NAME.syclbin`, for `include_syclbin! { mod kernels = "NAME"; }`. Tells Cargo which
    /// files and variables the result depends on. Compiler warnings become Cargo warnings.
    ///
    /// On error, exits the build script. Cargo then shows clang's errors unchanged, followed by a message that suggests
    /// a remedy.
    pub fn compile(self, name: &str) {
        if let Err(error) = self.try_compile(name) {
            fail(&error);
        }
    }

    /// Compiles like [`compile`](Self::compile), and returns the path of the file.
    ///
    /// # Errors
    ///
    /// See [`Error`]. This function does not print the compiler's errors: [`Error::diagnostics`] returns them. On
    /// error, existing files stay unchanged, including an older file with this name. If the script continues after an
    /// error, Cargo runs it on each build until the error is gone. If no compiler was found, Cargo runs it once
    /// `cargo syclbin toolchain install` has installed one.
    pub fn try_compile(self, name: &str) -> Result<PathBuf> {
        let made = self.make(name);
        if let Err(error) = &made {
            abandoned::restore_others(name);
            // Without the headers of a failed compile, Cargo cannot tell when to run the script again. A missing file
            // makes it run on each build. Without a compiler, no header was read.
            if !matches!(error, Error::NoCompiler { .. }) {
                cargo::rerun_if_changed(Path::new("syclbin-build-failed"));
            }
        }
        made
    }

    /// Returns a [`Watch`], which recompiles to `file` whenever a source or header changes. Use it in programs, not in
    /// build scripts. Paths are relative to the program's current directory.
    pub fn watch(self, file: impl Into<PathBuf>) -> Watch {
        Watch::new(self.request, file.into())
    }

    fn make(&self, name: &str) -> Result<PathBuf> {
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(valid) {
            return Err(Error::Name(name.into()));
        }
        self.request.check()?;
        let paths = Paths::of(name)?;
        let (out_dir, directory) = (&paths.out_dir, &paths.directory);
        if !abandoned::claim(out_dir, name).map_err(Error::write(directory))? {
            return Err(Error::Twice(name.into()));
        }
        let mut request = self.request.clone();
        if !action::is_on_docs_rs() {
            request = request.with_matches()?;
            request.check_sources()?;
        }
        std::fs::create_dir_all(directory).map_err(Error::write(directory))?;
        listing::write(out_dir, name, &request).map_err(Error::write(directory))?;
        let bytes = action::contents(&request, &paths)?;
        warn_of_left_out(name, &bytes);
        file::replace(&paths.file, &bytes).map_err(Error::write(&paths.file))?;
        Ok(paths.file)
    }
}

/// Warns about kernels for which `include_syclbin!` generates no function.
fn warn_of_left_out(name: &str, bytes: &[u8]) {
    let file = syclbin::read::parse(bytes);
    // `include_syclbin!` reports unreadable files.
    let Ok(found) = file.and_then(|file| syclbin::signature::kernels(&file)) else {
        return;
    };
    let (mut all, mut left_out) = (0, 0);
    for kernel in &found.kernels {
        let reason = kernel.left_out();
        if !reason.as_ref().is_some_and(Unsupported::is_no_kernel) {
            all += 1;
            left_out += usize::from(reason.is_some() || kernel.name.is_none());
        }
    }
    if left_out > 0 {
        cargo::warning(&format!(
            "no Rust function was generated for {left_out} of {all} kernels in `{name}`; `cargo syclbin list` shows \
             which, and why"
        ));
    }
}

pub(crate) fn fail(error: &Error) -> ! {
    cargo::fail(&format!("{}\n{error}", error.diagnostics()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_can_be_enabled_again() {
        let build = Build::new().warnings(false).flag("-O3").warnings(true);
        assert_eq!(build.request.arguments, ["-O3"]);
    }
}
