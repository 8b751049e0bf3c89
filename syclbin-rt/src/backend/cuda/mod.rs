// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CUDA backend: a table of NVIDIA's driver functions ([`sys`]), and types that own the handles that the driver
//! returns.
//!
//! Without profiling, a launch creates no driver event: see [`stream`].
//!
//! Every call first makes the context of its objects current ([`Context::enter`](context::Context::enter)), which
//! fails if a kernel has destroyed that context.

/// Calls a driver function. First makes `$context` the current context, unless the call works in any context or the
/// caller has `entered` the context. For an optional function, `$driver` names the drivers that provide it.
macro_rules! call {
    (in any context, $functions:expr => $name:ident($($argument:expr),* $(,)?)) => {
        check(stringify!($name), ($functions.$name.pass())($($argument),*))
    };
    (entered $functions:expr, $context:expr => $name:ident($($argument:expr),* $(,)?)) => {
        $context.check(stringify!($name), ($functions.$name.pass())($($argument),*))
    };
    ($context:expr => $name:ident($($argument:expr),* $(,)?)) => {
        $context.enter().and_then(|functions| {
            call!(entered functions, $context => $name($($argument),*))
        })
    };
    ($context:expr, $driver:literal => $name:ident($($argument:expr),* $(,)?)) => {
        $context.enter().and_then(|functions| {
            let function = functions.$name.ok_or(Failure::missing(stringify!($name), $driver))?;
            $context.check(stringify!($name), (function.pass())($($argument),*))
        })
    };
}

mod context;
mod copy;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod graph;
pub(crate) mod kernel;
pub(crate) mod kernel_object;
pub(crate) mod memory;
mod program;
pub(crate) mod queue;
mod stream;
mod sys;
#[cfg(test)]
mod tests;

pub(crate) use copy::*;
pub(crate) use stream::*;
pub(crate) use sys::*;

// Imports shared by the files in this directory. Plain names are CUDA types; `Any...` names cover both drivers.
pub(crate) use context::Context;
pub(crate) use device::{DriverDevice, WARP, error_name};
pub(crate) use event::{Event, Timed};
pub(crate) use kernel::{Blocks, Bounds, Kernel, blocks};
pub(crate) use kernel_object::{Handles, KernelObject};
pub(crate) use memory::Memory;
pub(crate) use program::{OFFSET_VARIANT, Program};
pub(crate) use queue::Queue;

use std::ffi::c_int;

use crate::backend::*;
use crate::backend::{
    Context as AnyContext, Event as AnyEvent, Graph as AnyGraph, Kernel as AnyKernel,
    KernelObject as AnyKernelObject, Memory as AnyMemory, Program as AnyProgram, Queue as AnyQueue,
};

pub(crate) const SUCCESS: c_int = 0;
pub(crate) const INVALID_VALUE: c_int = 1;
pub(crate) const OUT_OF_MEMORY: c_int = 2;
pub(crate) const NO_DEVICE: c_int = 100;
pub(crate) const NOT_FOUND: c_int = 500;
pub(crate) const NOT_READY: c_int = 600;
pub(crate) const NOT_SUPPORTED: c_int = 801;

/// Returns whether this error destroys the context. Every later call in that context then returns the same error.
///
/// According to the driver API reference, only a new process can use CUDA after such an error.
pub(crate) fn is_sticky(code: c_int) -> bool {
    matches!(
        code,
        214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 810 | 911
    )
}

fn check(call: &'static str, code: c_int) -> Result<()> {
    match code {
        SUCCESS => Ok(()),
        code => Err(failure_of(call, code)),
    }
}

/// Creates the failure for a call to `function`. The failure omits the version suffix from the name, as C programs do.
fn failure_of(function: &'static str, code: c_int) -> Failure {
    Failure::cuda(function.strip_suffix("_v2").unwrap_or(function), code)
}

/// Creates the failure for a call whose arguments or results are invalid.
const fn invalid(call: &'static str) -> Failure {
    Failure::cuda(call, INVALID_VALUE)
}

#[cfg(test)]
mod error_tests {
    use cudarc::driver::sys::CUresult;

    use super::*;

    #[test]
    fn codes_have_the_values_of_the_header() {
        for (code, theirs) in [
            (SUCCESS, CUresult::CUDA_SUCCESS),
            (INVALID_VALUE, CUresult::CUDA_ERROR_INVALID_VALUE),
            (OUT_OF_MEMORY, CUresult::CUDA_ERROR_OUT_OF_MEMORY),
            (NO_DEVICE, CUresult::CUDA_ERROR_NO_DEVICE),
            (NOT_FOUND, CUresult::CUDA_ERROR_NOT_FOUND),
            (NOT_READY, CUresult::CUDA_ERROR_NOT_READY),
            (NOT_SUPPORTED, CUresult::CUDA_ERROR_NOT_SUPPORTED),
        ] {
            assert_eq!(code, theirs as c_int, "{theirs:?}");
        }
    }

    #[test]
    fn only_fatal_errors_end_the_context() {
        for code in [
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            CUresult::CUDA_ERROR_LAUNCH_FAILED,
            CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
            CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
            CUresult::CUDA_ERROR_ASSERT,
            CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED,
            CUresult::CUDA_ERROR_MPS_CLIENT_TERMINATED,
            CUresult::CUDA_ERROR_EXTERNAL_DEVICE,
        ] {
            assert!(is_sticky(code as c_int), "{code:?}");
        }
        for code in [
            SUCCESS,
            INVALID_VALUE,
            OUT_OF_MEMORY,
            NO_DEVICE,
            CUresult::CUDA_ERROR_INVALID_CONTEXT as c_int,
            NOT_FOUND,
            NOT_READY,
            NOT_SUPPORTED,
        ] {
            assert!(!is_sticky(code), "{code}");
        }
    }
}
