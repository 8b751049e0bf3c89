// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of kernels, in the form for a driver.

use std::sync::Arc;

use crate::backend::dispatch::image::Image;
use crate::backend::dispatch::sampler::Sampler;
use crate::backend::failure::Failure;
use crate::backend::slice::Region;

/// The value of an argument.
#[derive(Clone, Copy)]
pub(crate) enum Argument<'a> {
    /// A value, byte by byte.
    Bytes(&'a [u8]),
    /// The address of elements, and whether the kernel writes them.
    Memory(&'a Region<[()]>, bool),
    /// This many bytes for each work-group.
    Local(usize),
    Sampler(&'a Arc<Sampler>),
    /// An image, and whether the kernel writes it.
    Image(&'a Arc<Image>, bool),
    /// An address in device memory.
    Pointer(u64),
    /// A null address: a pointer, or a struct of a pointer.
    Null,
}

/// An object that takes the arguments of a kernel.
pub(crate) trait Arguments {
    /// Gives argument `index` a value for every launch until it gets another value. The memory of an argument
    /// must live as long.
    ///
    /// # Safety
    ///
    /// The value is of the kind that the kernel takes.
    unsafe fn set(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure>;

    /// Sets an argument as [`Arguments::set`] does, out of line: for rare kinds of values.
    ///
    /// # Safety
    ///
    /// As of [`Arguments::set`].
    unsafe fn set_any(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure>;
}

/// An object that has all arguments of a kernel.
pub(crate) trait Values {
    /// Gives the kernel its arguments.
    ///
    /// # Errors
    ///
    /// Contains the index of the value that the driver refuses.
    ///
    /// # Safety
    ///
    /// They are of the kinds that the kernel takes.
    unsafe fn give(&self, to: &mut impl Arguments) -> Result<(), (usize, Failure)>;
}
