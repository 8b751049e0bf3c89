// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places in memory of OpenCL.

use crate::backend::failure::Failure;
use crate::backend::opencl::memory::Memory;
use crate::backend::slice::Region;

/// Returns the memory of a region, if it is of OpenCL.
pub(in crate::backend::opencl) fn memory_of<'p, T: ?Sized>(
    call: &'static str,
    region: &'p Region<T>,
) -> Result<&'p Memory, Failure> {
    region.memory.raw().opencl().ok_or(Failure::foreign(call))
}
