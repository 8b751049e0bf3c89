// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin inspect`: reports the contents of a SYCLBIN file.
//!
//! `Contents` is the parsed file. The modules `text` and `json` format it.

mod json;
mod kernel;
mod known;
mod text;

use std::path::PathBuf;

use clap::Args;
use syclbin::metadata::{Malformed, ModuleMetadata};
use syclbin::{Container, Syclbin};

pub use json::state_name;
pub use kernel::{Kernel, Parameter, kernels, qualified};
pub(crate) use text::listed;

use crate::error::Result;
use crate::input::Input;
use crate::ui::{self, Format};

/// Options of `cargo syclbin inspect`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The SYCLBIN file; `-` is standard input
    pub file: PathBuf,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Show every property set with every key and value (JSON always includes them)
    #[arg(long)]
    pub raw: bool,
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
    let render = |contents: &_| text::render(contents, options.raw, options.native);
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
        // The view and the model have the same modules and images in the same order.
        for (module, model) in frame.modules().zip(&file.modules) {
            let module = module.map_err(damaged)?;
            let images: std::result::Result<Vec<_>, _> = module.images().collect();
            let images = images.map_err(damaged)?;
            let (metadata, problems) = ModuleMetadata::read_valid(&model.metadata);
            modules.push(Module {
                metadata,
                problems,
                offsets: images.iter().map(|image| image.offset).collect(),
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
