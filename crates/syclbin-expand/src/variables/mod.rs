//! Specialization constants and device globals of the generated module.

pub(crate) mod constants;
pub(crate) mod globals;
