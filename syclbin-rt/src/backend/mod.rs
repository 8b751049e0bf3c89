//! The drivers a program can run on: everything unsafe stays in here.
//!
//! A backend wraps one driver interface in two layers: `sys` with the foreign spelling, and safe
//! wrappers that own their handles. The rooms above know neither handles nor error numbers.

pub(crate) mod opencl;
pub(crate) mod slice;
