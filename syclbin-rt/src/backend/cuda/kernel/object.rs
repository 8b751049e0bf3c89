// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel objects: each holds the arguments of a kernel and is enqueued with them.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::backend::argument::{Argument, Arguments};
use crate::backend::cuda::context::Context;
use crate::backend::cuda::kernel::LAUNCH;
use crate::backend::cuda::kernel::blocks::{Blocks, Bounds, blocks};
use crate::backend::cuda::kernel::values::{REFUSED, Values};
use crate::backend::cuda::memory::region::memory_of;
use crate::backend::cuda::program::Program;
use crate::backend::cuda::queue::Queue;
use crate::backend::cuda::queue::event::Event;
use crate::backend::cuda::queue::wait_list::WaitList;
use crate::backend::cuda::sys::{CUfunction, CUfunction_attribute, CUstream, Functions};
use crate::backend::failure::{Failure, Rejection};
use crate::backend::slot::Slot;
use crate::launch::range::Grid;

/// So many arguments need no allocation at a launch.
const FEW: usize = 48;

/// So much work-group memory every kernel may have without asking, in bytes.
const UNASKED: usize = 48 << 10;

/// The handles of a kernel, and what bounds its launches.
#[derive(Clone, Copy)]
pub(in crate::backend::cuda) struct Handles {
    pub(in crate::backend::cuda) plain: CUfunction,
    /// The kernel that also takes the offset of its range, if it exists.
    pub(in crate::backend::cuda) twin: Option<CUfunction>,
    pub(in crate::backend::cuda) bounds: Bounds,
    /// Its own amount of work-group memory, and the largest amount that it can have on this device.
    pub(in crate::backend::cuda) fixed_local: usize,
    pub(in crate::backend::cuda) max_local: usize,
}

// SAFETY: functions are of a module, not of a thread, and all functions of the driver are safe to
// call from several threads.
unsafe impl Send for Handles {}
// SAFETY: as for Send.
unsafe impl Sync for Handles {}

/// The arguments of a kernel, which persist between launches.
pub(crate) struct KernelObject {
    context: Arc<Context>,
    handles: Handles,
    values: Values,
    /// Whether the driver was asked for more work-group memory.
    asked: AtomicBool,
    /// Keeps the kernel.
    _program: Arc<Program>,
}

/// A kernel with its arguments, as the driver takes them.
pub(in crate::backend::cuda) struct Launch<'l> {
    pub(in crate::backend::cuda) function: CUfunction,
    pub(in crate::backend::cuda) blocks: Blocks,
    pub(in crate::backend::cuda) local_bytes: c_uint,
    /// One a parameter; good as long as the launch.
    pub(in crate::backend::cuda) pointers: &'l mut [*mut c_void],
}

impl Arguments for KernelObject {
    // The kinds that nearly all arguments are of are inlined into the loop of a launch.
    #[inline(always)]
    unsafe fn set(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure> {
        match value {
            Argument::Bytes(bytes) => self.values.set(index, bytes),
            Argument::Memory(region, _) => match region.memory.raw().cuda() {
                Some(memory) if Arc::ptr_eq(memory.context(), &self.context) => {
                    let address = memory.pointer + region.offset as u64;
                    self.values.set(index, &address.to_le_bytes())
                }
                // SAFETY: as the caller says.
                _ => unsafe { self.set_any(index, value) },
            },
            // SAFETY: as the caller says.
            _ => unsafe { self.set_any(index, value) },
        }
    }

    #[inline(never)]
    unsafe fn set_any(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure> {
        match value {
            Argument::Bytes(bytes) => self.values.set(index, bytes),
            Argument::Memory(region, _) => {
                let memory = memory_of(LAUNCH, region)?;
                if !Arc::ptr_eq(memory.context(), &self.context) {
                    return Err(Failure::foreign(LAUNCH));
                }
                let address = memory.pointer + region.offset as u64;
                self.values.set(index, &address.to_le_bytes())
            }
            Argument::Pointer(address) => self.values.set(index, &address.to_le_bytes()),
            Argument::Local(bytes) => self.values.set_local(index, bytes),
            Argument::Null => self.values.set_null(index),
            // The device has none.
            Argument::Sampler(_) | Argument::Image(..) => Err(REFUSED),
        }
    }
}

impl KernelObject {
    pub(in crate::backend::cuda) fn new(
        program: &Arc<Program>,
        handles: Handles,
        parameters: Vec<Slot>,
    ) -> Self {
        Self {
            context: Arc::clone(program.context()),
            handles,
            values: Values::new(parameters),
            asked: AtomicBool::new(false),
            _program: Arc::clone(program),
        }
    }

    pub(in crate::backend::cuda) fn keep_to(&mut self, bounds: Bounds) {
        self.handles.bounds = bounds;
    }

    pub(in crate::backend::cuda) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Enqueues the kernel with its current arguments, to start when all of `after` has finished.
    ///
    /// # Safety
    ///
    /// The events of `after` are of the context of `queue`. All arguments are set and of the kinds that the
    /// kernel takes, and their memory is alive. The kernel's actions on them over this range are sound: it
    /// stays inside the buffers and does not race.
    #[inline]
    pub(crate) unsafe fn enqueue(
        &self,
        queue: &Queue,
        grid: &Grid,
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        self.is_for(queue)?;
        self.prepare(grid, |launch| {
            queue.submit(LAUNCH, after, |functions, stream| {
                // SAFETY: the context is current and the stream belongs to it; the rest is as the caller says.
                unsafe { self.put(functions, stream, launch) }
            })
        })
    }

    /// Enqueues the kernel as [`KernelObject::enqueue`] does, but without an event, for a command that is not
    /// waited for by itself.
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
        self.is_for(queue)?;
        self.prepare(grid, |launch| {
            queue.submit_without_event(after, |functions, stream| {
                // SAFETY: the context is current and the stream belongs to it; the rest is as the caller says.
                unsafe { self.put(functions, stream, launch) }
            })
        })
    }

    /// Has `use_it` do something with the kernel, its arguments, and the range as the driver takes it.
    #[inline(always)]
    pub(in crate::backend::cuda) fn prepare<T>(
        &self,
        grid: &Grid,
        use_it: impl FnOnce(Launch<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let blocks = blocks(grid.global(), grid.local(), &self.handles.bounds)
            .ok_or(Failure::Rejected(Rejection::TooManyGroups))?;
        let local_bytes = self.values.local_bytes();
        if local_bytes > 0 && local_bytes.saturating_add(self.handles.fixed_local) > UNASKED {
            self.ask_for_local_memory()?;
        }
        // Only a kernel with a twin asks where it is.
        let (function, offset) = match (self.handles.twin, grid.offset()) {
            (Some(twin), Some(offset)) => (twin, Some(small(offset)?)),
            _ => (self.handles.plain, None),
        };
        let last = offset.as_ref().map(|offset| offset.as_ptr().cast::<u8>());
        let count = self.values.count() + usize::from(last.is_some());
        let pointers = self.values.pointers().chain(last);
        let (mut few, mut many);
        let list: &mut [*mut c_void] = if count <= FEW {
            few = [std::ptr::null_mut(); FEW];
            &mut few[..count]
        } else {
            many = vec![std::ptr::null_mut(); count];
            &mut many
        };
        for (place, pointer) in list.iter_mut().zip(pointers) {
            *place = pointer.cast_mut().cast();
        }
        use_it(Launch {
            function,
            blocks,
            local_bytes: c_uint::try_from(local_bytes).map_err(|_| REFUSED)?,
            pointers: list,
        })
    }

    /// # Safety
    ///
    /// The context of the kernel is current, the stream is one of it, and what the kernel does with
    /// its arguments is sound.
    #[inline(always)]
    unsafe fn put(
        &self,
        functions: &Functions,
        stream: CUstream,
        launch: Launch<'_>,
    ) -> Result<(), Failure> {
        let Blocks { groups, items } = launch.blocks;
        // SAFETY: the kernel is alive. There is a pointer for each of its parameters to as many bytes
        // as it has, which the driver copies before it returns. The rest is as the caller says.
        self.context.check(LAUNCH, unsafe {
            (functions.cuLaunchKernel.pass())(
                launch.function,
                groups[0],
                groups[1],
                groups[2],
                items[0],
                items[1],
                items[2],
                launch.local_bytes,
                stream,
                launch.pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        })
    }

    /// Asks the driver for as much work-group memory as the device has for this kernel, once.
    #[cold]
    fn ask_for_local_memory(&self) -> Result<(), Failure> {
        if self.asked.load(Ordering::Relaxed) {
            return Ok(());
        }
        let functions = self.context.enter()?;
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let most = self
            .handles
            .max_local
            .saturating_sub(self.handles.fixed_local);
        let most = c_int::try_from(most).unwrap_or(c_int::MAX);
        for function in [Some(self.handles.plain), self.handles.twin]
            .into_iter()
            .flatten()
        {
            // SAFETY: the kernel is alive. Always the same number, so that no caller takes from others
            // what they need.
            let code = unsafe { (functions.cuFuncSetAttribute.pass())(function, attribute, most) };
            self.context.check("cuFuncSetAttribute", code)?;
        }
        self.asked.store(true, Ordering::Relaxed);
        Ok(())
    }

    #[inline]
    fn is_for(&self, queue: &Queue) -> Result<(), Failure> {
        if Arc::ptr_eq(&self.context, queue.context()) {
            return Ok(());
        }
        Err(Failure::foreign(LAUNCH))
    }
}

/// Converts an offset for kernels.
fn small(offset: &[usize]) -> Result<[u32; 3], Failure> {
    let mut small = [0; 3];
    for (small, offset) in small.iter_mut().zip(offset) {
        *small =
            u32::try_from(*offset).map_err(|_| Failure::Rejected(Rejection::OffsetTooLarge))?;
    }
    Ok(small)
}
