// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin expand` and `cargo syclbin stubs`: print the Rust code that `include_syclbin!` generates from a
//! file, in full or as an outline.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::error::{Error, Result};
use crate::input::Input;
use crate::ui::{Escaped, answer, complain};

/// The file and the items to expand.
#[derive(Clone, Debug, Args)]
pub struct Source {
    /// The SYCLBIN file; `-` is standard input
    pub file: PathBuf,
    /// Items as in `include_syclbin!`, such as 'fn saxpy as axpy;'
    #[arg(long, value_name = "ITEMS", default_value = "")]
    pub items: String,
}

/// Prints the generated code, formatted.
///
/// # Errors
///
/// Fails if the file cannot be read or is damaged, or if the macro would reject it.
pub fn run(source: &Source) -> Result<()> {
    let code = generate(&source.file, |bytes, path| {
        syclbin_expand::source(bytes, path, &source.items)
    })?;
    Ok(answer(&code)?)
}

/// Prints a line for each function that launches a kernel, and for each struct.
///
/// # Errors
///
/// Fails for the same reasons as [`run`].
pub fn stubs(source: &Source) -> Result<()> {
    let (lines, stubs) = generate(&source.file, |bytes, path| {
        let lines = syclbin_expand::outline(bytes, path, &source.items)?;
        Ok((lines, syclbin_expand::stubs(bytes).unwrap_or_default()))
    })?;
    let lines = lines.iter().map(|line| format!("{}\n", Escaped(line)));
    answer(&lines.collect::<String>())?;
    let left_out = stubs.iter().filter(|stub| stub.function.is_err()).count();
    if left_out > 0 {
        let command = format!("cargo syclbin inspect {}", source.file.display());
        let text = format!("kernels without a function: {left_out}; `{command}` shows why");
        complain(text);
    }
    Ok(())
}

fn generate<T>(
    file: &Path,
    generator: impl FnOnce(&[u8], &str) -> std::result::Result<T, Vec<String>>,
) -> Result<T> {
    let input = Input::read(file)?;
    // For a file in another format, this check returns a clearer error with a remedy.
    input.syclbin()?;
    let path = if file == Path::new("-") {
        "kernels.syclbin".to_owned()
    } else {
        input.name()
    };
    generator(&input.bytes, &path).map_err(|problems| Error::Expand(file.into(), problems))
}
