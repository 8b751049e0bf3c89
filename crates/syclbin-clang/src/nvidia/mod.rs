// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles a source to PTX for NVIDIA GPUs, in a separate process from the SPIR-V compile.
//!
//! This module and [`crate::library::device_library`] contain all workarounds that the compiler library needs for PTX,
//! each with its reason.

pub(crate) mod gpu;
mod merge;

use std::collections::BTreeSet;
use std::path::PathBuf;

use syclbin::{AbstractModule, Image, ImageKind, IrType, Syclbin};
use syclbin_toolchain::{CUDA_MATHEMATICS, Component, INSTALL_COMMAND};

use crate::command_line::targets::{NVIDIA, NvidiaCode};
use crate::library::{self, device_library};
use crate::{Failure, Result, own};
use gpu::NvidiaGpu;
use syclbin_tools::__private::{link, spelled};

pub(crate) use merge::merge;

/// The option that makes a process of this program compile to PTX.
pub(crate) const OPTION: &str = "--compile-ptx=";

/// Clang's option that names a CUDA installation.
const CUDA: &str = "--cuda-path=";

/// A GPU that every part of the library supports: see [`Ptx::arguments`].
const HARMLESS_CPU: &str = "sm_60";

/// The GPU that a process compiles PTX for, and the active workarounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ptx {
    pub(crate) gpu: NvidiaGpu,
    /// Whether this program provides the device library to the compiler library. Tests turn this off to detect when a
    /// newer compiler library no longer needs it.
    serves: bool,
    /// Whether the actual GPU is hidden from clang. Tests turn this off for the same reason.
    hides: bool,
}

impl Ptx {
    pub(crate) fn new(gpu: NvidiaGpu) -> Self {
        Self {
            gpu,
            serves: true,
            hides: true,
        }
    }

    /// Parses the value of [`OPTION`]: a GPU and the disabled workarounds, such as `sm_80,unserved,unhidden`.
    pub(crate) fn parse(value: &str) -> Result<Self> {
        let mut words = value.split(',');
        let Some(gpu) = words.next().and_then(NvidiaGpu::named) else {
            return own(format!("{OPTION}{value}: expected a GPU, such as sm_80"));
        };
        let mut ptx = Self::new(gpu);
        for word in words {
            match word {
                "unserved" => ptx.serves = false,
                "unhidden" => ptx.hides = false,
                _ => return own(format!("{OPTION}{value}: unknown '{word}'")),
            }
        }
        Ok(ptx)
    }

    /// Returns the option that requests this compile.
    pub(crate) fn option(self) -> String {
        format!("{OPTION}{}", self.gpu.name())
    }

    /// Returns the arguments for clang that precede the user's arguments.
    ///
    /// For sm_70 and later, clang lists struct parameters in the module's metadata. The backend of the same library
    /// cannot read this list and crashes, so clang is told to compile for an older GPU. The list is the only difference
    /// in the code. The macro of the actual GPU (`__SYCL_CUDA_ARCH__`) and its built-in functions are restored, and the
    /// backend is told the actual GPU separately.
    fn arguments(self) -> Vec<String> {
        if !self.hides {
            return Vec::new();
        }
        let mut arguments = Vec::new();
        for (name, value) in [
            ("-target-cpu", HARMLESS_CPU),
            ("-target-feature", &self.gpu.function_feature()),
            ("-target-feature", &self.gpu.ptx_feature()),
        ] {
            arguments.extend(["-Xclang", name, "-Xclang", value].map(str::to_owned));
        }
        let name = "__SYCL_CUDA_ARCH__";
        arguments.push(format!("-U{name}"));
        arguments.push(format!("-D{name}={}", self.gpu.macro_value()));
        arguments
    }

    /// Prepares this process for one compile, and returns all arguments for clang.
    pub(crate) fn prepare(self, clang: Vec<String>) -> Result<Vec<String>> {
        let mut arguments = self.arguments();
        if named_cuda(&clang).is_none() {
            arguments.push(format!("{CUDA}{}", installed()?.display()));
        }
        if self.serves {
            device_library::serve()?;
        }
        arguments.extend(clang);
        Ok(arguments)
    }
}

/// Returns the CUDA installation that clang's arguments name.
fn named_cuda(clang: &[String]) -> Option<&str> {
    let mut named = clang.iter().filter_map(|option| option.strip_prefix(CUDA));
    named.next_back()
}

/// Returns the directory of the installed component `nvidia`, which is laid out like a CUDA installation.
fn installed() -> Result<PathBuf> {
    let found = library::installed(Component::Nvidia);
    found.map(|installed| installed.folder).ok_or_else(|| {
        Failure::Own(format!(
            "target {NVIDIA}: component nvidia, which contains NVIDIA's math library (libdevice) and assembler \
             (ptxas), is not installed; run `{INSTALL_COMMAND} --component nvidia`"
        ))
    })
}

/// Checks in advance that clang can find NVIDIA's math library.
pub(crate) fn check(clang: &[String]) -> Result<()> {
    if named_cuda(clang).is_some() {
        return Ok(()); // clang reports a wrong path itself
    }
    let folder = installed()?;
    if folder.join(CUDA_MATHEMATICS).is_file() {
        return Ok(());
    }
    own(format!(
        "target {NVIDIA}: {} does not contain {CUDA_MATHEMATICS}; run `{INSTALL_COMMAND} --component nvidia --force`",
        folder.display()
    ))
}

/// Returns the path of the assembler, in the named CUDA installation or else in the installed component.
pub(crate) fn assembler(clang: &[String]) -> Result<PathBuf> {
    let folder = match named_cuda(clang) {
        Some(folder) => PathBuf::from(folder),
        None => installed()?,
    };
    let program = folder.join(Component::Nvidia.entry());
    if program.is_file() {
        return Ok(program);
    }
    own(format!(
        "target {NVIDIA}: cannot find the assembler '{}', which compiles for the specified GPUs; run \
         `{INSTALL_COMMAND} --component nvidia` and remove any --cuda-path, or specify no GPU to get only PTX",
        program.display()
    ))
}

/// If some modules contain SPIR-V, stores the PTX in all other modules as native code. Otherwise, the reference runtime
/// would reject the whole file, because it treats the first IR image of each module as SPIR-V. `syclbin-rt` detects the
/// actual format.
pub(crate) fn store_ptx_as_native(file: &mut Syclbin<'static>) {
    let is_spirv =
        |image: &Image<'_>| matches!(image.kind(), ImageKind::Ir { ty, .. } if ty == IrType::SpirV);
    let has_spirv = |module: &AbstractModule<'_>| module.images.iter().any(is_spirv);
    if file.modules.iter().any(has_spirv) {
        let others = file.modules.iter_mut().filter(|module| !has_spirv(module));
        let images = others.flat_map(|module| &mut module.images);
        images.for_each(link::store_ptx_as_native);
    }
}

/// Returns warnings about kernels that have no code for NVIDIA GPUs. This happens for inputs other than sources,
/// because only sources are compiled to PTX.
pub(crate) fn without_ptx(file: &Syclbin<'_>, code: &NvidiaCode) -> Vec<String> {
    let is_for_nvidia = |image: &Image<'_>| match image.kind() {
        ImageKind::Ir { ty, .. } => ty == IrType::Ptx,
        ImageKind::Native { target, .. } => target == NVIDIA,
    };
    let has_code = |module: &&AbstractModule<'_>| module.images.iter().any(is_for_nvidia);
    let with = file.modules.iter().filter(has_code);
    let with: BTreeSet<&str> = with.flat_map(AbstractModule::kernel_names).collect();
    let without = file.kernel_names().filter(|kernel| !with.contains(kernel));
    let without: BTreeSet<String> = without.map(spelled).collect();
    if without.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "no NVIDIA GPU code was generated for {}, because an input contains no PTX; compile that input for \
         {NVIDIA} or nvidia_gpu_{} as well",
        Vec::from_iter(without).join(", "),
        code.ptx.name()
    )]
}

/// Removes the backend's notes about each function, and its warnings about undefined functions. Drivers define some of
/// the undefined functions. This program reports the others itself, with their C++ names.
pub(crate) fn without_notes(log: &str) -> String {
    let is_note = |line: &&str| {
        let line = line.trim_end();
        line.starts_with("NOTE:") && line.ends_with(" instructions in function")
            || line.starts_with("warning: Undefined function ")
                && line.ends_with("This may result in runtime errors.")
    };
    let lines = log.split_inclusive('\n').filter(|line| !is_note(line));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_settings_are_passed_between_processes() {
        let ptx = Ptx::new(NvidiaGpu::named("sm_90").unwrap());
        let value = ptx.option();
        assert_eq!(Ptx::parse(value.strip_prefix(OPTION).unwrap()), Ok(ptx));
        let bare = Ptx::parse("sm_90,unserved,unhidden").unwrap();
        assert!(!bare.serves && !bare.hides && bare.arguments().is_empty());
        assert!(Ptx::parse("sm_90,x").is_err() && Ptx::parse("").is_err());
    }

    #[test]
    fn clang_gets_old_gpu_with_true_features() {
        let ptx = Ptx::new(NvidiaGpu::named("sm_90").unwrap());
        let arguments = ptx.arguments().join(" ");
        assert_eq!(
            arguments,
            "-Xclang -target-cpu -Xclang sm_60 -Xclang -target-feature -Xclang +sm_90 -Xclang \
             -target-feature -Xclang +ptx78 -U__SYCL_CUDA_ARCH__ -D__SYCL_CUDA_ARCH__=900"
        );
    }

    #[test]
    fn only_backend_notes_are_removed_from_log() {
        let log = "NOTE:<unknown>:0:0: 29 instructions in function\nNOTE:a b.cpp:1:0: 8 instructions in \
                   function\nwarning: Undefined function vprintf found in k.cpp. This may result in runtime \
                   errors.\nk.cpp:1:1: warning: x\n";
        assert_eq!(without_notes(log), "k.cpp:1:1: warning: x\n");
        for other in ["\nNOTE: other\n", "warning: Undefined function f\n"] {
            assert_eq!(without_notes(other), other);
        }
    }

    #[test]
    fn last_cuda_path_must_have_an_assembler() {
        let clang = ["--cuda-path=/a", "-O2", "--cuda-path=/b"].map(str::to_owned);
        assert_eq!(named_cuda(&clang), Some("/b"));
        assert_eq!(check(&clang), Ok(()));
        let Err(Failure::Own(text)) = assembler(&clang) else {
            panic!("a missing assembler was found");
        };
        assert!(
            text.contains("'/b/bin/ptxas'") && text.contains("--component nvidia"),
            "{text}"
        );
    }
}
