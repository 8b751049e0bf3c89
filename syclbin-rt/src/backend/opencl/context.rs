// SPDX-License-Identifier: MIT OR Apache-2.0
//! The context that the buffers, programs and queues of a device share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use opencl3::types::{cl_context, cl_context_properties};

use super::*;
use crate::backend::guard::{self, Side};

pub(crate) struct Context {
    pub(crate) device: &'static DriverDevice,
    pub(crate) handle: cl_context,
    /// Whether another library created the context.
    foreign: bool,
    /// The guarded side of each buffer, if `SYCLBIN_GUARD` is set.
    pub(crate) guard: Option<Side>,
    pub(crate) queues: LiveQueues<OwnedQueue>,
}

// SAFETY: contexts may be used from any thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for Context {}
// SAFETY: as for `Send`.
unsafe impl Sync for Context {}

/// The contexts in use, with their devices. Stored here so that devices have no interior mutability and can be keys
/// in maps and sets.
static IN_USE: Mutex<Vec<(&'static DriverDevice, Weak<Context>)>> = Mutex::new(Vec::new());

impl Context {
    /// Returns the shared context of `device`, creating it if none is in use.
    ///
    /// The device's queues can share buffers and kernels, because all of them use this context.
    pub(crate) fn shared(device: &'static DriverDevice) -> Result<Arc<Self>> {
        let _guard = CallGuard::new();
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

    /// Returns the context with this handle if it is in use, or else adopts the foreign context.
    ///
    /// # Safety
    ///
    /// `handle` must be a live context from the library of `device`, and must contain that device.
    pub(crate) unsafe fn adopt(
        device: &'static DriverDevice,
        handle: cl_context,
    ) -> Result<Arc<Self>> {
        let _guard = CallGuard::new();
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = in_use.iter().filter_map(|(_, context)| context.upgrade());
        let same =
            |context: &Arc<Self>| context.handle == handle && std::ptr::eq(context.device, device);
        if let Some(context) = known.find(same) {
            return Ok(context);
        }
        // SAFETY: the context is alive; the retained reference is released on drop.
        unsafe { call!(device.functions => clRetainContext(handle)) }?;
        gate::close_at_exit(device.platform, Stage::FirstContext);
        let context = Arc::new(Self {
            device,
            handle,
            foreign: true,
            guard: guarded_side(device),
            queues: LiveQueues::new(),
        });
        in_use.push((device, Arc::downgrade(&context)));
        Ok(context)
    }

    /// Creates a separate context.
    ///
    /// Only tests call this directly, to simulate a second device. All other code uses [`Context::shared`].
    pub(crate) fn new(device: &'static DriverDevice) -> Result<Self> {
        let properties: [cl_context_properties; 3] = [
            opencl_sys::CL_CONTEXT_PLATFORM,
            device.platform as cl_context_properties,
            0,
        ];
        let (callback, none) = (None, std::ptr::null_mut());
        // SAFETY: the properties end with 0, there is a single device, and no callback is registered.
        let handle = unsafe {
            let (properties, device_id) = (properties.as_ptr(), &raw const device.id);
            create!(device.functions => clCreateContext(properties, 1, device_id, callback, none))
        }?;
        gate::close_at_exit(device.platform, Stage::FirstContext);
        Ok(Self {
            device,
            handle,
            foreign: false,
            guard: guarded_side(device),
            queues: LiveQueues::new(),
        })
    }

    pub(crate) fn functions(&self) -> &'static Functions {
        self.device.functions
    }
}

fn guarded_side(device: &DriverDevice) -> Option<Side> {
    // Ignore an invalid value, and a device that cannot guard buffers: creating a queue reports both.
    let requested = guard::requested().ok().flatten();
    requested.filter(|_| device.facts.guards_buffers)
}

impl DriverContext for Context {
    fn device(&self) -> Device {
        self.device
    }

    fn finish_all(&self) -> Result<()> {
        self.queues.finish(OwnedQueue::drain)
    }

    fn new_queue(self: Arc<Self>, options: QueueOptions) -> Result<AnyQueue> {
        Ok(Arc::new(Queue::new(self, options)?).into())
    }

    unsafe fn adopt_memory(
        self: Arc<Self>,
        handle: MemoryHandle,
        size: usize,
        owner: Owner,
    ) -> Result<AnyMemory> {
        // SAFETY: the caller guarantees this.
        unsafe { Memory::adopt(self, handle, size, owner) }.map(AnyMemory::from)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `handle` is owned; everything created from it holds a reference of its own.
        unsafe { (self.functions().clReleaseContext.pass())(self.handle) };
    }
}
