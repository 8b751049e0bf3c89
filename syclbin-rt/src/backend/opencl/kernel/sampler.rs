// SPDX-License-Identifier: MIT OR Apache-2.0
//! A sampler object.

use std::sync::Arc;

use opencl_sys as cl;
use opencl3::types::{cl_bool, cl_sampler};

use crate::backend::failure::Failure;
use crate::backend::opencl::check_handle;
use crate::backend::opencl::context::Context;
use crate::launch::sampler::modes::{Addressing, Filtering};

/// An owned sampler.
pub(crate) struct Sampler {
    context: Arc<Context>,
    pub(in crate::backend::opencl) handle: cl_sampler,
}

// SAFETY: samplers may be used from every thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for Sampler {}
// SAFETY: as for Send.
unsafe impl Sync for Sampler {}

impl Sampler {
    /// A sampler of a device that has images.
    pub(crate) fn new(
        context: &Arc<Context>,
        addressing: Addressing,
        filtering: Filtering,
        normalized: bool,
    ) -> Result<Self, Failure> {
        let addressing = match addressing {
            Addressing::None => cl::CL_ADDRESS_NONE,
            Addressing::ClampToEdge => cl::CL_ADDRESS_CLAMP_TO_EDGE,
            Addressing::Clamp => cl::CL_ADDRESS_CLAMP,
            Addressing::Repeat => cl::CL_ADDRESS_REPEAT,
            Addressing::MirroredRepeat => cl::CL_ADDRESS_MIRRORED_REPEAT,
        };
        let filtering = match filtering {
            Filtering::Nearest => cl::CL_FILTER_NEAREST,
            Filtering::Linear => cl::CL_FILTER_LINEAR,
        };
        let mut code = 0;
        // OpenCL 2.0 deprecates this function for one with more properties, none of them wanted.
        // SAFETY: the context is alive; only the status is written.
        let handle = unsafe {
            (context.functions().clCreateSampler.pass())(
                context.handle,
                cl_bool::from(normalized),
                addressing,
                filtering,
                &raw mut code,
            )
        };
        Ok(Self {
            context: Arc::clone(context),
            handle: check_handle("clCreateSampler", handle, code)?,
        })
    }

    /// Returns its context.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // SAFETY: the handle is owned. Commands may still use it: the sampler is deleted when they
        // have finished (OpenCL 3.0, clReleaseSampler). A kernel object does not keep it, but no
        // launch uses what an earlier one has set.
        unsafe { (self.context.functions().clReleaseSampler.pass())(self.handle) };
    }
}
