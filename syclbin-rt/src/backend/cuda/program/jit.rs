// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiler in the driver: what it is told, and what it says.

use std::ffi::{c_uint, c_void};

use crate::backend::cuda::sys::CUjit_option;

/// The maximum size of each log in bytes.
const LOG: usize = 16 << 10;

/// Options of a compilation, with the places that the driver writes its logs to.
pub(in crate::backend::cuda) struct Jit {
    names: Vec<CUjit_option>,
    /// What the driver reads: numbers and addresses. It also writes to some of them.
    values: Vec<*mut c_void>,
    errors: Vec<u8>,
    remarks: Vec<u8>,
}

impl Jit {
    pub(in crate::backend::cuda) fn new(max_registers: Option<u32>) -> Self {
        let mut jit = Self {
            names: Vec::new(),
            values: Vec::new(),
            errors: vec![0; LOG],
            remarks: vec![0; LOG],
        };
        let number = |number: usize| std::ptr::without_provenance_mut(number);
        let (errors, remarks) = (jit.errors.as_mut_ptr(), jit.remarks.as_mut_ptr());
        for (name, value) in [
            (CUjit_option::CU_JIT_ERROR_LOG_BUFFER, errors.cast()),
            (
                CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                number(LOG),
            ),
            (CUjit_option::CU_JIT_INFO_LOG_BUFFER, remarks.cast()),
            (CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, number(LOG)),
        ] {
            jit.names.push(name);
            jit.values.push(value);
        }
        if let Some(registers) = max_registers {
            jit.names.push(CUjit_option::CU_JIT_MAX_REGISTERS);
            jit.values.push(number(registers as usize));
        }
        jit
    }

    pub(in crate::backend::cuda) fn count(&self) -> c_uint {
        // A handful.
        c_uint::try_from(self.names.len()).unwrap_or_default()
    }

    /// Where as many names begin as [`Jit::count`] says, as long as this lives.
    pub(in crate::backend::cuda) fn names(&mut self) -> *mut CUjit_option {
        self.names.as_mut_ptr()
    }

    /// Where as many values begin, as long as this lives and its logs are not read.
    pub(in crate::backend::cuda) fn values(&mut self) -> *mut *mut c_void {
        self.values.as_mut_ptr()
    }

    /// Returns the driver's error log, after the call has returned.
    pub(in crate::backend::cuda) fn errors(&self) -> String {
        text(&self.errors)
    }

    /// Returns the driver's other log.
    pub(in crate::backend::cuda) fn remarks(&self) -> String {
        text(&self.remarks)
    }
}

/// Returns the text before the first zero byte.
fn text(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0);
    let said = log.get(..end.unwrap_or(log.len())).unwrap_or_default();
    String::from_utf8_lossy(said).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_paired_and_logs_terminated() {
        let plain = Jit::new(None);
        assert_eq!((plain.count(), plain.values.len()), (4, 4));
        let limited = Jit::new(Some(64));
        assert_eq!((limited.count(), limited.values.len()), (5, 5));
        assert_eq!(limited.values[4].addr(), 64);
        assert_eq!(plain.errors(), "");
        assert_eq!(text(b"ptxas fatal\n\0rest"), "ptxas fatal");
        assert_eq!(text(b"no end"), "no end");
    }
}
