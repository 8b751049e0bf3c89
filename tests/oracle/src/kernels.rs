// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels that are judged, compiled from `tests/files`, and files made of them.

use std::borrow::Cow;
use std::path::Path;
use std::process::Command;

use syclbin::metadata::Sources;
use syclbin::property::set;
use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin};
use test_files::Declared;

use crate::Result;
use crate::runtime::Runtime;
use crate::wheels::at;

/// What the runtime puts in front of every name it is asked for, unless it stands there already.
const PREFIX: &str = "__sycl_kernel_";

/// The sources in `tests/files`, without extension.
pub(crate) const SOURCES: [&str; 5] = [
    "vector_ops",
    "work_group",
    "structs",
    "globals",
    "constants",
];

/// A kernel that `judge.cpp` knows how to run.
pub(crate) struct Kernel {
    /// What the judge calls it.
    pub(crate) name: &'static str,
    /// The source it is in.
    pub(crate) source: &'static str,
    /// What the compiler calls it.
    symbol: &'static str,
    /// What `syclbin-build` would record of it.
    declaration: &'static str,
}

pub(crate) const KERNELS: [Kernel; 11] = [
    Kernel {
        name: "saxpy",
        source: "vector_ops",
        symbol: "__sycl_kernel_saxpy",
        declaration: "void saxpy(float a, const float *x, float *y, unsigned int n)",
    },
    Kernel {
        name: "iota",
        source: "vector_ops",
        symbol: "_ZN18__sycl_kernel_fill4iotaEfPfi",
        declaration: "void fill::iota(float start, float *out, int count)",
    },
    Kernel {
        name: "scale_int",
        source: "vector_ops",
        symbol: "_Z19__sycl_kernel_scaleIiEvPT_S0_",
        declaration: "void scale<int>(int *data, int factor)",
    },
    Kernel {
        name: "scale_double",
        source: "vector_ops",
        symbol: "_Z19__sycl_kernel_scaleIdEvPT_S0_",
        declaration: "void scale<double>(double *data, double factor)",
    },
    Kernel {
        name: "block_sum",
        source: "work_group",
        symbol: "__sycl_kernel_block_sum",
        declaration: "void block_sum(const int *in, int *out, work_group_memory<int[64]> scratch)",
    },
    Kernel {
        name: "coords",
        source: "work_group",
        symbol: "__sycl_kernel_coords",
        declaration: "void coords(int *out)",
    },
    Kernel {
        name: "histogram",
        source: "work_group",
        symbol: "__sycl_kernel_histogram",
        declaration: "void histogram(const unsigned char *bytes, unsigned int *bins)",
    },
    Kernel {
        name: "kinetic",
        source: "structs",
        symbol: "__sycl_kernel_kinetic",
        declaration: "void kinetic(Particle proto, const Particle *in, float *out, unsigned long count)",
    },
    Kernel {
        name: "widen",
        source: "structs",
        symbol: "__sycl_kernel_widen",
        declaration: "void widen(Span out, const half *in, int unused)",
    },
    Kernel {
        name: "lookup",
        source: "globals",
        symbol: "__sycl_kernel_lookup",
        declaration: "void lookup(const int *index, float *out)",
    },
    Kernel {
        name: "blur",
        source: "constants",
        symbol: "__sycl_kernel_blur",
        declaration: "void blur(const float *in, float *out, int n, sycl::kernel_handler h)",
    },
];

impl Kernel {
    /// Whether the runtime finds the kernel by the name the compiler gave it.
    ///
    /// It finds none whose symbol begins otherwise, so a kernel in a namespace or of a template is
    /// looked up under another name: see [`with_aliases`].
    pub(crate) fn is_found(&self) -> bool {
        self.symbol.starts_with(PREFIX)
    }

    /// A name of the same length that the runtime finds.
    fn alias(&self) -> String {
        let width = self.symbol.len();
        if self.is_found() {
            self.symbol.to_owned()
        } else {
            format!("{:_<width$}", format!("{PREFIX}{}", self.name))
        }
    }

    /// What the judge is asked for in a file with aliases.
    pub(crate) fn request(&self) -> String {
        format!("{}={}", self.name, self.alias())
    }
}

/// A source, compiled.
pub(crate) struct Compiled {
    pub(crate) source: &'static str,
    /// As the compiler wrote it.
    pub(crate) bytes: Vec<u8>,
    /// With names that the runtime finds.
    pub(crate) aliased: Vec<u8>,
}

/// Compiles all sources, to executables and to objects.
pub(crate) fn compile(runtime: &Runtime, folder: &Path) -> Result<[Vec<Compiled>; 2]> {
    let mut all = [Vec::new(), Vec::new()];
    for source in SOURCES {
        let path = test_files::path(&format!("{source}.cpp"));
        let mut started = Vec::new();
        for state in ["executable", "object"] {
            let output = folder.join(format!("{source}.{state}.compiled"));
            let child = Command::new(&runtime.clang)
                .args(["-fsycl", "-O2", "-fno-discard-value-names"])
                .arg(format!("-fsyclbin={state}"))
                .arg("-o")
                .args([&output, &path])
                .spawn()
                .map_err(|error| at(&runtime.clang, &error))?;
            started.push((child, output));
        }
        for ((mut child, output), files) in started.into_iter().zip(&mut all) {
            let status = child.wait().map_err(|error| at(&path, &error))?;
            if !status.success() {
                return Err(at(&path, &format!("the compiler ended with {status}")));
            }
            let bytes = std::fs::read(&output).map_err(|error| at(&output, &error))?;
            files.push(Compiled {
                source,
                aliased: with_aliases(&bytes),
                bytes,
            });
        }
    }
    Ok(all)
}

/// The sources that are compiled to native code. Device globals of native code are left out, and native
/// code has no specialization constants.
const NATIVE_SOURCES: [&str; 3] = ["vector_ops", "work_group", "structs"];

/// Compiles sources to executables with native code for x86-64: alone, and beside SPIR-V.
pub(crate) fn compile_native(
    runtime: &Runtime,
    folder: &Path,
) -> Result<Vec<(&'static str, bool, Vec<u8>)>> {
    let mut files = Vec::new();
    for source in NATIVE_SOURCES {
        let path = test_files::path(&format!("{source}.cpp"));
        for (targets, beside) in [("spir64_x86_64", false), ("spir64,spir64_x86_64", true)] {
            let output = folder.join(format!("{source}.{targets}.compiled"));
            let status = Command::new(&runtime.clang)
                .args(["-fsyclbin", "-O2"])
                .arg(format!("-fsycl-targets={targets}"))
                .arg("-o")
                .args([&output, &path])
                .status()
                .map_err(|error| at(&runtime.clang, &error))?;
            if !status.success() {
                return Err(at(&path, &format!("the compiler ended with {status}")));
            }
            let bytes = std::fs::read(&output).map_err(|error| at(&output, &error))?;
            files.push((source, beside, bytes));
        }
    }
    Ok(files)
}

/// Gives kernels that the runtime could not look up a name under which it does.
///
/// Names stand as they are in the text of property sets and, padded, in the words of SPIR-V. So a
/// name of the same length can replace them throughout the file: nothing else moves.
fn with_aliases(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for kernel in KERNELS.iter().filter(|kernel| !kernel.is_found()) {
        let (symbol, alias) = (kernel.symbol.as_bytes(), kernel.alias());
        let mut start = 0;
        while let Some(found) = bytes[start..]
            .windows(symbol.len())
            .position(|window| window == symbol)
        {
            let place = start + found;
            start = place + symbol.len();
            bytes[place..start].copy_from_slice(alias.as_bytes());
        }
    }
    bytes
}

/// All modules of `files`, in one file of this state.
pub(crate) fn merged(state: State, files: &[Compiled]) -> Result<Syclbin<'_>> {
    let mut whole = Syclbin::new(state);
    for file in files {
        let file = parse(&file.aliased).map_err(|error| format!("{}: {error}", file.source))?;
        whole.modules.extend(file.modules);
    }
    Ok(whole)
}

/// `file` without the modules that have a kernel for which `unwanted` holds.
pub(crate) fn without<'a>(mut file: Syclbin<'a>, unwanted: &[&str]) -> Syclbin<'a> {
    file.modules.retain(|module| {
        let is_unwanted = |name: &str| unwanted.iter().any(|kernel| is_kernel(name, kernel));
        !module.kernel_names().any(is_unwanted)
    });
    file
}

fn is_kernel(symbol: &str, name: &str) -> bool {
    symbol.strip_prefix(PREFIX) == Some(name)
}

/// The structs that the kernels take.
const STRUCTS: [&str; 2] = [
    "struct Particle { float mass; /* 0 */ int id; /* 4 */ double position[3]; /* 8 */ \
     sycl::vec<float, 4> velocity; /* 32 */ } /* size 48, align 16 */",
    "struct Span { float *data; /* 0 */ int count; /* 8 */ } /* size 16, align 8 */",
];

/// The device globals, by their identifiers.
const VARIABLES: [(&str, &str); 2] = [("_Z5table", "int[4]"), ("_Z4bias", "float")];

/// `file` with the property sets of this project, as `syclbin-build` writes them.
pub(crate) fn declared(mut file: Syclbin<'_>) -> Result<Syclbin<'_>> {
    let mut declared = Declared::default().types(&STRUCTS);
    for (name, ty) in VARIABLES {
        declared = declared.variable(name, ty);
    }
    for kernel in &KERNELS {
        declared = declared.kernel(&kernel.alias(), kernel.declaration);
    }
    for module in &mut file.modules {
        declared.record(module);
    }
    let holds = |set: &str| file.modules.iter().any(|m| m.metadata.set(set).is_some());
    let variables = holds(set::DEVICE_GLOBALS) || holds(set::SPECIALIZATION_CONSTANTS);
    if !holds(set::KERNELS) || variables != holds(set::VARIABLES) {
        return Err("not all that is to be recorded was".into());
    }
    let mut sources = Sources::default();
    sources.files.insert("kernels.cpp".to_owned(), [0; 32]);
    sources.write(&mut file.global);
    Ok(file)
}

/// `file` in another state.
pub(crate) fn restated(mut file: Syclbin<'_>, state: State) -> Syclbin<'_> {
    file.global = Syclbin::new(state).global;
    file
}

/// `file` with each IR image made unusable: its first word is not SPIR-V's any more.
pub(crate) fn damaged(mut file: Syclbin<'_>) -> Syclbin<'_> {
    let images = file
        .modules
        .iter_mut()
        .flat_map(|module| &mut module.images);
    for image in images.filter(|image| !image.native) {
        let mut bytes = image.bytes.to_vec();
        bytes.iter_mut().take(4).for_each(|byte| *byte = 0);
        image.bytes = Cow::Owned(bytes);
    }
    file
}

/// Code for NVIDIA GPUs, and how it is filed.
#[derive(Clone, Copy)]
pub(crate) enum Code {
    Ptx,
    /// PTX as if it were native code.
    NativePtx,
    Cubin,
}

/// Where such an image is put.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// Before the images of each module.
    First(Code),
    /// After them.
    Last(Code),
    /// In a copy of each module, at the end of the file.
    Apart(Code),
}

impl Code {
    /// An image. What it holds is of no matter: the runtime has no device for it.
    fn image(self) -> Image<'static> {
        const TARGET: &str = "nvptx64-nvidia-cuda";
        let text = test_files::bytes("made/entries.ptx");
        let cubin = test_files::bytes("nvidia/export_side.sm_80.cubin");
        match self {
            Self::Ptx => Image::ir(IrType::Ptx, TARGET, text),
            Self::NativePtx => Image::native("sm_75", TARGET, text),
            Self::Cubin => Image::native("sm_80", TARGET, cubin),
        }
    }
}

/// `file` with more images.
pub(crate) fn with<'a>(mut file: Syclbin<'a>, places: &[Place]) -> Syclbin<'a> {
    let modules = file.modules.clone();
    for place in places {
        match *place {
            Place::First(code) => {
                let images = file.modules.iter_mut().map(|module| &mut module.images);
                images.for_each(|images| images.insert(0, code.image()));
            }
            Place::Last(code) => {
                let images = file.modules.iter_mut().map(|module| &mut module.images);
                images.for_each(|images| images.push(code.image()));
            }
            Place::Apart(code) => file.modules.extend(modules.iter().map(|module| {
                let images = vec![code.image()];
                AbstractModule {
                    images,
                    ..module.clone()
                }
            })),
        }
    }
    file
}

/// Reads a file.
pub(crate) fn parse(bytes: &[u8]) -> Result<Syclbin<'_>> {
    syclbin::read::parse(bytes).map_err(|error| error.to_string())
}

/// The bytes of `file`.
pub(crate) fn write(file: &Syclbin<'_>, container: Container) -> Result<Vec<u8>> {
    syclbin::write::to_vec(file, container).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alias_has_prefix_and_length_of_symbol() {
        for kernel in &KERNELS {
            let alias = kernel.alias();
            assert!(alias.starts_with(PREFIX), "{alias}");
            assert_eq!(alias.len(), kernel.symbol.len(), "{alias}");
        }
    }

    #[test]
    fn an_alias_replaces_every_symbol_and_nothing_else() {
        let [_, iota, scale, ..] = &KERNELS;
        let file = format!("a\0{}\0{}b{}", iota.symbol, scale.symbol, iota.symbol);
        let (alias, other) = (iota.alias(), scale.alias());
        let expected = format!("a\0{alias}\0{other}b{alias}");
        assert_eq!(with_aliases(file.as_bytes()), expected.as_bytes());
    }
}
