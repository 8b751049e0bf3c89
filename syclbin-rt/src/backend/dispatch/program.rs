//! Programs: code that a driver has built for one device.

use std::sync::Arc;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{Failure, each, opencl};

/// A built program. A clone is the same one.
#[derive(Clone)]
pub(crate) enum Program {
    OpenCl(Arc<opencl::Program>),
    #[cfg(feature = "cuda")]
    Cuda(Arc<cuda::Program>),
}

/// A program the driver does not build.
pub(crate) struct BuildError {
    pub(crate) failure: Failure,
    /// The driver's own words; may be empty.
    pub(crate) log: String,
}

impl From<Failure> for BuildError {
    fn from(failure: Failure) -> Self {
        let log = String::new();
        Self { failure, log }
    }
}

impl Program {
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

    /// The native code that the driver has made.
    pub(crate) fn binary(&self) -> Result<Vec<u8>, Failure> {
        each!(Self, self, program => program.binary())
    }

    /// The symbols of its kernels.
    pub(crate) fn kernel_names(&self) -> Result<Vec<String>, Failure> {
        each!(Self, self, program => program.kernel_names())
    }
}
