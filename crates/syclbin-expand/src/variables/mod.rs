//! What a module has beside kernels: specialization constants and device globals.

pub(crate) mod constants;
pub(crate) mod globals;
