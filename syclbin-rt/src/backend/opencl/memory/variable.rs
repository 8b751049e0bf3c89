// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a queue copies to and from variables of programs. Where variables are hidden arguments, it copies to
//! and from their buffers.

use std::ffi::CStr;
use std::sync::Arc;

use opencl3::types::CL_TRUE;

use crate::backend::dispatch::memory::Memory;
use crate::backend::failure::Failure;
use crate::backend::opencl::check;
use crate::backend::opencl::driver::extensions::{EnqueueGlobalVariable, Globals};
use crate::backend::opencl::program::Program;
use crate::backend::opencl::queue::Queue;

use crate::backend::process::gate::Gated;

impl Queue {
    /// Returns whether the driver identifies variables by their names in the code. It uses their unique
    /// identifiers instead.
    pub(crate) fn names_variables_as_code(&self) -> bool {
        false
    }

    /// Writes the address of `memory` to the start of the variable `name`. The program keeps the
    /// memory from then on.
    pub(crate) fn point_variable(
        &self,
        program: &Program,
        name: &CStr,
        memory: &Arc<Memory>,
    ) -> Result<(), Failure> {
        if let Some(hidden) = program.hidden.get() {
            return hidden.point(&name.to_string_lossy(), memory);
        }
        let of = memory.raw().opencl().map(super::Memory::context);
        if !of.is_some_and(|context| Arc::ptr_eq(context, program.context())) {
            let call = "clEnqueueWriteGlobalVariableINTEL";
            return Err(Failure::foreign(call));
        }
        let Some(address) = memory.address() else {
            let call = "clEnqueueWriteGlobalVariableINTEL";
            return Err(Failure::unsuitable(call));
        };
        // Kept first: a pointer to memory that is gone must never be in the program.
        program.keep(memory);
        self.write_variable(program, name, &address.to_ne_bytes())
    }

    /// Copies `bytes` to the start of the variable `name`, after all earlier commands.
    pub(crate) fn write_variable(
        &self,
        program: &Program,
        name: &CStr,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        if let Some(hidden) = program.hidden.get() {
            let start = hidden.place(&name.to_string_lossy(), 0, bytes.len())?;
            return self.write(&hidden.arena, start, bytes);
        }
        let call = "clEnqueueWriteGlobalVariableINTEL";
        let write = self.globals(call, program)?.enqueue_write;
        let from = bytes.as_ptr().cast();
        // SAFETY: the function reads as many bytes as there are.
        unsafe { self.copy_variable(call, write, program, name, 0, from, bytes.len()) }
    }

    /// Copies the variable `name` from byte `offset` on into `bytes`, after all earlier commands.
    pub(crate) fn read_variable(
        &self,
        program: &Program,
        name: &CStr,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        if let Some(hidden) = program.hidden.get() {
            let start = hidden.place(&name.to_string_lossy(), offset, bytes.len())?;
            return self.read(&hidden.arena, start, bytes);
        }
        let call = "clEnqueueReadGlobalVariableINTEL";
        let read = self.globals(call, program)?.enqueue_read;
        let to = bytes.as_mut_ptr().cast();
        // SAFETY: the function writes as many bytes as there are.
        unsafe { self.copy_variable(call, read, program, name, offset, to, bytes.len()) }
    }

    /// Returns the size of the variable `name` in the code.
    pub(crate) fn variable_size(&self, program: &Program, name: &CStr) -> Result<usize, Failure> {
        if let Some(hidden) = program.hidden.get() {
            return hidden.size(&name.to_string_lossy());
        }
        let call = "clGetDeviceGlobalVariablePointerINTEL";
        let get = self.globals(call, program)?.get_pointer;
        let (mut size, mut address) = (0, std::ptr::null_mut());
        // SAFETY: the program was built for the context's only device, the name is NUL-terminated, and the call
        // writes a size and an address.
        check(call, unsafe {
            (get.pass())(
                self.context().device().id,
                program.handle,
                name.as_ptr(),
                &raw mut size,
                &raw mut address,
            )
        })?;
        Ok(size)
    }

    /// Copies `len` bytes between the variable `name`, from byte `offset` on, and `host`.
    ///
    /// # Safety
    ///
    /// `function` is what [`Queue::globals`] gave for `program`, and `host` good for what it does to
    /// `len` bytes until this returns.
    #[allow(clippy::too_many_arguments, reason = "the driver's function has more")]
    unsafe fn copy_variable<P>(
        &self,
        call: &'static str,
        function: Gated<EnqueueGlobalVariable<P>>,
        program: &Program,
        name: &CStr,
        offset: usize,
        host: P,
        len: usize,
    ) -> Result<(), Failure> {
        if len == 0 {
            return self.finish();
        }
        self.in_order()?;
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and program share a context, the name is NUL-terminated, and the driver
        // refuses names and sizes that it does not know. The caller vouches for the bytes of the
        // host, with which the call is done when it returns: it blocks.
        let code = unsafe {
            (function.pass())(
                self.handle,
                program.handle,
                name.as_ptr(),
                CL_TRUE,
                len,
                offset,
                host,
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for(call, event, code)
    }

    /// Returns the functions that read and write the variables of `program`, which is of this context.
    fn globals(&self, call: &'static str, program: &Program) -> Result<&'static Globals, Failure> {
        if !Arc::ptr_eq(self.context(), program.context()) {
            return Err(Failure::foreign(call));
        }
        let globals = self.context().device().extensions.globals.as_ref();
        globals.ok_or(Failure::Missing {
            function: call,
            needs: "Intel's driver",
        })
    }
}
