//! The drivers a program can run on: everything unsafe stays in here.
//!
//! A backend wraps one driver interface in two layers: `sys` with the foreign spelling, and safe
//! wrappers that own their handles. The rooms above know neither handles nor error numbers.

#[cfg(feature = "cuda")]
#[allow(dead_code, unused_imports, reason = "nothing above knows it yet")]
pub(crate) mod cuda;
pub(crate) mod opencl;
pub(crate) mod slice;
