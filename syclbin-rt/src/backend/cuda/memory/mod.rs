// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of a device: all of it has an address.

pub(super) mod copy;
pub(super) mod fill;
pub(super) mod image;
pub(super) mod mapping;
mod peer;
pub(super) mod region;
mod variable;

use std::sync::Arc;

use crate::backend::cuda::context::Context;
use crate::backend::cuda::errors::INVALID_VALUE;
use crate::backend::cuda::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUdeviceptr, CUmemAttach_flags,
};
use crate::backend::failure::Failure;
use crate::backend::native::{MemoryHandle, Owner};
use crate::backend::reach::Reach;

/// Owned memory.
pub(crate) struct Memory {
    context: Arc<Context>,
    pub(super) pointer: CUdeviceptr,
    /// Who was promised an address; none of plain buffers, of which programs know no address.
    reach: Option<Reach>,
    size: usize,
    /// What keeps it alive, if another library allocated it.
    owner: Option<Owner>,
}

impl Memory {
    /// Allocates `size` bytes that a kernel may read and write, at least one byte: an argument needs an
    /// address. Their content is undefined, so the caller fills them before they are used.
    pub(super) fn object(context: &Arc<Context>, size: usize) -> Result<Self, Failure> {
        Self::new(context, None, size)
    }

    /// Allocates `size` bytes with an address, at least one byte. Their content is undefined, as above.
    ///
    /// # Errors
    ///
    /// When the device does not support such memory, or does not have enough of it.
    pub(super) fn addressed(
        context: &Arc<Context>,
        reach: Reach,
        size: usize,
    ) -> Result<Self, Failure> {
        Self::new(context, Some(reach), size)
    }

    fn new(context: &Arc<Context>, reach: Option<Reach>, size: usize) -> Result<Self, Failure> {
        let size = size.max(1);
        let functions = context.enter()?;
        let mut pointer: CUdeviceptr = 0;
        let call = match reach {
            None | Some(Reach::Device) => {
                // SAFETY: the context is current; one address is written.
                let code = unsafe { (functions.cuMemAlloc_v2.pass())(&raw mut pointer, size) };
                context.check("cuMemAlloc", code)?;
                "cuMemAlloc"
            }
            Some(Reach::Host) => {
                let flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
                let mut host = std::ptr::null_mut();
                // SAFETY: as above.
                let code = unsafe { (functions.cuMemHostAlloc.pass())(&raw mut host, size, flags) };
                context.check("cuMemHostAlloc", code)?;
                // The device has it at the same address (CUDA driver API, "Unified Addressing").
                pointer = host.expose_provenance() as CUdeviceptr;
                "cuMemHostAlloc"
            }
            Some(Reach::Shared) => {
                let flags = CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL.0;
                // SAFETY: as above.
                let code =
                    unsafe { (functions.cuMemAllocManaged.pass())(&raw mut pointer, size, flags) };
                context.check("cuMemAllocManaged", code)?;
                "cuMemAllocManaged"
            }
        };
        if pointer == 0 {
            // Nothing would be there.
            let code = INVALID_VALUE;
            return Err(Failure::cuda(call, code));
        }
        Ok(Self {
            context: Arc::clone(context),
            pointer,
            reach,
            size,
            owner: None,
        })
    }

    /// Shares the memory of another library, which lives as long as `owner`.
    ///
    /// # Safety
    ///
    /// The address has `size` bytes on the device of `context`, as long as `owner` lives.
    pub(crate) unsafe fn adopt(
        context: &Arc<Context>,
        handle: MemoryHandle,
        size: usize,
        owner: Owner,
    ) -> Result<Self, Failure> {
        let MemoryHandle::Address(pointer) = handle else {
            return Err(Failure::foreign("cuLaunchKernel"));
        };
        Ok(Self {
            context: Arc::clone(context),
            pointer,
            reach: None,
            size,
            owner: Some(owner),
        })
    }

    /// Returns its handle.
    pub(crate) fn native(&self, offset: usize) -> MemoryHandle {
        MemoryHandle::Address(self.pointer + offset as u64)
    }

    /// What all memory is aligned to (CUDA C Programming Guide, "Device Memory Accesses").
    /// What the byte where a part begins must be a multiple of for a kernel to get it: it may begin
    /// anywhere.
    pub(crate) fn part_alignment(&self) -> Option<usize> {
        None
    }

    pub(crate) fn least_alignment(&self) -> u64 {
        256
    }

    /// Returns its address.
    pub(crate) fn known_address(&self) -> Option<u64> {
        Some(self.pointer)
    }

    /// Returns its context.
    #[inline]
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Returns its size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns its address on the device, if programs can know the address.
    pub(crate) fn address(&self) -> Option<u64> {
        self.reach.map(|_| self.pointer)
    }

    /// Returns its address on the host, if the host can reach it.
    pub(crate) fn host_pointer(&self) -> Option<*mut u8> {
        match self.reach {
            None | Some(Reach::Device) => None,
            Some(Reach::Host | Reach::Shared) => {
                let address = usize::try_from(self.pointer).ok()?;
                Some(std::ptr::with_exposed_provenance_mut(address))
            }
        }
    }

    /// Returns whether it is in host memory.
    pub(super) fn is_of_host(&self) -> bool {
        self.reach == Some(Reach::Host)
    }

    /// Returns whether it was requested as memory that the host does not reach.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        self.reach == Some(Reach::Device)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Nothing waits for commands that use it, neither the driver nor a count in here. Where a queue
        // cannot be waited for, the memory stays: a kernel may still write to it.
        let owner = self.owner.take();
        if self.context.finish_all().is_err() {
            std::mem::forget(owner);
            return;
        }
        if owner.is_some() {
            return;
        }
        let Ok(functions) = self.context.enter() else {
            return;
        };
        // SAFETY: the memory is owned, and what uses it has finished.
        unsafe {
            match self.reach {
                Some(Reach::Host) => {
                    if let Some(host) = self.host_pointer() {
                        (functions.cuMemFreeHost.pass())(host.cast());
                    }
                }
                None | Some(Reach::Device | Reach::Shared) => {
                    (functions.cuMemFree_v2.pass())(self.pointer);
                }
            }
        }
    }
}
