//! Sources of programs: code of one module, and what is set in it before a driver builds it.

use crate::load::build_options::BuildOptions;
use crate::module::specialization::Setting;

/// Code of one module, and what is set in it before a driver builds it.
pub(crate) struct Source<'s> {
    pub(crate) code: &'s [u8],
    pub(crate) constants: Constants,
    pub(crate) options: BuildOptions,
}

/// Values of specialization constants that are not their defaults.
pub(crate) enum Constants {
    /// Of SPIR-V: by their numbers.
    Numbered(Vec<Setting>),
    /// Of PTX and what is made of it: by the names of the variables that hold them.
    Named(Vec<(String, Vec<u8>)>),
}
