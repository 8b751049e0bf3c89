// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies to another device of the driver. The driver finds the way: directly where the devices reach each other, else
//! through pinned memory of the host that belongs to the driver.

use crate::backend::cuda::memory::Memory;
use crate::backend::cuda::memory::region::memory_of;
use crate::backend::cuda::queue::Queue;
use crate::backend::cuda::queue::wait_list::WaitList;
use crate::backend::failure::Failure;
use crate::backend::reach::Reach;
use crate::backend::slice::Region;

/// The driver function that copies between two contexts.
const COPY: &str = "cuMemcpyPeerAsync";

impl Queue {
    /// Returns whether the driver copies `from` to `to`, which is in another context: both are in memory of a device.
    pub(crate) fn copies_to_peer(&self, from: &Region<[()]>, to: &Region<[()]>) -> bool {
        [from, to].into_iter().all(|region| {
            let memory = memory_of(COPY, region);
            memory.is_ok_and(Memory::is_on_device)
        })
    }

    /// Copies a region to a region of the same size in the context of `other`, after all earlier commands of this queue,
    /// and waits for that.
    ///
    /// # Errors
    ///
    /// When the driver refuses, or one of the contexts is lost.
    pub(crate) fn copy_to_peer(
        &self,
        from: &Region<[()]>,
        other: &Self,
        to: &Region<[()]>,
    ) -> Result<(), Failure> {
        let size = from.bytes();
        let source = self.address_of(COPY, from)?;
        let target = other.address_of(COPY, to)?;
        let (here, there) = (self.context(), other.context());
        // A lost context has no memory to copy to.
        there.enter()?;
        self.reach(other)?;
        let copied = self.submit_without_event(&WaitList::empty(), |functions, stream| {
            // SAFETY: the regions have `size` bytes inside memory of these contexts, which are alive. Their borrows
            // outlast the copy, because it is waited for.
            let code = unsafe {
                let copy = functions.cuMemcpyPeerAsync.pass();
                copy(target, there.handle, source, here.handle, size, stream)
            };
            here.check(COPY, code)
        });
        // Also if the call failed: it may have queued the copy.
        let settled = self.stream.settle();
        copied.and(settled)
    }

    /// Lets this device reach memory of the device of `other` where the hardware can. Copies take the direct way then.
    /// A driver that refuses still copies, through the host.
    fn reach(&self, other: &Self) -> Result<(), Failure> {
        let functions = self.context().enter()?;
        let (here, there) = (self.context().device(), other.context().device());
        let mut can = 0;
        // SAFETY: both are devices of the driver; one number is written.
        let code = unsafe {
            let can_access = functions.cuDeviceCanAccessPeer.pass();
            can_access(&raw mut can, here.device, there.device)
        };
        if code == 0 && can != 0 {
            // SAFETY: both contexts are alive, and this queue's is current.
            let _ = unsafe { (functions.cuCtxEnablePeerAccess.pass())(other.context().handle, 0) };
        }
        Ok(())
    }
}

impl Memory {
    fn is_on_device(&self) -> bool {
        matches!(self.reach, None | Some(Reach::Device))
    }
}
