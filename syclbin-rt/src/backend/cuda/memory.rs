// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocates and frees CUDA memory, which always has a device address.

use std::ffi::c_void;
use std::sync::Arc;

use super::*;

pub(crate) struct Memory {
    pub(crate) context: Arc<Context>,
    pub(crate) pointer: CUdeviceptr,
    /// `None` for plain buffers, whose address the public API does not expose.
    pub(crate) kind: Option<UsmKind>,
    pub(crate) size: usize,
    /// Keeps another library's memory alive.
    pub(crate) owner: Option<Owner>,
}

impl Memory {
    /// Allocates `size` bytes that kernels may read and write, or one byte if `size` is 0, because a kernel argument
    /// needs an address.
    ///
    /// # Errors
    ///
    /// Fails if the device does not support this kind of memory, or if there is not enough memory.
    pub(crate) fn new(context: &Arc<Context>, kind: Option<UsmKind>, size: usize) -> Result<Self> {
        let size = size.max(1);
        let mut pointer: CUdeviceptr = 0;
        // SAFETY: the context is current; the call writes one address through a valid pointer.
        let call = unsafe {
            match kind {
                None | Some(UsmKind::Device) => {
                    call!(context => cuMemAlloc_v2(&raw mut pointer, size))?;
                    "cuMemAlloc"
                }
                Some(UsmKind::Host) => {
                    let flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
                    let mut host = std::ptr::null_mut();
                    call!(context => cuMemHostAlloc(&raw mut host, size, flags))?;
                    // The device uses the same address (CUDA driver API, "Unified Addressing").
                    pointer = host.expose_provenance() as CUdeviceptr;
                    "cuMemHostAlloc"
                }
                Some(UsmKind::Shared) => {
                    let flags = CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL.0;
                    call!(context => cuMemAllocManaged(&raw mut pointer, size, flags))?;
                    "cuMemAllocManaged"
                }
            }
        };
        if pointer == 0 {
            // A successful call must return an address.
            return Err(invalid(call));
        }
        Ok(Self {
            context: Arc::clone(context),
            pointer,
            kind,
            size,
            owner: None,
        })
    }
}

impl DriverMemory for Memory {
    fn context(&self) -> &dyn DriverContext {
        &*self.context
    }

    fn size(&self) -> usize {
        self.size
    }

    fn native(&self, offset: usize) -> MemoryHandle {
        MemoryHandle::Address(self.pointer + offset as u64)
    }

    fn address(&self) -> Option<u64> {
        self.kind.map(|_| self.pointer)
    }

    fn known_address(&self) -> Option<u64> {
        Some(self.pointer)
    }

    fn host_pointer(&self) -> Option<*mut c_void> {
        match self.kind {
            None | Some(UsmKind::Device) => None,
            Some(UsmKind::Host | UsmKind::Shared) => {
                let address = usize::try_from(self.pointer).ok()?;
                Some(std::ptr::with_exposed_provenance_mut(address))
            }
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Wait here for the commands that use the memory: neither the driver nor the reference counts ensure that they
        // have finished. If waiting fails, leak the memory, because a kernel may still write to it.
        let owner = self.owner.take();
        if self.context.finish_all().is_err() {
            std::mem::forget(owner);
        } else if owner.is_none() {
            // SAFETY: the memory is owned, and all commands that use it have finished.
            let _ = unsafe {
                match (self.kind, self.host_pointer()) {
                    (Some(UsmKind::Host), Some(host)) => call!(self.context => cuMemFreeHost(host)),
                    _ => call!(self.context => cuMemFree_v2(self.pointer)),
                }
            };
        }
    }
}
