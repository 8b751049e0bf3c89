// SPDX-License-Identifier: MIT OR Apache-2.0
//! Verdicts: the reason why an image runs, or does not.

use std::fmt;

use syclbin::metadata::Malformed;

use crate::backend::failure::BuildError;
use crate::load::link::error::LinkError;
use crate::module::global::ConnectError;
use crate::program_cache::Origin;

/// The verdict on an image.
pub(crate) enum Verdict {
    Chosen(Chosen),
    /// The driver gets it when one of its kernels is first used.
    Fits,
    /// The image at this index of the module runs.
    OtherImage(usize),
    /// The module at this index has native code of the same kernels.
    OtherModule(usize),
    Refused(Refusal),
}

/// The details of the image that runs.
pub(crate) struct Chosen {
    pub(crate) origin: Origin,
    /// Whether the file lists it as native code.
    pub(crate) native: bool,
    /// The modules that it is linked with.
    pub(crate) linked: Vec<String>,
}

/// The reason why an image was not built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The device does not take it.
    #[error("{0}")]
    Unfit(String),
    #[error(transparent)]
    Constants(#[from] Malformed),
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Global(#[from] ConnectError),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen(chosen) => write!(f, "chosen: {chosen}"),
            Self::Fits => f.write_str("fits; built when one of its kernels is first used"),
            Self::OtherImage(image) => write!(f, "not needed, as image {image} fits"),
            Self::OtherModule(module) => write!(
                f,
                "not needed, as module {module} has native code of its kernels"
            ),
            Self::Refused(reason) => reason.fmt(f),
        }
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.origin {
            Origin::Built if self.native => "the driver takes this native code",
            Origin::Built => "the driver compiles it",
            Origin::Cache => "the driver has compiled it in an earlier run",
            Origin::Process => "the driver has compiled it before",
        })?;
        if self.linked.is_empty() {
            Ok(())
        } else {
            write!(f, ", linked with {}", self.linked.join(", "))
        }
    }
}
