// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sources of programs: code of a module, and its settings for the build.

use std::borrow::Cow;

use crate::load::build_options::BuildOptions;

/// Code of a module, and its settings for the build.
pub(crate) struct Source<'s> {
    pub(crate) code: Cow<'s, [u8]>,
    /// For PTX and code made from it: values of specialization constants that are not their defaults, by the
    /// names of the variables that hold them. SPIR-V has the values as its defaults.
    pub(crate) constants: Vec<(String, Vec<u8>)>,
    pub(crate) options: BuildOptions,
}
