// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks: divides a range into work-groups of the same size.
//!
//! A CUDA launch is a number of work-groups of equal size, so its range is always a multiple of the work-group
//! size.

use crate::backend::cuda::device::WARP;

/// This number of work-items in a work-group is tried first: a few warps hide the latency of memory, and there
/// are enough registers for all of them.
const TARGET: usize = 256;

/// The bounds of a launch. Sizes are in the driver's order, x first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The largest number of work-groups in each dimension.
    pub(crate) groups: [usize; 3],
    /// The largest number of work-items of a work-group in each dimension.
    pub(crate) items: [usize; 3],
    /// The largest number of work-items of a work-group.
    pub(crate) all_items: usize,
}

/// A launch as the driver takes it, x first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) groups: [u32; 3],
    pub(crate) items: [u32; 3],
}

/// Divides `global` into work-groups of `local`, or of a good size; `None` if that is impossible.
#[inline]
pub(crate) fn blocks(global: &[usize], local: Option<&[usize]>, bounds: &Bounds) -> Option<Blocks> {
    let global = padded(global)?;
    let local = match local {
        Some(local) => padded(local)?,
        None => local_size(global, bounds)?,
    };
    let mut blocks = Blocks {
        groups: [1; 3],
        items: [1; 3],
    };
    let mut all = 1usize;
    for dimension in 0..3 {
        let (size, items) = (global[dimension], local[dimension]);
        if (size, items) == (1, 1) {
            continue; // a division is a tenth of what a launch costs here
        }
        if size == 0 || items == 0 || size % items != 0 {
            return None;
        }
        let groups = size / items;
        all = all.checked_mul(items)?;
        if groups > bounds.groups[dimension] || items > bounds.items[dimension] {
            return None;
        }
        blocks.groups[dimension] = u32::try_from(groups).ok()?;
        blocks.items[dimension] = u32::try_from(items).ok()?;
    }
    (all <= bounds.all_items).then_some(blocks)
}

/// Pads a range to three dimensions.
#[inline]
fn padded(sizes: &[usize]) -> Option<[usize; 3]> {
    match *sizes {
        [x] => Some([x, 1, 1]),
        [x, y] => Some([x, y, 1]),
        [x, y, z] => Some([x, y, z]),
        _ => None,
    }
}

/// Returns a good work-group size for `global`: whole warps in x where the range has such a divisor, and at
/// most as many groups as a launch may have. `None` if such a size does not exist.
pub(crate) fn local_size(global: [usize; 3], bounds: &Bounds) -> Option<[usize; 3]> {
    let [x, y, z] = global;
    let most = bounds.items;
    let target = TARGET.min(bounds.all_items);
    // This case covers nearly all ranges.
    if y == 1
        && z == 1
        && x.is_multiple_of(TARGET)
        && TARGET <= target.min(most[0])
        && x / TARGET <= bounds.groups[0]
    {
        return Some([TARGET, 1, 1]);
    }
    // So many at least, or there are too many groups.
    let least = |dimension: usize| {
        let size: usize = global[dimension];
        let fewest = size.div_ceil(bounds.groups[dimension].max(1)).max(1);
        (fewest..=most[dimension].min(size)).find(|items| size.is_multiple_of(*items))
    };
    let [least_x, least_y, least_z] = [least(0)?, least(1)?, least(2)?];
    let in_x = |all: usize| {
        let left = all / (least_y * least_z);
        divisor(x, least_x, left.min(most[0]))
    };
    // The target is not a requirement.
    let items_x = in_x(target).or_else(|| in_x(bounds.all_items))?;
    let all = if items_x * least_y * least_z > target {
        bounds.all_items
    } else {
        target
    };
    let left = all / (items_x * least_z);
    let items_y = largest(y, least_y, left.min(most[1]))?;
    let left = all / (items_x * items_y);
    let items_z = largest(z, least_z, left.min(most[2]))?;
    Some([items_x, items_y, items_z])
}

/// Returns the largest divisor of `of` within the bounds that is whole warps, else the largest divisor.
fn divisor(of: usize, least: usize, most: usize) -> Option<usize> {
    let mut warps = (1..=most.min(of) / WARP).rev().map(|warps| warps * WARP);
    let whole = warps.find(|items| *items >= least && of.is_multiple_of(*items));
    whole.or_else(|| largest(of, least, most))
}

fn largest(of: usize, least: usize, most: usize) -> Option<usize> {
    let mut items = (least..=most.min(of)).rev();
    items.find(|items| of.is_multiple_of(*items))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        groups: [0x7FFF_FFFF, 65_535, 65_535],
        items: [1024, 1024, 64],
        all_items: 1024,
    };

    fn items(global: &[usize]) -> Option<[u32; 3]> {
        blocks(global, None, &BOUNDS).map(|blocks| blocks.items)
    }

    #[test]
    fn range_is_divided_into_whole_warps() {
        assert_eq!(items(&[1 << 20]), Some([256, 1, 1]));
        assert_eq!(items(&[96]), Some([96, 1, 1]));
        assert_eq!(items(&[480]), Some([160, 1, 1]));
        assert_eq!(items(&[1000]), Some([250, 1, 1]));
        assert_eq!(items(&[997]), Some([1, 1, 1]));
        assert_eq!(items(&[64, 48]), Some([64, 4, 1]));
        assert_eq!(items(&[256, 48]), Some([256, 1, 1]));
        assert_eq!(items(&[7, 5, 3]), Some([7, 5, 3]));
        assert_eq!(items(&[1]), Some([1, 1, 1]));
    }

    #[test]
    fn group_count_stays_within_driver_limits() {
        // y and z have 65535 at most.
        assert_eq!(items(&[1, 1 << 20]), Some([1, 256, 1]));
        for global in [
            [512, 1 << 20, 1],
            [3, 131_070, 70_000],
            [1, 65_536 * 4, 65_536],
        ] {
            let blocks = blocks(&global, None, &BOUNDS).unwrap();
            let all = blocks.groups.into_iter().zip(blocks.items).zip(global);
            for (((groups, items), size), most) in all.zip(BOUNDS.groups) {
                assert_eq!(groups as usize * items as usize, size);
                assert!(groups as usize <= most, "{blocks:?}");
            }
            assert!(blocks.items.iter().product::<u32>() <= 1024, "{blocks:?}");
        }
        // No divisor of a prime helps.
        assert_eq!(items(&[1, 65_537]), None);
    }

    #[test]
    fn explicit_size_is_kept_or_refused() {
        let with = |global: &[usize], local: &[usize]| blocks(global, Some(local), &BOUNDS);
        let taken = with(&[64, 48], &[8, 16]).unwrap();
        assert_eq!((taken.groups, taken.items), ([8, 3, 1], [8, 16, 1]));
        assert_eq!(with(&[64], &[48]), None);
        assert_eq!(with(&[64], &[0]), None);
        assert_eq!(with(&[0], &[1]), None);
        assert_eq!(with(&[4096], &[2048]), None);
        assert_eq!(with(&[64, 64, 64], &[1, 1, 128]), None);
        assert_eq!(with(&[1, 70_000], &[1, 1]), None);
        assert_eq!(with(&[], &[]), None);
    }

    #[test]
    fn kernel_limit_bounds_the_work_group_size() {
        let bounds = Bounds {
            all_items: 64,
            ..BOUNDS
        };
        let items = |global: &[usize]| blocks(global, None, &bounds).unwrap().items;
        assert_eq!(items(&[1 << 20]), [64, 1, 1]);
        assert_eq!(items(&[512, 512]), [64, 1, 1]);
        assert_eq!(items(&[16, 512]), [16, 4, 1]);
    }
}
