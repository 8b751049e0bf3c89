// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code for Intel GPUs, compiled by the real ocloc. No GPU is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use syclbin::property::set;
use syclbin::{Container, ImageKind, State, Syclbin};
use syclbin_tools::native::{self, Kernel};
use syclbin_tools::verify::{Severity, verify};

use crate::common::{self, clang};

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// The GPUs that all kernels are compiled for.
const GPUS: &str = "intel_gpu_pvc,intel_gpu_bmg_g21,intel_gpu_lnl_m";
/// IGC 2.40 does not finish this kernel: it passes structs by value to a function that is not inlined.
const ENDLESS: &str = "__sycl_kernel_functions";

/// Returns a PATH with ocloc: the system's, or the one that `cargo xtask drivers` installs.
fn path() -> Option<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push(Path::new(WORKSPACE).join("target/drivers"));
    if !folders.iter().any(|folder| folder.join("ocloc").is_file()) {
        common::say_skipped("ocloc");
        return None;
    }
    Some(std::env::join_paths(folders).unwrap())
}

fn run(folder: &Path, path: &OsString, arguments: &[&str]) -> Output {
    let mut command = Command::new(clang::program());
    command.env("PATH", path).current_dir(folder);
    command.args(arguments).output().unwrap()
}

/// What one test compiled.
#[derive(Default)]
struct Tally {
    /// The number of kernels with code, by GPU.
    compiled: BTreeMap<String, usize>,
    /// Warnings about modules without code.
    left_out: BTreeSet<String>,
}

impl Tally {
    /// Links objects for the GPUs, checks the file, and counts its kernels.
    fn link(&mut self, path: &OsString, folder: &Path, objects: &[&str]) {
        let targets = format!("-fsycl-targets=spir64,{GPUS}");
        let mut arguments = vec!["-fsyclbin", "-o", "linked.syclbin", &targets];
        arguments.extend(objects);
        let output = run(folder, path, &arguments);
        let said = clang::said(&output);
        assert!(output.status.success(), "{objects:?}: {said}");
        let lines = said.lines().filter(|line| line.contains("only SPIR-V"));
        self.left_out.extend(lines.map(str::to_owned));
        let bytes = std::fs::read(folder.join("linked.syclbin")).unwrap();
        let findings = verify(&bytes);
        let mut errors = findings.iter().filter(|f| f.severity == Severity::Error);
        assert!(errors.next().is_none(), "{objects:?}: {findings:?}");
        for module in &syclbin::read::parse(&bytes).unwrap().modules {
            for image in &module.images {
                let ImageKind::Native { arch, .. } = image.kind() else {
                    continue;
                };
                // The names of entries have exported functions, too.
                let exported = module.metadata.set(set::EXPORTED_SYMBOLS);
                let is_exported = |symbol: &&str| {
                    exported.is_some_and(|set| set.iter().any(|(name, _)| name == *symbol))
                };
                let kernels = module.kernel_names().filter(|symbol| !is_exported(symbol));
                let symbols: BTreeSet<_> = kernels.map(str::to_owned).collect();
                let found = native::kernels(&image.bytes);
                assert!(
                    found.iter().all(|kernel| kernel.simd_width >= Some(8)),
                    "{found:?}"
                );
                let found: BTreeSet<_> = found.into_iter().map(|kernel| kernel.symbol).collect();
                assert_eq!(found, symbols, "{objects:?} for {arch}");
                *self.compiled.entry(arch.to_owned()).or_default() += found.len();
            }
        }
    }

    /// Prints the numbers of kernels, of which each GPU must have this many at least.
    fn finish(&self, what: &str, least: usize) {
        eprintln!("{what}: kernels compiled: {:?}", self.compiled);
        self.left_out
            .iter()
            .for_each(|line| eprintln!("{what}: {line}"));
        assert_eq!(self.compiled.len(), 3);
        assert!(
            self.compiled.values().all(|count| *count >= least),
            "{:?}",
            self.compiled
        );
    }
}

/// Writes a compiled file as an object, with its SPIR-V only.
fn write_object(folder: &Path, name: &str, compiled: &[u8]) {
    let mut file = syclbin::read::parse(compiled).unwrap();
    for module in &mut file.modules {
        module.images.retain(|image| image.spirv().is_some());
    }
    let is_compiled = |module: &syclbin::AbstractModule<'_>| {
        !module.images.is_empty() && module.kernel_names().all(|symbol| symbol != ENDLESS)
    };
    file.modules.retain(is_compiled);
    let mut object = Syclbin::new(State::Object);
    object.modules = file.modules;
    let bytes = syclbin::write::to_vec(&object, Container::default()).unwrap();
    std::fs::write(folder.join(name), bytes).unwrap();
}

/// Compiles a source to SPIR-V.
fn compile(folder: &Path, path: &OsString, source: &Path) -> Vec<u8> {
    let include = format!("-I{WORKSPACE}/syclbin-build/include");
    let source = source.to_str().unwrap();
    let arguments = ["-fsyclbin=object", "-O2", "-DNDEBUG", &include, source];
    let output = run(
        folder,
        path,
        &[&arguments[..], &["-o", "made.syclbin"]].concat(),
    );
    assert!(
        output.status.success(),
        "{source}: {}",
        clang::said(&output)
    );
    std::fs::read(folder.join("made.syclbin")).unwrap()
}

#[test]
fn modules_are_linked_before_ocloc_compiles_them() {
    let Some(path) = path() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["import_side", "export_side"] {
        let file = test_files::path(&format!("{name}.object.syclbin"));
        write_object(
            folder,
            &format!("{name}.syclbin"),
            &std::fs::read(file).unwrap(),
        );
    }
    let mut tally = Tally::default();
    tally.link(
        &path,
        folder,
        &["import_side.syclbin", "export_side.syclbin"],
    );
    assert!(tally.left_out.is_empty(), "{:?}", tally.left_out);
    tally.finish("linked", 1);
}

#[test]
fn fixtures_compile_for_intel_gpus() {
    let Some(path) = path() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut tally = Tally::default();
    for name in ["functor", "globals", "structs", "vector_ops", "work_group"] {
        let file = test_files::path(&format!("{name}.object.syclbin"));
        write_object(folder, "o.syclbin", &std::fs::read(file).unwrap());
        tally.link(&path, folder, &["o.syclbin"]);
    }
    tally.finish("fixtures", 14);
}

#[test]
fn test_kernels_compile_for_intel_gpus() {
    let Some(path) = path() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut tally = Tally::default();
    for name in [
        "aligned",
        "asserting",
        "kinds",
        "numbers",
        "rest",
        "scratch",
        "slim",
        "specialized",
        "structs",
        "sub_groups",
        "variables",
        "linked",
        "constants",
        "several",
    ] {
        let file = format!("{}/syclbin/{name}.syclbin", env!("OUT_DIR"));
        write_object(folder, "o.syclbin", &std::fs::read(file).unwrap());
        tally.link(&path, folder, &["o.syclbin"]);
    }
    for name in ["builtins", "parameters"] {
        let source = format!("{WORKSPACE}/tests/end-to-end/tests/kernels/{name}.cpp");
        let compiled = compile(folder, &path, Path::new(&source));
        write_object(folder, "o.syclbin", &compiled);
        tally.link(&path, folder, &["o.syclbin"]);
    }
    tally.finish("end-to-end", 83);
}

#[test]
fn examples_compile_for_intel_gpus() {
    let Some(path) = path() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut tally = Tally::default();
    for name in [
        "blur/kernels/blur",
        "histogram/kernels/histogram",
        "mandelbrot/kernels/mandelbrot",
        "matmul/kernels/matmul",
        "nbody/kernels/nbody",
        "other-builds/kernels/scale",
        "other-builds/kernels/shift",
        "particles/kernels/particles",
        "pipeline/kernels/collatz",
        "saxpy/kernels/saxpy",
    ] {
        let source = format!("{WORKSPACE}/examples/{name}.cpp");
        let compiled = compile(folder, &path, Path::new(&source));
        write_object(folder, "o.syclbin", &compiled);
        tally.link(&path, folder, &["o.syclbin"]);
    }
    common::say_skipped("rotate: pvc has no images");
    tally.finish("examples", 11);
}

/// A source that uses a feature of Intel's GPUs.
fn feature(name: &str) -> String {
    let path = test_files::path(&format!("intel/{name}.cpp"));
    path.into_os_string().into_string().unwrap()
}

#[test]
fn simd_assembly_and_matrices_compile_for_intel_gpus() {
    let Some(path) = path() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let include = format!("-I{WORKSPACE}/syclbin-build/include");
    let targets = "-fsycl-targets=spir64,intel_gpu_pvc,intel_gpu_bmg_g21";
    let sources = ["esimd", "assembly", "matrix"].map(feature);
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let arguments = [&["-fsyclbin", "-O2", &include, targets][..], &sources].concat();
    let output = run(folder, &path, &arguments);
    let said = clang::said(&output);
    assert_eq!((output.status.success(), said.as_str()), (true, ""));
    let bytes = std::fs::read(folder.join("a.syclbin")).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    let mut compiled = BTreeMap::<String, BTreeSet<String>>::new();
    for image in file.modules.iter().flat_map(|module| &module.images) {
        if let ImageKind::Native { arch, .. } = image.kind() {
            let kernels = native::kernels(&image.bytes).into_iter();
            let symbols = kernels.map(|kernel| kernel.symbol);
            compiled.entry(arch.to_owned()).or_default().extend(symbols);
        }
    }
    let gpus: Vec<&str> = compiled.keys().map(String::as_str).collect();
    assert_eq!(gpus, ["bmg_g21", "pvc"]);
    for symbols in compiled.values() {
        let names = ["assembly", "explicit_simd", "joint_matrix"];
        let names = names.map(|name| format!("__sycl_kernel_{name}"));
        assert!(symbols.iter().eq(&names), "{symbols:?}");
    }
}

#[test]
fn untranslated_features_are_named_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let include = format!("-I{WORKSPACE}/syclbin-build/include");
    for (name, extension) in [
        ("split_barrier", "SPV_INTEL_split_barrier"),
        ("block_load", "SPV_INTEL_2d_block_io"),
    ] {
        let output = clang::clang(&["-fsyclbin", &include, &feature(name)], folder.path());
        let said = clang::said(&output);
        assert!(!output.status.success(), "{said}");
        for expected in [extension, "set SYCLBIN_CLANG to a DPC++ clang++"] {
            assert!(said.contains(expected), "{said}");
        }
    }
    let option = "-Xspirv-translator=-spirv-ext=+SPV_INTEL_split_barrier";
    let output = clang::clang(&["-fsyclbin", option, "k.cpp"], folder.path());
    let said = clang::said(&output);
    assert!(!output.status.success(), "{said}");
    for expected in ["-Xspirv-translator", "SYCLBIN_CLANG"] {
        assert!(said.contains(expected), "{said}");
    }
}

/// A kernel with more values than registers, and a kernel with double precision.
const SPILLING: &str = "#include <syclbin/kernel.hpp>
SYCLBIN_KERNEL(1) void spill(const float *in, float *out, int n) {
  float v[200];
  size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
#pragma unroll
  for (int k = 0; k < 200; ++k) v[k] = in[i * 200 + k];
  for (int s = 0; s < n; ++s) {
#pragma unroll
    for (int k = 0; k < 200; ++k) v[k] = v[k] * v[(k + 37) % 200] + v[(k + 91) % 200];
  }
#pragma unroll
  for (int k = 0; k < 200; ++k) out[i * 200 + k] = v[k];
}
SYCLBIN_KERNEL(1) void precise(double *x) {
  x[syclbin::get_nd_item<1>().get_global_linear_id()] *= 2;
}
";

#[test]
fn register_spills_are_warnings() {
    let Some(path) = path() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("k.cpp"), SPILLING).unwrap();
    let include = format!("-I{WORKSPACE}/syclbin-build/include");
    // Two names of one GPU, which has no double precision.
    for gpu in ["intel_gpu_dg2_g10", "intel_gpu_acm_g10"] {
        let targets = format!("-fsycl-targets=spir64,{gpu}");
        let output = run(
            folder,
            &path,
            &["-fsyclbin", "-O2", &include, &targets, "k.cpp"],
        );
        let said = clang::said(&output);
        assert!(output.status.success(), "{said}");
        for expected in [
            "syclbin-clang: warning: GPU acm_g10: ",
            "spilled",
            "kernel precise: generated only SPIR-V, not native code, for GPU acm_g10, because the module uses double precision",
        ] {
            assert!(said.contains(expected), "{expected}: {said}");
        }
        let bytes = std::fs::read(folder.join("a.syclbin")).unwrap();
        let file = syclbin::read::parse(&bytes).unwrap();
        let images = file.modules.iter().flat_map(|module| &module.images);
        let kernels: Vec<Kernel> = images
            .flat_map(|image| native::kernels(&image.bytes))
            .collect();
        let [spill] = kernels.as_slice() else {
            panic!("{kernels:?}");
        };
        assert!(
            spill.symbol.ends_with("spill") && spill.spill_size > Some(0),
            "{spill:?}"
        );
    }
    let output = run(
        folder,
        &path,
        &[
            "-fsyclbin",
            &include,
            "-fsycl-targets=intel_gpu_tgllp",
            "k.cpp",
        ],
    );
    let said = clang::said(&output);
    let expected = "kernel precise: cannot generate native code for GPU tgllp, because the module uses double precision";
    assert!(
        !output.status.success() && said.contains(expected),
        "{said}"
    );
}

#[test]
fn several_gpus_are_one_archive_or_an_error() {
    let Some(path) = path() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let source = format!("{WORKSPACE}/examples/saxpy/kernels/saxpy.cpp");
    let include = format!("-I{WORKSPACE}/syclbin-build/include");
    let compile = |device: &str| {
        let targets = [
            "-fsycl-targets=spir64_gen",
            "-Xsycl-target-backend=spir64_gen",
        ];
        let arguments = [
            "-fsyclbin",
            &include,
            &source,
            targets[0],
            targets[1],
            device,
        ];
        let output = run(folder, &path, &arguments);
        (output.status.success(), clang::said(&output))
    };
    assert_eq!(compile("-device pvc,acm-g10"), (true, String::new()));
    let bytes = std::fs::read(folder.join("a.syclbin")).unwrap();
    let file = syclbin::read::parse(&bytes).unwrap();
    let kernels = native::kernels(&file.modules[0].images[0].bytes);
    let devices: BTreeSet<_> = kernels
        .iter()
        .filter_map(|kernel| kernel.device.as_deref())
        .collect();
    assert_eq!(devices.len(), 2, "{kernels:?}");
    let (succeeded, said) = compile("-device no-such-gpu");
    assert!(!succeeded && said.contains("no-such-gpu"), "{said}");
    assert!(
        said.contains("on kernel saxpy for GPU no-such-gpu"),
        "{said}"
    );
}
