// SPDX-License-Identifier: MIT OR Apache-2.0
//! An OpenCL kernel that several threads can launch, because one lock covers setting the arguments and enqueueing.

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::AnyBitPattern;
use opencl_sys::{
    CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
    CL_KERNEL_LOCAL_MEM_SIZE, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
    CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE as PREFERRED_MULTIPLE, CL_KERNEL_PRIVATE_MEM_SIZE,
    CL_KERNEL_SPILL_MEM_SIZE_INTEL, CL_KERNEL_WORK_GROUP_SIZE,
};
use opencl3::types::{cl_uint, cl_ulong};

use super::*;

/// The query for the number of registers, defined by `cl_intel_maximum_registers`.
const REGISTER_COUNT: cl_uint = 0x425B;

/// The extension for required sub-group sizes, which also defines the query for spill memory.
const SUB_GROUP_SIZE: &str = "cl_intel_required_subgroup_size";

pub(crate) struct Kernel {
    object: Mutex<KernelObject>,
    program: Arc<Program>,
    symbol: CString,
    bounds: KernelBounds,
}

impl Kernel {
    pub(crate) fn new(program: Arc<Program>, symbol: CString) -> Result<Self> {
        let mut object = KernelObject::new(&program, &symbol)?;
        let hidden = program.hidden.get();
        let hidden = hidden.map_or(0, |hidden| hidden.layout.arguments());
        let arguments = object.count()?.saturating_sub(hidden);
        let required: [usize; 3] = work_group_info(&object, CL_KERNEL_COMPILE_WORK_GROUP_SIZE)?;
        let bounds = KernelBounds {
            arguments,
            required_local: (required != [0; 3]).then_some(required),
            max_local: work_group_info(&object, CL_KERNEL_WORK_GROUP_SIZE)?,
            // Some drivers get code that does not contain the maximum.
            keeps_declared: false,
            // Queried before any argument is set: some drivers include the memory of local-memory arguments that are
            // already set.
            local_memory: work_group_info(&object, CL_KERNEL_LOCAL_MEM_SIZE)?,
        };
        object.reuse_arguments(arguments);
        Ok(Self {
            object: Mutex::new(object),
            program,
            symbol,
            bounds,
        })
    }

    fn new_object(&self) -> Result<KernelObject> {
        KernelObject::new(&self.program, &self.symbol)
    }

    /// Sets all arguments and enqueues the kernel, to start when all commands in `after` have finished.
    ///
    /// # Safety
    ///
    /// The requirements of [`Kernel::launch`](crate::backend::kernel::Kernel::launch) apply.
    pub(crate) unsafe fn launch<'v, V: Values<'v>>(
        &self,
        queue: &AnyQueue,
        values: &V,
        grid: &AnyRange,
        after: &WaitList<'_>,
    ) -> Result<AnyEvent, V::Error> {
        let not_launched = |failure| values.not_launched(failure);
        let queue = queue.opencl().map_err(not_launched)?;
        let guard = &CallGuard::new();
        let mut locked = self.object.lock().unwrap_or_else(PoisonError::into_inner);
        let object = &mut *locked;
        #[cfg(target_os = "linux")]
        if object.program.reversible {
            // SAFETY: the values are only noted.
            unsafe { values.give(&mut object.reach) }?;
        }
        // SAFETY: the caller guarantees this.
        let given = unsafe { values.give(&mut GuardedObject { object, guard }) };
        let launched = given.and_then(|()| {
            // SAFETY: the caller guarantees this.
            let launched = unsafe { locked.enqueue_within(guard, queue, grid, after) };
            launched.map_err(not_launched)
        });
        locked.drop_parts();
        drop(locked);
        let event = launched?;
        // A failed flush must not fail the launch: the kernel is enqueued, and launching again would run it twice. The
        // next query or wait reports the failure.
        let _ = queue.flush();
        Ok(event.into())
    }

    /// Queries a sub-group property for work-groups of the required size or, if the kernel requires none, the maximum
    /// size. Returns `None` if the device does not support sub-groups, or if the value is 0, which means "none".
    fn sub_group_info(&self, object: &KernelObject, name: cl_uint) -> Option<usize> {
        let device = self.program.context.device;
        let get = self.program.context.functions.clGetKernelSubGroupInfo?;
        // A loader may export this function even if the driver lacks it.
        if !version_at_least(&device.facts.version, (2, 1)) {
            return None;
        }
        let largest = [self.bounds.max_local, 1, 1];
        let local = self.bounds.required_local.unwrap_or(largest);
        let (input, size) = (local.as_ptr().cast(), size_of_val(&local));
        let (kernel, id) = (object.handle.0, device.id);
        // SAFETY: the kernel was built for the device. The input is a work-group size, which queries without an input
        // ignore.
        let query =
            unsafe { query!(with get => clGetKernelSubGroupInfo(kernel, id, name, size, input)) };
        query.value().ok().filter(|number| *number > 0)
    }
}

fn work_group_info<T: AnyBitPattern>(object: &KernelObject, name: cl_uint) -> Result<T> {
    let (handle, device) = (object.handle.0, object.context.device.id);
    let functions = object.functions;
    // SAFETY: the kernel was built for the device.
    unsafe { query!(functions => clGetKernelWorkGroupInfo(handle, device, name)) }.value()
}

impl DriverKernel for Kernel {
    fn native(&self) -> KernelHandle {
        let mut object = self.object.lock().unwrap_or_else(PoisonError::into_inner);
        KernelHandle::OpenCl {
            kernel: object.share_handle(),
            program: self.program.handle.0,
        }
    }

    fn object(&self) -> Result<AnyKernelObject> {
        let mut object = self.new_object()?;
        object.reuse_arguments(self.bounds.arguments);
        Ok(AnyKernelObject::OpenCl(object))
    }

    fn bounds(&self) -> KernelBounds {
        self.bounds
    }

    fn preferred_multiple(&self) -> Result<usize> {
        work_group_info(&self.new_object()?, PREFERRED_MULTIPLE)
    }

    /// Queries a new object, because some drivers include the memory of arguments that are already set.
    fn attributes(&self) -> Result<KernelAttributes> {
        let object = &self.new_object()?;
        let has = |extension| self.program.context.device.facts.has(extension);
        let sizes_sub_groups = has(SUB_GROUP_SIZE);
        let bytes = |name| work_group_info::<cl_ulong>(object, name);
        let spilled = sizes_sub_groups.then(|| bytes(CL_KERNEL_SPILL_MEM_SIZE_INTEL));
        let registers = has("cl_intel_maximum_registers")
            .then(|| work_group_info::<cl_uint>(object, REGISTER_COUNT));
        let sub_group = |name| self.sub_group_info(object, name);
        let required = || sub_group(CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL);
        Ok(KernelAttributes {
            max_work_group_size: self.bounds.max_local,
            preferred_work_group_size_multiple: work_group_info(object, PREFERRED_MULTIPLE)?,
            local_memory_bytes: self.bounds.local_memory,
            private_memory_bytes: bytes(CL_KERNEL_PRIVATE_MEM_SIZE).ok(),
            // Devices other than GPUs may support the extension without this query.
            spill_memory_bytes: spilled.and_then(Result::ok),
            registers: registers.and_then(Result::ok),
            max_sub_group_size: sub_group(CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE),
            required_sub_group_size: sizes_sub_groups.then(required).flatten(),
        })
    }
}
