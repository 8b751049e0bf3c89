// SPDX-License-Identifier: MIT OR Apache-2.0
//! A context: what buffers, programs and queues of one device have in common.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use opencl3::types::{cl_context, cl_context_properties};

use crate::backend::failure::Failure;
use crate::backend::opencl::device::DriverDevice;
use crate::backend::opencl::driver::sys::Functions;
use crate::backend::opencl::queue::handle::Handle;
use crate::backend::opencl::{check, check_handle};
use crate::backend::process::gate::{self, Passage, Stage};

/// An owned context of a device.
pub(crate) struct Context {
    device: &'static DriverDevice,
    pub(super) handle: cl_context,
    /// Whether another library made it.
    foreign: bool,
    /// Its queues, possibly including dropped queues.
    queues: Mutex<Vec<Weak<Handle>>>,
}

// SAFETY: contexts may be used from every thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for Context {}
// SAFETY: as for Send.
unsafe impl Sync for Context {}

/// The context of each device that is in use. Kept here and not in the device, which stays free of
/// interior mutability so that it can be a key of maps and sets.
static IN_USE: Mutex<Vec<(&'static DriverDevice, Weak<Context>)>> = Mutex::new(Vec::new());

impl Context {
    /// Returns the context that everything on `device` shares: the context in use, else a new context.
    ///
    /// A single context per device lets queues share buffers and kernels.
    pub(crate) fn shared(device: &'static DriverDevice) -> Result<Arc<Self>, Failure> {
        let _passage = Passage::new();
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.retain(|(_, context)| context.strong_count() > 0);
        let contexts = in_use.iter();
        let shared = contexts
            .filter(|(other, _)| std::ptr::eq(*other, device))
            .filter_map(|(_, context)| context.upgrade())
            .find(|context| !context.foreign);
        if let Some(context) = shared {
            return Ok(context);
        }
        let context = Arc::new(Self::new(device)?);
        in_use.push((device, Arc::downgrade(&context)));
        Ok(context)
    }

    /// Returns the context with this handle: the one in use, else another owner of the foreign context.
    ///
    /// # Safety
    ///
    /// `handle` is a live context of the library of `device`, and has that device.
    pub(super) unsafe fn adopt(
        device: &'static DriverDevice,
        handle: cl_context,
    ) -> Result<Arc<Self>, Failure> {
        let _passage = Passage::new();
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = in_use.iter().filter_map(|(_, context)| context.upgrade());
        let same =
            |context: &Arc<Self>| context.handle == handle && std::ptr::eq(context.device, device);
        if let Some(context) = known.find(same) {
            return Ok(context);
        }
        // SAFETY: the context is alive, and has one owner more from here on.
        check("clRetainContext", unsafe {
            (device.functions.clRetainContext.pass())(handle)
        })?;
        gate::close_at_exit(device.platform, Stage::FirstContext);
        let context = Arc::new(Self {
            device,
            handle,
            foreign: true,
            queues: Mutex::default(),
        });
        in_use.push((device, Arc::downgrade(&context)));
        Ok(context)
    }

    /// Creates a separate context.
    ///
    /// Programs use [`Context::shared`]; tests use this function to simulate another device.
    pub(crate) fn new(device: &'static DriverDevice) -> Result<Self, Failure> {
        let properties: [cl_context_properties; 3] = [
            opencl_sys::CL_CONTEXT_PLATFORM,
            device.platform as cl_context_properties,
            0,
        ];
        let mut code = 0;
        // SAFETY: the properties end with 0, there is one device, and no callback is registered.
        let handle = unsafe {
            (device.functions.clCreateContext.pass())(
                properties.as_ptr(),
                1,
                &raw const device.id,
                None,
                std::ptr::null_mut(),
                &raw mut code,
            )
        };
        let handle = check_handle("clCreateContext", handle, code)?;
        gate::close_at_exit(device.platform, Stage::FirstContext);
        Ok(Self {
            device,
            handle,
            foreign: false,
            queues: Mutex::default(),
        })
    }

    /// Returns its device.
    pub(crate) fn device(&self) -> &'static DriverDevice {
        self.device
    }

    /// Registers a queue of this context as long as the queue lives.
    pub(super) fn register(&self, queue: &Arc<Handle>) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue));
    }

    /// Waits for everything that was put into any queue of this context before. Commands that other threads
    /// enqueue meanwhile may or may not be waited for. A caller that needs more must stop those threads.
    pub(crate) fn finish_all(&self) -> Result<(), Failure> {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<Arc<Handle>> = queues.iter().filter_map(Weak::upgrade).collect();
        // The wait may take long and must not delay a thread that makes a queue.
        drop(queues);
        // All queues are waited for, even if one of them returns an error.
        let finished = live.iter().map(|queue| queue.drain());
        finished.fold(Ok(()), Result::and)
    }

    pub(super) fn functions(&self) -> &'static Functions {
        self.device.functions
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `handle` is owned; whatever was made from it holds a reference of its own.
        unsafe { (self.functions().clReleaseContext.pass())(self.handle) };
    }
}
