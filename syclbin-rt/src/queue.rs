//! Queues: where buffers are made and filled, and kernels started.

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;

use crate::backend::opencl;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Unwaitable, What};
use crate::queue_options::QueueOptions;

/// What a barrier does, for messages.
const BARRIER: &str = "waiting at a barrier";
/// What is done to the queue of an event that is to be waited for.
pub(crate) const FLUSHING: &str = "flushing the queue of an event";

/// A queue of one device.
///
/// What is put into a queue runs in that order, one after the other, unless the queue was made
/// [out of order](QueueOptions::out_of_order). Copies wait until they are done, kernels are only
/// started. A clone is the same queue. Buffers can be used on every queue of their device, but a
/// command waits for one of another queue only if it is told to, by [`Launch::after`] or
/// [`Queue::barrier`].
///
/// Its kernels, modules and events are handles of it too. When the last one goes, everything in the
/// queue is waited for, so that nothing runs which nobody can see.
///
/// [`Launch::after`]: crate::Launch::after
#[derive(Clone)]
pub struct Queue(Arc<Inner>);

struct Inner {
    device: Device,
    raw: opencl::Queue,
}

impl Queue {
    pub(crate) fn new(device: &Device, options: QueueOptions) -> Result<Self> {
        let context = opencl::Context::shared(device.found())
            .map_err(|failure| Error::driver(failure, "creating a context", device))?;
        Self::in_context(device, context, options)
    }

    pub(crate) fn in_context(
        device: &Device,
        context: Arc<opencl::Context>,
        options: QueueOptions,
    ) -> Result<Self> {
        let failed = |failure| Error::driver(failure, "creating a queue", device);
        if options != QueueOptions::new() {
            let abilities = opencl::Queue::abilities(&context).map_err(failed)?;
            if let Some((what, needs)) = options.beyond(abilities) {
                let device = device.to_string();
                return Err(ErrorKind::Unsupported {
                    what,
                    needs,
                    device,
                }
                .into());
            }
        }
        let raw = opencl::Queue::new(context, options).map_err(failed)?;
        let device = device.clone();
        Ok(Self(Arc::new(Inner { device, raw })))
    }

    /// The device it belongs to.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// How it was made.
    pub fn options(&self) -> QueueOptions {
        self.0.raw.options()
    }

    /// A new buffer that holds `data`. An empty slice is fine.
    ///
    /// # Errors
    ///
    /// When the device has not enough memory.
    pub fn upload<T: Pod>(&self, data: &[T]) -> Result<Buffer<T>> {
        let memory = self.0.raw.upload(bytemuck::cast_slice(data));
        let memory =
            memory.map_err(|failure| self.failed(failure, "uploading to", size_of_val(data)))?;
        Ok(Buffer::new(self.device(), memory, data.len()))
    }

    /// A new buffer of `len` elements whose bytes are all zero. 0 is fine.
    ///
    /// # Errors
    ///
    /// When the device has not enough memory.
    pub fn zeroed<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        let size = len.checked_mul(size_of::<T>());
        // No allocation of Rust's is larger either, so that every buffer can be downloaded.
        let size = size.filter(|size| isize::try_from(*size).is_ok());
        let Some(size) = size else {
            return Err(ErrorKind::TooLarge {
                elements: len,
                element_bytes: size_of::<T>(),
            }
            .into());
        };
        let memory = self.0.raw.zeroed(size);
        let memory = memory.map_err(|failure| self.failed(failure, "zeroing", size))?;
        Ok(Buffer::new(self.device(), memory, len))
    }

    /// The content of `buffer`, after everything that was put into this queue before.
    ///
    /// # Errors
    ///
    /// When the buffer is on another device, and when a kernel before it failed.
    pub fn download<T: Pod>(&self, buffer: &Buffer<T>) -> Result<Vec<T>> {
        self.same_device(buffer)?;
        let mut data = vec![T::zeroed(); buffer.len()];
        self.read(buffer, &mut data)?;
        Ok(data)
    }

    /// Copies `buffer` to `data`, after everything that was put into this queue before.
    ///
    /// # Errors
    ///
    /// When the lengths differ, when the buffer is on another device, and when a kernel before it
    /// failed.
    pub fn read<T: Pod>(&self, buffer: &Buffer<T>, data: &mut [T]) -> Result<()> {
        self.can_copy(buffer, data)?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(data);
        let size = bytes.len();
        let read = self.0.raw.read(buffer.memory(), bytes);
        read.map_err(|failure| self.failed(failure, "reading", size))
    }

    /// Copies `data` to `buffer`, after everything that was put into this queue before.
    ///
    /// # Errors
    ///
    /// When the lengths differ, when the buffer is on another device, and when a kernel before it
    /// failed.
    pub fn write<T: Pod>(&self, buffer: &mut Buffer<T>, data: &[T]) -> Result<()> {
        self.can_copy(buffer, data)?;
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let written = self.0.raw.write(buffer.memory(), bytes);
        written.map_err(|failure| self.failed(failure, "writing", bytes.len()))
    }

    /// Has everything that is put into this queue later wait for `events`, and for everything that
    /// was put into it before. Gives the event of both. That is how two queues wait for each other:
    ///
    /// ```no_run
    /// # use syclbin_rt::{Event, Queue, Result};
    /// # fn main() -> Result<()> {
    /// # let queue = syclbin_rt::Device::best()?.queue()?;
    /// let copies = queue.device().queue()?;
    /// let done = queue.barrier(&[])?;
    /// copies.barrier(&[&done])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When an event is of another device, or the driver refuses.
    pub fn barrier(&self, events: &[&Event]) -> Result<Event> {
        let list = self.wait_list(events)?;
        let raw = self.0.raw.barrier(&list);
        let raw = raw.map_err(|failure| Error::driver(failure, BARRIER, self.device()))?;
        Ok(Event::new(self, What::Action(BARRIER), raw))
    }

    /// Waits for everything that was put into this queue.
    ///
    /// # Errors
    ///
    /// When the driver reports a failure.
    pub fn wait(&self) -> Result<()> {
        let finished = self.0.raw.finish();
        finished.map_err(|failure| Error::driver(failure, "waiting for the queue", self.device()))
    }

    /// `events` as a command of this queue waits for them.
    pub(crate) fn wait_list<'a>(&self, events: &'a [&'a Event]) -> Result<opencl::WaitList<'a>> {
        Event::wait_list(events, self).map_err(|unwaitable| match unwaitable {
            Unwaitable::Foreign(index) => ErrorKind::EventDevice {
                index,
                event: events[index].what().to_string(),
                device: events[index].queue().device().to_string(),
                queue: self.device().to_string(),
            }
            .into(),
            Unwaitable::Driver(failure) => Error::driver(failure, FLUSHING, self.device()),
        })
    }

    pub(crate) fn raw(&self) -> &opencl::Queue {
        &self.0.raw
    }

    pub(crate) fn failed(&self, failure: opencl::Failure, action: &str, size: usize) -> Error {
        let action = format!("{action} a buffer of {size} bytes");
        Error::driver(failure, action, self.device())
    }

    /// Whether a copy of all of `buffer` from or to `data` can be right.
    pub(crate) fn can_copy<T: Pod>(&self, buffer: &Buffer<T>, data: &[T]) -> Result<()> {
        self.same_device(buffer)?;
        same_length(buffer, data)
    }

    fn same_device<T: Pod>(&self, buffer: &Buffer<T>) -> Result<()> {
        if Arc::ptr_eq(buffer.memory().context(), self.0.raw.context()) {
            return Ok(());
        }
        Err(ErrorKind::BufferDevice {
            buffer: buffer.device().to_string(),
            queue: self.device().to_string(),
        }
        .into())
    }
}

fn same_length<T: Pod>(buffer: &Buffer<T>, data: &[T]) -> Result<()> {
    if buffer.len() == data.len() {
        return Ok(());
    }
    Err(ErrorKind::Length {
        buffer: buffer.len(),
        slice: data.len(),
    }
    .into())
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({})", self.device())
    }
}
