// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts, and which one is current in a thread.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::memory::Memory;
use super::stream::{Shared, Stream};
use super::table;
use crate::call::{Code, Outcome};
use crate::settings::Settings;

/// What belongs together on a device, and is lost together.
pub(crate) struct Context {
    pub(crate) handle: u64,
    pub(crate) device: i32,
    pub(crate) flags: u32,
    /// What the streams' own threads need of it.
    pub(crate) shared: Arc<Shared>,
    /// The stream that all others wait for, unless they are made not to.
    pub(crate) null: Arc<Stream>,
    streams: Mutex<Vec<Arc<Stream>>>,
}

#[derive(Default)]
struct Primary {
    /// Its handle is the same each time that it comes into being.
    handle: u64,
    count: u32,
    flags: u32,
}

static INITIALIZED: AtomicBool = AtomicBool::new(false);
static PRIMARIES: Mutex<[Primary; 2]> = Mutex::new([
    Primary {
        handle: 0,
        count: 0,
        flags: 0,
    },
    Primary {
        handle: 0,
        count: 0,
        flags: 0,
    },
]);

thread_local! {
    // Never dropped: a thread may call the driver while its other thread-local values are dropped.
    static CURRENT: ManuallyDrop<RefCell<Vec<u64>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// `cuInit`
pub(crate) fn initialize() {
    INITIALIZED.store(true, Ordering::Relaxed);
}

/// An error before `cuInit`.
pub(crate) fn initialized() -> Outcome<()> {
    if INITIALIZED.load(Ordering::Relaxed) {
        Ok(())
    } else {
        Err(Code::CUDA_ERROR_NOT_INITIALIZED)
    }
}

/// The number of a device, if there is one.
pub(crate) fn device(number: i32) -> Outcome<i32> {
    initialized()?;
    if (0..Settings::get().devices).contains(&number) {
        Ok(number)
    } else {
        Err(Code::CUDA_ERROR_INVALID_DEVICE)
    }
}

/// The handle that is current, or 0.
pub(crate) fn current_handle() -> u64 {
    CURRENT.with(|stack| stack.borrow().last().copied().unwrap_or(0))
}

/// The current context, if it is alive and not lost.
pub(crate) fn current() -> Outcome<Arc<Context>> {
    let context = current_even_if_lost()?;
    context.shared.check()?;
    Ok(context)
}

pub(crate) fn current_even_if_lost() -> Outcome<Arc<Context>> {
    initialized()?;
    match current_handle() {
        0 => Err(Code::CUDA_ERROR_INVALID_CONTEXT),
        handle => table::find(handle).map_err(|_| Code::CUDA_ERROR_CONTEXT_IS_DESTROYED),
    }
}

/// A context by its handle.
pub(crate) fn by_handle(handle: u64) -> Outcome<Arc<Context>> {
    initialized()?;
    table::find(handle).map_err(|_| Code::CUDA_ERROR_INVALID_CONTEXT)
}

/// Replaces what is current; 0 takes it away.
pub(crate) fn set_current(handle: u64) {
    CURRENT.with(|stack| {
        let mut stack = stack.borrow_mut();
        stack.pop();
        if handle != 0 {
            stack.push(handle);
        }
    });
}

pub(crate) fn push(handle: u64) {
    CURRENT.with(|stack| stack.borrow_mut().push(handle));
}

pub(crate) fn pop() -> Outcome<u64> {
    CURRENT
        .with(|stack| stack.borrow_mut().pop())
        .ok_or(Code::CUDA_ERROR_INVALID_CONTEXT)
}

fn primaries() -> MutexGuard<'static, [Primary; 2]> {
    PRIMARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the primary context of a device to one more.
pub(crate) fn retain_primary(device: i32) -> u64 {
    let mut primaries = primaries();
    let primary = &mut primaries[usize::from(device == 1)];
    if primary.handle == 0 {
        primary.handle = table::reserve();
    }
    if primary.count == 0 {
        make(primary.handle, device, primary.flags);
    }
    primary.count += 1;
    primary.handle
}

/// Takes it from one; the last one destroys it.
pub(crate) fn release_primary(device: i32) -> Outcome<()> {
    let mut primaries = primaries();
    let primary = &mut primaries[usize::from(device == 1)];
    let left = primary.count.checked_sub(1);
    primary.count = left.ok_or(Code::CUDA_ERROR_INVALID_CONTEXT)?;
    if primary.count == 0 {
        destroy(primary.handle)?;
    }
    Ok(())
}

/// Destroys it for all who have it.
pub(crate) fn reset_primary(device: i32) -> Outcome<()> {
    let mut primaries = primaries();
    let primary = &mut primaries[usize::from(device == 1)];
    if primary.count > 0 {
        primary.count = 0;
        destroy(primary.handle)?;
    }
    Ok(())
}

/// The flags of a primary context, and whether it is there.
pub(crate) fn primary_state(device: i32) -> (u32, bool) {
    let primaries = primaries();
    let primary = &primaries[usize::from(device == 1)];
    (primary.flags, primary.count > 0)
}

pub(crate) fn set_primary_flags(device: i32, flags: u32) {
    primaries()[usize::from(device == 1)].flags = flags;
}

/// A context with this handle.
pub(crate) fn make(handle: u64, device: i32, flags: u32) {
    let shared = Arc::new(Shared::default());
    let context = Context {
        handle,
        device,
        flags,
        null: Arc::new(Stream::new(0, handle, true, 0, &shared)),
        shared,
        streams: Mutex::default(),
    };
    table::insert(handle, Arc::new(context));
}

/// Ends a context and all that belongs to it.
pub(crate) fn destroy(handle: u64) -> Outcome<()> {
    let context: Arc<Context> =
        table::remove(handle).map_err(|_| Code::CUDA_ERROR_INVALID_CONTEXT)?;
    context.wait();
    let mut streams = context.streams();
    for stream in streams.drain(..) {
        stream.close();
        let _ = table::remove::<Stream>(stream.handle);
    }
    drop(streams);
    context.null.close();
    table::remove_all::<super::module::Module>(|module| module.context == handle);
    table::remove_all::<super::module::Function>(|function| function.module.context == handle);
    table::remove_all::<super::event::Event>(|event| event.context == handle);
    Memory::get()?.free_context(handle);
    Ok(())
}

impl Context {
    pub(crate) fn streams(&self) -> MutexGuard<'_, Vec<Arc<Stream>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream with a handle: 0 and 1 are the null stream.
    pub(crate) fn stream(&self, handle: u64) -> Outcome<Arc<Stream>> {
        if handle <= 2 {
            return Ok(Arc::clone(&self.null));
        }
        let stream: Arc<Stream> = table::find(handle)?;
        if stream.context == self.handle {
            Ok(stream)
        } else {
            Err(Code::CUDA_ERROR_INVALID_HANDLE)
        }
    }

    /// Lets go of streams that nobody has a handle of, and that are empty.
    pub(crate) fn forget_streams(&self) {
        let known = |stream: &Arc<Stream>| table::find::<Stream>(stream.handle).is_ok();
        self.streams()
            .retain(|stream| known(stream) || !stream.is_empty());
    }

    /// Waits until all its streams are empty.
    pub(crate) fn wait(&self) {
        let streams: Vec<_> = self.streams().clone();
        for stream in streams.iter().chain([&self.null]) {
            stream.wait();
        }
    }
}
