// SPDX-License-Identifier: MIT OR Apache-2.0
//! Places in memory of CUDA.

use crate::backend::cuda::memory::Memory;
use crate::backend::failure::Failure;
use crate::backend::slice::Region;

/// Returns the memory of a region, if it is of CUDA.
#[inline]
pub(in crate::backend::cuda) fn memory_of<'p>(
    call: &'static str,
    region: &'p Region<[()]>,
) -> Result<&'p Memory, Failure> {
    region.memory.raw().cuda().ok_or(Failure::foreign(call))
}
