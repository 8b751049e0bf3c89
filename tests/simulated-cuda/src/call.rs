// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every function of the API does around its own work: it counts its calls, fails if it is
//! told to, and turns an error into its number.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) use cudarc::driver::sys::CUresult as Code;

use crate::settings::Settings;

/// What a call has to say.
pub(crate) type Outcome<T> = Result<T, Code>;

thread_local! {
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Runs a callback, in which the driver is not to be called.
pub(crate) fn callback(run: impl FnOnce()) {
    IN_CALLBACK.set(true);
    run();
    IN_CALLBACK.set(false);
}

/// One call of a function.
pub(crate) fn enter(name: &str, calls: &AtomicU32, work: impl FnOnce() -> Outcome<()>) -> u32 {
    let number = calls.fetch_add(1, Ordering::Relaxed) + 1;
    let fails = &Settings::get().fails;
    let told = { fails.iter() }.find(|fail| fail.function == name && fail.call == number);
    if let Some(fail) = told {
        return fail.code;
    }
    if IN_CALLBACK.get() {
        return Code::CUDA_ERROR_NOT_PERMITTED as u32;
    }
    match work() {
        Ok(()) => 0,
        Err(code) => code as u32,
    }
}

/// Functions of the API. The code of each may use the pointers that it is given: who calls a C
/// function vouches for them.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> u32 {
            static CALLS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
            crate::call::enter(stringify!($name), &CALLS, || {
                // SAFETY: whoever calls a function of the driver's API vouches for its arguments.
                #[allow(unused_unsafe, reason = "some take no pointers")]
                unsafe { $body }
            })
        }
    )*};
}
pub(crate) use functions;

/// Writes a result.
///
/// # Safety
/// The pointer is null, or one that a `T` can be written to.
pub(crate) unsafe fn give<T>(to: *mut T, value: T) -> Outcome<()> {
    if to.is_null() {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: by the contract, and it is not null. Programs may have packed structs.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes a result if it is asked for.
///
/// # Safety
/// As for [`give`].
pub(crate) unsafe fn give_if<T>(to: *mut T, value: T) {
    // SAFETY: by the contract; null is an error that nobody asks for.
    let _ = unsafe { give(to, value) };
}

/// Reads a structure.
///
/// # Safety
/// The pointer is null, or there is a `T`.
pub(crate) unsafe fn read<T: Copy>(from: *const T) -> Outcome<T> {
    if from.is_null() {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: by the contract, and it is not null.
    Ok(unsafe { from.read_unaligned() })
}

/// Reads an array; nothing of none.
///
/// # Safety
/// There are so many `T`.
pub(crate) unsafe fn read_many<T: Copy>(from: *const T, count: usize) -> Outcome<Vec<T>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: by the contract; `read` looks for null in the first.
    (0..count)
        .map(|at| unsafe { read(from.wrapping_add(at)) })
        .collect()
}

/// Reads a name.
///
/// # Safety
/// The pointer is null, or a string that ends with a zero.
pub(crate) unsafe fn name(from: *const std::ffi::c_char) -> Outcome<String> {
    if from.is_null() {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: by the contract, and it is not null.
    let text = unsafe { std::ffi::CStr::from_ptr(from) };
    let text = text.to_str().map_err(|_| Code::CUDA_ERROR_INVALID_VALUE)?;
    Ok(text.to_owned())
}
