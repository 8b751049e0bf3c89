// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a queue copies to and from variables of programs.

use std::ffi::CStr;
use std::sync::Arc;

use crate::backend::cuda::errors::INVALID_VALUE;
use crate::backend::cuda::program::Program;
use crate::backend::cuda::queue::Queue;
use crate::backend::dispatch::memory::Memory;
use crate::backend::failure::Failure;

/// The driver function that finds a variable.
const FIND: &str = "cuModuleGetGlobal";

impl Queue {
    /// Returns whether the driver identifies variables by their names in the code, and not by their unique
    /// identifiers.
    pub(crate) fn names_variables_as_code(&self) -> bool {
        true
    }

    /// Writes the address of `memory` to the start of the variable `name`. The program keeps the
    /// memory from then on.
    pub(crate) fn point_variable(
        &self,
        program: &Program,
        name: &CStr,
        memory: &Arc<Memory>,
    ) -> Result<(), Failure> {
        let raw = memory.raw().cuda().ok_or(Failure::foreign(FIND))?;
        if !Arc::ptr_eq(raw.context(), program.context()) {
            return Err(Failure::foreign(FIND));
        }
        // Kept first: a pointer to memory that is gone must never be in the program.
        program.keep(memory);
        self.write_variable(program, name, &raw.pointer.to_ne_bytes())
    }

    /// Copies `bytes` to the start of the variable `name`, after all earlier commands. The name is the name in
    /// the code.
    pub(crate) fn write_variable(
        &self,
        program: &Program,
        name: &CStr,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        let address = self.variable(program, name, 0, bytes.len())?;
        if bytes.is_empty() {
            return self.finish();
        }
        let from = bytes.as_ptr().expose_provenance() as u64;
        // SAFETY: the variable has that many bytes, and lives as long as the program; `bytes` outlive
        // the copy, which is waited for.
        unsafe { self.copy_now(address, from, bytes.len()) }
    }

    /// Copies the variable `name` from byte `offset` on into `bytes`, after all earlier commands.
    pub(crate) fn read_variable(
        &self,
        program: &Program,
        name: &CStr,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        let address = self.variable(program, name, offset, bytes.len())?;
        if bytes.is_empty() {
            return self.finish();
        }
        let to = bytes.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: as above; `bytes` may be written.
        unsafe { self.copy_now(to, address, bytes.len()) }
    }

    /// Returns the size of the variable `name` in the code.
    pub(crate) fn variable_size(&self, program: &Program, name: &CStr) -> Result<usize, Failure> {
        self.find(program, name).map(|(_, size)| size)
    }

    /// Returns the address of byte `offset` of the variable, if `size` bytes begin there.
    fn variable(
        &self,
        program: &Program,
        name: &CStr,
        offset: usize,
        size: usize,
    ) -> Result<u64, Failure> {
        let (address, has) = self.find(program, name)?;
        match offset.checked_add(size) {
            Some(end) if end <= has => Ok(address + offset as u64),
            _ => Err(Failure::cuda(FIND, INVALID_VALUE)),
        }
    }

    /// Returns the address and the size of the variable.
    fn find(&self, program: &Program, name: &CStr) -> Result<(u64, usize), Failure> {
        if !Arc::ptr_eq(self.context(), program.context()) {
            return Err(Failure::foreign(FIND));
        }
        program.variable(name)
    }
}
