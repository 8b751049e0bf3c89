// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starting, versions and the names of errors.

use std::ffi::{CString, c_char, c_int, c_uint};
use std::sync::LazyLock;

use crate::call::{Code, functions, give, give_if};
use crate::device::context;
use crate::settings::Settings;

functions! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        if Settings::get().devices == 0 {
            return Err(Code::CUDA_ERROR_NO_DEVICE);
        }
        context::initialize();
        Ok(())
    }

    fn cuDriverGetVersion(version: *mut c_int) {
        give(version, i32::try_from(Settings::get().driver).unwrap_or(i32::MAX))
    }

    fn cuGetErrorName(error: c_uint, text: *mut *const c_char) {
        let found = TEXTS.iter().find(|(code, _, _)| *code == error);
        give_if(text, found.map_or(std::ptr::null(), |(_, name, _)| name.as_ptr()));
        found.map(|_| ()).ok_or(Code::CUDA_ERROR_INVALID_VALUE)
    }

    fn cuGetErrorString(error: c_uint, text: *mut *const c_char) {
        let found = TEXTS.iter().find(|(code, _, _)| *code == error);
        give_if(text, found.map_or(std::ptr::null(), |(_, _, words)| words.as_ptr()));
        found.map(|_| ()).ok_or(Code::CUDA_ERROR_INVALID_VALUE)
    }
}

type Text = (u32, CString, CString);

/// Number, name and words of each error.
static TEXTS: LazyLock<Vec<Text>> = LazyLock::new(|| {
    let text = |code: &Code| {
        let name = format!("{code:?}");
        let words = name
            .trim_start_matches("CUDA_ERROR_")
            .replace('_', " ")
            .to_lowercase();
        Some((
            *code as u32,
            CString::new(name).ok()?,
            CString::new(words).ok()?,
        ))
    };
    CODES.iter().filter_map(text).collect()
});

const CODES: [Code; 46] = [
    Code::CUDA_SUCCESS,
    Code::CUDA_ERROR_INVALID_VALUE,
    Code::CUDA_ERROR_OUT_OF_MEMORY,
    Code::CUDA_ERROR_NOT_INITIALIZED,
    Code::CUDA_ERROR_DEINITIALIZED,
    Code::CUDA_ERROR_NO_DEVICE,
    Code::CUDA_ERROR_INVALID_DEVICE,
    Code::CUDA_ERROR_INVALID_IMAGE,
    Code::CUDA_ERROR_INVALID_CONTEXT,
    Code::CUDA_ERROR_NO_BINARY_FOR_GPU,
    Code::CUDA_ERROR_INVALID_PTX,
    Code::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    Code::CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
    Code::CUDA_ERROR_INVALID_SOURCE,
    Code::CUDA_ERROR_FILE_NOT_FOUND,
    Code::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
    Code::CUDA_ERROR_OPERATING_SYSTEM,
    Code::CUDA_ERROR_INVALID_HANDLE,
    Code::CUDA_ERROR_ILLEGAL_STATE,
    Code::CUDA_ERROR_NOT_FOUND,
    Code::CUDA_ERROR_NOT_READY,
    Code::CUDA_ERROR_ILLEGAL_ADDRESS,
    Code::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
    Code::CUDA_ERROR_LAUNCH_TIMEOUT,
    Code::CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
    Code::CUDA_ERROR_CONTEXT_IS_DESTROYED,
    Code::CUDA_ERROR_ASSERT,
    Code::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
    Code::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
    Code::CUDA_ERROR_HARDWARE_STACK_ERROR,
    Code::CUDA_ERROR_ILLEGAL_INSTRUCTION,
    Code::CUDA_ERROR_MISALIGNED_ADDRESS,
    Code::CUDA_ERROR_INVALID_ADDRESS_SPACE,
    Code::CUDA_ERROR_INVALID_PC,
    Code::CUDA_ERROR_LAUNCH_FAILED,
    Code::CUDA_ERROR_NOT_PERMITTED,
    Code::CUDA_ERROR_NOT_SUPPORTED,
    Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    Code::CUDA_ERROR_STREAM_CAPTURE_MERGE,
    Code::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
    Code::CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
    Code::CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
    Code::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
    Code::CUDA_ERROR_CAPTURED_EVENT,
    Code::CUDA_ERROR_UNKNOWN,
];
