// SPDX-License-Identifier: MIT OR Apache-2.0
//! A device that reports itself as an Intel GPU, and a record of the requests that only such a GPU gets.

use std::ffi::{CStr, CString, c_char, c_void};
use std::io::Write as _;
use std::sync::OnceLock;

use opencl_sys::{
    CL_DEVICE_MAX_MEM_ALLOC_SIZE, CL_DEVICE_TYPE, CL_DEVICE_TYPE_GPU, CL_DEVICE_VENDOR, CL_SUCCESS,
    cl_device_info, cl_int, cl_mem_flags, cl_mem_properties_intel,
};

/// The largest buffer that the GPU says it has, in bytes.
pub const LIMIT: u64 = 14;
const VENDOR: &[u8] = b"Intel(R) Corporation\0";
/// Intel's flag for larger buffers.
const UNRESTRICTED: cl_mem_flags = 1 << 23;
/// Intel's option for code that uses them.
const OPTION: &str = "-cl-intel-greater-than-4GB-buffer-required";

/// The file for the record, if the device is to be a GPU.
fn record() -> Option<&'static std::path::Path> {
    static RECORD: OnceLock<Option<std::path::PathBuf>> = OnceLock::new();
    let record = RECORD.get_or_init(|| std::env::var_os(crate::GPU_VARIABLE).map(Into::into));
    record.as_deref()
}

fn write(line: &str) {
    let Some(path) = record() else { return };
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    let written = file.and_then(|mut file| writeln!(file, "{line}"));
    if let Err(error) = written {
        let _ = writeln!(std::io::stderr(), "faults: {}: {error}", path.display());
    }
}

/// Answers a question about the device in its place, if the answer differs for a GPU.
///
/// # Safety
///
/// `value` is null or has `size` bytes, and `returned` is null or may be written.
pub(crate) unsafe fn info(
    name: cl_device_info,
    size: usize,
    value: *mut c_void,
    returned: *mut usize,
) -> Option<cl_int> {
    record()?;
    let limit = LIMIT.to_ne_bytes();
    let kind = CL_DEVICE_TYPE_GPU.to_ne_bytes();
    let answer: &[u8] = match name {
        CL_DEVICE_TYPE => &kind,
        CL_DEVICE_VENDOR => VENDOR,
        CL_DEVICE_MAX_MEM_ALLOC_SIZE => &limit,
        _ => return None,
    };
    // SAFETY: the caller vouches for the places, and no more than `size` bytes are written.
    unsafe {
        if !value.is_null() && size >= answer.len() {
            value
                .cast::<u8>()
                .copy_from_nonoverlapping(answer.as_ptr(), answer.len());
        }
        if !returned.is_null() {
            *returned = answer.len();
        }
    }
    Some(CL_SUCCESS)
}

/// Returns the flags of a buffer without Intel's.
pub(crate) fn flags(call: &str, flags: cl_mem_flags, size: usize) -> cl_mem_flags {
    if record().is_none() {
        return flags;
    }
    let asked = if flags & UNRESTRICTED == 0 {
        "limited"
    } else {
        "unlimited"
    };
    write(&format!("{call} {size} {asked}"));
    flags & !UNRESTRICTED
}

/// Returns the properties of memory with an address without Intel's flag.
///
/// # Safety
///
/// `properties` is null, or a list of names and values that ends with 0.
pub(crate) unsafe fn properties(
    call: &str,
    properties: *const cl_mem_properties_intel,
    size: usize,
) -> *const cl_mem_properties_intel {
    if record().is_none() {
        return properties;
    }
    // SAFETY: the caller vouches for the list; the runtime puts the flags first.
    let given = unsafe {
        if properties.is_null() || *properties == 0 {
            0
        } else {
            *properties.add(1)
        }
    };
    flags(call, given, size);
    std::ptr::null()
}

/// Returns build options without Intel's.
///
/// # Safety
///
/// `options` is null or a C string.
pub(crate) unsafe fn options(call: &str, options: *const c_char) -> CString {
    let given = if options.is_null() {
        String::new()
    } else {
        // SAFETY: it is not null, and the caller vouches for the rest.
        unsafe { CStr::from_ptr(options) }
            .to_string_lossy()
            .into_owned()
    };
    if record().is_none() {
        return CString::new(given).unwrap_or_default();
    }
    write(&format!("{call} {given}"));
    CString::new(given.replace(OPTION, "")).unwrap_or_default()
}
