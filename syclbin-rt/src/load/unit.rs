// SPDX-License-Identifier: MIT OR Apache-2.0
//! Units: abstract modules of a file, after their property sets have been read.

use std::sync::OnceLock;

use syclbin::AbstractModule;
use syclbin::metadata::{Bfloat16, Malformed, ModuleMetadata};

use crate::device::facts::Facts;
use crate::load::device_code::Code;
use crate::load::{image, requirements};

/// An abstract module with valid property sets.
pub(crate) struct Unit<'a> {
    pub(crate) module: AbstractModule<'a>,
    pub(crate) metadata: ModuleMetadata,
    /// The code of each image, or the reason why the device does not take it; filled on demand.
    codes: OnceLock<Vec<Result<Code, String>>>,
    /// Its SPIR-V, whatever the device takes; filled on demand.
    described: OnceLock<Option<Code>>,
}

/// An abstract module with a malformed property. A malformed value may stand for anything, and a launcher that
/// skipped it would launch wrongly. So no image of the module is used.
pub(crate) struct MalformedModule<'a> {
    pub(crate) module: AbstractModule<'a>,
    pub(crate) reason: Malformed,
}

impl<'a> Unit<'a> {
    /// Reads the property sets of a module.
    ///
    /// # Errors
    ///
    /// When a value is malformed.
    pub(crate) fn new(module: AbstractModule<'a>) -> Result<Self, Box<MalformedModule<'a>>> {
        match ModuleMetadata::read(&module.metadata) {
            Ok(metadata) => Ok(Self {
                metadata,
                module,
                codes: OnceLock::new(),
                described: OnceLock::new(),
            }),
            Err(reason) => Err(Box::new(MalformedModule { module, reason })),
        }
    }

    /// Returns code that may contain more about parameters than an image's code. It is SPIR-V, which was made
    /// from the same source and so takes the same parameters.
    pub(crate) fn described(&self) -> Option<&Code> {
        let described = self.described.get_or_init(|| {
            let mut images = self.module.images.iter();
            images.find_map(image::described)
        });
        described.as_ref()
    }

    /// Returns the code of each image, or the reason why the device does not take it.
    pub(crate) fn codes(&self, facts: &Facts) -> &[Result<Code, String>] {
        self.codes.get_or_init(|| {
            let images = self.module.images.iter();
            let code = |image| {
                requirements::check(&self.metadata, facts)?;
                image::code(image, facts)
            };
            images.map(code).collect()
        })
    }

    /// Returns the symbols of its kernels, for messages.
    pub(crate) fn kernels(&self) -> String {
        list_of_kernels(self.module.kernel_names())
    }

    /// Returns whether it is a device library that uses dedicated instructions for `bfloat16`.
    pub(crate) fn has_bfloat16_instructions(&self) -> bool {
        self.metadata.device_libraries.bfloat16 == Some(Bfloat16::Native)
    }
}

/// Formats the symbols of a module's kernels: the first ones, and the number of the others. Symbols of lambdas can
/// have hundreds of characters, and are shortened.
pub(crate) fn list_of_kernels<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const SHOWN: usize = 4;
    const LENGTH: usize = 60;
    let mut names: Vec<String> = names
        .map(|name| match name.char_indices().nth(LENGTH) {
            Some((end, _)) => format!("{}...", name.get(..end).unwrap_or(name)),
            None => name.to_owned(),
        })
        .collect();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    match (names.is_empty(), more) {
        (true, _) => "no kernels".to_owned(),
        (false, 0) => names.join(", "),
        (false, _) => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_kernels_stays_short() {
        let list = |names: &[&str]| list_of_kernels(names.iter().copied());
        assert_eq!(list(&[]), "no kernels");
        assert_eq!(list(&["a", "b", "c", "d"]), "a, b, c, d");
        assert_eq!(list(&["a"; 7]), "a, a, a, a and 3 more");
        let long = "ä".repeat(61);
        assert_eq!(list(&[&long]), format!("{}...", "ä".repeat(60)));
    }
}
