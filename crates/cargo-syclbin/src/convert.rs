// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin convert`: rewrites a file in another container.

use std::path::{Path, PathBuf};

use clap::Args;
use syclbin::offload::Strings;
use syclbin::property::{key, set};
use syclbin::write::{self, to_vec};
use syclbin::{Container, State, Syclbin};

use crate::error::{Error, Result};
use crate::input::Input;
use crate::ui::{Shown, answer_bytes, complain, one_of};

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
    /// Drop what the container cannot store, and report what was dropped
    #[arg(long)]
    pub drop_unknown: bool,
}

/// Rewrites a file in another container. The output is replaced atomically, so it may be the input file.
///
/// # Errors
///
/// Fails if the file cannot be read, the container cannot store its contents, or the output cannot be written.
pub fn run(options: &Options) -> Result<()> {
    let input = Input::read(&options.file)?;
    let (_, mut model) = input.syclbin()?;
    if let Some(state) = options.state {
        model.global.insert(set::GLOBAL, key::STATE, state.number());
    }
    let mut dropped = Vec::new();
    if options.drop_unknown {
        dropped = drop_unknown(&mut model, options.container);
    }
    let bytes = to_vec(&model, options.container).map_err(|cause| {
        let file = options.file.clone();
        match cause {
            write::Error::Container { .. } | write::Error::Nul(_) => {
                Error::Convert(file, cause.into())
            }
            _ => Error::Format(file, cause.into()),
        }
    })?;
    save(&options.output, &bytes)?;
    for what in dropped {
        complain(format_args!("dropped {what}"));
    }
    Ok(())
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

/// Removes everything from `file` that `container` cannot store, and returns a description of each removed item.
fn drop_unknown(file: &mut Syclbin<'_>, container: Container) -> Vec<String> {
    let mut dropped = Vec::new();
    let version_2 = container == Container::Version2;
    // NUL terminates keys in every container, and also values in an OffloadBinary of version 1.
    let ends = |key: &str, value: &[u8]| {
        key.contains('\0') || container == Container::OffloadBinary1 && value.contains(&0)
    };
    let mut reduce = |strings: &mut Strings<'_>, is_possible: bool, owner: &str| {
        strings.retain(|(key, value)| {
            let keep = is_possible && !ends(key, value);
            if !keep {
                dropped.push(format!("the string `{}` of {owner}", Shown(key)));
            }
            keep
        });
    };
    reduce(&mut file.strings, container != Container::Bare, "the file");
    for (index, module) in file.modules.iter_mut().enumerate() {
        let owner = format!("abstract module {index}");
        reduce(&mut module.strings, version_2, &owner);
        for (number, image) in module.images.iter_mut().enumerate() {
            let owner = format!("image {number} of {owner}");
            reduce(&mut image.strings, version_2, &owner);
        }
    }
    if !version_2 && container != Container::OffloadBinary2 {
        for (index, entry) in file.foreign.drain(..).enumerate() {
            let kind = entry.image_kind.name().unwrap_or("unknown");
            let size = entry.image.len();
            dropped.push(format!(
                "non-SYCLBIN entry {index} of the wrapper ({kind}, {size} bytes)"
            ));
        }
    }
    dropped
}
