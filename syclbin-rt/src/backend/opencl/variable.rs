//! What a queue copies to and from memory with an address and variables of programs.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use opencl3::error_codes::{CL_INVALID_CONTEXT, CL_INVALID_OPERATION, CL_INVALID_VALUE};
use opencl3::types::CL_TRUE;

use super::Failure;
use super::extensions::{EnqueueGlobalVariable, Globals};
use super::program::Program;
use super::queue::Queue;
use super::usm::DeviceMemory;

impl Queue {
    /// Whether the driver has functions that read and write variables.
    pub(crate) fn reaches_variables(&self) -> bool {
        self.context().device().extensions.globals.is_some()
    }

    /// Whether the device has memory with addresses.
    pub(crate) fn has_addresses(&self) -> bool {
        self.context().device().extensions.usm.is_some()
    }

    /// New device memory that holds `size` zero bytes.
    pub(crate) fn zeroed_device(&self, size: usize) -> Result<DeviceMemory, Failure> {
        let memory = DeviceMemory::new(self, size)?;
        let pattern = 0u8;
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and memory share a context, the memory has that many bytes, and the driver
        // copies the pattern before it returns (cl_intel_unified_shared_memory).
        let code = unsafe {
            (memory.functions().enqueue_mem_fill)(
                self.handle,
                memory.pointer,
                (&raw const pattern).cast(),
                size_of_val(&pattern),
                memory.size(),
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for("clEnqueueMemFillINTEL", event, code)?;
        Ok(memory)
    }

    /// Copies `bytes` to the start of `memory`, after everything queued before.
    pub(crate) fn write_device(&self, memory: &DeviceMemory, bytes: &[u8]) -> Result<(), Failure> {
        // SAFETY: `bytes` may be read; `copy` checks that as many are inside of the memory.
        unsafe { self.copy(memory, memory.pointer, bytes.as_ptr().cast(), bytes.len()) }
    }

    /// Copies the start of `memory` into `bytes`, after everything queued before.
    pub(crate) fn read_device(
        &self,
        memory: &DeviceMemory,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        let to = bytes.as_mut_ptr().cast();
        // SAFETY: `bytes` may be written; `copy` checks that as many are inside of the memory.
        unsafe { self.copy(memory, to, memory.pointer, bytes.len()) }
    }

    /// Copies `len` bytes between the start of `memory` and the host.
    ///
    /// # Safety
    ///
    /// One of the pointers is that of `memory`, and the other one good for `len` bytes until this
    /// returns.
    unsafe fn copy(
        &self,
        memory: &DeviceMemory,
        to: *mut c_void,
        from: *const c_void,
        len: usize,
    ) -> Result<(), Failure> {
        let call = "clEnqueueMemcpyINTEL";
        self.inside(call, memory, len)?;
        if len == 0 {
            return self.finish();
        }
        self.in_order()?;
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and memory share a context, and the memory has `len` bytes; the caller
        // vouches for those of the host, with which the call is done when it returns: it blocks.
        let code = unsafe {
            (memory.functions().enqueue_memcpy)(
                self.handle,
                CL_TRUE,
                to,
                from,
                len,
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for(call, event, code)
    }

    /// Writes the address of `memory` to the start of the variable `name`. The program keeps the
    /// memory from then on.
    pub(crate) fn point_variable(
        &self,
        program: &Program,
        name: &CStr,
        memory: &Arc<DeviceMemory>,
    ) -> Result<(), Failure> {
        if !Arc::ptr_eq(memory.context(), program.context()) {
            let call = "clEnqueueWriteGlobalVariableINTEL";
            let code = CL_INVALID_CONTEXT;
            return Err(Failure { call, code });
        }
        // Kept first: a pointer to memory that is gone must never be in the program.
        program.keep(memory);
        self.write_variable(program, name, &memory.address().to_ne_bytes())
    }

    /// Copies `bytes` to the start of the variable `name`, after everything queued before.
    pub(crate) fn write_variable(
        &self,
        program: &Program,
        name: &CStr,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        let call = "clEnqueueWriteGlobalVariableINTEL";
        let write = self.globals(call, program)?.enqueue_write;
        let from = bytes.as_ptr().cast();
        // SAFETY: the function reads as many bytes as there are.
        unsafe { self.copy_variable(call, write, program, name, from, bytes.len()) }
    }

    /// Copies the start of the variable `name` into `bytes`, after everything queued before.
    pub(crate) fn read_variable(
        &self,
        program: &Program,
        name: &CStr,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        let call = "clEnqueueReadGlobalVariableINTEL";
        let read = self.globals(call, program)?.enqueue_read;
        let to = bytes.as_mut_ptr().cast();
        // SAFETY: the function writes as many bytes as there are.
        unsafe { self.copy_variable(call, read, program, name, to, bytes.len()) }
    }

    /// Copies `len` bytes between the start of the variable `name` and `host`.
    ///
    /// # Safety
    ///
    /// `function` is what [`Queue::globals`] gave for `program`, and `host` good for what it does to
    /// `len` bytes until this returns.
    unsafe fn copy_variable<P>(
        &self,
        call: &'static str,
        function: EnqueueGlobalVariable<P>,
        program: &Program,
        name: &CStr,
        host: P,
        len: usize,
    ) -> Result<(), Failure> {
        if len == 0 {
            return self.finish();
        }
        self.in_order()?;
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and program share a context, the name is NUL-terminated, and the driver
        // refuses names and sizes that it does not know; the caller vouches for the bytes of the
        // host, with which the call is done when it returns: it blocks.
        let code = unsafe {
            function(
                self.handle,
                program.handle,
                name.as_ptr(),
                CL_TRUE,
                len,
                0,
                host,
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for(call, event, code)
    }

    /// The functions that read and write the variables of `program`, which is one of this context.
    fn globals(&self, call: &'static str, program: &Program) -> Result<&'static Globals, Failure> {
        if !Arc::ptr_eq(self.context(), program.context()) {
            let code = CL_INVALID_CONTEXT;
            return Err(Failure { call, code });
        }
        let globals = self.context().device().extensions.globals.as_ref();
        let code = CL_INVALID_OPERATION;
        globals.ok_or(Failure { call, code })
    }

    fn inside(&self, call: &'static str, memory: &DeviceMemory, len: usize) -> Result<(), Failure> {
        let code = if !Arc::ptr_eq(self.context(), memory.context()) {
            CL_INVALID_CONTEXT
        } else if len > memory.size() {
            CL_INVALID_VALUE
        } else {
            return Ok(());
        };
        Err(Failure { call, code })
    }
}
