// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates `tests/files/nvidia`: the files of `tests/files` with additional code for NVIDIA GPUs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use syclbin::metadata::without_run_prefix;
use syclbin::property::set;
use syclbin::{AbstractModule, Container, Image, State, Syclbin};
use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

use crate::files::at;
use crate::steps::{Result, step, target_folder};

const TARGET: &str = "nvptx64-nvidia-cuda";
const USAGE: &str = "usage: cargo xtask nvidia-files [--ptx FOLDER] [--cuda FOLDER]";

/// Regenerates the files. `--ptx` names a directory of SYCLBIN files with the PTX of each source. By default, the
/// installed `syclbin-clang` compiles it. `--cuda` names the directory of ptxas and fatbinary. Without it, the files
/// with native code stay unchanged.
pub(crate) fn files(arguments: &[String]) -> Result<()> {
    let (mut ptx, mut cuda) = (None, None);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let folder = match argument.as_str() {
            "--ptx" => &mut ptx,
            "--cuda" => &mut cuda,
            _ => return Err(USAGE.into()),
        };
        *folder = Some(PathBuf::from(arguments.next().ok_or(USAGE)?));
    }
    let work = target_folder()?.join("nvidia-files");
    std::fs::create_dir_all(&work).map_err(|error| at(&work, &error))?;
    let testfiles = test_files::directory();
    let folder = testfiles.join("nvidia");
    for path in sources(&testfiles)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let compiled = match &ptx {
            Some(folder) => folder.join(format!("{name}.syclbin")),
            None => compile(&path, TARGET, &work)?,
        };
        let ptx = read(&compiled)?;
        for state in ["object", "executable"] {
            let file = testfiles.join(format!("{name}.{state}.syclbin"));
            if !file.is_file() {
                continue;
            }
            let mut file = read(&match &*name {
                // The runtime that wrote the other files leaves specialization constants unchanged.
                "constants" => compile(&path, "spir64", &work)?,
                _ => file,
            })?;
            add(&mut file, &ptx).map_err(|why| format!("{name}: {why}"))?;
            write(&file, &folder.join(format!("{name}.{state}.syclbin")))?;
        }
    }
    cuda.map_or(Ok(()), |cuda| native(&folder, &cuda, &work))
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|error| at(folder, &error))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "cpp"))
        .collect();
    paths.sort();
    Ok(paths)
}

fn compile(source: &Path, target: &str, work: &Path) -> Result<PathBuf> {
    let explicit = std::env::var_os(HOME_VARIABLE);
    let home = Home::locate(explicit.as_deref()).map_err(|error| error.to_string())?;
    let compiler = home.newest(Component::Compiler);
    let clang = compiler.ok_or("no compiler is installed")?.entry();
    let name = source.file_stem().unwrap_or_default().to_string_lossy();
    let output = work.join(format!("{name}.{target}.syclbin"));
    let mut command = Command::new(&clang);
    command
        .args(["-O2", "-fno-discard-value-names", "-fsyclbin=object"])
        .arg(format!("-fsycl-targets={target}"))
        .arg("-o")
        .args([output.as_path(), source]);
    step(&format!("{name} for {target}"), &mut command)?;
    Ok(output)
}

/// Appends the PTX of each module of `from` to the images of the module of `file` with the same kernels.
fn add<'f>(file: &mut Syclbin<'f>, from: &Syclbin<'f>) -> Result<()> {
    if file.modules.len() != from.modules.len() {
        return Err(format!(
            "{} modules, and {} with PTX",
            file.modules.len(),
            from.modules.len()
        ));
    }
    for module in &mut file.modules {
        let names = kernels(module);
        let mut others = from.modules.iter();
        let other = others.find(|other| kernels(other) == names);
        let other = other.ok_or_else(|| format!("no PTX has the kernels {names:?}"))?;
        for name in &names {
            if removed(module, name)? != removed(other, name)? {
                return Err(format!("{name}: the PTX takes other arguments"));
            }
        }
        // Copy the names of device globals, which other targets do not need.
        let program = other.metadata.set(set::PROGRAM_METADATA).into_iter();
        for (key, value) in program.flat_map(syclbin::PropertySet::iter) {
            if module.metadata.get(set::PROGRAM_METADATA, key).is_none() {
                let (key, value) = (key.to_owned(), value.clone());
                module.metadata.insert(set::PROGRAM_METADATA, key, value);
            }
        }
        module.images.extend(other.images.iter().cloned());
    }
    Ok(())
}

/// Returns the arguments that the compiler removed. Masks may be rounded up to whole bytes.
fn removed(module: &AbstractModule<'_>, kernel: &str) -> Result<Vec<usize>> {
    let mask = module.eliminated_arguments(kernel);
    let mask = mask.map_err(|error| error.to_string())?;
    let removed = mask.iter().enumerate().filter(|(_, removed)| **removed);
    Ok(removed.map(|(index, _)| index).collect())
}

fn kernels(module: &AbstractModule<'_>) -> BTreeSet<String> {
    let exported = module.metadata.set(set::EXPORTED_SYMBOLS);
    // Some compilers list exported functions among the kernels.
    let is_kernel = |name: &&str| exported.is_none_or(|exported| exported.get(name).is_none());
    let names = module.kernel_names().map(without_run_prefix);
    names.filter(is_kernel).map(str::to_owned).collect()
}

/// Writes two files with native code of `vector_ops`: one beside SPIR-V and PTX, and one in fat binaries, as DPC++
/// stores it.
fn native(folder: &Path, cuda: &Path, work: &Path) -> Result<()> {
    let mut beside = read(&folder.join("vector_ops.object.syclbin"))?;
    beside.global = Syclbin::new(State::Executable).global;
    let mut fat = beside.clone();
    for (beside, fat) in beside.modules.iter_mut().zip(&mut fat.modules) {
        let ptx = beside.images.last().ok_or("a module has no image")?;
        let [text, cubin, binary] =
            ["module.ptx", "module.cubin", "module.fatbin"].map(|name| work.join(name));
        std::fs::write(&text, &ptx.bytes).map_err(|error| at(&text, &error))?;
        let mut assembler = Command::new(cuda.join("ptxas"));
        assembler.args(["-arch=sm_90", "-o"]).args([&cubin, &text]);
        step("ptxas", &mut assembler)?;
        let mut bundler = Command::new(cuda.join("fatbinary"));
        bundler
            .args(["--64", "--compress-all", "--create"])
            .arg(&binary)
            .arg(format!("--image3=kind=elf,sm=90,file={}", cubin.display()))
            .arg(format!("--image3=kind=ptx,sm=75,file={}", text.display()));
        step("fatbinary", &mut bundler)?;
        let image = |path: &Path| {
            let bytes = std::fs::read(path).map_err(|error| at(path, &error))?;
            Ok::<_, String>(Image::native("sm_90", TARGET, bytes))
        };
        beside.images.push(image(&cubin)?);
        fat.images = vec![image(&binary)?];
    }
    write(&beside, &folder.join("vector_ops.cubin.syclbin"))?;
    write(&fat, &folder.join("vector_ops.fatbin.syclbin"))
}

fn read(path: &Path) -> Result<Syclbin<'static>> {
    let bytes = std::fs::read(path).map_err(|error| at(path, &error))?;
    let file = syclbin::read::parse(&bytes).map_err(|error| at(path, &error))?;
    Ok(file.into_owned())
}

fn write(file: &Syclbin<'_>, path: &Path) -> Result<()> {
    let bytes = syclbin::write::to_vec(file, Container::default());
    let bytes = bytes.map_err(|error| at(path, &error))?;
    std::fs::write(path, bytes).map_err(|error| at(path, &error))
}
