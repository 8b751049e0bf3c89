// SPDX-License-Identifier: MIT OR Apache-2.0
//! Support for the `ndarray` crate: uploads views with any layout, and downloads buffers into arrays.

use ::ndarray::{Array, ArrayRef, Dimension, ShapeBuilder, ShapeError};
use bytemuck::Pod;

use crate::backend::slice::DeviceSlice;
use crate::error::{Error, Result};
use crate::memory::buffer::Buffer;
use crate::memory::copy::{elements, host_memory};
use crate::queue::Queue;

/// Arrays of the `ndarray` crate (feature `ndarray`).
impl Queue {
    /// Creates a buffer with the elements of an array or a view, in row-major (C) order.
    ///
    /// A view with another layout, such as a transposed view, is first copied on the host.
    ///
    /// ```no_run
    /// # fn main() -> syclbin_rt::Result<()> {
    /// let queue = syclbin_rt::Device::best()?.queue()?;
    /// let matrix = ndarray::array![[1.0f32, 2.0], [3.0, 4.0]];
    /// let transposed = queue.upload_array(&matrix.t())?;
    /// assert_eq!(queue.download(&transposed)?, [1.0, 3.0, 2.0, 4.0]);
    /// assert_eq!(queue.download_array(&transposed, (2, 2))?, matrix.t());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Queue::upload`]. Returns
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if the host does not have enough memory for the copy.
    pub fn upload_array<T: Pod, D: Dimension>(&self, array: &ArrayRef<T, D>) -> Result<Buffer<T>> {
        match array.as_slice() {
            Some(elements) => self.upload(elements),
            // Zero-sized elements are not visited, because a view may contain any number of them.
            None if size_of::<T>() == 0 => self.zeroed(array.len()),
            None => {
                let mut elements = host_memory(array.len())?;
                for (to, from) in elements.iter_mut().zip(array) {
                    *to = *from;
                }
                self.upload(&elements)
            }
        }
    }

    /// Returns the elements of `slice` as an array of `shape`, in row-major (C) order. Pass `shape.f()` for
    /// column-major (Fortran) order.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if `shape` and `slice` have different
    /// numbers of elements. Also fails for the same reasons as [`Queue::download`].
    pub fn download_array<T: Pod, S: ShapeBuilder>(
        &self,
        slice: &DeviceSlice<T>,
        shape: S,
    ) -> Result<Array<T, S::Dim>> {
        let shape = shape.into_shape_with_order();
        let expected = shape.raw_dim().clone();
        let wrong = || {
            let (len, shape) = (slice.len(), expected.slice());
            Error::invalid(format_args!(
                "cannot download {len} elements as an array of shape {shape:?}: element counts differ"
            ))
        };
        if elements(expected.slice()) != Some(slice.len()) {
            return Err(wrong());
        }
        Array::from_shape_vec(shape, self.download(slice)?).map_err(|_: ShapeError| wrong())
    }
}
