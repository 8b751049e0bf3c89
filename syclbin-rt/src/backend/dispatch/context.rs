//! Contexts: what belongs together of a device.

use std::sync::Arc;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{Failure, Found, each, opencl};

/// A context of one device. A clone is the same one.
#[derive(Clone)]
pub(crate) enum Context {
    OpenCl(Arc<opencl::Context>),
    #[cfg(feature = "cuda")]
    Cuda(Arc<cuda::Context>),
}

impl Context {
    /// The one that all queues of a device share.
    pub(crate) fn shared(device: Found) -> Result<Self, Failure> {
        match device {
            Found::OpenCl(device) => opencl::Context::shared(device).map(Self::OpenCl),
            #[cfg(feature = "cuda")]
            Found::Cuda(device) => cuda::Context::shared(device).map(Self::Cuda),
        }
    }

    /// One of its own, for tests.
    #[cfg(test)]
    pub(crate) fn new(device: Found) -> Result<Self, Failure> {
        match device {
            Found::OpenCl(device) => opencl::Context::new(device).map(Arc::new).map(Self::OpenCl),
            #[cfg(feature = "cuda")]
            Found::Cuda(device) => cuda::Context::new(device).map(Arc::new).map(Self::Cuda),
        }
    }

    /// Its device.
    pub(crate) fn device(&self) -> Found {
        match self {
            Self::OpenCl(context) => Found::OpenCl(context.device()),
            #[cfg(feature = "cuda")]
            Self::Cuda(context) => Found::Cuda(context.device()),
        }
    }

    /// Whether both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::OpenCl(one), Self::OpenCl(other)) => Arc::ptr_eq(one, other),
            #[cfg(feature = "cuda")]
            (Self::Cuda(one), Self::Cuda(other)) => Arc::ptr_eq(one, other),
            #[cfg(feature = "cuda")]
            _ => false,
        }
    }

    /// Waits for everything that is in a queue of it.
    pub(crate) fn finish_all(&self) -> Result<(), Failure> {
        each!(Self, self, context => context.finish_all())
    }
}
