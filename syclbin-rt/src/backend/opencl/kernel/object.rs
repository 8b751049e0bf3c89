// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel objects: each holds the arguments of a kernel and is enqueued with them.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use opencl_sys::{
    CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
    CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
    CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
};
use opencl3::error_codes::CL_SUCCESS;
use opencl3::types::{CL_TRUE, cl_bool, cl_event, cl_kernel, cl_mem, cl_uint};

use crate::backend::argument::{Argument, Arguments};
use crate::backend::failure::Failure;
use crate::backend::opencl::driver::extensions::USM;
use crate::backend::opencl::driver::sys::Functions;
use crate::backend::opencl::memory::region::memory_of;
use crate::backend::opencl::memory::{Handle, Memory};
use crate::backend::opencl::program::Program;
use crate::backend::opencl::queue::Queue;
use crate::backend::opencl::queue::event::Event;
use crate::backend::opencl::queue::wait_list::WaitList;
use crate::backend::opencl::{check, check_handle};
use crate::backend::process::gate::Passage;
use crate::backend::slice::Region;
use crate::launch::range::Grid;

/// The driver function that enqueues a kernel.
const ENQUEUE: &str = "clEnqueueNDRangeKernel";

/// An owned kernel object, whose arguments persist between launches.
pub(crate) struct KernelObject {
    /// Those of the program, here too: between two launches the driver takes the place in the
    /// processor's cache of what lies further away.
    functions: &'static Functions,
    context: Arc<crate::backend::opencl::Context>,
    pub(in crate::backend::opencl) handle: cl_kernel,
    /// The objects of parts of buffers that are its arguments, by number.
    parts: Vec<(usize, Memory)>,
    /// Keeps it alive.
    _program: Arc<Program>,
}

// SAFETY: a kernel object may be used from every thread, but its arguments not be set while another
// one uses it (OpenCL 3.0, appendix A.2); setting them takes `&mut self`.
unsafe impl Send for KernelObject {}
// SAFETY: as for Send.
unsafe impl Sync for KernelObject {}

impl KernelObject {
    pub(in crate::backend::opencl) fn new(
        program: &Arc<Program>,
        symbol: &CStr,
    ) -> Result<Self, Failure> {
        let functions = program.context().functions();
        let mut code = 0;
        // SAFETY: the program is built and the name NUL-terminated; only the status is written.
        let handle = unsafe {
            (functions.clCreateKernel.pass())(program.handle, symbol.as_ptr(), &raw mut code)
        };
        let handle = check_handle("clCreateKernel", handle, code)?;
        // From here on, Drop releases it.
        let mut object = Self {
            functions,
            context: Arc::clone(program.context()),
            handle,
            parts: Vec::new(),
            _program: Arc::clone(program),
        };
        // Pointers in variables and in values are no arguments, so the driver does not see what the
        // kernel uses.
        if program.context().device().extensions.usm.is_some()
            && let Some(set) = functions.clSetKernelExecInfo
        {
            for name in [
                CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
                CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
                CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
            ] {
                let indirect: cl_bool = CL_TRUE;
                // SAFETY: the device has the extension that knows these names; the value is a
                // `cl_bool`, which the driver copies before it returns.
                check("clSetKernelExecInfo", unsafe {
                    (set.pass())(
                        handle,
                        name,
                        size_of_val(&indirect),
                        (&raw const indirect).cast(),
                    )
                })?;
            }
        }
        object.set_hidden_arguments(program)?;
        Ok(object)
    }

    pub(in crate::backend::opencl) fn context(&self) -> &Arc<crate::backend::opencl::Context> {
        &self.context
    }

    /// Returns the buffer object of a region that covers all of it, if it is of this context.
    #[inline(always)]
    fn object_of<'p>(&self, region: &'p Region<[()]>) -> Option<&'p cl_mem> {
        let memory = region.memory.raw().opencl()?;
        match &memory.handle {
            Handle::Object(object)
                if region.bytes() >= memory.size()
                    && Arc::ptr_eq(memory.context(), &self.context) =>
            {
                Some(object)
            }
            _ => None,
        }
    }
}

/// A kernel object on a thread that has passed the gate. A launch passes once for all its arguments, which
/// saves one to two hundredths of its time.
pub(crate) struct PassedObject<'a> {
    pub(in crate::backend::opencl) object: &'a mut KernelObject,
    pub(in crate::backend::opencl) passage: &'a Passage,
}

impl Arguments for KernelObject {
    #[inline(always)]
    unsafe fn set(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure> {
        let passage = &Passage::new();
        let object = self;
        // SAFETY: as the caller says.
        unsafe { PassedObject { object, passage }.set(index, value) }
    }

    unsafe fn set_any(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure> {
        let passage = &Passage::new();
        let object = self;
        // SAFETY: as the caller says.
        unsafe { PassedObject { object, passage }.set_any(index, value) }
    }
}

impl Arguments for PassedObject<'_> {
    // The objects of parts of buffers are kept here. The kinds that nearly all arguments are of are
    // inlined into the loop of a launch.
    #[inline(always)]
    unsafe fn set(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure> {
        let (size, pointer) = match value {
            Argument::Bytes(bytes) => (bytes.len(), bytes.as_ptr().cast()),
            Argument::Memory(region, _) => match self.object.object_of(region) {
                Some(object) => (size_of_val(object), std::ptr::from_ref(object).cast()),
                // SAFETY: as the caller says.
                None => return unsafe { self.set_any(index, value) },
            },
            // SAFETY: as the caller says.
            _ => return unsafe { self.set_any(index, value) },
        };
        // SAFETY: the pointer has that many bytes; the rest is as the caller says.
        unsafe { self.give(index, size, pointer) }
    }

    #[inline(never)]
    unsafe fn set_any(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure> {
        let call = "clSetKernelArg";
        let (kernel, context) = (self.object.handle, &self.object.context);
        let in_context = |other: &Arc<crate::backend::opencl::Context>| {
            let same = Arc::ptr_eq(other, context);
            same.then_some(()).ok_or(Failure::foreign(call))
        };
        let number = cl_uint::try_from(index).unwrap_or(cl_uint::MAX);
        let set_address = |address: *const c_void| {
            let call = "clSetKernelArgMemPointerINTEL";
            let usm = context.device().extensions.usm.as_ref();
            let usm = usm.ok_or(Failure::Missing {
                function: call,
                needs: USM,
            })?;
            // SAFETY: `&mut self` says that nothing else uses the object. What the kernel does with
            // the address is a duty of the caller who launches it.
            check(call, unsafe {
                (usm.set_kernel_arg_mem_pointer.within(self.passage))(kernel, number, address)
            })
        };
        // The driver reads it before this returns.
        let handle;
        let (size, pointer) = match value {
            Argument::Bytes(bytes) => (bytes.len(), bytes.as_ptr().cast()),
            Argument::Memory(region, _) => {
                let memory = memory_of(call, region)?;
                in_context(memory.context())?;
                handle = match memory.handle {
                    Handle::Address { pointer, .. } => {
                        return set_address(pointer.wrapping_byte_add(region.offset));
                    }
                    Handle::Object(object) if region.bytes() >= memory.size() => object,
                    // A part of nothing is nowhere, so the kernel gets all of it.
                    Handle::Object(object) if region.bytes() == 0 => object,
                    // SAFETY: as the caller says.
                    Handle::Object(_) => return unsafe { self.set_part(index, number, region) },
                };
                (size_of_val(&handle), (&raw const handle).cast())
            }
            // Devices without addresses take a null pointer too.
            Argument::Pointer(0) => (size_of_val(&NULL), (&raw const NULL).cast()),
            Argument::Pointer(address) => {
                let address = usize::try_from(address).map_err(|_| Failure::unsuitable(call))?;
                return set_address(std::ptr::without_provenance(address));
            }
            // C++ allows a size of 0, OpenCL does not (OpenCL 3.0, clSetKernelArg).
            Argument::Local(bytes) => (bytes.max(1), std::ptr::null()),
            Argument::Sampler(sampler) => {
                let sampler = sampler.opencl().ok_or(Failure::foreign(call))?;
                in_context(sampler.context())?;
                let handle = &raw const sampler.handle;
                (size_of_val(&sampler.handle), handle.cast())
            }
            Argument::Image(image, _) => {
                let image = image.opencl().ok_or(Failure::foreign(call))?;
                in_context(image.context())?;
                let handle = &raw const image.handle;
                (size_of_val(&image.handle), handle.cast())
            }
            // Read as a struct or as the handle of no buffer, whichever the kernel takes.
            Argument::Null => (size_of_val(&NULL), (&raw const NULL).cast()),
        };
        // SAFETY: the pointer has that many bytes, or is null for work-group memory. That handles and
        // null only meet the parameters they are for is a duty of the caller.
        unsafe { self.give(index, size, pointer) }
    }
}

impl PassedObject<'_> {
    /// # Safety
    ///
    /// `pointer` has `size` bytes, or is null for work-group memory, and is of the kind that the
    /// kernel takes.
    #[inline(always)]
    unsafe fn give(
        &mut self,
        index: usize,
        size: usize,
        pointer: *const c_void,
    ) -> Result<(), Failure> {
        let number = cl_uint::try_from(index).unwrap_or(cl_uint::MAX);
        // SAFETY: `&mut self` says that nothing else uses the object; the driver copies the bytes before
        // it returns (OpenCL 3.0, clSetKernelArg); the rest is as the caller says.
        check("clSetKernelArg", unsafe {
            (self.object.functions.clSetKernelArg.within(self.passage))(
                self.object.handle,
                number,
                size,
                pointer,
            )
        })?;
        if !self.object.parts.is_empty() {
            self.object.parts.retain(|(of, _)| *of != index);
        }
        Ok(())
    }

    /// Gives argument `index` an object for a part of a buffer, which is stored here.
    ///
    /// # Safety
    ///
    /// As of [`Arguments::set`].
    #[cold]
    unsafe fn set_part(
        &mut self,
        index: usize,
        number: cl_uint,
        region: &Region<[()]>,
    ) -> Result<(), Failure> {
        let call = "clSetKernelArg";
        let part = memory_of(call, region)?.part(region.offset, region.bytes())?;
        let Handle::Object(object) = part.handle else {
            return Err(Failure::unsuitable(call));
        };
        // SAFETY: as in `set`; the object lives until the argument gets another one.
        check(call, unsafe {
            (self.object.functions.clSetKernelArg.within(self.passage))(
                self.object.handle,
                number,
                size_of_val(&object),
                (&raw const object).cast(),
            )
        })?;
        self.object.parts.retain(|(of, _)| *of != index);
        self.object.parts.push((index, part));
        Ok(())
    }
}

impl KernelObject {
    /// Lets go of the objects of parts, before all arguments are set again.
    pub(in crate::backend::opencl) fn drop_parts(&mut self) {
        if !self.parts.is_empty() {
            self.parts.clear();
        }
    }

    /// Enqueues the kernel with its current arguments, to start when all of `after` has finished. Sizes are in
    /// the driver's order, x first.
    ///
    /// # Safety
    ///
    /// The events of `after` are of the context of `queue`. All arguments are set and of the kinds that the
    /// kernel takes, and their memory is alive. The kernel's actions on them over this range are sound: it
    /// stays inside the buffers and does not race.
    pub(crate) unsafe fn enqueue(
        &self,
        queue: &Queue,
        grid: &Grid,
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        // SAFETY: as the caller says.
        unsafe { self.enqueue_within(&Passage::new(), queue, grid, after) }
    }

    /// The same on a thread that has passed the gate.
    ///
    /// # Safety
    ///
    /// As of [`KernelObject::enqueue`].
    #[inline(always)]
    pub(in crate::backend::opencl) unsafe fn enqueue_within(
        &self,
        passage: &Passage,
        queue: &Queue,
        grid: &Grid,
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        let mut event = std::ptr::null_mut();
        // SAFETY: one event may be written; the rest is as the caller says.
        unsafe { self.put(passage, queue, grid, after, &raw mut event) }?;
        let event = check_handle(ENQUEUE, event, CL_SUCCESS)?;
        // SAFETY: the call handed this reference over.
        Ok(unsafe { Event::from_owned(self.functions, ENQUEUE, event) })
    }

    /// Enqueues the kernel without an event, for a command that is not waited for by itself.
    ///
    /// # Safety
    ///
    /// As of [`KernelObject::enqueue`].
    pub(crate) unsafe fn enqueue_without_event(
        &self,
        queue: &Queue,
        grid: &Grid,
        after: &WaitList<'_>,
    ) -> Result<(), Failure> {
        // SAFETY: no event is wanted; the rest is as the caller says.
        unsafe { self.put(&Passage::new(), queue, grid, after, std::ptr::null_mut()) }
    }

    /// # Safety
    ///
    /// As of [`KernelObject::enqueue`]; `event` is null or may be written.
    #[inline(always)]
    unsafe fn put(
        &self,
        passage: &Passage,
        queue: &Queue,
        grid: &Grid,
        after: &WaitList<'_>,
        event: *mut cl_event,
    ) -> Result<(), Failure> {
        if !Arc::ptr_eq(&self.context, queue.context()) {
            return Err(Failure::foreign(ENQUEUE));
        }
        let dimensions = cl_uint::try_from(grid.global().len()).unwrap_or(cl_uint::MAX);
        // SAFETY: kernel and queue share a context; every slice is as long as `dimensions` says,
        // and `after` as long as it says. The driver takes its own
        // references to the kernel and to the memory of its arguments, and copies the values, before
        // it returns. What the kernel then does, the caller vouches for.
        check(ENQUEUE, unsafe {
            (self.functions.clEnqueueNDRangeKernel.within(passage))(
                queue.handle,
                self.handle,
                dimensions,
                grid.offset().map_or(std::ptr::null(), <[usize]>::as_ptr),
                grid.global().as_ptr(),
                grid.local().map_or(std::ptr::null(), <[usize]>::as_ptr),
                after.count(),
                after.pointer(),
                event,
            )
        })
    }
}

impl Drop for KernelObject {
    fn drop(&mut self) {
        // SAFETY: the handle is owned; queued launches hold references of their own.
        unsafe { (self.functions.clReleaseKernel.pass())(self.handle) };
    }
}

/// The bytes of a null pointer.
static NULL: u64 = 0;
