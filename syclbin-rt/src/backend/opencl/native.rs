//! Native code: what a driver made of a program, to be kept and loaded without a compile.

use std::ffi::c_void;

use opencl_sys::{CL_PROGRAM_BINARIES, CL_PROGRAM_BINARY_SIZES};
use opencl3::error_codes::CL_INVALID_VALUE;

use super::program::Program;
use super::{Failure, check, info};

impl Program {
    /// The native code of a built program, in the driver's own form.
    ///
    /// # Errors
    ///
    /// When the driver refuses, and when it has none.
    pub(crate) fn binary(&self) -> Result<Vec<u8>, Failure> {
        let call = "clGetProgramInfo";
        let query = self.context().functions().clGetProgramInfo;
        // A context of ours has one device, so there is one size and one pointer.
        let size: usize = info::value(call, &|size, value, returned| {
            // SAFETY: the program is alive; `value` is null or holds `size` bytes.
            unsafe { query(self.handle, CL_PROGRAM_BINARY_SIZES, size, value, returned) }
        })?;
        if size == 0 {
            let code = CL_INVALID_VALUE;
            return Err(Failure { call, code });
        }
        let mut binary = vec![0u8; size];
        let mut pointers: [*mut c_void; 1] = [binary.as_mut_ptr().cast()];
        // SAFETY: the driver writes `size` bytes, which it told just now, through the one pointer.
        check(call, unsafe {
            query(
                self.handle,
                CL_PROGRAM_BINARIES,
                size_of_val(&pointers),
                pointers.as_mut_ptr().cast(),
                std::ptr::null_mut(),
            )
        })?;
        Ok(binary)
    }
}
