// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranges: the number of work-items of a launch, in one to three dimensions.

use crate::backend::range::{AnyRange, Extent};

/// The work-items of a launch in `D` dimensions, one to three, and their division into work-groups.
///
/// Sizes are in SYCL's order: dimension 0 varies slowest, and a kernel reads dimension 0 as
/// `get_global_id(0)`.
///
/// ```
/// use syclbin_rt::NdRange;
///
/// let line: NdRange<1> = 1024.into();
/// let image: NdRange<2> = [480, 640].into();
/// let grouped = NdRange::new([480, 640]).local([4, 32]);
/// assert_eq!(grouped.global_size(), image.global_size());
/// assert_eq!((line.local_size(), grouped.local_size()), (None, Some([4, 32])));
/// ```
///
/// The work-group must have as many dimensions as the range, and the range as many as the kernel:
///
/// ```compile_fail,E0277
/// let grouped = syclbin_rt::NdRange::new([480, 640]).local(32);
/// ```
///
/// ```compile_fail,E0277
/// let line: syclbin_rt::NdRange<1> = [480, 640].into();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdRange<const D: usize>(AnyRange);

/// Sizes in `D` dimensions, one to three: the number of work-items of a launch, or of a work-group.
///
/// Converts from a number or an array of numbers, in SYCL's order. A kernel with a required work-group size is launched
/// over such a range, without a work-group size:
///
/// ```
/// use syclbin_rt::{NdRange, Range};
///
/// let line: Range<1> = 1024.into();
/// let image: Range<2> = [480, 640].into();
/// assert_eq!(NdRange::from(image), NdRange::new([480, 640]));
/// ```
///
/// ```compile_fail,E0277
/// let image: syclbin_rt::Range<2> = [4, 480, 640].into();
/// ```
///
/// ```compile_fail,E0277
/// let hypercube: syclbin_rt::Range<4> = [2, 2, 2, 2].into();
/// ```
///
/// ```compile_fail,E0277
/// let grouped: syclbin_rt::Range<1> = syclbin_rt::NdRange::new(1024).local(64).into();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<const D: usize> {
    /// Has exactly `D` dimensions.
    sizes: Extent,
}

impl<const D: usize> NdRange<D> {
    /// Creates a range of `global` work-items. The work-groups have the size that the kernel requires; otherwise
    /// the driver chooses it.
    #[must_use]
    pub fn new(global: impl Into<Range<D>>) -> Self {
        Self(AnyRange::new(global.into().sizes))
    }

    /// Divides the range into work-groups of `local` work-items. `local` must divide the range.
    #[must_use]
    pub fn local(self, local: impl Into<Range<D>>) -> Self {
        let local = Some(local.into().sizes);
        Self(AnyRange { local, ..self.0 })
    }

    /// Makes global ids start at `offset` instead of 0. For instance, 8 work-items with offset 100 have the ids 100 to
    /// 107.
    ///
    /// A launch with a contract rejects an offset, because contracts assume that ids start at 0.
    ///
    /// ```
    /// use syclbin_rt::NdRange;
    ///
    /// let rest = NdRange::new(24).offset(1000);
    /// assert_eq!(rest.first_id(), [1000]);
    /// ```
    #[must_use]
    pub fn offset(self, offset: impl Into<Range<D>>) -> Self {
        let offset = Some(offset.into().sizes);
        let offset = offset.filter(|offset| offset.driver_order().iter().any(|id| *id > 0));
        Self(AnyRange { offset, ..self.0 })
    }
}

impl<const D: usize> NdRange<D> {
    /// Returns the number of work-items in each dimension.
    #[must_use]
    pub fn global_size(self) -> [usize; D] {
        self.0.global.sizes()
    }

    /// Returns the work-group size, if it is set.
    #[must_use]
    pub fn local_size(self) -> Option<[usize; D]> {
        Some(self.0.local?.sizes())
    }

    /// Returns the first global id in each dimension.
    #[must_use]
    pub fn first_id(self) -> [usize; D] {
        self.0.offset.map_or([0; D], |offset| offset.sizes())
    }
}

impl<const D: usize> Range<D> {
    /// Returns the sizes in SYCL's order.
    #[must_use]
    pub fn sizes(self) -> [usize; D] {
        self.sizes.sizes()
    }
}

impl From<usize> for Range<1> {
    fn from(size: usize) -> Self {
        Self::from([size])
    }
}

impl From<usize> for NdRange<1> {
    fn from(global: usize) -> Self {
        Self::new(global)
    }
}

impl<const D: usize> From<Range<D>> for NdRange<D> {
    fn from(global: Range<D>) -> Self {
        Self::new(global)
    }
}

impl<const D: usize> From<NdRange<D>> for AnyRange {
    fn from(range: NdRange<D>) -> Self {
        range.0
    }
}

impl<const D: usize> From<Range<D>> for Extent {
    fn from(range: Range<D>) -> Self {
        range.sizes
    }
}

impl<E: Into<Extent>> From<E> for AnyRange {
    fn from(global: E) -> Self {
        Self::new(global.into())
    }
}

/// A single work-item, like `single_task` in C++.
impl From<()> for AnyRange {
    fn from((): ()) -> Self {
        Self::from(1)
    }
}

impl<const D: usize> From<[usize; D]> for Range<D>
where
    [usize; D]: Into<Extent>,
{
    fn from(sizes: [usize; D]) -> Self {
        let sizes = sizes.into();
        Self { sizes }
    }
}

impl<const D: usize> From<[usize; D]> for NdRange<D>
where
    [usize; D]: Into<Extent>,
{
    fn from(global: [usize; D]) -> Self {
        Self::new(global)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_sees_dimensions_in_reverse() {
        assert_eq!(Extent::from([2, 3, 4]).driver_order(), [4, 3, 2]);
        assert_eq!(Extent::from([2, 3]).driver_order(), [3, 2]);
        assert_eq!(Extent::from(7).driver_order(), [7]);
        assert_eq!(Extent::from([2, 3, 4]).sycl_order(), [2, 3, 4]);
    }

    #[test]
    fn a_range_without_work_group_leaves_it_open() {
        let range = NdRange::new([2, 3]);
        assert_eq!(range.0.local, None);
        let local = range.local([1, 3]).0.local.unwrap();
        assert_eq!(local.driver_order(), [3, 1]);
    }

    #[test]
    fn work_items_beyond_counting_do_not_overflow() {
        assert_eq!(Extent::from([2, 3, 4]).items(), 24);
        assert_eq!(Extent::from([usize::MAX, 2]).items(), usize::MAX);
        assert_eq!(Extent::from([usize::MAX, 0]).items(), 0);
        assert_eq!(Extent::from([2, 3, 4]).checked_items(), Some(24));
        assert_eq!(
            Extent::from([usize::MAX, 1]).checked_items(),
            Some(usize::MAX)
        );
        assert_eq!(Extent::from([usize::MAX, 2]).checked_items(), None);
    }
}
