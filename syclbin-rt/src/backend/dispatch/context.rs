//! Contexts: what belongs together of a device.

use std::sync::Arc;

use crate::backend::dispatch::device::Found;
use crate::backend::dispatch::{both, each, either};
use crate::backend::failure::Failure;
use crate::backend::{cuda, opencl};

either! {
    /// A context of one device. A clone is the same one.
    #[derive(Clone)]
    Context: Arc<opencl::Context>, Arc<cuda::Context>
}

impl Context {
    /// The one that all queues of a device share.
    pub(crate) fn shared(device: Found) -> Result<Self, Failure> {
        match device {
            Found::OpenCl(device) => opencl::Context::shared(device).map(Self::OpenCl),
            Found::Cuda(device) => cuda::Context::shared(device).map(Self::Cuda),
        }
    }

    /// One of its own, for tests.
    #[cfg(test)]
    pub(crate) fn new(device: Found) -> Result<Self, Failure> {
        match device {
            Found::OpenCl(device) => opencl::Context::new(device).map(Arc::new).map(Self::OpenCl),
            Found::Cuda(device) => cuda::Context::new(device).map(Arc::new).map(Self::Cuda),
        }
    }

    /// Its device.
    pub(crate) fn device(&self) -> Found {
        each!(Self, self, context => context.device().into())
    }

    /// Whether both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        both!(Self self, Self other; one, other => Arc::ptr_eq(one, other), else false)
    }

    /// Whether code that the driver made can be kept, and saves compiling again.
    pub(crate) fn keeps_programs(&self) -> bool {
        each!(Self, self, context => context.keeps_programs())
    }

    /// What decides over the code that the driver makes, beside the sources and the device.
    pub(crate) fn variant(&self) -> Option<[u8; 4]> {
        each!(Self, self, context => context.variant())
    }

    /// The variant that `code`, which was compiled here, is of; none if processes of that variant compile to
    /// other code.
    pub(crate) fn variant_of_own(&self, code: &[u8]) -> Option<Option<[u8; 4]>> {
        each!(Self, self, context => context.variant_of_own(code))
    }

    /// The processor that native code is for, where the driver takes no two in one process.
    pub(crate) fn processor_of(&self, code: &[u8]) -> Option<[u8; 4]> {
        each!(Self, self, context => context.processor_of(code))
    }

    /// What tells it from all others that are alive.
    pub(crate) fn address(&self) -> usize {
        each!(Self, self, context => Arc::as_ptr(context).addr())
    }

    /// Waits for everything that is in a queue of it.
    pub(crate) fn finish_all(&self) -> Result<(), Failure> {
        each!(Self, self, context => context.finish_all())
    }
}
