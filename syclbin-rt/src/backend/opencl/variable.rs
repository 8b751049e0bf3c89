// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables of programs: what a queue copies to and from them. Where variables are hidden arguments, it copies to
//! and from their buffers.

use std::ffi::CStr;
use std::sync::Arc;

use opencl3::types::CL_TRUE;

use crate::backend::device::downcast;
use crate::backend::event::{DriverEvent as _, WaitList};
use crate::backend::failure::Failure;
use crate::backend::memory::Memory;
use crate::backend::opencl::functions::Globals;
use crate::backend::opencl::program::Program;
use crate::backend::opencl::queue::Queue;
use crate::backend::program::Program as AnyProgram;
use crate::backend::queue::{Copies as _, DriverQueue as _, Variables};

impl Variables for Queue {
    fn names_variables_as_code(&self) -> bool {
        false
    }

    fn point_variable(
        &self,
        program: &AnyProgram,
        name: &CStr,
        memory: &Arc<Memory>,
    ) -> Result<(), Failure> {
        let raw: Arc<Program> = downcast(program.clone())?;
        if let Some(hidden) = raw.hidden.get() {
            return hidden.point(&name.to_string_lossy(), memory);
        }
        memory.check(self.context_address(), 0, 0)?;
        let address = memory.address().ok_or(Failure::UNSUITABLE)?;
        // Kept first: a pointer to memory that is gone must never be in the program.
        raw.keep(memory);
        self.write_variable(program, name, &address.to_ne_bytes())
    }

    fn write_variable(
        &self,
        program: &AnyProgram,
        name: &CStr,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        let program: Arc<Program> = downcast(program.clone())?;
        if let Some(hidden) = program.hidden.get() {
            let start = hidden.place(&name.to_string_lossy(), 0, bytes.len())?;
            return self.write(&hidden.arena, start, bytes);
        }
        let globals = self.globals("clEnqueueWriteGlobalVariableINTEL", &program)?;
        if bytes.is_empty() {
            return self.finish();
        }
        self.in_order()?;
        let (handle, name, none) = (program.handle, name.as_ptr(), WaitList::NOTHING);
        let (len, from) = (bytes.len(), bytes.as_ptr().cast());
        // SAFETY: queue and program share a context, the name is NUL-terminated, and the driver refuses names and
        // sizes that it does not know. The call blocks, so `bytes` outlive the copy.
        unsafe {
            enqueue!(
                self,
                none,
                globals,
                clEnqueueWriteGlobalVariableINTEL(handle, name, CL_TRUE, len, 0, from)
            )
        }?
        .wait()
    }

    fn read_variable(
        &self,
        program: &AnyProgram,
        name: &CStr,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        let program: Arc<Program> = downcast(program.clone())?;
        if let Some(hidden) = program.hidden.get() {
            let start = hidden.place(&name.to_string_lossy(), offset, bytes.len())?;
            return self.read(&hidden.arena, start, bytes);
        }
        let globals = self.globals("clEnqueueReadGlobalVariableINTEL", &program)?;
        if bytes.is_empty() {
            return self.finish();
        }
        self.in_order()?;
        let (handle, name, none) = (program.handle, name.as_ptr(), WaitList::NOTHING);
        let (len, to) = (bytes.len(), bytes.as_mut_ptr().cast());
        // SAFETY: as above; `bytes` may be written.
        unsafe {
            enqueue!(
                self,
                none,
                globals,
                clEnqueueReadGlobalVariableINTEL(handle, name, CL_TRUE, len, offset, to)
            )
        }?
        .wait()
    }

    fn variable_size(&self, program: &AnyProgram, name: &CStr) -> Result<usize, Failure> {
        let program: Arc<Program> = downcast(program.clone())?;
        if let Some(hidden) = program.hidden.get() {
            return hidden.size(&name.to_string_lossy());
        }
        let globals = self.globals("clGetDeviceGlobalVariablePointerINTEL", &program)?;
        let (device, handle, name) = (self.context.device.id, program.handle, name.as_ptr());
        let (mut size, mut address) = (0, std::ptr::null_mut());
        // SAFETY: the program was built for the context's only device, the name is NUL-terminated, and the call
        // writes a size and an address.
        unsafe {
            let (size, address) = (&raw mut size, &raw mut address);
            call!(
                globals,
                clGetDeviceGlobalVariablePointerINTEL(device, handle, name, size, address)
            )
        }?;
        Ok(size)
    }
}

impl Queue {
    /// Returns the functions that read and write the variables of `program`, for a call of `function`.
    fn globals(
        &self,
        function: &'static str,
        program: &Program,
    ) -> Result<&'static Globals, Failure> {
        if !Arc::ptr_eq(&self.context, &program.context) {
            return Err(Failure::FOREIGN);
        }
        let globals = self.context.device.extensions.globals.as_ref();
        globals.ok_or(Failure::Missing {
            function,
            needs: "Intel's driver",
        })
    }
}
