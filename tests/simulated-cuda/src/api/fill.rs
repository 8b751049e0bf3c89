// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fills.

use std::ffi::{c_uchar, c_uint, c_ushort};

use cudarc::driver::sys::CUstream;

use super::handle;
use crate::call::{Code, Outcome, functions};
use crate::device::context;
use crate::device::work::{Fill, Work};

fn fill(fill: Fill, stream: Option<CUstream>) -> Outcome<()> {
    let context = context::current()?;
    let by = context.stream(stream.map_or(0, handle))?;
    if !fill.to.is_multiple_of(fill.element)
        || fill.height > 1 && !fill.pitch.is_multiple_of(fill.element)
    {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    if fill.width == 0 || fill.height == 0 {
        return Ok(());
    }
    let work = Work::Fill(fill);
    work.check()?;
    by.submit(&context, work)?;
    if stream.is_none() {
        by.wait();
        context.shared.check()?;
    }
    Ok(())
}

fn row(to: u64, value: u32, element: u64, count: usize) -> Fill {
    Fill {
        to,
        pitch: 0,
        value,
        element,
        width: count as u64,
        height: 1,
    }
}

fn rows(to: u64, pitch: usize, value: u32, element: u64, width: usize, height: usize) -> Fill {
    Fill {
        pitch: pitch as u64,
        height: height as u64,
        ..row(to, value, element, width)
    }
}

functions! {
    fn cuMemsetD8_v2(to: u64, value: c_uchar, count: usize) {
        fill(row(to, value.into(), 1, count), None)
    }

    fn cuMemsetD16_v2(to: u64, value: c_ushort, count: usize) {
        fill(row(to, value.into(), 2, count), None)
    }

    fn cuMemsetD32_v2(to: u64, value: c_uint, count: usize) {
        fill(row(to, value, 4, count), None)
    }

    fn cuMemsetD8Async(to: u64, value: c_uchar, count: usize, stream: CUstream) {
        fill(row(to, value.into(), 1, count), Some(stream))
    }

    fn cuMemsetD16Async(to: u64, value: c_ushort, count: usize, stream: CUstream) {
        fill(row(to, value.into(), 2, count), Some(stream))
    }

    fn cuMemsetD32Async(to: u64, value: c_uint, count: usize, stream: CUstream) {
        fill(row(to, value, 4, count), Some(stream))
    }

    fn cuMemsetD2D8_v2(to: u64, pitch: usize, value: c_uchar, width: usize, height: usize) {
        fill(rows(to, pitch, value.into(), 1, width, height), None)
    }

    fn cuMemsetD2D16_v2(to: u64, pitch: usize, value: c_ushort, width: usize, height: usize) {
        fill(rows(to, pitch, value.into(), 2, width, height), None)
    }

    fn cuMemsetD2D32_v2(to: u64, pitch: usize, value: c_uint, width: usize, height: usize) {
        fill(rows(to, pitch, value, 4, width, height), None)
    }

    fn cuMemsetD2D8Async(to: u64, pitch: usize, value: c_uchar, width: usize, height: usize, stream: CUstream) {
        fill(rows(to, pitch, value.into(), 1, width, height), Some(stream))
    }

    fn cuMemsetD2D16Async(to: u64, pitch: usize, value: c_ushort, width: usize, height: usize, stream: CUstream) {
        fill(rows(to, pitch, value.into(), 2, width, height), Some(stream))
    }

    fn cuMemsetD2D32Async(to: u64, pitch: usize, value: c_uint, width: usize, height: usize, stream: CUstream) {
        fill(rows(to, pitch, value, 4, width, height), Some(stream))
    }
}
