// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares the declarations with `cudarc`'s, which are generated from NVIDIA's header.

use std::ffi::c_int;
use std::mem::offset_of;

use cudarc::driver::sys as theirs;

use crate::backend::cuda::sys as ours;

/// Compiles only if the tables match `cudarc`'s types of the same names.
mod compiles {
    use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};

    use cudarc::driver::sys::*;

    macro_rules! functions {
        (
            required { $($name:ident($($arg:ty),* $(,)?);)* }
            optional { $($since:ident($($since_arg:ty),* $(,)?);)* }
        ) => {
            $(const _: unsafe fn($($arg),*) -> CUresult = $name;)*
            $(const _: unsafe fn($($since_arg),*) -> CUresult = $since;)*
        };
    }

    macro_rules! handles {
        ($($handle:ident -> $target:ident;)*) => {
            $(const _: fn($handle) -> *mut $target = |handle| handle;)*
        };
    }

    macro_rules! structures {
        ($($name:ident { $($field:ident: $type:ty,)* })*) => {
            $(
                // Without `..`, the pattern must list every field.
                const _: fn($name) = |$name { $($field: _,)* }| ();
                $(const _: fn($name) -> $type = |structure| structure.$field;)*
            )*
        };
    }

    for_each_function!(functions);
    for_each_handle!(handles);
    for_each_structure!(structures);

    const _: fn(super::ours::CUdevice) -> CUdevice = |device| device;
    const _: fn(super::ours::CUdeviceptr) -> CUdeviceptr = |address| address;
}

/// Returns size and alignment.
fn layout<T>() -> (usize, usize) {
    (size_of::<T>(), align_of::<T>())
}

#[test]
fn handles_have_the_layout_of_the_header() {
    macro_rules! compare {
        ($($handle:ident -> $target:ident;)*) => {
            $(assert_eq!(
                layout::<ours::$handle>(),
                layout::<theirs::$handle>(),
                stringify!($handle)
            );)*
        };
    }
    for_each_handle!(compare);
}

#[test]
fn constants_have_the_values_of_the_header() {
    macro_rules! compare {
        ($($name:ident { $($value:ident = $number:literal;)* })*) => {
            $(
                assert_eq!(
                    layout::<ours::$name>(),
                    layout::<theirs::$name>(),
                    stringify!($name)
                );
                $(assert_eq!(
                    ours::$name::$value.0,
                    theirs::$name::$value as u32,
                    stringify!($value)
                );)*
            )*
        };
    }
    for_each_enumeration!(compare);
    assert_eq!(
        ours::CU_MEMHOSTALLOC_PORTABLE,
        theirs::CU_MEMHOSTALLOC_PORTABLE
    );
    assert_eq!(
        ours::CU_MEMHOSTALLOC_DEVICEMAP,
        theirs::CU_MEMHOSTALLOC_DEVICEMAP
    );
}

#[test]
fn structures_have_the_layout_of_the_header() {
    macro_rules! compare {
        ($($name:ident { $($field:ident: $type:ty,)* })*) => {
            $(
                assert_eq!(
                    layout::<ours::$name>(),
                    layout::<theirs::$name>(),
                    stringify!($name)
                );
                $(assert_eq!(
                    offset_of!(ours::$name, $field),
                    offset_of!(theirs::$name, $field),
                    concat!(stringify!($name), ".", stringify!($field))
                );)*
            )*
        };
    }
    for_each_structure!(compare);
}

#[test]
fn launch_attributes_have_the_layout_of_the_header() {
    assert_eq!(
        layout::<ours::CUlaunchAttributeValue>(),
        layout::<theirs::CUlaunchAttributeValue>()
    );
    let (_, value) = ours::COOPERATIVE;
    // SAFETY: both types have the same layout, and any bytes are a valid `int`.
    let value = unsafe { (*value.cast::<theirs::CUlaunchAttributeValue>()).cooperative };
    assert_eq!(value, 1i32);
}

// Functions return this type, but the table declares `int`.
#[test]
fn error_codes_have_the_layout_of_int() {
    assert_eq!(layout::<theirs::CUresult>(), layout::<c_int>());
}
