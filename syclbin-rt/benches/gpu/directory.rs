// SPDX-License-Identifier: MIT OR Apache-2.0
//! The directory of compiled kernels, which is prepared on any machine and needs no compiler where it is
//! used.
//!
//! | file | content |
//! |---|---|
//! | `NAME.ptx.syclbin` | SPIR-V and PTX |
//! | `saxpy.native.syclbin` | the same as `saxpy.ptx.syclbin`, and a cubin for each GPU |
//! | `cuda/MODULE.ptx`, `cuda/MODULE.sm_NN.cubin`, `cuda/version.txt` | the baseline by `nvcc` |
//! | `clang.txt` | the version of `syclbin-clang` |
//! | `sources/` | what all of it was compiled from |

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use syclbin::{Container, ImageKind};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home, INSTALL_COMMAND};

use crate::nvcc::Nvcc;
use crate::{Result, cuda, words};

/// Names the directory. If it is unset, the benchmark compiles its kernels for the GPU that is there.
const VARIABLE: &str = "SYCLBIN_GPU_BENCH_KERNELS";

const VERSION: &str = "clang.txt";

/// Our kernels: their names and sources.
const OURS: [(&str, &str); 5] = [
    (
        "saxpy",
        include_str!("../../../examples/saxpy/kernels/saxpy.cpp"),
    ),
    (
        "matmul",
        include_str!("../../../examples/matmul/kernels/matmul.cpp"),
    ),
    (
        "nbody",
        include_str!("../../../examples/nbody/kernels/nbody.cpp"),
    ),
    (
        "histogram",
        include_str!("../../../examples/histogram/kernels/histogram.cpp"),
    ),
    ("reduction", include_str!("sources/reduction.cpp")),
];

const THEIRS: [(&str, &str); 2] = [
    ("kernels", include_str!("sources/kernels.cu")),
    ("saxpy", include_str!("sources/saxpy.cu")),
];

/// Which code a file of ours has.
#[derive(Clone, Copy)]
pub(crate) enum Code {
    /// PTX.
    Ptx,
    /// PTX and cubins.
    Native,
}

impl Code {
    fn suffix(self) -> &'static str {
        match self {
            Self::Ptx => "ptx",
            Self::Native => "native",
        }
    }
}

/// A directory that [`prepare`] has filled.
pub(crate) struct Directory {
    path: PathBuf,
    _temporary: Option<Temporary>,
}

impl Directory {
    /// The directory that the variable names, or else a temporary one for the GPU.
    pub(crate) fn find(arch: &str) -> Result<Self> {
        if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            if !path.join(VERSION).is_file() {
                return Err(format!(
                    "cannot use {VARIABLE}={}: it has no {VERSION}; run `prepare` on it",
                    path.display()
                ));
            }
            return Ok(Self {
                path,
                _temporary: None,
            });
        }
        let temporary = Temporary::new("kernels")?;
        write_sources(&temporary.0.join("sources"))?;
        compile_ours(&temporary.0, &[arch.to_owned()])?;
        Ok(Self {
            path: temporary.0.clone(),
            _temporary: Some(temporary),
        })
    }

    /// The SYCLBIN file of a kernel.
    pub(crate) fn ours(&self, name: &str, code: Code) -> PathBuf {
        self.path.join(file(name, code))
    }

    /// The baseline's modules, if they are prepared.
    pub(crate) fn cuda(&self) -> PathBuf {
        self.path.join("cuda")
    }

    /// The version of our compiler.
    pub(crate) fn compiler(&self) -> String {
        let version = std::fs::read_to_string(self.path.join(VERSION));
        version.unwrap_or_default().trim().to_owned()
    }
}

/// Compiles all kernels into `directory`: PTX for the first of `archs`, and cubins for each of them.
pub(crate) fn prepare(directory: &Path, archs: &[String]) -> Result<()> {
    let sources = directory.join("sources");
    write_sources(&sources)?;
    compile_ours(directory, archs)?;
    match Nvcc::find()? {
        Some(nvcc) => cuda::compile(&nvcc, &sources, &directory.join("cuda"), archs)?,
        None => println!("the baseline is left out: nvcc is not on the path, and NVCC is not set"),
    }
    println!("prepared {}", directory.display());
    Ok(())
}

/// Writes the sources of all kernels.
pub(crate) fn write_sources(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).map_err(|error| at(directory, &error))?;
    let ours = OURS.map(|(name, text)| (format!("{name}.cpp"), text));
    let theirs = THEIRS.map(|(name, text)| (format!("{name}.cu"), text));
    for (name, text) in ours.into_iter().chain(theirs) {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|error| at(&path, &error))?;
    }
    Ok(())
}

/// Compiles our kernels, whose sources are there.
fn compile_ours(directory: &Path, archs: &[String]) -> Result<()> {
    let home = Home::locate(std::env::var_os(HOME_VARIABLE).as_deref()).map_err(words)?;
    let compiler = home.newest(Component::Compiler);
    let compiler = compiler.ok_or_else(|| {
        format!("cannot compile kernels: no compiler is installed; run `{INSTALL_COMMAND}`")
    })?;
    let clang = compiler.entry();
    for (name, _) in OURS {
        let source = directory.join(format!("sources/{name}.cpp"));
        let output = directory.join(file(name, Code::Ptx));
        compile(&clang, &source, &output, archs)?;
        if name == "saxpy" {
            let native = directory.join(file(name, Code::Native));
            std::fs::copy(&output, &native).map_err(|error| at(&native, &error))?;
        }
        without_native(&output)?;
    }
    let output = Command::new(&clang).arg("--version").output();
    let output = output.map_err(|error| at(&clang, &error))?;
    let version = directory.join(VERSION);
    std::fs::write(&version, output.stdout).map_err(|error| at(&version, &error))
}

fn compile(clang: &Path, source: &Path, output: &Path, archs: &[String]) -> Result<()> {
    let targets = archs.iter().map(|arch| format!(",nvidia_gpu_{arch}"));
    let targets: String = targets.collect();
    let mut command = Command::new(clang);
    command
        .args(["-fsycl", "-fsyclbin=executable", "-O3"])
        .arg(format!("-fsycl-targets=spir64{targets}"))
        .args([source.as_os_str(), OsStr::new("-o"), output.as_os_str()]);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cannot compile {}: {status}", source.display())),
        Err(error) => Err(at(clang, &error)),
    }
}

/// Takes the native code out of a file, so that the driver compiles its PTX.
fn without_native(path: &Path) -> Result<()> {
    let bytes = std::fs::read(path).map_err(|error| at(path, &error))?;
    let file = syclbin::read::parse(&bytes).map_err(|error| at(path, &error))?;
    let mut file = file.into_owned();
    for module in &mut file.modules {
        let images = &mut module.images;
        images.retain(|image| matches!(image.kind(), ImageKind::Ir { .. }));
    }
    let bytes = syclbin::write::to_vec(&file, Container::default());
    let bytes = bytes.map_err(|error| at(path, &error))?;
    std::fs::write(path, bytes).map_err(|error| at(path, &error))
}

fn file(name: &str, code: Code) -> String {
    format!("{name}.{}.syclbin", code.suffix())
}

/// The sentence for a `file` that could not be read, written or started.
pub(crate) fn at(file: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", file.display())
}

/// A directory that goes with its owner.
pub(crate) struct Temporary(pub(crate) PathBuf);

impl Temporary {
    pub(crate) fn new(what: &str) -> Result<Self> {
        let name = format!("syclbin-gpu-bench-{what}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).map_err(|error| at(&path, &error))?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
