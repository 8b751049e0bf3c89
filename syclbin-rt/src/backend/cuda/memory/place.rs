//! Places in memory of CUDA.

use crate::backend::cuda::memory::Memory;
use crate::backend::failure::Failure;
use crate::backend::slice::Place;

/// Returns the memory of a place, if it is of CUDA.
#[inline]
pub(in crate::backend::cuda) fn memory_of<'p>(
    call: &'static str,
    place: &'p Place<[()]>,
) -> Result<&'p Memory, Failure> {
    place.memory.raw().cuda().ok_or(Failure::foreign(call))
}
