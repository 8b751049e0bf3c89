// SPDX-License-Identifier: MIT OR Apache-2.0
//! The data structures of the library's interface. The library owns the memory behind every pointer in a result.

use std::ffi::{c_char, c_void};

/// A setting of the library: a C++ object with virtual functions. It must not move, because the library stores a
/// pointer to it. The library calls the second function when it no longer needs the object.
#[repr(C)]
pub(super) struct Setting {
    pub(super) functions: &'static [extern "C" fn(*mut c_void); 2],
    pub(super) name: u32,
    pub(super) text: *const c_char,
    pub(super) length: usize,
}

/// Selects the GPU for the backend.
pub(super) const SETTING_CPU: u32 = 1;
/// Selects the features of that GPU.
pub(super) const SETTING_FEATURES: u32 = 2;

/// A destructor that does nothing, because settings exist until the process ends.
pub(super) extern "C" fn destroy_nothing(_: *mut c_void) {}

/// Adds a setting. The argument points to a variable that holds the setting's address. The library moves the address
/// out of the variable, as in a C++ move.
pub(super) type AddSetting = unsafe extern "C" fn(*mut *const Setting);

const _: () = assert!(size_of::<Setting>() == 32);

#[repr(C)]
pub(super) struct SourceFile {
    pub(super) path: *const c_char,
    pub(super) contents: *const c_char,
}

#[repr(C)]
pub(super) struct View<T> {
    pub(super) first: *const T,
    pub(super) count: usize,
}

impl<T> View<T> {
    pub(super) fn of(slice: &[T]) -> Self {
        Self {
            first: slice.as_ptr(),
            count: slice.len(),
        }
    }
}

pub(super) const FORMAT_SPIRV: u32 = 2;
pub(super) const FORMAT_PTX: u32 = 3;
pub(super) const SUCCESS: u32 = 0;

#[repr(C)]
pub(super) struct CompileResult {
    pub(super) error: u32,
    pub(super) images: View<Image>,
    pub(super) _options: *const c_char,
    pub(super) saved_ir: View<u8>,
    pub(super) log: *const c_char,
}

#[repr(C)]
pub(super) struct Image {
    pub(super) _format: u32,
    pub(super) _address_bits: u64,
    pub(super) code: View<u8>,
    pub(super) _symbols: View<*const c_char>,
    pub(super) property_sets: View<PropertySet>,
}

#[repr(C)]
pub(super) struct PropertySet {
    pub(super) name: *const c_char,
    pub(super) values: View<PropertyValue>,
}

#[repr(C)]
pub(super) struct PropertyValue {
    pub(super) name: *const c_char,
    pub(super) is_integer: bool,
    pub(super) integer: u32,
    pub(super) bytes: View<u8>,
}

pub(super) type CompileSycl = unsafe extern "C" fn(
    source: SourceFile,
    include_files: View<SourceFile>,
    arguments: View<*const c_char>,
    cached_ir: View<u8>,
    save_ir: bool,
    format: u32,
) -> CompileResult;

unsafe extern "C" {
    pub(super) fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
}

const _: () = assert!(size_of::<CompileResult>() == 56);
const _: () = assert!(size_of::<PropertyValue>() == 32);
