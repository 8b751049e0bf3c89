// SPDX-License-Identifier: MIT OR Apache-2.0
//! The work-group of a launch: its size, and the checks of that size and the range.

use std::fmt;

use crate::error::join;
use crate::launch::range::{AnyRange, Extent};

/// The bounds on ranges and work-groups of a kernel on a device. Sizes are in the driver's order.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The largest number of work-items of a range that the code can count.
    pub(crate) max_range: usize,
    /// The number of dimensions that the kernel was compiled for, where the file contains it.
    pub(crate) dimensions: Option<usize>,
    /// The only size the kernel was compiled for.
    pub(crate) required: Option<[usize; 3]>,
    /// The largest size the kernel was compiled for.
    pub(crate) max_declared: Option<[usize; 3]>,
    /// The largest number of work-items in a work-group.
    pub(crate) max_items: usize,
    /// The largest number of work-items in each dimension.
    pub(crate) max_sizes: [usize; 3],
}

/// Returns the work-group size to launch with, in as many dimensions as the range has. This is the given size,
/// else the size the kernel was compiled for. Otherwise it is `None`, and the driver chooses a size.
///
/// # Errors
///
/// When the range is empty or exceeds the kernel's limit, or the size does not match the range, the kernel or
/// the device.
#[inline]
pub(crate) fn choose(
    range: &AnyRange,
    limits: &Limits,
    device: &impl fmt::Display,
) -> Result<Option<Extent>, String> {
    let global = range.global_extent();
    let given = range.local_extent();
    let items = global.checked_items();
    // A product that overflows may have a factor of 0 after it.
    if items == Some(0) || items.is_none() && global.items() == 0 {
        return Err(format!(
            "the range {global} is empty; leave the launch out when there is nothing to do"
        ));
    }
    let mut reach = items;
    if let Some(offset) = range.offset_extent() {
        reach = global.checked_reach(offset);
    }
    // Larger ids are undefined behaviour: the compiler was told that there are none.
    if reach.is_none_or(|items| items > limits.max_range) {
        let remedy = if limits.max_range == usize::MAX {
            ""
        } else {
            ", or compile with -fsycl-id-queries-range=size_t"
        };
        return Err(format!(
            "the range {global} has more than {} work-items, the most that the kernel was compiled to count; reduce \
             it{remedy}",
            limits.max_range
        ));
    }
    if let Some(dimensions) = limits.dimensions
        && dimensions != global.dimensions()
    {
        let plural = if dimensions == 1 { "" } else { "s" };
        return Err(format!(
            "it was compiled for ranges of {dimensions} dimension{plural} (work_group_num_dim in the file), not for {global}"
        ));
    }
    let required = match limits.required {
        Some(sizes) => Some(required_extent(sizes, global)?),
        None => None,
    };
    let Some(local) = given.or(required) else {
        return Ok(None);
    };
    if let Some(required) = required
        && local != required
    {
        return Err(format!(
            "it was compiled for work-groups of {required} ({}), not of {local}; leave the size out to get the right one",
            attributes(required)
        ));
    }
    let pairs = || local.driver_order().iter().zip(global.driver_order());
    if pairs().any(|(local, global)| *local == 0 || global % local != 0) {
        return Err(format!(
            "the work-group {local} does not divide the range {global}; round the range up"
        ));
    }
    if let Some(max) = limits.max_declared
        && exceeds(local, max)
    {
        let max = Extent::from_driver(max, local.dimensions().max(Extent::used(max)));
        return Err(format!(
            "it was compiled for work-groups of at most {max} (max_work_group_size<{}> in C++), not of {local}",
            join(max.sycl_order())
        ));
    }
    if local.items() > limits.max_items {
        return Err(format!(
            "the work-group {local} has {} work-items; on {} it can have {}",
            local.items(),
            device,
            limits.max_items
        ));
    }
    if exceeds(local, limits.max_sizes) {
        let max = Extent::from_driver(limits.max_sizes, local.dimensions());
        return Err(format!(
            "the work-group {local} exceeds the largest one of {device}, {max}"
        ));
    }
    Ok(Some(local))
}

/// Returns whether a dimension is larger than `max`, which is in the driver's order.
#[inline]
fn exceeds(local: Extent, max: [usize; 3]) -> bool {
    let mut sizes = local.driver_order().iter().zip(max);
    sizes.any(|(size, max)| *size > max)
}

/// Returns the required size in the dimensions of the range. It is padded with 1 to three.
fn required_extent(sizes: [usize; 3], global: Extent) -> Result<Extent, String> {
    let used = Extent::used(sizes);
    if used > global.dimensions() {
        let required = Extent::from_driver(sizes, used);
        return Err(format!(
            "it was compiled for work-groups of {required} ({}) and needs a range of as many dimensions, not {global}",
            attributes(required)
        ));
    }
    Ok(Extent::from_driver(sizes, global.dimensions()))
}

/// Returns the attributes of C++ that require a work-group size.
fn attributes(required: Extent) -> String {
    let sizes = join(required.sycl_order());
    format!("work_group_size<{sizes}> or reqd_work_group_size({sizes}) in C++")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::range::NdRange;

    const OPEN: Limits = Limits {
        max_range: 1 << 20,
        dimensions: None,
        required: None,
        max_declared: None,
        max_items: 256,
        max_sizes: [256, 128, 64],
    };
    /// SYCL's `work_group_size<2, 4, 8>`.
    const FIXED: Limits = Limits {
        required: Some([8, 4, 2]),
        ..OPEN
    };

    fn chosen(range: impl Into<AnyRange>, limits: Limits) -> Result<Option<Vec<usize>>, String> {
        let local = choose(&range.into(), &limits, &"the device");
        let local = local.map_err(|problem| problem.to_string())?;
        Ok(local.map(|local| local.sycl_order()))
    }

    #[test]
    fn default_size_comes_from_kernel_then_driver() {
        assert_eq!(chosen([4, 8, 16], OPEN), Ok(None));
        assert_eq!(chosen([4, 8, 16], FIXED), Ok(Some(vec![2, 4, 8])));
    }

    #[test]
    fn required_size_is_padded_to_range_dimensions() {
        let line = Limits {
            required: Some([64, 1, 1]),
            ..OPEN
        };
        assert_eq!(chosen(128, line), Ok(Some(vec![64])));
        assert_eq!(chosen([3, 128], line), Ok(Some(vec![1, 64])));
    }

    #[test]
    fn range_must_have_the_kernels_dimensions() {
        let line = Limits {
            dimensions: Some(1),
            required: Some([64, 1, 1]),
            ..OPEN
        };
        assert_eq!(chosen(128, line), Ok(Some(vec![64])));
        assert_eq!(
            chosen([3, 128], line).unwrap_err(),
            "it was compiled for ranges of 1 dimension (work_group_num_dim in the file), not for \
             [3, 128]"
        );
    }

    #[test]
    fn a_required_size_cannot_be_overruled() {
        let range = NdRange::new([4, 8, 16]).local([1, 4, 8]);
        let message = chosen(range, FIXED).unwrap_err();
        assert_eq!(
            message,
            "it was compiled for work-groups of [2, 4, 8] (work_group_size<2, 4, 8> or \
             reqd_work_group_size(2, 4, 8) in C++), not of [1, 4, 8]; leave the size out to get \
             the right one"
        );
        let message = chosen([64], FIXED).unwrap_err();
        assert!(
            message.contains("[2, 4, 8]") && message.contains("not [64]"),
            "{message}"
        );
    }

    #[test]
    fn a_largest_size_of_the_kernel_holds() {
        let limits = Limits {
            max_declared: Some([16, 4, 1]),
            ..OPEN
        };
        let range = NdRange::new([8, 32]);
        assert_eq!(chosen(range.local([4, 16]), limits), Ok(Some(vec![4, 16])));
        assert_eq!(
            chosen(range.local([4, 32]), limits).unwrap_err(),
            "it was compiled for work-groups of at most [4, 16] (max_work_group_size<4, 16> in \
             C++), not of [4, 32]"
        );
        assert_eq!(chosen(range, limits), Ok(None));
    }

    #[test]
    fn a_size_must_divide_the_range() {
        let problem = "the work-group [3] does not divide the range [64]; round the range up";
        assert_eq!(
            chosen(NdRange::new(64).local(3), OPEN),
            Err(problem.to_owned())
        );
        assert!(chosen(NdRange::new(64).local(0), OPEN).is_err());
        assert!(chosen([5, 8, 16], FIXED).is_err());
    }

    #[test]
    fn an_empty_range_is_told() {
        let problem = "the range [4, 0] is empty; leave the launch out when there is nothing to do";
        assert_eq!(chosen([4, 0], OPEN), Err(problem.to_owned()));
    }

    #[test]
    fn range_beyond_kernels_id_limit_is_refused() {
        assert_eq!(chosen([1 << 10, 1 << 10], OPEN), Ok(None));
        let problem = "the range [1024, 1025] has more than 1048576 work-items, the most that the \
                       kernel was compiled to count; reduce it, or compile with \
                       -fsycl-id-queries-range=size_t";
        assert_eq!(
            chosen([1 << 10, (1 << 10) + 1], OPEN),
            Err(problem.to_owned())
        );
        let uncounted = Limits {
            max_range: usize::MAX,
            ..OPEN
        };
        assert_eq!(chosen(usize::MAX, uncounted), Ok(None));
        let problem = "the range [9223372036854775808, 2] has more than 18446744073709551615 \
                       work-items, the most that the kernel was compiled to count; reduce it";
        assert_eq!(chosen([1 << 63, 2], uncounted), Err(problem.to_owned()));
        assert!(
            chosen([1 << 63, 2, 0], uncounted)
                .unwrap_err()
                .contains("empty")
        );
    }

    #[test]
    fn limits_of_kernel_and_device_hold() {
        let problem = "the work-group [512] has 512 work-items; on the device it can have 256";
        assert_eq!(
            chosen(NdRange::new(512).local(512), OPEN),
            Err(problem.to_owned())
        );
        let problem = "the work-group [128, 1, 1] exceeds the largest one of the device, \
                       [64, 128, 256]";
        let range = NdRange::new([128, 1, 1]).local([128, 1, 1]);
        assert_eq!(chosen(range, OPEN), Err(problem.to_owned()));
    }
}
