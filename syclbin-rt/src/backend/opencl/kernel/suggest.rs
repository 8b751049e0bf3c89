// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a driver says of good work-group sizes: `cl_khr_suggested_local_work_size`.

use std::ptr::NonNull;
use std::sync::Arc;

use opencl_sys::clGetKernelSuggestedLocalWorkSizeKHR_t;
use opencl3::error_codes::CL_INVALID_KERNEL_ARGS;
use opencl3::types::cl_uint;

use crate::backend::argument::{Argument, Arguments as _};
use crate::backend::failure::Failure;
use crate::backend::opencl::check;
use crate::backend::opencl::driver::sys::EntryPoint;
use crate::backend::opencl::kernel::Kernel;
use crate::backend::opencl::queue::Queue;
use crate::backend::process::gate::Gated;

type GetSuggested = <clGetKernelSuggestedLocalWorkSizeKHR_t as EntryPoint>::Function;

/// The extension.
const EXTENSION: &str = "cl_khr_suggested_local_work_size";

impl Kernel {
    /// Returns the work-group size that the driver would choose for `global`, in its order, x first; `None`
    /// where it does not report it.
    ///
    /// Drivers want all arguments to be set, as sizes may depend on them, so `values` are set first; a
    /// launch sets its own. They are for all parameters, and of the kinds that the kernel takes.
    pub(crate) fn suggested_local<'a>(
        &self,
        queue: &Queue,
        values: impl Iterator<Item = Argument<'a>>,
        global: &[usize],
    ) -> Result<Option<[usize; 3]>, Failure> {
        let call = "clGetKernelSuggestedLocalWorkSizeKHR";
        let context = self.context();
        if !Arc::ptr_eq(context, queue.context()) {
            return Err(Failure::foreign(call));
        }
        let device = context.device();
        let functions = context.functions();
        let get = functions
            .clGetExtensionFunctionAddressForPlatform
            .filter(|_| device.facts().has(EXTENSION));
        let Some(get) = get else {
            return Ok(None);
        };
        // SAFETY: the platform is the device's; the name is NUL-terminated.
        let address = unsafe {
            (get.pass())(
                device.platform,
                c"clGetKernelSuggestedLocalWorkSizeKHR".as_ptr(),
            )
        };
        let Some(address) = NonNull::new(address) else {
            return Ok(None);
        };
        // SAFETY: the device has the extension, whose function of this name has this type. That the
        // platform means its own function is taken on trust from it.
        let get = unsafe { Gated::<GetSuggested>::at(address) };
        // An object of its own: it keeps no argument beyond this call.
        let mut object = self.object()?;
        for (index, value) in values.enumerate() {
            // SAFETY: the values are of the kinds that the kernel takes.
            unsafe { object.set(index, value) }?;
        }
        let (offset, mut local) = ([0; 3], [1; 3]);
        let dimensions = global.len().min(local.len());
        // SAFETY: queue and kernel share a context and are alive. What was set is borrowed until after
        // the call. All lists have as many elements as there are dimensions. The offset is not null, which
        // means the same, because rusticl (25.0) refuses that.
        let code = unsafe {
            (get.pass())(
                queue.handle,
                object.handle,
                cl_uint::try_from(dimensions).unwrap_or(cl_uint::MAX),
                offset.as_ptr(),
                global.as_ptr(),
                local.as_mut_ptr(),
            )
        };
        if code == CL_INVALID_KERNEL_ARGS {
            return Ok(None);
        }
        check(call, code)?;
        Ok(Some(local))
    }
}
