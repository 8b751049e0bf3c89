// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device memory: buffer objects, and unified shared memory, which has an address.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(target_os = "linux")]
use opencl_sys::CL_MEM_USE_HOST_PTR;
use opencl_sys::{CL_BUFFER_CREATE_TYPE_REGION, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE};
use opencl3::types::{cl_bitfield, cl_buffer_region, cl_mem};

use super::*;
#[cfg(target_os = "linux")]
use crate::backend::guard::Pages;

pub(crate) struct Memory {
    /// A unique number, never reused. At least [`FIRST_ID`].
    pub(crate) id: u64,
    pub(crate) context: Arc<Context>,
    pub(crate) handle: Handle,
    pub(crate) size: usize,
    /// The host address, if this is a guarded buffer object.
    guarded: Option<u64>,
    /// Keeps another library's memory alive, or the pages of a guarded buffer.
    owner: Option<Owner>,
}

/// The first memory number. Comparisons of kernel arguments use smaller numbers for the sizes of small values.
const FIRST_ID: u64 = 16;

static NEXT_ID: AtomicU64 = AtomicU64::new(FIRST_ID);

#[derive(Clone, Copy)]
pub(crate) enum Handle {
    Object(cl_mem),
    Address {
        pointer: *mut c_void,
        /// Whether the address is also valid on the host.
        host: bool,
    },
}

// SAFETY: any thread may use buffer objects (OpenCL 3.0, appendix A.2). The same holds for memory with an address: the
// device accesses it through queues, and the host through functions that require a borrow of it.
unsafe impl Send for Handle {}
// SAFETY: as for `Send`.
unsafe impl Sync for Handle {}

/// The allocation property that holds flags (cl_intel_unified_shared_memory).
const CL_MEM_FLAGS_INTEL: cl_bitfield = 0x10001;
/// Intel's flag for allocations beyond the driver's buffer size limit, documented in Intel's programming guide.
const CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL: cl_bitfield = 1 << 23;

impl Context {
    /// Returns the flag for unrestricted sizes if the device is an Intel GPU and an allocation of this size exceeds the
    /// default limit but fits into the GPU's memory. Otherwise, returns 0.
    fn unlimited(&self, size: usize) -> cl_bitfield {
        let (facts, size) = (&self.device.facts, size as u64);
        let exceeds = facts.max_buffer_bytes < size && size <= facts.memory_bytes;
        let needed =
            (facts.is_intel_gpu() && exceeds).then_some(CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL);
        needed.unwrap_or(0)
    }

    /// Allocates guarded pages for `size` bytes. Returns `None` if `SYCLBIN_GUARD` does not enable them, or if `size`
    /// exceeds the device's limit, so that the driver rejects the allocation.
    #[cfg(target_os = "linux")]
    fn guarded_pages(&self, size: usize) -> Result<Option<Pages>> {
        let fits = size as u64 <= self.device.facts.max_buffer_bytes;
        let mode = self.guard.filter(|_| fits);
        mode.map(|mode| Pages::new(size, mode)).transpose()
    }

    /// Returns the functions for unified shared memory. `function` is the name to report if they are missing.
    pub(crate) fn usm(&self, function: &'static str) -> Result<&'static Usm> {
        let usm = self.device.extensions.usm.as_ref();
        usm.ok_or(Failure::missing(function, USM))
    }
}

impl Memory {
    /// Allocates a buffer of `size` bytes, which must not be 0. `contents` must consist of `size` bytes, if given.
    pub(crate) fn object(
        context: &Arc<Context>,
        size: usize,
        contents: Option<&[u8]>,
    ) -> Result<Self> {
        let contents = contents.and_then(|contents| contents.get(..size));
        #[cfg(target_os = "linux")]
        if let Some(pages) = context.guarded_pages(size)? {
            let buffer = pages.buffer();
            if let Some(contents) = contents {
                // SAFETY: the new pages and the contents are `size` bytes long.
                unsafe { buffer.copy_from_nonoverlapping(contents.as_ptr().cast(), size) };
            }
            // SAFETY: the pages live until the object is released.
            let mut memory = unsafe { Self::create(context, CL_MEM_USE_HOST_PTR, size, buffer) }?;
            memory.guarded = Some(buffer.addr() as u64);
            memory.owner = Some(Box::new(pages));
            return Ok(memory);
        }
        let (flags, host) = match contents {
            Some(contents) => (CL_MEM_COPY_HOST_PTR, contents.as_ptr().cast_mut().cast()),
            None => (0, null_mut()),
        };
        // SAFETY: the contents are `size` bytes long, and the call copies them before it returns.
        unsafe { Self::create(context, context.unlimited(size) | flags, size, host) }
    }

    /// Creates a readable and writable buffer object with additional `flags`.
    ///
    /// # Safety
    ///
    /// `host` must be null or valid for `size` bytes, as `flags` require.
    unsafe fn create(
        context: &Arc<Context>,
        flags: cl_bitfield,
        size: usize,
        host: *mut c_void,
    ) -> Result<Self> {
        let flags = flags | CL_MEM_READ_WRITE;
        // SAFETY: the context is alive, and the caller vouches for `host`. The call writes only the status.
        let object = unsafe {
            create!(context.functions => clCreateBuffer(context.handle.0, flags, size, host))
        }?;
        Ok(Self::new(context, Handle::Object(object), size, None))
    }

    /// Allocates `size` bytes of unified shared memory, which must not be 0.
    ///
    /// # Errors
    ///
    /// Fails if the device does not support this kind of memory or has too little of it.
    pub(crate) fn addressed(context: &Arc<Context>, kind: UsmKind, size: usize) -> Result<Self> {
        let (context_handle, device) = (context.handle.0, context.device.id);
        let usm = context.usm("clDeviceMemAllocINTEL")?;
        let host = kind != UsmKind::Device;
        #[cfg(target_os = "linux")]
        if let Some(pages) = context.guarded_pages(size)? {
            let pointer = pages.buffer();
            let handle = Handle::Address { pointer, host };
            return Ok(Self::new(context, handle, size, Some(Box::new(pages))));
        }
        let unlimited = context.unlimited(size);
        let properties = [CL_MEM_FLAGS_INTEL, unlimited, 0];
        let list = if unlimited == 0 {
            std::ptr::null()
        } else {
            properties.as_ptr()
        };
        // SAFETY: the device belongs to the context. The properties are null or end with 0. An alignment of 0 suits
        // every type. The call writes only the status.
        let pointer = unsafe {
            match kind {
                UsmKind::Device => {
                    create!(usm => clDeviceMemAllocINTEL(context_handle, device, list, size, 0))
                }
                UsmKind::Host => create!(usm => clHostMemAllocINTEL(context_handle, list, size, 0)),
                UsmKind::Shared => {
                    create!(usm => clSharedMemAllocINTEL(context_handle, device, list, size, 0))
                }
            }
        }?;
        let handle = Handle::Address { pointer, host };
        Ok(Self::new(context, handle, size, None))
    }

    pub(crate) fn new(
        context: &Arc<Context>,
        handle: Handle,
        size: usize,
        owner: Option<Owner>,
    ) -> Self {
        Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            context: Arc::clone(context),
            handle,
            size,
            guarded: None,
            owner,
        }
    }

    /// Creates a sub-buffer of `size` bytes that starts at byte `offset` and keeps the whole buffer alive.
    ///
    /// # Errors
    ///
    /// Fails if the memory is not a buffer object, or if `offset` is not aligned as the device requires.
    pub(crate) fn part(&self, offset: usize, size: usize) -> Result<(Self, cl_mem)> {
        let Handle::Object(whole) = self.handle else {
            return Err(Failure::UNSUITABLE);
        };
        let region = cl_buffer_region {
            origin: offset,
            size,
        };
        let (flags, kind) = (CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION);
        let pointer = (&raw const region).cast();
        // SAFETY: the object is alive and not itself a sub-buffer. `pointer` points to a `cl_buffer_region`, as `kind`
        // requires. The driver rejects regions that extend past the object.
        let object = unsafe {
            create!(self.context.functions => clCreateSubBuffer(whole, flags, kind, pointer))
        }?;
        let part = Self::new(&self.context, Handle::Object(object), size, None);
        Ok((part, object))
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
        match self.handle {
            Handle::Object(memory) => MemoryHandle::OpenCl { memory, offset },
            Handle::Address { pointer, .. } => {
                MemoryHandle::Address((pointer.expose_provenance() + offset) as u64)
            }
        }
    }

    fn address(&self) -> Option<u64> {
        match self.handle {
            Handle::Address { pointer, .. } => Some(pointer as u64),
            Handle::Object(_) => None,
        }
    }

    fn known_address(&self) -> Option<u64> {
        self.address().or(self.guarded)
    }

    fn host_pointer(&self) -> Option<*mut c_void> {
        match self.handle {
            Handle::Address { pointer, host } => host.then_some(pointer),
            Handle::Object(_) => None,
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let owner = self.owner.take();
        // Wait for all queues if necessary. Unlike a buffer object, memory with an address is freed immediately, even
        // while commands use it, and drivers need not track memory that another owner frees. `clMemBlockingFreeINTEL`
        // is no alternative: Intel's CPU driver does not track commands that read the address from a variable, and
        // PoCL 6.0 waits for commands of other threads that are not enqueued yet, and crashes. If the wait fails, leak
        // the memory, because a kernel may still write to it.
        let must_wait = owner.is_some() || matches!(self.handle, Handle::Address { .. });
        if must_wait && self.context.finish_all().is_err() {
            std::mem::forget(owner);
            return;
        }
        match (self.handle, &self.context.device.extensions.usm) {
            // SAFETY: the reference is owned. Commands may still use it: the driver deletes the object when the
            // reference count is zero *and* all queued commands that use it have finished (OpenCL 3.0,
            // clReleaseMemObject).
            (Handle::Object(handle), _) => unsafe {
                (self.context.functions.clReleaseMemObject.pass())(handle);
            },
            // SAFETY: the memory is owned, and all commands that use it have finished.
            (Handle::Address { pointer, .. }, Some(usm)) if owner.is_none() => unsafe {
                (usm.clMemFreeINTEL.pass())(self.context.handle.0, pointer);
            },
            (Handle::Address { .. }, _) => {}
        }
    }
}

impl Queue {
    /// Returns the driver's handle for `memory`. Fails unless the memory belongs to this context and contains `size`
    /// bytes starting at byte `offset`.
    pub(crate) fn handle_of(
        &self,
        memory: &AnyMemory,
        offset: usize,
        size: usize,
    ) -> Result<Handle> {
        memory.check(self.context_address(), offset, size)?;
        Ok(memory.raw.opencl()?.handle)
    }
}

#[cfg(test)]
mod tests {
    use opencl_sys::{CL_MEM_ALLOC_TYPE_INTEL, clGetMemAllocInfoINTEL_t};

    use super::*;

    type AllocInfo = <clGetMemAllocInfoINTEL_t as EntryPoint>::Function;

    #[test]
    fn dropped_memory_with_an_address_is_freed() {
        let Some(queue) = crate::common::opencl_queue() else {
            return;
        };
        let context = &queue.raw().opencl().unwrap().context;
        let Ok(memory) = Memory::addressed(context, UsmKind::Device, 1 << 20) else {
            return crate::common::say_skipped("the device has no unified shared memory");
        };
        let Handle::Address { pointer, .. } = memory.handle else {
            panic!("it has no address");
        };
        let find = context.functions.clGetExtensionFunctionAddressForPlatform;
        let (platform, name) = (context.device.platform, c"clGetMemAllocInfoINTEL");
        // SAFETY: the platform is valid, and the name is NUL-terminated.
        let found = unsafe { (find.unwrap().pass())(platform, name.as_ptr()) };
        let found = std::ptr::NonNull::new(found).expect("a function of the extension");
        // SAFETY: the extension defines this type.
        let info = unsafe { Gated::<AllocInfo>::at(found) };
        let (context, kind) = (context.handle.0, CL_MEM_ALLOC_TYPE_INTEL);
        // SAFETY: the context is alive, and the function takes any address.
        let query = unsafe { query!(with info => clGetMemAllocInfoINTEL(context, pointer, kind)) };
        let unknown = 0x4196; // CL_MEM_TYPE_UNKNOWN_INTEL
        assert_ne!(query.value(), Ok::<u32, _>(unknown));
        drop(memory);
        assert_eq!(query.value(), Ok::<u32, _>(unknown));
    }

    #[test]
    fn only_intel_gpus_exceed_the_buffer_limit() {
        let Some(queue) = crate::common::opencl_queue() else {
            return;
        };
        let device = queue.raw().opencl().unwrap().context.device;
        let exceeds = |kind, vendor: &str| {
            let device = device.changed(|device| {
                device.facts.kind = kind;
                device.facts.vendor = vendor.to_owned();
                device.facts.max_buffer_bytes = 4000;
                device.facts.memory_bytes = 16000;
            });
            let context = Context::new(device).unwrap();
            [1, 4000, 4001, 16000, 16001].map(|size| context.unlimited(size) != 0)
        };
        let intel = "Intel(R) Corporation";
        let beyond_the_limit = [false, false, true, true, false];
        assert_eq!(exceeds(DeviceKind::Gpu, intel), beyond_the_limit);
        assert_eq!(exceeds(DeviceKind::Gpu, "another"), [false; 5]);
        assert_eq!(exceeds(DeviceKind::Cpu, intel), [false; 5]);
    }
}
