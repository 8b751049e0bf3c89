// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hidden arguments: the buffers that hold a program's variables, where the driver has no functions for them.

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use opencl_sys::CL_KERNEL_NUM_ARGS;
use opencl3::types::{cl_mem, cl_uint};
use syclbin::__private::spirv::portable::lift::{Layout, Slot};

use crate::backend::device::downcast;
use crate::backend::event::WaitList;
use crate::backend::failure::{Failure, Rejection};
use crate::backend::kernel::DriverKernelObject as _;
use crate::backend::memory::Memory;
use crate::backend::opencl::kernel_object::KernelObject;
use crate::backend::opencl::memory::Handle;
use crate::backend::opencl::program::Program;
use crate::backend::program::Program as AnyProgram;
use crate::backend::queue::Queue;
use crate::launch::range::AnyRange;

/// The hidden arguments of a program's kernels.
pub(crate) struct Hidden {
    layout: Layout,
    /// The first argument, which has a slot for each variable.
    pub(crate) arena: Arc<Memory>,
    /// The other arguments. Each is missing until the variable gets its memory.
    buffers: Mutex<Vec<Option<Arc<Memory>>>>,
}

impl Hidden {
    /// Returns how many arguments there are.
    pub(crate) fn count(&self) -> usize {
        self.layout.arguments()
    }

    /// Returns the place in the arena of `bytes` bytes of a variable, from its byte `offset` on.
    pub(crate) fn place(&self, name: &str, offset: usize, bytes: usize) -> Result<usize, Failure> {
        let slot = self.slot(name)?;
        let end = offset.checked_add(bytes).ok_or(NO_VARIABLE)?;
        if end as u64 > slot.bytes {
            return Err(NO_VARIABLE);
        }
        let start = slot.offset.checked_add(offset as u64);
        usize::try_from(start.ok_or(NO_VARIABLE)?).map_err(|_| NO_VARIABLE)
    }

    /// Returns the size of a variable.
    pub(crate) fn size(&self, name: &str) -> Result<usize, Failure> {
        usize::try_from(self.slot(name)?.bytes).map_err(|_| NO_VARIABLE)
    }

    fn slot(&self, name: &str) -> Result<Slot, Failure> {
        self.layout.slots.get(name).copied().ok_or(NO_VARIABLE)
    }

    /// Makes `memory` the value of a variable, for kernels that are created later.
    pub(crate) fn point(&self, name: &str, memory: &Arc<Memory>) -> Result<(), Failure> {
        let mut names = self.layout.buffers.iter();
        let index = names.position(|known| known == name).ok_or(NO_VARIABLE)?;
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(buffer) = buffers.get_mut(index) {
            *buffer = Some(Arc::clone(memory));
        }
        Ok(())
    }

    /// Returns the arguments after the arena.
    pub(crate) fn buffers(&self) -> Vec<Option<Arc<Memory>>> {
        let buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.clone()
    }
}

const NO_VARIABLE: Failure = Failure::Rejected(Rejection::NoVariable);

impl Queue {
    /// Allocates the hidden arguments of `program`, and gives the variables their initial values.
    pub(crate) fn add_hidden_arguments(
        &self,
        program: &AnyProgram,
        layout: Layout,
    ) -> Result<(), Failure> {
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
            // The code has a kernel of this name only if it was made with this layout.
            let kernel = KernelObject::new(&program, &name)?;
            let one = AnyRange::from(1).grid(None);
            // SAFETY: the kernel takes only the hidden arguments, which are set. It copies initial values into the
            // arena, which has the size that the code was made for.
            unsafe { kernel.enqueue(self, &one, WaitList::NOTHING) }?.wait()?;
        }
        Ok(())
    }
}

impl KernelObject {
    /// Sets the last arguments, which stay for all launches, if the program has hidden ones.
    pub(crate) fn set_hidden_arguments(&mut self, program: &Program) -> Result<(), Failure> {
        let Some(hidden) = program.hidden.get() else {
            return Ok(());
        };
        let first = self.count()?.checked_sub(hidden.count());
        let first = first.ok_or(Failure::Rejected(Rejection::NoVariable))?;
        let buffers = hidden.buffers();
        let buffers = buffers.iter().map(Option::as_ref);
        for (index, memory) in (first..).zip(std::iter::once(Some(&hidden.arena)).chain(buffers)) {
            let object = memory.and_then(|memory| match memory.raw().opencl().ok()?.handle {
                Handle::Object(object) => Some(object),
                Handle::Address { .. } => None,
            });
            let object: cl_mem = object.unwrap_or(std::ptr::null_mut());
            let number = cl_uint::try_from(index).unwrap_or(cl_uint::MAX);
            let (size, value) = (size_of_val(&object), (&raw const object).cast());
            // SAFETY: nothing else uses the object yet. Every kernel of the program takes its hidden arguments
            // last, as pointers to global memory, and the program keeps their buffers alive.
            unsafe {
                call!(
                    self.functions,
                    clSetKernelArg(self.handle, number, size, value)
                )
            }?;
        }
        Ok(())
    }

    /// Returns how many arguments the kernel takes, with the hidden ones.
    pub(crate) fn count(&self) -> Result<usize, Failure> {
        // SAFETY: the kernel is alive.
        let query = unsafe {
            query!(
                self.functions,
                clGetKernelInfo(self.handle, CL_KERNEL_NUM_ARGS)
            )
        };
        Ok(query.value::<cl_uint>()? as usize)
    }
}
