//! What a queue copies to and from memory with an address and variables of programs.

use std::ffi::CStr;
use std::sync::Arc;

use opencl3::error_codes::{CL_INVALID_CONTEXT, CL_INVALID_OPERATION, CL_INVALID_VALUE};
use opencl3::types::CL_TRUE;

use super::Failure;
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
        let call = "clEnqueueMemcpyINTEL";
        self.inside(call, memory, bytes.len())?;
        if bytes.is_empty() {
            return self.finish();
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and memory share a context, and the memory has that many bytes;
        // the call blocks, so it is done with `bytes` when it returns.
        let code = unsafe {
            (memory.functions().enqueue_memcpy)(
                self.handle,
                CL_TRUE,
                memory.pointer,
                bytes.as_ptr().cast(),
                bytes.len(),
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for(call, event, code)
    }

    /// Copies the start of `memory` into `bytes`, after everything queued before.
    pub(crate) fn read_device(
        &self,
        memory: &DeviceMemory,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        let call = "clEnqueueMemcpyINTEL";
        self.inside(call, memory, bytes.len())?;
        if bytes.is_empty() {
            return self.finish();
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: as in `write_device`, and `bytes` outlives the copy.
        let code = unsafe {
            (memory.functions().enqueue_memcpy)(
                self.handle,
                CL_TRUE,
                bytes.as_mut_ptr().cast(),
                memory.pointer,
                bytes.len(),
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
        let globals = self.globals(call, program)?;
        if bytes.is_empty() {
            return self.finish();
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and program share a context, the name is NUL-terminated, and the driver
        // refuses names and sizes that it does not know; the call blocks, so it is done with
        // `bytes` when it returns.
        let code = unsafe {
            (globals.enqueue_write)(
                self.handle,
                program.handle,
                name.as_ptr(),
                CL_TRUE,
                bytes.len(),
                0,
                bytes.as_ptr().cast(),
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for(call, event, code)
    }

    /// Copies the start of the variable `name` into `bytes`, after everything queued before.
    pub(crate) fn read_variable(
        &self,
        program: &Program,
        name: &CStr,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        let call = "clEnqueueReadGlobalVariableINTEL";
        let globals = self.globals(call, program)?;
        if bytes.is_empty() {
            return self.finish();
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: as in `write_variable`, and `bytes` outlives the copy.
        let code = unsafe {
            (globals.enqueue_read)(
                self.handle,
                program.handle,
                name.as_ptr(),
                CL_TRUE,
                bytes.len(),
                0,
                bytes.as_mut_ptr().cast(),
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for(call, event, code)
    }

    fn globals(
        &self,
        call: &'static str,
        program: &Program,
    ) -> Result<&'static super::extensions::Globals, Failure> {
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
