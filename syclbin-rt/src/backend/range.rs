// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launch ranges: the number of work-items in each dimension, in SYCL's order and in the driver's.

use std::fmt;

/// A range whose number of dimensions is known only at run time. Numbers, arrays of numbers,
/// [`Range`] and [`NdRange`] convert to it, as does `()` for a kernel without a range
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
    /// Whether all work-groups run at the same time. Only set if there are several.
    pub(crate) root_sync: bool,
}

/// Sizes in one to three dimensions, converted from a number or an array of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The sizes in the driver's order, the reverse of SYCL's. Ranges and work-groups are padded with 1.
    sizes: [usize; 3],
    dimensions: usize,
}

impl AnyRange {
    pub(crate) fn new(global: Extent) -> Self {
        Self {
            global,
            local: None,
            offset: None,
            root_sync: false,
        }
    }

    /// Returns the first id in each dimension, in the driver's order; `None` if they are all 0.
    pub(crate) fn offset(&self) -> Option<&[usize]> {
        self.offset.as_ref()?.sizes.get(..self.global.dimensions)
    }

    pub(crate) fn global(&self) -> &[usize] {
        self.global.driver_order()
    }

    /// Returns the work-group size in the driver's order, with as many dimensions as the range.
    pub(crate) fn local(&self) -> Option<&[usize]> {
        self.local.as_ref()?.sizes.get(..self.global.dimensions)
    }
}

impl Extent {
    /// Creates an extent from three sizes in the driver's order. Only the first `dimensions` sizes are displayed, but
    /// the number of work-items is the product of all three, so the others must be 1 in ranges and work-groups.
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

    /// Returns all three sizes in the driver's order. Ranges and work-groups are padded with 1.
    pub(crate) fn padded(&self) -> [usize; 3] {
        self.sizes
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
/// assert_eq!(line, NdRange::new(1024));
/// assert_ne!(grouped, image);
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

/// Sizes in `D` dimensions, one to three: the number of work-items in a launch or in a work-group.
///
/// Converts from a number or an array of numbers, in SYCL's order. A typed launch of a kernel with a required
/// work-group size accepts a `Range` rather than an [`NdRange`], because a `Range` does not set the work-group size.
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
    /// Creates a range of `global` work-items. If the kernel does not require a work-group size, the size is chosen
    /// automatically.
    #[must_use]
    pub fn new(global: impl Into<Range<D>>) -> Self {
        Self(AnyRange::new(global.into().sizes))
    }

    /// Divides the range into work-groups of `local` work-items. In each dimension, the size of the range must be a
    /// multiple of `local`.
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
    /// assert_ne!(rest, NdRange::new(24));
    /// ```
    #[must_use]
    pub fn offset(self, offset: impl Into<Range<D>>) -> Self {
        let offset = Some(offset.into().sizes);
        let offset = offset.filter(|offset| offset.driver_order().iter().any(|id| *id > 0));
        Self(AnyRange { offset, ..self.0 })
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

/// Returns the largest work-group size that divides `global`, is between `least` and `most` in each dimension, and has at
/// most `items` work-items, if there is one. Dimension x comes first, and is a multiple of `multiple` if possible: the
/// work-items of a sub-group are usually adjacent along x. All sizes are in the driver's order.
pub(crate) fn largest_divisors(
    global: [usize; 3],
    least: [usize; 3],
    most: [usize; 3],
    items: usize,
    multiple: usize,
) -> Option<[usize; 3]> {
    let mut sizes = least;
    for (dimension, of) in global.into_iter().enumerate() {
        sizes[dimension] = 1;
        let left = items / sizes.iter().product::<usize>();
        let most = most[dimension].min(left).min(of);
        let divisor = |multiple: usize| {
            let mut sizes = (1..=most / multiple).rev().map(|factor| factor * multiple);
            sizes.find(|size| *size >= least[dimension] && of.is_multiple_of(*size))
        };
        let multiple = if dimension == 0 { multiple } else { 1 };
        sizes[dimension] = divisor(multiple).or_else(|| divisor(1))?;
    }
    Some(sizes)
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
    fn offset_of_zero_is_no_offset() {
        assert_eq!(NdRange::new([2, 3]).offset([0, 0]), NdRange::new([2, 3]));
        assert_ne!(NdRange::new([2, 3]).offset([0, 1]), NdRange::new([2, 3]));
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
