// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocates and frees CUDA memory, which always has a device address.
//!
//! Buffers come from the device's default memory pool (CUDA driver API, "Stream Ordered Memory Allocator"), so neither
//! allocating nor dropping one waits for a queue, except that an allocation waits for dropped buffers to be freed before
//! it runs out of memory. Arrays do not come from the pool, because other libraries may export them to another process
//! or to a network card, which memory of this pool does not allow.

use std::ffi::c_void;
use std::sync::Arc;

use super::*;

pub(crate) struct Memory {
    pub(crate) context: Arc<Context>,
    pub(crate) pointer: CUdeviceptr,
    /// `None` for plain buffers, whose address only native handles expose.
    pub(crate) kind: Option<UsmKind>,
    pub(crate) size: usize,
    /// Keeps another library's memory alive.
    pub(crate) owner: Option<Owner>,
}

impl Memory {
    /// Allocates memory with these `contents` that kernels may read and write. Allocates at least one byte, because a
    /// kernel argument needs an address.
    ///
    /// # Errors
    ///
    /// Fails if the device does not support this kind of memory, or if there is not enough memory.
    pub(crate) fn new(
        context: &Arc<Context>,
        kind: Option<UsmKind>,
        contents: Contents<'_>,
    ) -> Result<Self> {
        let allocate = || Self::uninitialized(context, kind, contents.bytes().max(1));
        let memory = allocate().or_else(|failure| match failure.code() {
            Some(Code::Cuda(OUT_OF_MEMORY)) if context.device.has_pool => {
                // Dropped buffers may not be freed yet.
                // SAFETY: the stream is alive.
                unsafe { call!(context => cuStreamSynchronize(context.freeing.0)) }?;
                allocate()
            }
            _ => Err(failure),
        })?;
        let (stream, pointer) = (context.allocating.0, memory.pointer);
        // SAFETY: the streams are alive and belong to the context. The addresses are valid for that many bytes, and
        // outlive the commands, because this function waits for them.
        let enqueued = unsafe {
            match contents {
                Contents::Bytes(bytes) if !bytes.is_empty() => {
                    let from = bytes.as_ptr().expose_provenance() as CUdeviceptr;
                    call!(context => cuMemcpyAsync(pointer, from, bytes.len(), stream))
                }
                _ => call!(context => cuMemsetD8Async(pointer, 0, memory.size, stream)),
            }
        };
        // Wait even if the call failed: it may have enqueued the command. The first command on the memory may be on any
        // queue, none of which would wait for this stream.
        // SAFETY: the stream is alive.
        if let Err(failure) = unsafe { context.settle(stream) } {
            // A command may still use the memory.
            std::mem::forget(memory);
            return enqueued.and(Err(failure));
        }
        enqueued.map(|()| memory)
    }

    fn uninitialized(context: &Arc<Context>, kind: Option<UsmKind>, size: usize) -> Result<Self> {
        let mut pointer: CUdeviceptr = 0;
        // SAFETY: the context is current; the call writes one address through a valid pointer.
        let call = unsafe {
            match kind {
                None if context.device.has_pool => {
                    let stream = context.allocating.0;
                    call!(context, "a CUDA 11.2 driver" => cuMemAllocAsync(&raw mut pointer, size, stream))?;
                    "cuMemAllocAsync"
                }
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
        self.kind.filter(|kind| *kind != UsmKind::Device)?;
        let address = usize::try_from(self.pointer).ok()?;
        Some(std::ptr::with_exposed_provenance_mut(address))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Neither the driver nor the reference counts ensure that the commands that use the memory have finished. If
        // waiting for them fails, leak the memory, because a kernel may still write to it.
        let owner = self.owner.take();
        if self.kind.is_none() && owner.is_none() && self.context.device.has_pool {
            // The stream waits; this thread does not.
            let all = |stream: &Stream| stream.make_wait(self.context.freeing.0);
            if self.context.queues.for_each(all).is_ok() {
                let (pointer, stream) = (self.pointer, self.context.freeing.0);
                // SAFETY: the memory is owned, and the stream waits for all commands that use it.
                let _ = unsafe {
                    call!(self.context, "a CUDA 11.2 driver" => cuMemFreeAsync(pointer, stream))
                };
            }
        } else if self.context.finish_all().is_err() {
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
