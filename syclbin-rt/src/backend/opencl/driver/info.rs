// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading what a `clGet*Info` function tells: ask for the size, then for the bytes.

use std::ffi::c_void;

use bytemuck::{AnyBitPattern, Pod};
use opencl3::types::{cl_int, cl_uint};

use crate::backend::failure::Failure;
use crate::backend::opencl::check;

/// The three arguments that all `clGet*Info` functions end with: size, pointer, size returned.
pub(in crate::backend::opencl) type Query<'a> =
    &'a dyn Fn(usize, *mut c_void, *mut usize) -> cl_int;

/// Returns the bytes of a query.
pub(in crate::backend::opencl) fn bytes(
    call: &'static str,
    query: Query<'_>,
) -> Result<Vec<u8>, Failure> {
    let mut size = 0;
    check(call, query(0, std::ptr::null_mut(), &raw mut size))?;
    let mut value = vec![0; size];
    let pointer = value.as_mut_ptr().cast();
    check(call, query(size, pointer, std::ptr::null_mut()))?;
    Ok(value)
}

/// Returns the text of a query, without the NUL that ends it.
pub(in crate::backend::opencl) fn text(
    call: &'static str,
    query: Query<'_>,
) -> Result<String, Failure> {
    let bytes = bytes(call, query)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.trim_end_matches('\0').trim().to_owned())
}

/// Returns the value of a query.
pub(in crate::backend::opencl) fn value<T: AnyBitPattern>(
    call: &'static str,
    query: Query<'_>,
) -> Result<T, Failure> {
    let bytes = bytes(call, query)?;
    bytemuck::try_pod_read_unaligned(&bytes)
        .map_err(|_| Failure::opencl(call, opencl3::error_codes::CL_INVALID_VALUE))
}

/// Returns the values of a query.
pub(in crate::backend::opencl) fn values<T: Pod>(
    call: &'static str,
    query: Query<'_>,
) -> Result<Vec<T>, Failure> {
    Ok(bytemuck::pod_collect_to_vec(&bytes(call, query)?))
}

/// Returns a list that is queried by count: `clGetPlatformIDs`, `clGetDeviceIDs`.
pub(in crate::backend::opencl) fn list<T>(
    call: &'static str,
    query: impl Fn(cl_uint, *mut *mut T, *mut cl_uint) -> cl_int,
) -> Result<Vec<*mut T>, Failure> {
    let mut count = 0;
    check(call, query(0, std::ptr::null_mut(), &raw mut count))?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut list = vec![std::ptr::null_mut(); count as usize];
    let mut found = 0;
    check(call, query(count, list.as_mut_ptr(), &raw mut found))?;
    list.truncate(found as usize);
    Ok(list)
}
