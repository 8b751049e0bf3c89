// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin inspect`: the content of a SYCLBIN file.

mod cuda;
mod gather;
mod kernel;
mod known;
mod native;
mod parameter;
mod report;
mod text;

use std::path::PathBuf;

use clap::Args;

pub use gather::state_name;
pub use kernel::qualified;
pub use report::*;

use crate::error::Result;
use crate::input::Input;
use crate::ui::{self, Format};

/// What to look at, and how to show it.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The SYCLBIN file; `-` is standard input
    pub file: PathBuf,
    /// How to show it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Show every property set with every key and value (JSON always has them)
    #[arg(long)]
    pub raw: bool,
    /// Show what compilers recorded about native code for GPUs: registers, spills, memory (JSON always has it)
    #[arg(long)]
    pub native: bool,
}

/// Prints a report on a file.
///
/// # Errors
///
/// When the file cannot be read, or is not a SYCLBIN file.
pub fn run(options: &Options) -> Result<()> {
    let input = Input::read(&options.file)?;
    let report = Report::of(&input)?;
    let answer = match options.format {
        Format::Text => text::render(&report, options.raw, options.native),
        Format::Json => ui::json(&report)?,
    };
    Ok(ui::answer(&answer)?)
}
