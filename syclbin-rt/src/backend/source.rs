// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sources of programs: code of a module, and its settings for the build.

use std::borrow::Cow;

use crate::load::build_options::BuildOptions;
use crate::module::specialization::Setting;

/// Code of a module, and its settings for the build.
pub(crate) struct Source<'s> {
    pub(crate) code: Cow<'s, [u8]>,
    pub(crate) constants: Constants,
    pub(crate) options: BuildOptions,
}

/// Values of specialization constants that are not their defaults.
pub(crate) enum Constants {
    /// For SPIR-V: by their numbers.
    Numbered(Vec<Setting>),
    /// For PTX and code made from it: by the names of the variables that hold them.
    Named(Vec<(String, Vec<u8>)>),
}
