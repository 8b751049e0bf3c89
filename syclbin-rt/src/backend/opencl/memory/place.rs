//! Places in memory of OpenCL.

use crate::backend::failure::Failure;
use crate::backend::opencl::memory::Memory;
use crate::backend::slice::Place;

/// Returns the memory of a place, if it is of OpenCL.
pub(in crate::backend::opencl) fn memory_of<'p, T: ?Sized>(
    call: &'static str,
    place: &'p Place<T>,
) -> Result<&'p Memory, Failure> {
    place.memory.raw().opencl().ok_or(Failure::foreign(call))
}
