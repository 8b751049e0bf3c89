// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ways to write a kernel, and the functions, names and ranges that stubs derive from them.

mod captures;
mod functions;
mod names;
mod ranges;
mod signatures;
mod slim;
mod virtual_functions;
