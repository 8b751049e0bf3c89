// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranges with a dynamic number of dimensions, in the form that drivers use.

use std::fmt;

/// A range whose number of dimensions is known only at run time. Numbers, arrays of numbers,
/// [`Range`](crate::Range) and [`NdRange`](crate::NdRange) convert to it, as does `()` for a kernel without a range
/// (`single_task`).
///
/// ```
/// use syclbin_rt::{AnyRange, NdRange};
///
/// let ranges: [AnyRange; 3] = [1024.into(), [480, 640].into(), NdRange::new(64).local(8).into()];
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnyRange {
    pub(crate) global: Extent,
    pub(crate) local: Option<Extent>,
    /// `None` if ids begin at 0, the fastest case on the device.
    pub(crate) offset: Option<Extent>,
}

/// Sizes in one to three dimensions, converted from a number or an array of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The sizes in the driver's order, the reverse of SYCL's. Padded with 1.
    sizes: [usize; 3],
    dimensions: usize,
}

impl AnyRange {
    pub(crate) fn new(global: Extent) -> Self {
        Self {
            global,
            local: None,
            offset: None,
        }
    }

    /// Returns the first id in each dimension, in the driver's order; `None` if they are all 0.
    pub(crate) fn offset(&self) -> Option<&[usize]> {
        let offset = self.offset.as_ref()?;
        offset.sizes.get(..self.global.dimensions)
    }

    pub(crate) fn global(&self) -> &[usize] {
        self.global.driver_order()
    }

    /// Returns the work-group size, in as many dimensions as the range.
    pub(crate) fn local(&self) -> Option<&[usize]> {
        let local = self.local.as_ref()?;
        local.sizes.get(..self.global.dimensions)
    }
}

impl Extent {
    /// Creates an extent from three sizes in the driver's order. Only the first `dimensions` sizes count.
    pub(crate) fn from_driver(sizes: [usize; 3], dimensions: usize) -> Self {
        Self { sizes, dimensions }
    }

    /// Returns the number of dimensions, ignoring trailing (slow) dimensions of size 1.
    pub(crate) fn used(sizes: [usize; 3]) -> usize {
        let last = sizes.iter().rposition(|size| *size > 1);
        last.map_or(1, |last| last + 1)
    }

    /// Returns the sizes in the driver's order: the fastest dimension first.
    pub(crate) fn driver_order(&self) -> &[usize] {
        &self.sizes[..self.dimensions]
    }

    /// Returns the sizes in SYCL's order: the slowest dimension first.
    #[must_use]
    pub fn sycl_order(&self) -> Vec<usize> {
        self.driver_order().iter().rev().copied().collect()
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns the size of a dimension in SYCL's order, or 1 beyond the last dimension.
    pub(crate) fn size(&self, dimension: usize) -> usize {
        let mut sizes = self.driver_order().iter().rev();
        sizes.nth(dimension).copied().unwrap_or(1)
    }

    /// Returns the sizes in SYCL's order, padded with 1.
    pub(crate) fn sizes<const D: usize>(&self) -> [usize; D] {
        std::array::from_fn(|dimension| self.size(dimension))
    }

    /// Returns the number of work-items, or `usize::MAX` on overflow.
    pub(crate) fn items(&self) -> usize {
        let [x, y, z] = self.sizes;
        x.saturating_mul(y).saturating_mul(z)
    }

    /// Returns the number of ids from 0 to the end of this range if the range starts at `offset`, or `None` on
    /// overflow.
    pub(crate) fn checked_reach(&self, offset: Self) -> Option<usize> {
        let mut reach = *self;
        for (size, from) in reach.sizes.iter_mut().zip(offset.driver_order()) {
            *size = size.checked_add(*from)?;
        }
        reach.checked_items()
    }

    /// Returns the number of work-items, or `None` on overflow.
    pub(crate) fn checked_items(&self) -> Option<usize> {
        let [x, y, z] = self.sizes;
        x.checked_mul(y)?.checked_mul(z)
    }
}

/// Formats the sizes in SYCL's order, such as `[480, 640]`.
impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.sycl_order())
    }
}

impl From<usize> for Extent {
    fn from(size: usize) -> Self {
        Self::from([size])
    }
}

impl From<[usize; 1]> for Extent {
    fn from([d0]: [usize; 1]) -> Self {
        Self::from_driver([d0, 1, 1], 1)
    }
}

impl From<[usize; 2]> for Extent {
    fn from([d0, d1]: [usize; 2]) -> Self {
        Self::from_driver([d1, d0, 1], 2)
    }
}

impl From<[usize; 3]> for Extent {
    fn from([d0, d1, d2]: [usize; 3]) -> Self {
        Self::from_driver([d2, d1, d0], 3)
    }
}
