// SPDX-License-Identifier: MIT OR Apache-2.0
//! Portable SPIR-V: rewrites a module for a driver that takes less than the compiler assumed.
//!
//! The rewritten module computes the same. It has the lowest version that its code needs, if the driver does
//! not take the version of the header.

mod debug_info;
pub mod lift;
mod lower;
mod specialize;
#[cfg(test)]
mod tests;
mod version;

use alloc::borrow::Cow;
use alloc::vec::Vec;

pub use specialize::specialize;
pub use version::{Unfit, Version};

pub use debug_info::is_debug_info;

use crate::error::Error;
use crate::signature::spirv::Module;
use crate::spirv::words::{self, HEADER_WORDS, Instruction, op};

/// What a driver takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reader<'r> {
    /// The versions of SPIR-V. An empty list means any version.
    pub versions: &'r [Version],
    /// The names of OpenCL extensions, with spaces between.
    pub extensions: &'r str,
    /// Whether it links only modules of one version. It then lists its versions.
    pub one_version: bool,
    /// Whether it takes debug information.
    pub debug_info: bool,
}

/// Checks whether a module can be rewritten for `reader`.
///
/// # Errors
///
/// When `spirv` is not SPIR-V, and when its code needs a later version than the driver takes.
pub fn check(spirv: &[u8], reader: &Reader<'_>) -> Result<(), Unfit> {
    let words = words::words(spirv)?;
    if version::takes(&words, reader) {
        return Ok(());
    }
    version::lowest(&collect(&words)?, reader).map(drop)
}

/// Returns whether a module has debug information. What is not SPIR-V has none.
#[must_use]
pub fn has_debug_info(spirv: &[u8]) -> bool {
    words::words(spirv).is_ok_and(|words| debug_info::is_in(&words))
}

/// Rewrites a module for `reader`. Returns `None` if the driver takes it as it is.
///
/// # Errors
///
/// As for [`check`].
pub fn rewrite(spirv: &[u8], reader: &Reader<'_>) -> Result<Option<Vec<u8>>, Unfit> {
    let words = words::words(spirv)?;
    let takes_version = version::takes(&words, reader);
    if takes_version && (reader.debug_info || !debug_info::is_in(&words)) {
        return Ok(None);
    }
    // Damaged code that no reader takes stays out of the driver.
    Module::parse(spirv)?;
    let mut instructions = collect(&words)?;
    if !reader.debug_info {
        debug_info::remove(&mut instructions);
    }
    let version = if takes_version {
        Version::of_header(&words)
    } else {
        version::lowest(&instructions, reader)?
    };
    let lowering = lower::Lowering::new(&instructions, version);
    let mut out = words.get(..HEADER_WORDS).unwrap_or_default().to_vec();
    if let Some(place) = out.get_mut(1) {
        *place = version.header();
    }
    let mut extension = lowering.extension();
    for instruction in instructions {
        // Extensions follow the capabilities.
        if instruction.opcode != op::CAPABILITY {
            out.extend(extension.take().into_iter().flatten());
        }
        lowering.write(&instruction, &mut out);
    }
    Ok(Some(out.into_iter().flat_map(u32::to_le_bytes).collect()))
}

/// Rewrites the modules of one program for `reader`, all in one version of SPIR-V.
///
/// # Errors
///
/// As for [`check`].
pub fn rewrite_all<'c>(
    modules: Vec<Cow<'c, [u8]>>,
    reader: &Reader<'_>,
) -> Result<Vec<Cow<'c, [u8]>>, Unfit> {
    let rewrite_each = |modules: Vec<Cow<'c, [u8]>>, reader: &Reader<'_>| {
        let rewritten = modules.into_iter().map(|module| {
            let rewritten = rewrite(&module, reader)?;
            Ok(rewritten.map_or(module, Cow::Owned))
        });
        rewritten.collect::<Result<Vec<_>, Unfit>>()
    };
    let modules = rewrite_each(modules, reader)?;
    if !reader.one_version || modules.len() < 2 {
        return Ok(modules);
    }
    let needed = modules.iter().map(|module| {
        let words = words::words(module)?;
        version::lowest(&collect(&words)?, reader)
    });
    let needed = needed.collect::<Result<Vec<Version>, Unfit>>()?;
    let versions: Vec<Version> = needed.into_iter().max().into_iter().collect();
    let reader = Reader {
        versions: &versions,
        ..*reader
    };
    rewrite_each(modules, &reader)
}

fn collect(words: &[u32]) -> Result<Vec<Instruction<'_>>, Error> {
    words::instructions(words).collect()
}
