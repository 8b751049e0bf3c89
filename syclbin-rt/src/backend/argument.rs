//! Arguments of kernels, as a driver gets them.

use std::sync::Arc;

use crate::backend::dispatch::sampler::Sampler;
use crate::backend::failure::Failure;
use crate::backend::slice::Place;

/// The value of one argument.
#[derive(Clone, Copy)]
pub(crate) enum Argument<'a> {
    /// A value, byte by byte.
    Bytes(&'a [u8]),
    /// The address of elements, and whether the kernel writes them.
    Memory(&'a Place<[()]>, bool),
    /// This many bytes for each work-group.
    Local(usize),
    Sampler(&'a Arc<Sampler>),
    /// The address of something in device memory.
    Pointer(u64),
    /// No address: a pointer, or a struct of one.
    Null,
}

/// What takes the arguments of a kernel.
pub(crate) trait Arguments {
    /// Gives argument `index` a value, which it keeps for every launch until it gets another one. The
    /// memory of an argument is to live as long.
    ///
    /// # Safety
    ///
    /// The value is of the kind the kernel takes.
    unsafe fn set(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure>;

    /// The same, out of line: for kinds of values that are rare.
    ///
    /// # Safety
    ///
    /// As of [`Arguments::set`].
    unsafe fn set_any(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure>;
}

/// What has all arguments of a kernel.
pub(crate) trait Values {
    /// Gives the kernel its arguments.
    ///
    /// # Errors
    ///
    /// With the index of what the driver refuses.
    ///
    /// # Safety
    ///
    /// They are of the kinds that the kernel takes.
    unsafe fn give(&self, to: &mut impl Arguments) -> Result<(), (usize, Failure)>;
}
