// SPDX-License-Identifier: MIT OR Apache-2.0
//! The code of a module, as far as signatures can be read from it.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;

use super::spirv;
use crate::cubin;
use crate::error::Error;
use crate::model::{AbstractModule, Image};
use crate::ptx;

/// The code of a module that signatures can be read from.
pub(super) enum Code {
    SpirV(Box<spirv::Module>),
    /// The kernels by their names.
    Ptx(BTreeMap<String, ptx::Kernel>),
    Unknown,
}

impl Code {
    pub(super) fn of(module: &AbstractModule<'_>) -> Result<Self, Error> {
        if let Some(code) = module.images.iter().find_map(Image::spirv) {
            return Ok(Self::SpirV(Box::new(spirv::Module::parse_with_reads(
                code,
            )?)));
        }
        let mut images = module.images.iter().map(|image| &*image.bytes);
        Ok(match images.find_map(cubin::ptx) {
            Some(text) => {
                let kernels = ptx::Module::read(text).0.kernels.into_iter();
                Self::Ptx(
                    kernels
                        .map(|kernel| (kernel.name.clone(), kernel))
                        .collect(),
                )
            }
            None => Self::Unknown,
        })
    }

    pub(super) const fn spirv(&self) -> Option<&spirv::Module> {
        match self {
            Self::SpirV(spirv) => Some(spirv),
            Self::Ptx(_) | Self::Unknown => None,
        }
    }

    /// Returns how much it tells.
    pub(super) const fn rank(&self) -> u8 {
        match self {
            Self::SpirV(_) => 2,
            Self::Ptx(_) => 1,
            Self::Unknown => 0,
        }
    }
}
