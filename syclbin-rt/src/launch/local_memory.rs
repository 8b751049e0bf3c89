// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work-group memory: the amount that a launch requests.

use std::marker::PhantomData;

/// Memory for elements of `T` that the work-items of a work-group share. Its size is given at launch. It
/// becomes an [`Arg`](crate::Arg) with `into`.
///
/// ```
/// use syclbin_rt::{Arg, LocalMemory};
///
/// let scratch = LocalMemory::<i32>::of(64);
/// assert_eq!(scratch.bytes(), 256);
/// let arg: Arg<'_> = scratch.into();
/// ```
#[derive(Debug)]
pub struct LocalMemory<T> {
    count: usize,
    /// It gives the layout of `T`, and holds no `T`.
    element: PhantomData<fn() -> T>,
}

impl<T> LocalMemory<T> {
    /// Creates memory for `count` elements.
    #[must_use]
    pub const fn of(count: usize) -> Self {
        Self {
            count,
            element: PhantomData,
        }
    }

    /// Returns the number of elements.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Returns the size in bytes. If the size overflows, this is `usize::MAX`, which no device has.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.count.saturating_mul(size_of::<T>())
    }
}

// Derived implementations would require the same of `T`.
impl<T> Clone for LocalMemory<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for LocalMemory<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflowing_local_memory_size_saturates() {
        assert_eq!(LocalMemory::<u64>::of(usize::MAX / 2).bytes(), usize::MAX);
        assert_eq!(LocalMemory::<[u16; 3]>::of(7).bytes(), 42);
    }
}
