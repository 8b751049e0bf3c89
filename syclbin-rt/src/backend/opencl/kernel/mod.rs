// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel that several threads can launch: arguments are set and the launch is enqueued under one lock.

mod answers;
pub(super) mod object;
pub(super) mod sampler;
mod suggest;

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use opencl_sys::{
    CL_KERNEL_COMPILE_WORK_GROUP_SIZE, CL_KERNEL_LOCAL_MEM_SIZE, CL_KERNEL_WORK_GROUP_SIZE,
};
use opencl3::types::cl_ulong;

use crate::backend::argument::Values;
use crate::backend::failure::Failure;
use crate::backend::native::KernelHandle;
use crate::backend::opencl::driver::info;
use crate::backend::opencl::kernel::object::{KernelObject, PassedObject};
use crate::backend::opencl::program::Program;
use crate::backend::opencl::program::hidden::Hidden;
use crate::backend::opencl::queue::Queue;
use crate::backend::opencl::queue::event::Event;
use crate::backend::opencl::queue::wait_list::WaitList;
use crate::backend::process::gate::Passage;
use crate::backend::slot::Slot;
use crate::launch::range::Grid;

/// An owned kernel object that several threads can launch, with the driver's answers about it.
pub(crate) struct Kernel {
    object: Mutex<KernelObject>,
    program: Arc<Program>,
    symbol: CString,
    arguments: usize,
    required_local: Option<[usize; 3]>,
    max_local: usize,
    local_memory: u64,
}

impl Kernel {
    /// Returns its handles.
    pub(crate) fn native(&self) -> KernelHandle {
        let object = self.object.lock().unwrap_or_else(PoisonError::into_inner);
        KernelHandle::OpenCl {
            kernel: object.handle,
            program: self.program.handle,
        }
    }

    /// Finds the kernel called `symbol`.
    pub(crate) fn new(
        program: &Arc<Program>,
        symbol: CString,
        _slots: Option<Vec<Slot>>,
    ) -> Result<Self, Failure> {
        let functions = program.context().functions();
        let object = KernelObject::new(program, &symbol)?;
        let handle = object.handle;
        let hidden = program.hidden.get().map_or(0, Hidden::count);
        let arguments = object.count()?.saturating_sub(hidden);
        let device = program.context().device().id;
        let work_group = |name| {
            move |size, value, returned| {
                // SAFETY: the kernel was built for `device`; `value` is null or holds `size` bytes.
                unsafe {
                    (functions.clGetKernelWorkGroupInfo.pass())(
                        handle, device, name, size, value, returned,
                    )
                }
            }
        };
        let call = "clGetKernelWorkGroupInfo";
        let required: [usize; 3] =
            info::value(call, &work_group(CL_KERNEL_COMPILE_WORK_GROUP_SIZE))?;
        let max_local = info::value(call, &work_group(CL_KERNEL_WORK_GROUP_SIZE))?;
        // Asked before any argument is set: from then on some drivers count those too.
        let local_memory: cl_ulong = info::value(call, &work_group(CL_KERNEL_LOCAL_MEM_SIZE))?;
        Ok(Self {
            object: Mutex::new(object),
            program: Arc::clone(program),
            symbol,
            arguments,
            required_local: (required != [0; 3]).then_some(required),
            max_local,
            local_memory,
        })
    }

    pub(super) fn context(&self) -> &Arc<super::Context> {
        self.program.context()
    }

    /// Does nothing: the driver knows the work-group sizes in the file by itself.
    pub(crate) fn keep_to(&mut self, _all_items: usize, _items: Option<[usize; 3]>) {}

    /// Creates a separate object with its own arguments.
    pub(crate) fn object(&self) -> Result<KernelObject, Failure> {
        KernelObject::new(&self.program, &self.symbol)
    }

    /// Returns how many arguments it takes, without the removed arguments.
    pub(crate) fn arguments(&self) -> usize {
        self.arguments
    }

    /// Returns the only work-group size that it was compiled for, dimension x first.
    pub(crate) fn required_local(&self) -> Option<[usize; 3]> {
        self.required_local
    }

    /// Returns the largest number of work-items in a work-group on this device.
    pub(crate) fn max_local(&self) -> usize {
        self.max_local
    }

    /// Returns how much work-group memory it uses beside its arguments, in bytes.
    pub(crate) fn local_memory(&self) -> u64 {
        self.local_memory
    }

    /// Sets all arguments and enqueues the kernel, to start when all of `after` has finished.
    ///
    /// # Errors
    ///
    /// Contains the index of the argument, if it cannot be set.
    ///
    /// # Safety
    ///
    /// As of [`KernelObject::enqueue`]. The memory of the arguments is alive until this returns.
    pub(crate) unsafe fn launch(
        &self,
        queue: &Queue,
        values: &impl Values,
        grid: &Grid,
        after: &WaitList<'_>,
    ) -> Result<Event, (Option<usize>, Failure)> {
        let passage = Passage::new();
        let mut object = self.object.lock().unwrap_or_else(PoisonError::into_inner);
        let mut passed = PassedObject {
            object: &mut object,
            passage: &passage,
        };
        // SAFETY: as the caller says.
        let launched = match unsafe { values.give(&mut passed) } {
            Ok(()) => {
                // SAFETY: as the caller says.
                let launched = unsafe { object.enqueue_within(&passage, queue, grid, after) };
                launched.map_err(|failure| (None, failure))
            }
            Err((index, failure)) => Err((Some(index), failure)),
        };
        object.drop_parts();
        drop(object);
        drop(passage);
        let event = launched?;
        // A failed flush is not a failure of the launch: the kernel is enqueued, and a second launch would run
        // it twice. A query or a wait reports the failure.
        let _ = queue.flush();
        Ok(event)
    }
}
