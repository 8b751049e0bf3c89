// SPDX-License-Identifier: MIT OR Apache-2.0
//! The baseline: the same kernels in CUDA, compiled by `nvcc` here or beforehand.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::directory::{Directory, Temporary, at, write_sources};
use crate::nvcc::Nvcc;
use crate::theirs::{Module, Raw};

/// The modules, by their sources: all kernels, and saxpy alone for the time to a first result.
pub(crate) const MODULES: [&str; 2] = ["kernels", "saxpy"];

/// The file with the version of the compiler, in a directory of compiled modules.
const VERSION: &str = "version.txt";

/// Compiles all modules into a directory, whose `sources` are there.
pub(crate) fn compile(nvcc: &Nvcc, sources: &Path, folder: &Path, archs: &[String]) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
    nvcc.compile(sources, folder, archs)?;
    // Last, so that its presence means that all is there.
    let version = folder.join(VERSION);
    std::fs::write(&version, &nvcc.version).map_err(|error| at(&version, &error))
}

/// Compiled modules, one of them loaded.
pub(crate) struct Baseline {
    pub(crate) kernels: Module,
    /// Such as `nvcc 13.0.88 here`.
    pub(crate) made_by: String,
    folder: PathBuf,
    _here: Option<Temporary>,
}

impl Baseline {
    /// The modules that `nvcc` of this machine compiles, or else those of `directory`.
    pub(crate) fn find(directory: &Directory, raw: &Raw, arch: &str) -> Result<Self> {
        let compiled = Nvcc::find().and_then(|nvcc| match nvcc {
            Some(nvcc) => Self::here(&nvcc, raw, arch),
            None => Err("nvcc is not on the path, and NVCC is not set".to_owned()),
        });
        compiled.or_else(|reason| {
            let folder = directory.cuda();
            let version = std::fs::read_to_string(folder.join(VERSION));
            let version = version.map_err(|_| format!("{reason}; no precompiled CUDA kernels"))?;
            let made_by = format!("precompiled by nvcc {}", version.trim());
            println!("the baseline is precompiled: {reason}");
            Self::load(raw, arch, folder, made_by, None)
                .map_err(|error| format!("{reason}; precompiled CUDA kernels: {error}"))
        })
    }

    fn here(nvcc: &Nvcc, raw: &Raw, arch: &str) -> Result<Self> {
        let temporary = Temporary::new("cuda")?;
        let folder = temporary.0.clone();
        write_sources(&folder)?;
        compile(nvcc, &folder, &folder, &[arch.to_owned()])?;
        let made_by = format!("nvcc {} here", nvcc.version);
        Self::load(raw, arch, folder, made_by, Some(temporary))
    }

    /// Loads the PTX, as ours is loaded. A driver that is older than `nvcc` refuses it and takes the cubin.
    fn load(
        raw: &Raw,
        arch: &str,
        folder: PathBuf,
        mut made_by: String,
        here: Option<Temporary>,
    ) -> Result<Self> {
        let read = |path: &Path| std::fs::read(path).map_err(|error| at(path, &error));
        let ptx = read(&ptx(&folder, "kernels")).and_then(|code| raw.load(&code));
        let kernels = ptx.or_else(|refused| {
            let kernels = read(&cubin(&folder, "kernels", arch)).and_then(|code| raw.load(&code));
            made_by.push_str(", cubin");
            kernels.map_err(|error| format!("PTX: {refused}; cubin: {error}"))
        })?;
        Ok(Self {
            kernels,
            made_by,
            folder,
            _here: here,
        })
    }

    /// The file of saxpy alone.
    pub(crate) fn saxpy_ptx(&self) -> PathBuf {
        ptx(&self.folder, "saxpy")
    }

    pub(crate) fn saxpy_cubin(&self, arch: &str) -> PathBuf {
        cubin(&self.folder, "saxpy", arch)
    }
}

fn ptx(folder: &Path, module: &str) -> PathBuf {
    folder.join(format!("{module}.ptx"))
}

fn cubin(folder: &Path, module: &str, arch: &str) -> PathBuf {
    folder.join(format!("{module}.{arch}.cubin"))
}
