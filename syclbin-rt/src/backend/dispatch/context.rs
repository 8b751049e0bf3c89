// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts: the objects of a device that work together.

use std::sync::Arc;

use crate::backend::dispatch::device::DriverDevice;
use crate::backend::dispatch::{both, each, either};
use crate::backend::failure::Failure;
use crate::backend::{cuda, opencl};

either! {
    /// A context of a device. A clone is the same context.
    #[derive(Clone)]
    Context: Arc<opencl::Context>, Arc<cuda::Context>
}

impl Context {
    /// Returns the context that all queues of a device share.
    pub(crate) fn shared(device: DriverDevice) -> Result<Self, Failure> {
        match device {
            DriverDevice::OpenCl(device) => opencl::Context::shared(device).map(Self::OpenCl),
            DriverDevice::Cuda(device) => cuda::Context::shared(device).map(Self::Cuda),
        }
    }

    /// Creates a separate context, for tests.
    #[cfg(test)]
    pub(crate) fn new(device: DriverDevice) -> Result<Self, Failure> {
        match device {
            DriverDevice::OpenCl(device) => {
                opencl::Context::new(device).map(Arc::new).map(Self::OpenCl)
            }
            DriverDevice::Cuda(device) => cuda::Context::new(device).map(Arc::new).map(Self::Cuda),
        }
    }

    /// Returns the context's device.
    pub(crate) fn device(&self) -> DriverDevice {
        each!(Self, self, context => context.device().into())
    }

    /// Returns whether both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        both!(Self self, Self other; one, other => Arc::ptr_eq(one, other), else false)
    }

    /// Returns whether caching the driver's code is possible and saves compiling again.
    pub(crate) fn keeps_programs(&self) -> bool {
        each!(Self, self, context => context.keeps_programs())
    }

    /// Returns what else determines the driver's code, beside the sources and the device.
    pub(crate) fn variant(&self) -> Option<[u8; 4]> {
        each!(Self, self, context => context.variant())
    }

    /// Returns the variant of `code`, which was compiled here; `None` if processes of that variant compile to
    /// other code.
    pub(crate) fn variant_of_own(&self, code: &[u8]) -> Option<Option<[u8; 4]>> {
        each!(Self, self, context => context.variant_of_own(code))
    }

    /// Returns the processor that native code is for, where the driver takes code for only one processor in a
    /// process.
    pub(crate) fn processor_of(&self, code: &[u8]) -> Option<[u8; 4]> {
        each!(Self, self, context => context.processor_of(code))
    }

    /// Returns an address that no other live context has.
    pub(crate) fn address(&self) -> usize {
        each!(Self, self, context => Arc::as_ptr(context).addr())
    }

    /// Waits for everything in its queues.
    pub(crate) fn finish_all(&self) -> Result<(), Failure> {
        each!(Self, self, context => context.finish_all())
    }
}
