// SPDX-License-Identifier: MIT OR Apache-2.0
//! A context: what buffers, programs and queues of one device have in common.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use opencl_sys::{
    CL_DEVICE_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE,
};
use opencl3::types::{cl_bitfield, cl_context, cl_context_properties};

use crate::backend::device::{Device, DriverContext};
use crate::backend::failure::{BuildError, Failure};
use crate::backend::gate::{self, Passage, Stage};
use crate::backend::memory::Memory as AnyMemory;
use crate::backend::native::{MemoryHandle, Owner};
use crate::backend::opencl::device::DriverDevice;
use crate::backend::opencl::functions::Functions;
use crate::backend::opencl::intel_cpu::CpuTarget;
use crate::backend::opencl::memory::Memory;
use crate::backend::opencl::program;
use crate::backend::opencl::queue::{OwnedQueue, Queue};
use crate::backend::program::{Program, Source};
use crate::backend::queue::Queue as AnyQueue;
use crate::queue::options::{QueueAbilities, QueueOptions};

/// An owned context of a device.
pub(crate) struct Context {
    pub(crate) device: &'static DriverDevice,
    pub(crate) handle: cl_context,
    /// Whether another library made it.
    foreign: bool,
    /// Its queues, possibly including dropped queues.
    queues: Mutex<Vec<Weak<OwnedQueue>>>,
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
    pub(crate) unsafe fn adopt(
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
        unsafe { call!(device.functions, clRetainContext(handle)) }?;
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
        let (callback, none) = (None, std::ptr::null_mut());
        // SAFETY: the properties end with 0, there is one device, and no callback is registered.
        let handle = unsafe {
            let (properties, device_id) = (properties.as_ptr(), &raw const device.id);
            create!(
                device.functions,
                clCreateContext(properties, 1, device_id, callback, none)
            )
        }?;
        gate::close_at_exit(device.platform, Stage::FirstContext);
        Ok(Self {
            device,
            handle,
            foreign: false,
            queues: Mutex::default(),
        })
    }

    /// Registers a queue of this context as long as the queue lives.
    pub(crate) fn register(&self, queue: &Arc<OwnedQueue>) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue));
    }

    pub(crate) fn functions(&self) -> &'static Functions {
        self.device.functions
    }
}

impl DriverContext for Context {
    fn device(&self) -> Device {
        self.device
    }

    fn finish_all(&self) -> Result<(), Failure> {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<Arc<OwnedQueue>> = queues.iter().filter_map(Weak::upgrade).collect();
        // The wait may take long and must not delay a thread that makes a queue.
        drop(queues);
        // All queues are waited for, even if one of them returns an error.
        let finished = live.iter().map(|queue| queue.drain());
        finished.fold(Ok(()), Result::and)
    }

    fn queue_abilities(&self) -> Result<QueueAbilities, Failure> {
        let (id, name) = (self.device.id, CL_DEVICE_QUEUE_PROPERTIES);
        // SAFETY: the device is one of this library.
        let query = unsafe { query!(self.functions(), clGetDeviceInfo(id, name)) };
        let bits: cl_bitfield = query.value()?;
        Ok(QueueAbilities {
            out_of_order: bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0,
            profiling: bits & CL_QUEUE_PROFILING_ENABLE != 0,
        })
    }

    fn new_queue(self: Arc<Self>, options: QueueOptions) -> Result<AnyQueue, Failure> {
        Ok(Arc::new(Queue::new(self, options)?).into())
    }

    unsafe fn adopt_memory(
        self: Arc<Self>,
        handle: MemoryHandle,
        size: usize,
        owner: Owner,
    ) -> Result<AnyMemory, Failure> {
        // SAFETY: as the caller says.
        unsafe { Memory::adopt(self, handle, size, owner) }.map(AnyMemory::from)
    }

    fn build(self: Arc<Self>, sources: &[Source<'_>]) -> Result<Program, BuildError> {
        Ok(Arc::new(program::Program::build(&self, sources)?))
    }

    fn build_native(self: Arc<Self>, source: &Source<'_>) -> Result<Program, BuildError> {
        Ok(Arc::new(program::Program::from_file(&self, source)?))
    }

    fn build_cached(self: Arc<Self>, code: &[u8]) -> Result<Option<Program>, BuildError> {
        let program = program::Program::from_cache(&self, code)?;
        Ok(program.map(|program| -> Program { Arc::new(program) }))
    }

    fn keeps_programs(&self) -> bool {
        true
    }

    fn variant(&self) -> Option<[u8; 4]> {
        program::variant()
    }

    fn variant_of_own(&self, code: &[u8]) -> Option<Option<[u8; 4]>> {
        program::variant_of_own(code)
    }

    fn processor_of(&self, code: &[u8]) -> Option<[u8; 4]> {
        CpuTarget::of(code).map(CpuTarget::bytes)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: `handle` is owned; whatever was made from it holds a reference of its own.
        unsafe { (self.functions().clReleaseContext.pass())(self.handle) };
    }
}
