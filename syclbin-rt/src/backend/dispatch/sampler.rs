// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samplers: the way a kernel reads images between their pixels.

use std::sync::Arc;

use crate::backend::dispatch::context::Context;
use crate::backend::dispatch::device::DriverDevice;
use crate::backend::dispatch::queue::Queue;
use crate::backend::dispatch::{both, each, either};
use crate::backend::failure::Failure;
use crate::backend::{cuda, opencl};
use crate::launch::sampler::modes::{Addressing, Filtering};

either! {
    /// An owned sampler.
    Sampler: opencl::Sampler, cuda::Sampler
}

impl Sampler {
    /// Creates a sampler for a device with image support. With `normalized`, coordinates go from 0 to 1;
    /// otherwise they count pixels.
    pub(crate) fn new(
        context: &Context,
        addressing: Addressing,
        filtering: Filtering,
        normalized: bool,
    ) -> Result<Self, Failure> {
        match context {
            Context::OpenCl(context) => {
                opencl::Sampler::new(context, addressing, filtering, normalized).map(Self::OpenCl)
            }
            Context::Cuda(context) => {
                cuda::Sampler::new(context, addressing, filtering, normalized).map(Self::Cuda)
            }
        }
    }

    /// Returns the OpenCL value, if it is of OpenCL.
    pub(in crate::backend) fn opencl(&self) -> Option<&opencl::Sampler> {
        match self {
            Self::OpenCl(sampler) => Some(sampler),
            Self::Cuda(_) => None,
        }
    }

    /// Returns whether kernels on `queue` can take it.
    pub(crate) fn is_for(&self, queue: &Queue) -> bool {
        both!(Self self, Queue queue; sampler, queue => Arc::ptr_eq(sampler.context(), queue.context()), else false)
    }

    /// Returns its device.
    pub(crate) fn device(&self) -> DriverDevice {
        each!(Self, self, sampler => sampler.context().device().into())
    }
}
