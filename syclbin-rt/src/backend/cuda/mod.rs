// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA: the functions of NVIDIA's driver ([`sys`]), and owners of the handles they return.
//!
//! A launch costs what the driver's own call costs: see [`stream`].
//!
//! All calls are made with the context of what they are about ([`Context::enter`](context::Context::enter)). One that
//! a kernel has ended makes no calls any more.

/// Calls a function in `$context`, which becomes the current one.
macro_rules! call {
    ($context:expr, $name:ident($($argument:expr),* $(,)?)) => {
        match $context.enter() {
            Ok(functions) => $context.check(
                stringify!($name),
                (functions.$name.pass())($($argument),*),
            ),
            Err(failure) => Err(failure),
        }
    };
}

mod blocks;
mod context;
mod copy;
pub(crate) mod device;
pub(crate) mod errors;
pub(crate) mod event;
pub(crate) mod graph;
pub(crate) mod kernel;
mod kernel_object;
mod link;
mod mark;
pub(crate) mod memory;
mod program;
pub(crate) mod queue;
mod stream;
mod sys;
#[cfg(test)]
mod tests;

use std::ffi::c_int;

use crate::backend::failure::Failure;

/// Turns the number that a call returned into a result.
fn check(call: &'static str, code: c_int) -> Result<(), Failure> {
    match code {
        errors::SUCCESS => Ok(()),
        code => Err(failure_of(call, code)),
    }
}

/// Returns the failure of a function. Its name in the headers has no version at the end.
fn failure_of(function: &'static str, code: c_int) -> Failure {
    Failure::cuda(function.strip_suffix("_v2").unwrap_or(function), code)
}

/// Returns the failure of a call that answers with a value that it must not return, or that gets such a value.
const fn invalid(call: &'static str) -> Failure {
    Failure::cuda(call, errors::INVALID_VALUE)
}
