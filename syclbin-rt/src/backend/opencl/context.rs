// SPDX-License-Identifier: MIT OR Apache-2.0
//! The context that the buffers, programs and queues of a device share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use opencl_sys::{CL_MEM_CONTEXT, CL_MEM_SIZE};
use opencl3::types::{cl_context, cl_context_properties};

use super::*;
use crate::backend::guard::{self, Mode};

pub(crate) struct Context {
    pub(crate) device: &'static DriverDevice,
    pub(crate) functions: &'static Functions,
    pub(crate) handle: Raw<cl_context>,
    /// Whether another library created the context.
    foreign: bool,
    /// What launches detect, if `SYCLBIN_GUARD` is set.
    pub(crate) guard: Option<Mode>,
    pub(crate) queues: LiveQueues<OwnedQueue>,
}

/// The contexts in use. Stored here so that devices have no interior mutability and can be keys in maps and sets.
static IN_USE: Mutex<Vec<Weak<Context>>> = Mutex::new(Vec::new());

impl Context {
    /// Returns the shared context of `device`, creating it if none is in use.
    ///
    /// The device's queues can share buffers and kernels, because all of them use this context.
    pub(crate) fn shared(device: &'static DriverDevice) -> Result<Arc<Self>> {
        Self::in_use(device, |context| !context.foreign, || Self::new(device))
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
        let is_it = |context: &Self| context.handle.0 == handle;
        Self::in_use(device, is_it, || {
            // SAFETY: the context is alive; the retained reference is released on drop.
            unsafe { call!(device.functions => clRetainContext(handle)) }?;
            Ok(Self::own(device, handle, true))
        })
    }

    /// Returns a context of `device` that is in use and that `is_it` accepts, or else creates one with `new`.
    fn in_use(
        device: &'static DriverDevice,
        is_it: impl Fn(&Self) -> bool,
        new: impl FnOnce() -> Result<Self>,
    ) -> Result<Arc<Self>> {
        let _guard = CallGuard::new();
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.retain(|context| context.strong_count() > 0);
        let mut known = in_use.iter().filter_map(Weak::upgrade);
        if let Some(context) = known.find(|one| std::ptr::eq(one.device, device) && is_it(one)) {
            return Ok(context);
        }
        let context = Arc::new(new()?);
        in_use.push(Arc::downgrade(&context));
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
        Ok(Self::own(device, handle, false))
    }

    /// Takes ownership of a reference to the driver's context.
    fn own(device: &'static DriverDevice, handle: cl_context, foreign: bool) -> Self {
        gate::close_at_exit(device.platform, Stage::FirstContext);
        // Ignore an invalid value of `SYCLBIN_GUARD`, and devices that cannot guard buffers: creating a queue reports
        // both.
        let requested = guard::requested().ok().flatten();
        Self {
            device,
            functions: device.functions,
            handle: Raw(handle),
            foreign,
            guard: requested.filter(|_| device.facts.guards_buffers),
            queues: LiveQueues::new(),
        }
    }
}

impl DriverContext for Context {
    fn device(&self) -> Device {
        self.device
    }

    fn finish_all(&self) -> Result<()> {
        self.queues.for_each(OwnedQueue::drain)
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
        let handle = match handle {
            MemoryHandle::Address(address) => {
                self.usm("clSetKernelArgMemPointerINTEL")?;
                let address = usize::try_from(address).map_err(|_| Failure::UNSUITABLE)?;
                let pointer = std::ptr::with_exposed_provenance_mut(address);
                let host = false;
                Handle::Address { pointer, host }
            }
            MemoryHandle::OpenCl { memory, .. } => {
                let functions = self.functions;
                // SAFETY: the object is alive.
                let query = |name| unsafe { query!(functions => clGetMemObjectInfo(memory, name)) };
                if query(CL_MEM_CONTEXT).value::<usize>()? != self.handle.0.addr() {
                    return Err(Failure::FOREIGN);
                }
                if query(CL_MEM_SIZE).value::<usize>()? < size {
                    return Err(Failure::Rejected(Rejection::OutOfBounds));
                }
                // SAFETY: the object is alive; the retained reference is released on drop.
                unsafe { call!(functions => clRetainMemObject(memory)) }?;
                Handle::Object(memory)
            }
        };
        Ok(Memory::new(&self, handle, size, Some(owner)).into())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `handle` is owned; everything created from it holds a reference of its own.
        unsafe { (self.functions.clReleaseContext.pass())(self.handle.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common;

    #[test]
    fn dropped_contexts_are_forgotten() {
        let Some(queue) = common::opencl_queue() else {
            return;
        };
        let device = queue.raw().opencl().unwrap().context.device;
        for _ in 0..30 {
            drop(Context::in_use(device, |_| false, || Context::new(device)).unwrap());
        }
        let known = IN_USE.lock().unwrap_or_else(PoisonError::into_inner).len();
        assert!(known < 30, "{known} contexts");
    }

    #[test]
    fn kernels_refuse_queues_of_other_contexts() -> crate::Result<()> {
        let Some(queue) = common::opencl_queue() else {
            return Ok(());
        };
        let kernel = common::kernel(&queue, "functor.object.syclbin", "_ZTS6AddOne")?;
        let object = kernel.raw().object().unwrap();
        let device = queue.raw().opencl().unwrap().context.device;
        let other = Arc::new(Context::new(device).unwrap());
        let other = other.new_queue(QueueOptions::new()).unwrap();
        let refused = object.suggested_local(&other, &[8]);
        assert_eq!(refused, Err(Failure::FOREIGN));
        Ok(())
    }
}
