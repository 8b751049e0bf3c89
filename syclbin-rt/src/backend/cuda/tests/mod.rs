// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests the backend on a CUDA device, or on a simulated driver.

mod devices;
mod drops;
mod failures;
mod kernels;
mod peers;
mod queues;
mod waits;

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

use syclbin::Aspect;

use super::*;
use crate::backend::AnyRange;
use crate::backend::NdRange;
use crate::backend::cuda::program::{Kind, Program as CudaProgram};
use crate::backend::cuda::{context::Context as CudaContext, memory::Memory as CudaMemory};
use crate::backend::failure::{BuildError, Code, Failure, Rejection};
use crate::backend::kernel::{Argument, Slot};
use crate::backend::{
    BuildOptions, Context, Device, Event, EventHandle, HostBytes, HostSlice, Kernel, KernelObject,
    Library, Memory, MemoryHandle, Priority, Program, Queue, QueueHandle, QueueOptions, Result,
    Source, UsmKind, WaitList, device::downcast, slice::OwnedRegion,
};
use crate::common::{on_cuda, say_skipped};

const PTX: &[u8] = include_bytes!("../tests.ptx");
/// The number of elements in most tests.
const LEN: usize = 1000;

type Tested = Result<()>;

/// A queue, and the program under test.
struct Bench {
    queue: Queue,
    program: Program,
}

fn device() -> Option<Device> {
    let reason = match Library::cuda().map(Library::devices) {
        Ok(Ok(devices)) => match devices.first() {
            Some(first) => return Some(*first),
            None => "the driver reports no devices".to_owned(),
        },
        Ok(Err(failure)) => format!("{failure:?}"),
        Err(error) => error.to_string(),
    };
    assert!(!on_cuda(), "SYCLBIN_DEVICE asks for CUDA, but {reason}");
    say_skipped(&reason);
    None
}

fn try_build(context: &Context, sources: &[Source<'_>]) -> Result<Program, BuildError> {
    let context: Arc<CudaContext> = downcast(context.clone())?;
    Ok(Arc::new(CudaProgram::build(&context, sources, Kind::Ptx)?))
}

fn build(context: &Context, sources: &[Source<'_>]) -> Result<Program> {
    try_build(context, sources).map_err(|error| {
        assert_eq!(error.log, "", "{:?}", error.failure);
        error.failure
    })
}

fn module(code: &[u8]) -> Source<'_> {
    Source {
        code: code.into(),
        constants: Vec::new(),
        options: BuildOptions::default(),
    }
}

fn find(program: &Program, symbol: &CStr, slots: Option<Vec<Slot>>) -> Result<Kernel> {
    let declared = Declared {
        slots,
        max_items: usize::MAX,
        max_sizes: [usize::MAX; 3],
    };
    Arc::clone(program).kernel(symbol.to_owned(), declared)
}

fn bench_with(options: QueueOptions) -> Result<Option<Bench>> {
    let Some(device) = device() else {
        return Ok(None);
    };
    let context = device.shared_context()?;
    Ok(Some(Bench {
        program: build(&context, &[module(PTX)])?,
        queue: context.new_queue(options)?,
    }))
}

fn bench() -> Result<Option<Bench>> {
    bench_with(QueueOptions::new())
}

/// `LEN` numbers in device memory.
struct Numbers(OwnedRegion);

/// Returns a region of bytes.
fn region(memory: Arc<Memory>, offset: usize, size: usize) -> OwnedRegion {
    OwnedRegion::new(memory, offset, size, 1)
}

impl Numbers {
    fn new(queue: &Queue) -> Result<Self> {
        let memory = queue.zeroed(None, LEN * 4)?;
        Ok(Self(region(memory, 0, LEN * 4)))
    }

    fn memory(&self) -> &CudaMemory {
        self.0.memory.raw.cuda().expect("memory of CUDA")
    }

    fn read(&self, queue: &Queue) -> Result<Vec<u32>> {
        let mut numbers = vec![0u32; LEN];
        queue.read(&self.0.memory, 0, bytemuck::cast_slice_mut(&mut numbers))?;
        Ok(numbers)
    }
}

impl Bench {
    fn kernel(&self, name: &str, sizes: &[usize]) -> Result<Kernel> {
        let mut slots = Vec::new();
        let mut end: usize = 0;
        for size in sizes {
            let offset = end.next_multiple_of(*size);
            end = offset + size;
            slots.push(Slot {
                offset,
                size: *size,
            });
        }
        find(&self.program, &CString::new(name).unwrap(), Some(slots))
    }

    fn iota(&self, queue: &Queue, out: &Numbers, by: u32, after: &WaitList<'_>) -> Result<Event> {
        let mut object = self.kernel("iota", &[8, 4])?.object()?;
        let grid = grid(NdRange::new(LEN));
        // SAFETY: the kernel takes a pointer to `LEN` numbers, and a number.
        unsafe {
            object.set(0, Argument::Memory(&out.0, true))?;
            object.set(1, Argument::Bytes(&by.to_le_bytes()))?;
            object.enqueue(queue, &grid, after)
        }
    }

    fn double(&self, queue: &Queue, out: &Numbers, after: &WaitList<'_>) -> Result<Event> {
        let object = self.doubling(out)?;
        // SAFETY: the memory holds `LEN` numbers.
        unsafe { object.enqueue(queue, &grid(NdRange::new(LEN)), after) }
    }

    fn doubling(&self, out: &Numbers) -> Result<KernelObject> {
        let mut object = self.kernel("double", &[8])?.object()?;
        // SAFETY: the kernel takes a pointer to numbers.
        unsafe { object.set(0, Argument::Memory(&out.0, true)) }?;
        Ok(object)
    }
}

/// Returns the name of the driver's error code.
fn name(failure: Failure) -> &'static str {
    failure.code().map_or("", Code::name)
}

fn grid<const D: usize>(range: NdRange<D>) -> AnyRange {
    range.into()
}

fn counted(from: u32) -> Vec<u32> {
    (from..).take(LEN).collect()
}

fn doubled(times: u32, by: u32) -> Vec<u32> {
    let double = |number: u32| (0..times).fold(number, |number, _| 2 * number + by);
    counted(0).into_iter().map(double).collect()
}

struct Bell(mpsc::Sender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

/// A number for which kernels wait. Its memory is never freed, because that would wait for kernels.
struct Flag(&'static OwnedRegion);

impl Flag {
    fn new(queue: &Queue) -> Result<Self> {
        let number = region(queue.zeroed(Some(UsmKind::Host), 4)?, 0, 4);
        Ok(Self(Box::leak(Box::new(number))))
    }

    /// Returns a kernel that waits until the flag is set.
    fn object(&self, bench: &Bench) -> Result<KernelObject> {
        let mut object = bench.kernel("until_set", &[8])?.object()?;
        // SAFETY: the kernel takes a pointer to a number.
        unsafe { object.set(0, Argument::Memory(self.0, false)) }?;
        Ok(object)
    }

    /// Holds up the queue until the flag is set.
    fn hold(&self, bench: &Bench, queue: &Queue) -> Result<Event> {
        let one = grid(NdRange::new(1));
        // SAFETY: the kernel takes a pointer to a number.
        unsafe { (self.object(bench)?).enqueue(queue, &one, WaitList::NOTHING) }
    }

    fn set(&self) {
        let pointer = self.0.memory.host_pointer().expect("host memory");
        // SAFETY: the memory is alive, and is otherwise read only by kernels.
        unsafe { AtomicU32::from_ptr(pointer.cast()) }.store(1, Ordering::Relaxed);
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        // After a failed test, dropping the queue must not wait forever.
        self.set();
    }
}
