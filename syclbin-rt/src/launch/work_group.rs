// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks a launch's range and work-group size, and suggests a work-group size.

use std::fmt;

use crate::backend::{AnyRange, Extent, KernelObject, NdRange, Range, largest_divisors};
use crate::error::{Result, counted, join};
use crate::launch::Launch;
use crate::launch::kernel::Kernel;

/// The limits on a kernel's ranges and work-groups on a device. Sizes are in the driver's order.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The maximum number of work-items that the code supports in a range.
    pub(crate) max_range: usize,
    /// The number of dimensions that the kernel was compiled for, if the file records it.
    pub(crate) dimensions: Option<usize>,
    pub(crate) required: Option<[usize; 3]>,
    /// The largest work-group size that the kernel was compiled for.
    pub(crate) max_declared: Option<[usize; 3]>,
    /// The preferred multiple of sizes, and the number of compute units, if the driver may choose a size beyond the
    /// declared maximum.
    pub(crate) chosen_here: Option<(usize, usize)>,
    pub(crate) max_items: usize,
    /// The maximum number of work-items in each dimension of a work-group.
    pub(crate) max_sizes: [usize; 3],
}

/// Checks a launch range, and fills in a work-group size if the range does not set one: the size that the kernel
/// requires, or one within its declared maximum if the driver may not keep to that. Otherwise the driver chooses.
///
/// # Errors
///
/// Fails if the range is empty, if it has more work-items than the kernel was compiled for, or if its number of
/// dimensions is wrong. Also fails if the work-group size does not fit the range, the kernel or the device.
#[inline]
pub(crate) fn choose(
    range: &mut AnyRange,
    limits: &Limits,
    device: &impl fmt::Display,
) -> Result<(), String> {
    let global = range.global;
    if global.items() == 0 {
        return Err(format!(
            "the range {global} is empty; skip the launch when there is nothing to do"
        ));
    }
    let reach = match range.offset {
        Some(offset) => global.checked_reach(offset),
        None => global.checked_items(),
    };
    // Ids beyond the limit are undefined behavior, because the compiler assumes that they do not occur.
    if reach.is_none_or(|items| items > limits.max_range) {
        let remedy = if limits.max_range == usize::MAX {
            ""
        } else {
            ", or compile with -fsycl-id-queries-range=size_t"
        };
        return Err(format!(
            "the range {global}, including any offset, has more than {} work-items, the maximum that the kernel was \
             compiled for; reduce the range{remedy}",
            limits.max_range
        ));
    }
    if let Some(dimensions) = limits.dimensions
        && dimensions != global.dimensions()
    {
        return Err(format!(
            "it was compiled for ranges of {}, not for {global}",
            counted(dimensions, "dimension")
        ));
    }
    if let Some(sizes) = limits.required {
        let required = required_extent(sizes, global)?;
        let local = *range.local.get_or_insert(required);
        if local != required {
            return Err(format!(
                "it was compiled for work-groups of {required} ({}), not of {local}; pass that size, or launch \
                 without a work-group size",
                attributes(required)
            ));
        }
    }
    if range.local.is_none()
        && let Some((multiple, units)) = limits.chosen_here
    {
        range.local = Some(largest_fitting_size(global, limits, multiple, units));
    }
    let Some(local) = range.local else {
        return Ok(());
    };
    let items = local.items();
    if items == 0 {
        return Err(empty(local));
    }
    let pairs = || local.driver_order().iter().zip(global.driver_order());
    if pairs().any(|(local, global)| global % local != 0) {
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
    if items > limits.max_items {
        return Err(format!(
            "the work-group {local} has {items} work-items, but the kernel allows at most {} on {device}",
            limits.max_items
        ));
    }
    if exceeds(local, limits.max_sizes) {
        let max = Extent::from_driver(limits.max_sizes, local.dimensions());
        return Err(format!(
            "the work-group {local} exceeds {max}, the maximum of {device} in each dimension"
        ));
    }
    Ok(())
}

fn empty(local: Extent) -> String {
    format!("the work-group {local} is empty; each dimension needs at least one work-item")
}

/// Returns whether the work-group exceeds `max` (in the driver's order) in any dimension.
#[inline]
fn exceeds(local: Extent, max: [usize; 3]) -> bool {
    let mut sizes = local.driver_order().iter().zip(max);
    sizes.any(|(size, max)| *size > max)
}

/// Converts the required size, which is padded to three dimensions, to the dimensions of the range.
fn required_extent(sizes: [usize; 3], global: Extent) -> Result<Extent, String> {
    let used = Extent::used(sizes);
    if used > global.dimensions() {
        let required = Extent::from_driver(sizes, used);
        return Err(format!(
            "it was compiled for work-groups of {required} ({}) and requires a range with the same number of \
             dimensions, not {global}",
            attributes(required)
        ));
    }
    Ok(Extent::from_driver(sizes, global.dimensions()))
}

fn attributes(required: Extent) -> String {
    let sizes = join(required.sycl_order());
    format!("work_group_size<{sizes}> or reqd_work_group_size({sizes}) in C++")
}

impl Kernel {
    /// Suggests a work-group size for `range`. If `range` sets a size or the kernel requires one, this is that size.
    ///
    /// Otherwise it is the largest size that divides the range, is within the limits, and gives every compute unit a
    /// work-group. If the driver prefers multiples of some number, the size is such a multiple if possible.
    ///
    /// This is not the driver's own suggestion, because drivers need the arguments to make one. Use
    /// [`Launch::suggested_local_size`] to get it.
    ///
    /// ```no_run
    /// # fn sizes(kernel: &syclbin_rt::Kernel) -> syclbin_rt::Result<()> {
    /// use syclbin_rt::NdRange;
    ///
    /// let local = kernel.suggested_local_size([480, 640])?;
    /// let range = NdRange::new([480, 640]).local(local);
    /// println!("in work-groups of {:?}", local);
    /// # Ok::<(), syclbin_rt::Error>(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if a launch would reject the range, or if the driver rejects the request.
    pub fn suggested_local_size<const D: usize>(
        &self,
        range: impl Into<NdRange<D>>,
    ) -> Result<[usize; D]> {
        // Without arguments, a driver would use those of the last launch, whose buffers may have been freed.
        Ok(self.suggested(range.into().into(), None)?.sizes())
    }

    /// Returns the work-group size that the range sets or that [`choose`] fills in, if any. Otherwise queries the driver
    /// if `object` (a kernel object with all arguments) is given. Calculates a size if the driver is not queried or
    /// suggests no usable size.
    fn suggested(&self, mut range: AnyRange, object: Option<&KernelObject>) -> Result<Extent> {
        let queue = self.queue();
        let limits = &self.checked().limits;
        choose(&mut range, limits, queue.device()).map_err(|problem| self.refused(problem))?;
        if let Some(local) = range.local {
            return Ok(local);
        }
        let failed = |failure| self.failed("querying a work-group size for", failure);
        let global = range.global;
        let suggested = object.map(|object| object.suggested_local(queue.raw(), range.global()));
        if let Some(sizes) = suggested.transpose().map_err(failed)?.flatten() {
            let local = Extent::from_driver(sizes, global.dimensions());
            range.local = Some(local);
            // Ignore a suggestion that a launch would reject.
            if choose(&mut range, limits, queue.device()).is_ok() {
                return Ok(local);
            }
        }
        let multiple = self.raw().preferred_multiple().map_err(failed)?;
        let units = queue.device().compute_units() as usize;
        Ok(largest_fitting_size(global, limits, multiple, units))
    }

    /// Returns the maximum number of work-groups for a launch with [`Launch::root_sync`]. On CUDA, this is the number that
    /// the device can run at the same time; on other devices, it is 1. SYCL calls it `max_num_work_groups`.
    ///
    /// `local_bytes` is the total size of the work-group memory that the launch passes as arguments, in bytes.
    ///
    /// # Errors
    ///
    /// Fails if a launch would reject the work-group size `local`, or if the driver rejects the request.
    pub fn max_root_groups<const D: usize>(
        &self,
        local: impl Into<Range<D>>,
        local_bytes: usize,
    ) -> Result<usize> {
        let local = local.into();
        let range = AnyRange::from(NdRange::new(local).local(local));
        if range.global.items() == 0 {
            return Err(self.refused(empty(range.global)));
        }
        let local = self.suggested(range, None)?;
        self.max_groups_of(local, local_bytes)
    }

    fn max_groups_of(&self, local: Extent, local_bytes: usize) -> Result<usize> {
        let groups = self.raw().max_root_groups(local.items(), local_bytes);
        groups.map_err(|failure| self.failed("querying the number of work-groups of", failure))
    }

    /// Prepares `range` for a launch whose work-groups all run at the same time. If it has no work-group size, sets one.
    ///
    /// # Errors
    ///
    /// Fails if there are too many work-groups, or if the driver rejects a query.
    #[cold]
    pub(crate) fn synchronize(&self, range: &mut AnyRange, local_bytes: usize) -> Result<()> {
        let local = self.suggested(*range, None)?;
        let max = self.max_groups_of(local, local_bytes)?;
        let groups = range.global.items() / local.items();
        // A barrier across a single work-group needs nothing special.
        (range.local, range.root_sync) = (Some(local), groups > 1);
        let device = self.queue().device();
        let problem = format_args!(
            "`root_sync` requires that all {groups} work-groups of {local} run at the same time, but {device} can \
             run at most {max} of them; launch at most {max}, and let each work-item process several elements (only CUDA \
             devices can run more than 1)"
        );
        (groups <= max)
            .then_some(())
            .ok_or_else(|| self.refused(problem))
    }
}

impl<const N: usize, R: Into<AnyRange>, T> Launch<'_, N, R, T> {
    /// Returns the work-group size that the driver suggests for this kernel with these arguments
    /// (`cl_khr_suggested_local_work_size`). Does not check the contract, if any.
    ///
    /// If the driver has no suggestion, the file does not contain the types of all arguments, or the kernel declares a
    /// maximum that the driver may not know, returns the same size as [`Kernel::suggested_local_size`].
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as a launch. Nothing is launched.
    pub fn suggested_local_size<const D: usize>(
        &self,
        range: impl Into<NdRange<D>>,
    ) -> Result<[usize; D]>
    where
        R: From<NdRange<D>>,
    {
        let call = self.call()?;
        call.check()?;
        // This function is safe, so its caller does not guarantee the argument types.
        let known = call.kernel.types_are_known();
        let object = known.then(|| call.object()).transpose()?;
        let suggested = call.kernel.suggested(range.into().into(), object.as_ref());
        Ok(suggested?.sizes())
    }
}

fn largest_fitting_size(global: Extent, limits: &Limits, multiple: usize, units: usize) -> Extent {
    let multiple = multiple.max(1);
    let share = (global.items() / units.max(1)).max(multiple);
    let items = limits.max_items.min(share);
    let declared = limits.max_declared.unwrap_or([usize::MAX; 3]);
    let most =
        std::array::from_fn(|dimension| limits.max_sizes[dimension].min(declared[dimension]));
    let sizes = largest_divisors(global.padded(), [1; 3], most, items, multiple);
    Extent::from_driver(sizes.unwrap_or([1; 3]), global.dimensions())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::NdRange;

    const OPEN: Limits = Limits {
        max_range: 1 << 20,
        dimensions: None,
        required: None,
        max_declared: None,
        chosen_here: None,
        max_items: 256,
        max_sizes: [256, 128, 64],
    };
    /// As declared by `work_group_size<2, 4, 8>` in SYCL.
    const FIXED: Limits = Limits {
        required: Some([8, 4, 2]),
        ..OPEN
    };

    fn chosen(range: impl Into<AnyRange>, limits: Limits) -> Result<Option<Vec<usize>>, String> {
        let mut range = range.into();
        choose(&mut range, &limits, &"the device")?;
        Ok(range.local.map(|local| local.sycl_order()))
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
            "it was compiled for ranges of 1 dimension, not for \
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
             reqd_work_group_size(2, 4, 8) in C++), not of [1, 4, 8]; pass that size, or launch without a work-group size"
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
        // The second dimension is the driver's first, and four compute units share the work-items.
        for (units, expected) in [(1, [4, 16]), (4, [4, 16]), (64, [1, 4])] {
            let chosen_here = Some((1, units));
            let limits = Limits {
                chosen_here,
                ..limits
            };
            assert_eq!(chosen(range, limits), Ok(Some(expected.to_vec())));
        }
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
        let problem = "the range [4, 0] is empty; skip the launch when there is nothing to do";
        assert_eq!(chosen([4, 0], OPEN), Err(problem.to_owned()));
    }

    #[test]
    fn range_beyond_kernels_id_limit_is_refused() {
        assert_eq!(chosen([1 << 10, 1 << 10], OPEN), Ok(None));
        let problem = "the range [1024, 1025], including any offset, has more than 1048576 work-items, the maximum \
                       that the kernel was compiled for; reduce the range, or compile with \
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
        let problem = "the range [9223372036854775808, 2], including any offset, has more than 18446744073709551615 \
                       work-items, the maximum that the kernel was compiled for; reduce the range";
        assert_eq!(chosen([1 << 63, 2], uncounted), Err(problem.to_owned()));
        assert!(
            chosen([1 << 63, 2, 0], uncounted)
                .unwrap_err()
                .contains("empty")
        );
    }

    #[test]
    fn limits_of_kernel_and_device_hold() {
        let problem = "the work-group [512] has 512 work-items, but the kernel allows at most 256 on the device";
        assert_eq!(
            chosen(NdRange::new(512).local(512), OPEN),
            Err(problem.to_owned())
        );
        let problem = "the work-group [128, 1, 1] exceeds [64, 128, 256], the maximum of the device \
                       in each dimension";
        let range = NdRange::new([128, 1, 1]).local([128, 1, 1]);
        assert_eq!(chosen(range, OPEN), Err(problem.to_owned()));
    }
}

#[cfg(test)]
mod suggestion_tests {
    use super::*;

    const LIMITS: Limits = Limits {
        dimensions: None,
        max_range: usize::MAX,
        required: None,
        max_declared: None,
        chosen_here: None,
        max_items: 256,
        max_sizes: [256, 128, 64],
    };

    fn of(global: impl Into<Extent>, units: usize) -> Vec<usize> {
        largest_fitting_size(global.into(), &LIMITS, 16, units).sycl_order()
    }

    #[test]
    fn largest_dividing_multiple_is_suggested() {
        assert_eq!(of(1024, 2), [256]);
        assert_eq!(of(480, 1), [240]);
        assert_eq!(of(96, 1), [96]);
        // 168 is a divisor too, but no multiple of 16.
        assert_eq!(of(336, 1), [112]);
        // No divisor is a multiple of 16.
        assert_eq!(of(1000, 1), [250]);
        assert_eq!(of(997, 1), [1]);
        assert_eq!(of(1, 8), [1]);
    }

    #[test]
    fn dimensions_share_the_group_with_x_first() {
        assert_eq!(of([64, 48], 1), [4, 48]);
        assert_eq!(of([7, 5, 3], 1), [7, 5, 3]);
        assert_eq!(of([512, 1024], 1), [1, 256]);
        let limits = Limits {
            max_declared: Some([8, 4, 1]),
            ..LIMITS
        };
        let sizes = largest_fitting_size([64, 64].into(), &limits, 16, 1);
        assert_eq!(sizes.sycl_order(), [4, 8]);
    }

    #[test]
    fn no_compute_unit_is_left_without_a_group() {
        assert_eq!(of(1024, 16), [64]);
        // Groups never get smaller than the number of work-items that run side by side.
        assert_eq!(of(1024, 1024), [16]);
    }
}
