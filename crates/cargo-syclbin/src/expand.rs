// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin expand`: the Rust code that `include_syclbin!` generates from a file.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::error::{Error, Result};
use crate::input::Input;
use crate::ui::answer;

/// What to expand, and how.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The SYCLBIN file; `-` is standard input
    pub file: PathBuf,
    /// What to call the module
    #[arg(long, value_name = "NAME", default_value = "kernels")]
    pub module: String,
    /// Items as in `include_syclbin!`, such as 'fn saxpy as axpy;'
    #[arg(long, value_name = "ITEMS", default_value = "")]
    pub items: String,
}

/// Prints the formatted code.
///
/// # Errors
///
/// When the file cannot be read or is damaged, and when the macro would refuse it.
pub fn run(options: &Options) -> Result<()> {
    let input = Input::read(&options.file)?;
    // This check gives a better error for a file in another format, and says how to get a SYCLBIN file.
    input.syclbin()?;
    let path = if options.file == Path::new("-") {
        "kernels.syclbin".to_owned()
    } else {
        input.name()
    };
    let code = syclbin_expand::source(&input.bytes, &path, &options.module, &options.items);
    let code = code.map_err(|problems| Error::Expand {
        file: options.file.clone(),
        problems,
    })?;
    answer(&code)?;
    Ok(())
}
