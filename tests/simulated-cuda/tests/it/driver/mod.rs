// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver as a program has it: a context, and errors as results.
#![allow(unsafe_code, reason = "it calls functions of a C library")]

use std::ffi::{CString, c_void};
use std::ptr::null_mut;

use cudarc::driver::sys::{CUcontext, CUfunction, CUmodule, CUresult, CUstream};
use simulated_cuda::api;

/// Whether a call succeeded.
pub(crate) fn ok(code: u32) {
    assert_eq!(code, 0, "the call failed");
}

/// That a call failed with this error.
pub(crate) fn fails(code: u32, expected: CUresult) {
    assert_eq!(code, expected as u32, "{expected:?} was expected");
}

/// A context of its own, so that a lost one is nobody else's. It is current in the thread.
pub(crate) fn context() -> CUcontext {
    let mut context = null_mut();
    // SAFETY: the variable is there to be written to.
    unsafe {
        ok(api::general::cuInit(0));
        ok(api::context::cuCtxCreate_v2(&mut context, 0, 0));
    }
    context
}

pub(crate) fn load(text: &str) -> CUmodule {
    let text = CString::new(text).expect("a text has no zeros");
    let mut module = null_mut();
    // SAFETY: the text ends with a zero.
    ok(unsafe { api::module::cuModuleLoadData(&mut module, text.as_ptr().cast()) });
    module
}

pub(crate) fn function(module: CUmodule, name: &str) -> CUfunction {
    let name = CString::new(name).expect("a name has no zeros");
    let mut function = null_mut();
    // SAFETY: the name ends with a zero.
    ok(unsafe { api::module::cuModuleGetFunction(&mut function, module, name.as_ptr()) });
    function
}

/// Device memory with the bytes of these.
pub(crate) fn upload<T: Copy>(data: &[T]) -> u64 {
    let mut address = 0;
    let bytes = size_of_val(data);
    // SAFETY: there are so many bytes.
    unsafe {
        ok(api::memory::cuMemAlloc_v2(&mut address, bytes));
        ok(api::copy::cuMemcpyHtoD_v2(
            address,
            data.as_ptr().cast(),
            bytes,
        ));
    }
    address
}

pub(crate) fn download<T: Copy + Default>(address: u64, count: usize) -> Vec<T> {
    let mut data = vec![T::default(); count];
    let bytes = size_of_val(&data[..]);
    // SAFETY: there is room for so many bytes.
    ok(unsafe { api::copy::cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), address, bytes) });
    data
}

/// The code of a launch in the null stream, with arguments of these bytes.
pub(crate) fn launch(
    function: CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    arguments: &[&[u8]],
) -> u32 {
    launch_in(null_mut(), function, grid, block, shared, arguments)
}

pub(crate) fn launch_in(
    stream: CUstream,
    function: CUfunction,
    [gx, gy, gz]: [u32; 3],
    [bx, by, bz]: [u32; 3],
    shared: u32,
    arguments: &[&[u8]],
) -> u32 {
    let mut pointers: Vec<*mut c_void> = { arguments.iter() }
        .map(|bytes| bytes.as_ptr().cast_mut().cast())
        .collect();
    // SAFETY: there is a pointer for each parameter; the driver copies what they point to.
    unsafe {
        api::launch::cuLaunchKernel(
            function,
            gx,
            gy,
            gz,
            bx,
            by,
            bz,
            shared,
            stream,
            pointers.as_mut_ptr(),
            null_mut(),
        )
    }
}

/// Waits for all, and gives the code.
pub(crate) fn synchronize() -> u32 {
    // SAFETY: it takes nothing.
    unsafe { api::context::cuCtxSynchronize() }
}
