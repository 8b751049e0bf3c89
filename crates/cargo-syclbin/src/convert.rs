// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin convert`: rewrites a file in another container.

use std::path::{Path, PathBuf};

use clap::Args;
use syclbin::offload::OffloadKind;
use syclbin::property::{key, set};
use syclbin::write::to_vec;
use syclbin::{Container, State};

use crate::error::{Error, Result};
use crate::input::Input;
use crate::ui::{answer_bytes, one_of};

/// Options of `cargo syclbin convert`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The SYCLBIN file; `-` is standard input
    pub file: PathBuf,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// The container to write: the reference runtime loads v1 (since 2026.0) and v1-offload2 (since 2026.2), but not
    /// yet the others
    #[arg(long, default_value = Container::OffloadBinary1.name(), value_parser = one_of(Container::ALL.map(Container::name), Container::from_name))]
    pub container: Container,
    /// Label the code with this state; the code does not change, so this only corrects a wrong label
    #[arg(long, value_parser = one_of(["input", "object", "executable"], State::from_name))]
    pub state: Option<State>,
}

/// Rewrites a file in another container. The output is replaced atomically, so it may be the input file.
///
/// # Errors
///
/// Fails if the file cannot be read, the container cannot store its contents, or the output cannot be written.
pub fn run(options: &Options) -> Result<()> {
    let input = Input::read(&options.file)?;
    let (file, mut model) = input.syclbin()?;
    let takes_all = [Container::OffloadBinary2, Container::Version2].contains(&options.container);
    if file.container() == Container::Images && !takes_all {
        // The other containers cannot store images for other languages.
        (model.foreign).retain(|entry| entry.offload_kind == OffloadKind::SYCL);
    }
    if let Some(state) = options.state {
        model.global.insert(set::GLOBAL, key::STATE, state.number());
    }
    let bytes = to_vec(&model, options.container).map_err(Error::format(&options.file))?;
    save(&options.output, &bytes)
}

/// Writes `bytes` to `path` atomically, or to standard output if `path` is `-`.
///
/// # Errors
///
/// Fails if the output cannot be written.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    if path == Path::new("-") {
        return Ok(answer_bytes(bytes)?);
    }
    syclbin_build::file::replace(path, bytes).map_err(|cause| Error::Save(path.into(), cause))
}
