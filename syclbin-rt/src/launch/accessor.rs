// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accessors: which elements of a buffer a kernel can access, and how this range is passed to the device.

use std::fmt;

use crate::backend::range::Extent;

/// The range of an `accessor`: the layout of the buffer's elements, and the part that the kernel may access. Sizes are
/// in SYCL's order: dimension 0 varies slowest.
///
/// A number or an array of numbers converts to a range that covers all elements.
///
/// ```
/// use syclbin_rt::AccessorRange;
///
/// let image: AccessorRange = [480, 640].into();
/// let lower_half = AccessorRange::new([480, 640]).part([240, 0], [240, 640]);
/// assert_ne!(image, lower_half);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccessorRange {
    /// The values passed to the device: access range, memory range, offset. Each occupies 8 bytes per dimension,
    /// dimension 0 first. Stored compactly, because every argument reserves space for these values.
    ids: [[u64; 3]; AccessorRange::IDS],
    /// The number of dimensions of each value.
    dimensions: [u8; AccessorRange::IDS],
}

impl AccessorRange {
    /// The number of device arguments that follow the pointer.
    pub(crate) const IDS: usize = 3;

    /// Creates a range that covers all elements of a buffer with this layout.
    #[must_use]
    pub fn new(memory: impl Into<Extent>) -> Self {
        let (memory, dimensions) = words(memory.into());
        Self {
            ids: [memory, memory, [0; 3]],
            dimensions: [dimensions; Self::IDS],
        }
    }

    /// Restricts access to `range` elements, starting at `offset`, like a ranged accessor in C++. The device receives
    /// these values but does not enforce them: the kernel must stay inside the range.
    #[must_use]
    pub fn part(mut self, offset: impl Into<Extent>, range: impl Into<Extent>) -> Self {
        (self.ids[0], self.dimensions[0]) = words(range.into());
        (self.ids[2], self.dimensions[2]) = words(offset.into());
        self
    }

    /// Checks that the range fits into a buffer with this many elements.
    ///
    /// # Errors
    ///
    /// Returns the reason why the range does not fit.
    pub(crate) fn check(&self, elements: usize) -> Result<(), String> {
        let [access, memory, offset] = [0, 1, 2].map(|id| self.id(id));
        let items = memory.iter().fold(1u64, |n, size| n.saturating_mul(*size));
        if items > elements as u64 {
            return Err(format!(
                "is an accessor to a buffer of {memory:?} elements, but the buffer has {elements}"
            ));
        }
        let ends = || access.iter().zip(offset).zip(memory);
        let fits = access.len() == memory.len()
            && offset.len() == memory.len()
            && ends().all(|((access, offset), memory)| {
                let end = offset.checked_add(*access);
                end.is_some_and(|end| end <= *memory)
            });
        if fits {
            return Ok(());
        }
        Err(format!(
            "is an accessor of {access:?} elements at offset {offset:?}, which does not fit into a buffer of \
            {memory:?} elements"
        ))
    }

    pub(crate) fn items(&self) -> i128 {
        let sizes = self.id(0).iter().map(|size| i128::from(*size));
        sizes.fold(1, i128::saturating_mul)
    }

    /// Returns the number of accessible elements in a dimension; 0 beyond the last dimension.
    pub(crate) fn size(&self, dimension: usize) -> i128 {
        let size = self.id(0).get(dimension);
        size.map_or(0, |size| i128::from(*size))
    }

    /// Returns value number `id`, as passed to the device.
    fn id(&self, id: usize) -> &[u64] {
        &self.ids[id][..usize::from(self.dimensions[id])]
    }

    pub(crate) fn bytes(&self, id: usize) -> &[u8] {
        bytemuck::cast_slice(self.id(id))
    }
}

impl fmt::Debug for AccessorRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [access, memory, offset] = [0, 1, 2].map(|id| self.id(id));
        write!(f, "{access:?} from {offset:?} of {memory:?}")
    }
}

impl<E: Into<Extent>> From<E> for AccessorRange {
    fn from(memory: E) -> Self {
        Self::new(memory)
    }
}

/// Returns sizes in SYCL's order, padded with 0, and the number of dimensions.
fn words(extent: Extent) -> ([u64; 3], u8) {
    let mut sizes = extent.driver_order().iter().rev();
    let words = std::array::from_fn(|_| sizes.next().map_or(0, |size| *size as u64));
    (words, u8::try_from(extent.dimensions()).unwrap_or(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(range: &AccessorRange) -> [Vec<u64>; 3] {
        [0, 1, 2].map(|id| bytemuck::pod_collect_to_vec(range.bytes(id)))
    }

    #[test]
    fn device_gets_both_ranges_and_offset() {
        let range = AccessorRange::new([4, 8, 16]).part([1, 2, 3], [2, 4, 6]);
        assert_eq!(told(&range), [[2, 4, 6], [4, 8, 16], [1, 2, 3]]);
        assert_eq!(told(&[4, 8].into()), [[4, 8], [4, 8], [0, 0]]);
        assert_eq!(told(&7.into()), [[7], [7], [0]]);
    }

    #[test]
    fn what_is_beyond_the_buffer_is_told() {
        let whole = AccessorRange::new([4, 8]);
        assert_eq!(whole.check(32), Ok(()));
        assert_eq!(
            whole.check(31).unwrap_err(),
            "is an accessor to a buffer of [4, 8] elements, but the buffer has 31"
        );
        assert_eq!(whole.part([2, 0], [2, 8]).check(32), Ok(()));
        assert_eq!(
            whole.part([3, 0], [2, 8]).check(32).unwrap_err(),
            "is an accessor of [2, 8] elements at offset [3, 0], which does not fit into a buffer of [4, 8] elements"
        );
        assert!(whole.part([usize::MAX, 0], [2, 8]).check(32).is_err());
        assert!(whole.part(0, 8).check(32).is_err(), "other dimensions");
        assert!(whole.part(0, [2, 8]).check(32).is_err(), "another offset");
        assert!(whole.part([0, 0], 4).check(32).is_err(), "another range");
        let beyond_counting = AccessorRange::new([usize::MAX, 2]);
        assert!(beyond_counting.check(usize::MAX - 1).is_err());
    }
}
