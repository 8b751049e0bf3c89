// SPDX-License-Identifier: MIT OR Apache-2.0
//! Padding: explicit fields for the unused bytes of a struct.

use std::fmt;
use std::hash::{Hash, Hasher};

use bytemuck::{Pod, Zeroable};

/// `N` bytes between or after the fields of a `#[repr(C)]` struct, where C++ leaves a gap.
///
/// With padding fields, the struct can implement [`Pod`]. Kernels may write anything into padding, so comparisons
/// ignore its content: all values are equal.
///
/// ```
/// use syclbin_rt::Padding;
/// use syclbin_rt::bytemuck::{Pod, Zeroable};
///
/// /// `struct Sample { char kind; double value; };`
/// #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
/// #[repr(C)]
/// struct Sample {
///     kind: i8,
///     padding: Padding<7>,
///     value: f64,
/// }
///
/// let sample = Sample { kind: 1, value: 0.5, ..Sample::default() };
/// assert_eq!(format!("{sample:?}"), "Sample { kind: 1, padding: _, value: 0.5 }");
/// ```
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub struct Padding<const N: usize>([u8; N]);

impl<const N: usize> Default for Padding<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> PartialEq for Padding<N> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<const N: usize> Eq for Padding<N> {}

impl<const N: usize> Hash for Padding<N> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<const N: usize> fmt::Debug for Padding<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

/// Returns the size of a field in bytes. Generated code compares it with the size in C++.
///
/// ```
/// # use syclbin_rt::__private::size_of_field;
/// struct Sample { kind: i8, value: f64 }
/// const _: () = assert!(size_of_field(|sample: Sample| sample.value) == 8);
/// ```
#[must_use]
pub const fn size_of_field<T, F>(_: fn(T) -> F) -> usize {
    size_of::<F>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_padding_holds_does_not_count() {
        let zero = Padding::<3>::default();
        let other: Padding<3> = bytemuck::cast([1u8, 2, 3]);
        assert_eq!(zero, other);
        let hashed = |padding: Padding<3>| {
            let mut hasher = std::hash::DefaultHasher::new();
            padding.hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hashed(zero), hashed(other));
        assert_eq!(bytemuck::bytes_of(&other), [1, 2, 3], "but it is kept");
        assert_eq!((size_of::<Padding<5>>(), align_of::<Padding<5>>()), (5, 1));
        assert_eq!(format!("{other:?}"), "_");
    }
}
