// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin inspect`: reports the contents of a SYCLBIN file.
//!
//! `Contents` is the parsed file. The modules `text` and `json` format it, and share the functions at the end of this
//! file.

mod json;
mod kernel;
mod text;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use syclbin::cubin::{self, Compression, EntryKind};
use syclbin::metadata::{
    DeviceGlobal, Malformed, ModuleMetadata, SpecConstantLayout, without_run_prefix,
};
use syclbin::{Container, Content, Syclbin, ptx};

pub use json::state_name;
pub use kernel::{Kernel, Parameter, kernels, qualified};

use crate::error::Result;
use crate::input::Input;
use crate::ui::{self, Format};

/// Options of `cargo syclbin inspect`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The SYCLBIN file; `-` is standard input
    pub file: PathBuf,
    /// The output format; JSON also includes every property set
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Show what compilers recorded about native code for GPUs: registers, spills, memory (JSON always includes it)
    #[arg(long)]
    pub native: bool,
}

/// Prints a report on a file.
///
/// # Errors
///
/// Fails if the file cannot be read, or is not a SYCLBIN file.
pub fn run(options: &Options) -> Result<()> {
    let input = Input::read(&options.file)?;
    let contents = Contents::read(&input)?;
    let render = |contents: &_| text::render(contents, options.native);
    Ok(ui::show(options.format, &contents, render)?)
}

struct Contents<'a> {
    input: &'a Input,
    container: Container,
    file: Syclbin<'a>,
    modules: Vec<Module>,
    kernels: Vec<Kernel>,
}

struct Module {
    metadata: ModuleMetadata,
    /// Known properties with malformed values.
    problems: Vec<Malformed>,
    /// The offset of each image in the file, in bytes.
    offsets: Vec<u64>,
}

impl<'a> Contents<'a> {
    fn read(input: &'a Input) -> Result<Self> {
        let (frame, file) = input.syclbin()?;
        let damaged = |cause| input.not_syclbin(cause);
        let mut modules = Vec::new();
        // The view and the model contain the same modules and images in the same order.
        for (module, model) in frame.modules().zip(&file.modules) {
            let module = module.map_err(damaged)?;
            let images = module.images();
            let offsets = images.map(|image| Ok(image.map_err(damaged)?.offset));
            let (metadata, problems) = ModuleMetadata::read_valid(&model.metadata);
            modules.push(Module {
                metadata,
                problems,
                offsets: offsets.collect::<Result<_>>()?,
            });
        }
        let mut kernels = kernels(&file, &input.bytes);
        for kernel in &mut kernels {
            // Modules that share a kernel contain it for different targets, so the first module suffices.
            if let Some(module) = kernel.modules.first() {
                kernel.add_launch_requirements(&modules[*module].metadata);
            }
        }
        Ok(Self {
            input,
            container: frame.container(),
            kernels,
            file,
            modules,
        })
    }
}

struct Constant<'a> {
    name: String,
    layout: SpecConstantLayout,
    default: Option<&'a [u8]>,
}

/// Returns the specialization constants of a module, in the order of their defaults.
fn constants(metadata: &ModuleMetadata) -> impl Iterator<Item = Constant<'_>> {
    // Reading the metadata has already validated the layout.
    let layouts = metadata.specialization.layout().unwrap_or_default();
    let defaults = metadata.specialization.defaults.as_deref();
    layouts.into_iter().map(move |(name, layout)| Constant {
        default: defaults.and_then(|values| values.get(layout.start..)?.get(..layout.size)),
        name,
        layout,
    })
}

/// Returns the name of each device global of a module, its symbol in the code, and its memory.
fn globals(
    metadata: &ModuleMetadata,
) -> impl Iterator<Item = (&str, Option<&String>, &DeviceGlobal)> {
    // The reference runtime may write a name twice, once with a prefix that differs between runs.
    let mut seen = BTreeSet::new();
    let globals = metadata.device_globals.iter();
    let globals = globals.map(|(name, memory)| (without_run_prefix(name), memory));
    globals
        .filter(move |(name, _)| seen.insert(*name))
        .map(|(name, memory)| (name, metadata.program.global_names.get(name), memory))
}

/// The maximum number of entries of a CUDA fat binary in a report.
const MAX_ENTRIES: usize = 64;

/// Describes each part of an image for NVIDIA GPUs. Returns an empty list for other or damaged code.
fn cuda_parts(bytes: &[u8]) -> Vec<String> {
    let part = match Content::of(bytes) {
        Content::Ptx => ptx::Module::parse(bytes)
            .map(|module| format!("PTX {} for {}", module.version, module.target)),
        Content::CudaFatbin => {
            let entries = cubin::entries(bytes).into_iter().flatten().flatten();
            let entries = entries.take(MAX_ENTRIES);
            return entries.map(|entry| cuda_part(&entry)).collect();
        }
        // An error means that the code is not for NVIDIA GPUs, or is damaged.
        _ => cubin::target(bytes).map(|target| format!("native code for {target}")),
    };
    part.into_iter().collect()
}

fn cuda_part(entry: &cubin::Entry<'_>) -> String {
    let target = entry.target;
    let what = match entry.kind {
        EntryKind::Ptx => format!("PTX for {target}"),
        EntryKind::Elf => format!("native code for {target}"),
        EntryKind::Several => "several parts".to_owned(),
        _ => format!("unknown code for {target}"),
    };
    match entry.compression {
        None => what,
        Some(Compression::Zstd) => format!("{what} (zstd)"),
        Some(Compression::Lz4) => format!("{what} (LZ4)"),
    }
}
