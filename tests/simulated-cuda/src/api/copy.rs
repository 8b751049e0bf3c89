// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies. Those that wait go through the null stream; those that do not are as late as the queue
//! is long, whatever memory they are of. A real driver may read the host's memory earlier.

use std::ffi::c_void;

use cudarc::driver::sys::{CUDA_MEMCPY2D_st, CUcontext, CUmemorytype, CUstream};

use super::handle;
use crate::call::{Code, Outcome, functions, read};
use crate::device::context;
use crate::device::work::{Copy, End, Work};

/// Which stream takes a copy, and whether the caller waits.
enum By {
    Waiting,
    Stream(CUstream),
}

fn copy(copy: Copy, by: By) -> Outcome<()> {
    let context = context::current()?;
    let (stream, wait) = match by {
        By::Waiting => (context.stream(0)?, true),
        By::Stream(stream) => (context.stream(handle(stream))?, false),
    };
    if copy.width == 0 || copy.height == 0 {
        return Ok(());
    }
    let work = Work::Copy(copy);
    work.check()?;
    stream.submit(&context, work)?;
    if wait {
        stream.wait();
        context.shared.check()?;
    }
    Ok(())
}

fn plain(to: u64, to_host: bool, from: u64, from_host: bool, bytes: usize, by: By) -> Outcome<()> {
    if bytes > 0 && (to == 0 || from == 0) {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    copy(Copy::plain(to, to_host, from, from_host, bytes as u64), by)
}

fn exposed<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

functions! {
    fn cuMemcpy(to: u64, from: u64, bytes: usize) {
        plain(to, true, from, true, bytes, By::Waiting)
    }

    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: CUstream) {
        plain(to, true, from, true, bytes, By::Stream(stream))
    }

    fn cuMemcpyPeerAsync(
        to: u64, to_context: CUcontext, from: u64, from_context: CUcontext, bytes: usize, stream: CUstream
    ) {
        context::by_handle(handle(to_context))?;
        context::by_handle(handle(from_context))?;
        plain(to, false, from, false, bytes, By::Stream(stream))
    }

    fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) {
        plain(to, false, exposed(from), true, bytes, By::Waiting)
    }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: CUstream) {
        plain(to, false, exposed(from), true, bytes, By::Stream(stream))
    }

    fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) {
        plain(exposed(to), true, from, false, bytes, By::Waiting)
    }

    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: CUstream) {
        plain(exposed(to), true, from, false, bytes, By::Stream(stream))
    }

    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) {
        plain(to, false, from, false, bytes, By::Waiting)
    }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: CUstream) {
        plain(to, false, from, false, bytes, By::Stream(stream))
    }

    fn cuMemcpy2D_v2(what: *const CUDA_MEMCPY2D_st) {
        copy(rows(&raw_2d(what)?)?, By::Waiting)
    }

    fn cuMemcpy2DUnaligned_v2(what: *const CUDA_MEMCPY2D_st) {
        copy(rows(&raw_2d(what)?)?, By::Waiting)
    }

    fn cuMemcpy2DAsync_v2(what: *const CUDA_MEMCPY2D_st, stream: CUstream) {
        copy(rows(&raw_2d(what)?)?, By::Stream(stream))
    }
}

/// # Safety
/// The pointer is null, or there is such a structure.
unsafe fn raw_2d(what: *const CUDA_MEMCPY2D_st) -> Outcome<CUDA_MEMCPY2D_st> {
    if what.is_null() {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: by the contract; the structure is read when its enumerations are known to be good.
    unsafe {
        is_memory_type(&raw const (*what).srcMemoryType)?;
        is_memory_type(&raw const (*what).dstMemoryType)?;
        read(what)
    }
}

/// Whether a type of memory is one: programs may leave any number there.
///
/// # Safety
/// There are four bytes.
pub(super) unsafe fn is_memory_type(kind: *const CUmemorytype) -> Outcome<()> {
    // SAFETY: by the contract.
    match unsafe { kind.cast::<u32>().read_unaligned() } {
        1..=4 => Ok(()),
        _ => Err(Code::CUDA_ERROR_INVALID_VALUE),
    }
}

fn rows(what: &CUDA_MEMCPY2D_st) -> Outcome<Copy> {
    if what.Height > 1 && (what.srcPitch < what.WidthInBytes || what.dstPitch < what.WidthInBytes) {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    let from = end(
        what.srcMemoryType,
        what.srcDevice,
        exposed(what.srcHost),
        [what.srcXInBytes, what.srcY, 0],
        what.srcPitch,
        0,
    )?;
    let to = end(
        what.dstMemoryType,
        what.dstDevice,
        exposed(what.dstHost),
        [what.dstXInBytes, what.dstY, 0],
        what.dstPitch,
        0,
    )?;
    Ok(Copy {
        to,
        from,
        width: what.WidthInBytes as u64,
        height: what.Height as u64,
        depth: 1,
    })
}

/// One end of a copy, by where it is and how it is laid out.
pub(super) fn end(
    kind: CUmemorytype,
    device: u64,
    host: u64,
    [x, y, z]: [usize; 3],
    pitch: usize,
    height: usize,
) -> Outcome<End> {
    let (address, or_host) = match kind {
        CUmemorytype::CU_MEMORYTYPE_HOST => (host, true),
        CUmemorytype::CU_MEMORYTYPE_DEVICE => (device, false),
        CUmemorytype::CU_MEMORYTYPE_UNIFIED => (device, true),
        CUmemorytype::CU_MEMORYTYPE_ARRAY => return Err(Code::CUDA_ERROR_NOT_SUPPORTED),
    };
    let layer = pitch * height;
    Ok(End {
        address: address.wrapping_add((x + y * pitch + z * layer) as u64),
        pitch: pitch as u64,
        layer: layer as u64,
        or_host,
    })
}
