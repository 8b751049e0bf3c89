// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin expand` and `cargo syclbin stubs`: the Rust code that `include_syclbin!` generates from a file, in
//! full or in brief.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::error::{Error, Result};
use crate::input::Input;
use crate::ui::{Escaped, answer, complain};

/// What to expand, and how.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The SYCLBIN file; `-` is standard input
    pub file: PathBuf,
    /// The name of the generated module
    #[arg(long, value_name = "NAME", default_value = "kernels")]
    pub module: String,
    /// Items as in `include_syclbin!`, such as 'fn saxpy as axpy;'
    #[arg(long, value_name = "ITEMS", default_value = "")]
    pub items: String,
}

/// Which file, with which items.
#[derive(Clone, Debug, Args)]
pub struct StubOptions {
    /// The SYCLBIN file; `-` is standard input
    pub file: PathBuf,
    /// Items as in `include_syclbin!`, such as 'fn saxpy as axpy;'
    #[arg(long, value_name = "ITEMS", default_value = "")]
    pub items: String,
}

/// Prints the formatted code.
///
/// # Errors
///
/// Fails if the file cannot be read or is damaged, or if the macro would reject it.
pub fn run(options: &Options) -> Result<()> {
    let (module, items) = (&options.module, &options.items);
    let code = generate(&options.file, |bytes, path| {
        syclbin_expand::source(bytes, path, module, items)
    })?;
    Ok(answer(&code)?)
}

/// Prints a line for each function that launches a kernel, and for each struct.
///
/// # Errors
///
/// Fails for the same reasons as [`run`].
pub fn stubs(options: &StubOptions) -> Result<()> {
    let mut left_out = 0;
    let lines = generate(&options.file, |bytes, path| {
        let kernels = syclbin_expand::stubs(bytes).unwrap_or_default();
        left_out = kernels
            .iter()
            .filter(|kernel| kernel.function.is_err())
            .count();
        syclbin_expand::outline(bytes, path, &options.items)
    })?;
    let lines = lines.iter().map(|line| format!("{}\n", Escaped(line)));
    answer(&lines.collect::<String>())?;
    if left_out > 0 {
        let file = options.file.display();
        complain(format_args!(
            "kernels without a function: {left_out}; `cargo syclbin inspect {file}` shows why"
        ));
    }
    Ok(())
}

/// Reads a file, and calls `generator` with its bytes and its name.
fn generate<T>(
    file: &Path,
    generator: impl FnOnce(&[u8], &str) -> std::result::Result<T, Vec<String>>,
) -> Result<T> {
    let input = Input::read(file)?;
    // This check gives a better error for a file in another format, and says how to get a SYCLBIN file.
    input.syclbin()?;
    let path = if file == Path::new("-") {
        "kernels.syclbin".to_owned()
    } else {
        input.name()
    };
    generator(&input.bytes, &path).map_err(|problems| Error::Expand(file.into(), problems))
}
