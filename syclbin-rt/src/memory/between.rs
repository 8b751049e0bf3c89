// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between devices. Unless the driver can copy directly, data passes through host memory in chunks, so that
//! both devices work at the same time.

use bytemuck::Pod;

use crate::backend::slice::DeviceSlice;
use crate::error::Result;
use crate::memory::copy::{host_memory, same_elements};
use crate::memory::transfer::Transfer;
use crate::queue::Queue;
use crate::trace::{self, Class};

/// The chunk size in bytes. With larger chunks, the second device starts later, so the copies overlap less.
const CHUNK: usize = 4 << 20;

/// Copies between devices.
impl Queue {
    /// Copies `from`, on the device of this queue, to `to`, on the device of `other`. Returns when the copy has
    /// finished.
    ///
    /// The copy starts after all commands enqueued earlier on either queue. The devices may use different drivers. By
    /// default, the elements go through the host in chunks: while one chunk is written, the next one is read. Two cases
    /// are faster:
    ///
    /// - Both queues use the same device: the elements are copied by [`Queue::copy`].
    /// - Both slices are on NVIDIA GPUs, in device memory: the driver copies the elements. If the hardware supports
    ///   peer access, the first copy enables it, and the elements bypass the host.
    ///
    /// ```no_run
    /// # fn main() -> syclbin_rt::Result<()> {
    /// use syclbin_rt::Device;
    ///
    /// let queues = Device::all()?.iter().map(Device::queue).collect::<Result<Vec<_>, _>>()?;
    /// let (first, last) = (&queues[0], &queues[queues.len() - 1]);
    /// let from = first.upload(&[1, 2, 3])?;
    /// let mut to = last.zeroed(3)?;
    /// first.copy_to(&from, last, &mut to)?;
    /// assert_eq!(last.download(&to)?, [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if a slice is not on the device of its queue, or if a driver rejects the request.
    /// In the last case, some elements may already have been copied. Returns
    /// [`ErrorKind::MemoryInUse`](crate::ErrorKind::MemoryInUse) if a host view of the memory conflicts.
    pub fn copy_to<T: Pod>(
        &self,
        from: &DeviceSlice<T>,
        other: &Self,
        to: &mut DeviceSlice<T>,
    ) -> Result<()> {
        self.can_use(from, false)?;
        other.can_use(to, true)?;
        same_elements(from.len(), to.len())?;
        let ready = other.barrier(&[])?;
        if self.raw().context_address() == other.raw().context_address() {
            let before = self.barrier(&[&ready])?;
            return self.after(&[&before]).copy(from, to)?.wait();
        }
        let (source, target) = (from.region(), to.region());
        let size = source.bytes();
        if self.raw().has_peer(source, target) && size > 0 {
            ready.wait()?;
            let _span = trace::span(Class::Memory, "copying between devices", size);
            let copied = self.raw().copy_to_peer(source, other.raw(), target);
            copied.map_err(|failure| self.failed(failure, "copying", size))?;
            return self.check_asserts();
        }
        let before = self.barrier(&[])?;
        // Zero-sized elements form a single chunk, because there is nothing to copy.
        let step = CHUNK.checked_div(size_of::<T>());
        let step = step.unwrap_or(usize::MAX).max(1);
        let mut write: Option<Transfer<T>> = None;
        let mut spare = None;
        for first in (0..from.len()).step_by(step) {
            let end = from.len().min(first.saturating_add(step));
            let mut memory = spare.take().map_or_else(|| host_memory(end - first), Ok)?;
            memory.truncate(end - first);
            let part = from.slice(first..end)?;
            let chunk = self.after(&[&before]).read_later(&part, memory)?.wait()?;
            if let Some(write) = write.take() {
                spare = Some(write.wait()?);
            }
            let mut part = to.slice_mut(first..end)?;
            write = Some(other.after(&[&ready]).write_later(&mut part, chunk)?);
        }
        match write {
            Some(write) => write.wait().map(drop),
            None => before.wait().and(ready.wait()),
        }
    }
}
