// SPDX-License-Identifier: MIT OR Apache-2.0
//! Program variables, and copies between them and the host. If the driver provides no functions for variables,
//! buffers hold the variables, and kernels receive these buffers as hidden arguments.

use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, PoisonError};

use opencl_sys::CL_KERNEL_NUM_ARGS;
use opencl3::types::{CL_TRUE, cl_mem, cl_uint};
use syclbin::__private::spirv::portable::lift::{Layout, Slot};

use super::*;

impl Variables for Queue {
    fn point_variable(
        &self,
        program: &AnyProgram,
        name: &CStr,
        memory: &Arc<AnyMemory>,
    ) -> Result<()> {
        let raw: Arc<Program> = downcast(program.clone())?;
        if let Some(hidden) = raw.hidden.get() {
            return hidden.point(&name.to_string_lossy(), memory);
        }
        memory.check(self.context_address(), 0, 0)?;
        let address = memory.address().ok_or(Failure::UNSUITABLE)?;
        // Retain the memory first: the program must never contain a pointer to freed memory.
        raw.keep(memory);
        self.transfer_variable(program, name, 0, HostSlice::From(&address.to_ne_bytes()))
    }

    fn transfer_variable(
        &self,
        program: &AnyProgram,
        name: &CStr,
        offset: usize,
        host: HostSlice<'_>,
    ) -> Result<()> {
        let program: Arc<Program> = downcast(program.clone())?;
        if let Some(hidden) = program.hidden.get() {
            let start = hidden.place(&name.to_string_lossy(), offset, host.len())?;
            return self.transfer(&hidden.arena, start, host);
        }
        let globals = self.globals("clEnqueueReadGlobalVariableINTEL", &program)?;
        let size = host.len();
        if size == 0 {
            return self.finish();
        }
        self.in_order()?;
        let (handle, name, none) = (program.handle.0, name.as_ptr(), WaitList::NOTHING);
        // SAFETY: the queue and the program share a context, the name is NUL-terminated, and the driver rejects unknown
        // names and invalid sizes. The call blocks, so the bytes that it writes or reads outlive the copy.
        unsafe {
            enqueue_copy!(self, none, globals => clEnqueueReadGlobalVariableINTEL
                | clEnqueueWriteGlobalVariableINTEL(handle, name, CL_TRUE, size, offset), host.raw())
        }?
        .wait()
    }

    fn variable_size(&self, program: &AnyProgram, name: &CStr) -> Result<usize> {
        let program: Arc<Program> = downcast(program.clone())?;
        if let Some(hidden) = program.hidden.get() {
            return hidden.size(&name.to_string_lossy());
        }
        let globals = self.globals("clGetDeviceGlobalVariablePointerINTEL", &program)?;
        let (device, handle, name) = (self.context.device.id, program.handle.0, name.as_ptr());
        let (mut size, mut address) = (0, std::ptr::null_mut());
        // SAFETY: the program was built for the context's only device; the name is NUL-terminated; the call writes two
        // values through valid pointers.
        unsafe {
            let (size, address) = (&raw mut size, &raw mut address);
            call!(globals => clGetDeviceGlobalVariablePointerINTEL(
                device, handle, name, size, address
            ))
        }?;
        Ok(size)
    }
}

impl Queue {
    /// Returns the functions that read and write the variables of `program`. `function` is the name to report if they
    /// are missing.
    fn globals(&self, function: &'static str, program: &Program) -> Result<&'static Globals> {
        same_context(&self.context, &program.context)?;
        let globals = self.context.device.extensions.globals.as_ref();
        globals.ok_or(Failure::missing(function, "Intel's driver"))
    }
}

/// The hidden arguments of a program's kernels.
pub(crate) struct Hidden {
    pub(crate) layout: Layout,
    /// The first hidden argument: a buffer that contains a slot for each variable.
    pub(crate) arena: Arc<AnyMemory>,
    /// The other hidden arguments: for each pointer variable, the memory that it points to, or `None` until it is set.
    buffers: Mutex<Vec<Option<Arc<AnyMemory>>>>,
}

impl Hidden {
    /// Returns the arena offset of the variable's byte `offset`. Fails if `bytes` bytes starting there extend beyond
    /// the variable.
    pub(crate) fn place(&self, name: &str, offset: usize, bytes: usize) -> Result<usize> {
        let slot = self.slot(name)?;
        let end = offset.checked_add(bytes).ok_or(NO_VARIABLE)?;
        if end as u64 > slot.bytes {
            return Err(NO_VARIABLE);
        }
        let start = slot.offset.checked_add(offset as u64);
        usize::try_from(start.ok_or(NO_VARIABLE)?).map_err(|_| NO_VARIABLE)
    }

    pub(crate) fn size(&self, name: &str) -> Result<usize> {
        usize::try_from(self.slot(name)?.bytes).map_err(|_| NO_VARIABLE)
    }

    fn slot(&self, name: &str) -> Result<Slot> {
        self.layout.slots.get(name).copied().ok_or(NO_VARIABLE)
    }

    /// Makes a variable point to `memory`. Affects only kernel objects that are created later.
    pub(crate) fn point(&self, name: &str, memory: &Arc<AnyMemory>) -> Result<()> {
        let mut names = self.layout.buffers.iter();
        let index = names.position(|known| known == name).ok_or(NO_VARIABLE)?;
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(buffer) = buffers.get_mut(index) {
            *buffer = Some(Arc::clone(memory));
        }
        Ok(())
    }
}

const NO_VARIABLE: Failure = Failure::Rejected(Rejection::NoVariable);

impl AnyQueue {
    /// Allocates the hidden arguments of `program`, and initializes the variables.
    pub(crate) fn add_hidden_arguments(&self, program: &AnyProgram, layout: Layout) -> Result<()> {
        let program: Arc<Program> = downcast(program.clone())?;
        let size = usize::try_from(layout.size).map_err(|_| NO_VARIABLE)?;
        let hidden = Hidden {
            arena: self.zeroed(None, size)?,
            buffers: Mutex::new(vec![None; layout.buffers.len()]),
            layout,
        };
        let hidden = program.hidden.get_or_init(|| hidden);
        for module in 0..hidden.layout.modules {
            let name = CString::new(hidden.layout.setup_kernel(module)).map_err(|_| NO_VARIABLE)?;
            // The code contains a kernel with this name only if it was generated with this layout, so this call fails
            // for any other code.
            let kernel = AnyKernelObject::from(KernelObject::new(&program, &name)?);
            let one = AnyRange::new(Extent::from(1));
            // SAFETY: the kernel takes only the hidden arguments, which are already set. It copies initial values into
            // the arena, whose size matches the code.
            unsafe { kernel.enqueue(self, &one, WaitList::NOTHING) }?.wait()?;
        }
        Ok(())
    }
}

impl KernelObject {
    /// Sets the program's hidden arguments, if any. They come last and stay set for all launches.
    pub(crate) fn set_hidden_arguments(&mut self) -> Result<()> {
        let Some(hidden) = self.program.hidden.get() else {
            return Ok(());
        };
        let first = self.count()?.checked_sub(hidden.layout.arguments());
        let first = first.ok_or(NO_VARIABLE)?;
        let buffers = hidden.buffers.lock();
        let buffers = buffers.unwrap_or_else(PoisonError::into_inner).clone();
        let buffers = buffers.iter().map(Option::as_ref);
        for (index, memory) in (first..).zip(std::iter::once(Some(&hidden.arena)).chain(buffers)) {
            let object = memory.and_then(|memory| match memory.raw.opencl().ok()?.handle {
                Handle::Object(object) => Some(object),
                Handle::Address { .. } => None,
            });
            let object: cl_mem = object.unwrap_or(std::ptr::null_mut());
            let number = cl_uint::try_from(index).unwrap_or(cl_uint::MAX);
            let (size, value) = bytes_of(&object);
            // SAFETY: nothing else uses the object yet. Every kernel of the program takes its hidden arguments last, as
            // pointers to global memory, and the program keeps their buffers alive.
            unsafe { call!(self.functions => clSetKernelArg(self.handle.0, number, size, value)) }?;
        }
        Ok(())
    }

    /// Returns the number of kernel arguments, including hidden arguments.
    pub(crate) fn count(&self) -> Result<usize> {
        // SAFETY: the kernel is alive.
        let query =
            unsafe { query!(self.functions => clGetKernelInfo(self.handle.0, CL_KERNEL_NUM_ARGS)) };
        Ok(query.value::<cl_uint>()? as usize)
    }
}
