// SPDX-License-Identifier: MIT OR Apache-2.0
//! Suggestions: a good work-group size for a range, from the driver or calculated.

use crate::backend::kernel::Argument;
use crate::error::{Error, Result};
use crate::launch::Launch;
use crate::launch::invocation::validation::check;
use crate::launch::range::{AnyRange, Extent, NdRange};
use crate::launch::safe_launch::SafeLaunch;
use crate::launch::work_group::{self, Limits};
use crate::module::kernel::Kernel;

impl Kernel {
    /// Returns a good work-group size for `range`. This is the size that `range` has or the kernel was compiled
    /// for.
    ///
    /// Otherwise it is the largest size that divides the range, is within the limits and leaves no compute unit
    /// without a work-group. If the driver prefers a multiple of some number, the size is such a multiple where
    /// one exists.
    ///
    /// This function does not ask the driver, because drivers need the arguments first.
    /// [`Launch::suggested_local_size`] does.
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
    /// When the range cannot be right for this kernel, as for a launch, and when the driver refuses.
    pub fn suggested_local_size<const D: usize>(
        &self,
        range: impl Into<NdRange<D>>,
    ) -> Result<[usize; D]> {
        // Without arguments, a driver would see those of the last launch, whose buffers may be gone.
        suggested(self, range, None::<std::iter::Empty<_>>)
    }
}

impl<const N: usize, R: Into<AnyRange>> Launch<'_, N, R> {
    /// Returns the work-group size that the driver suggests for this kernel with these arguments
    /// (`cl_khr_suggested_local_work_size`).
    ///
    /// If the driver has no suggestion, or the file does not contain the types of all arguments, this returns
    /// the size of [`Kernel::suggested_local_size`].
    ///
    /// # Errors
    ///
    /// As for a launch. Nothing is launched.
    pub fn suggested_local_size<const D: usize>(
        &self,
        range: impl Into<NdRange<D>>,
    ) -> Result<[usize; D]>
    where
        R: From<NdRange<D>>,
    {
        let call = self.call()?;
        let kernel = call.kernel;
        check(&call).map_err(|problem| Error::launch(kernel.name(), problem))?;
        let values = || call.passed().map(|(_, value)| value);
        // No caller guarantees the types of arguments here.
        let known = call.types_are_known();
        suggested(kernel, range, known.then(values))
    }
}

impl<const N: usize, R: Into<AnyRange>> SafeLaunch<'_, N, R> {
    /// Returns the size of [`Launch::suggested_local_size`]. The contract is not checked.
    ///
    /// # Errors
    ///
    /// As for a launch. Nothing is launched.
    pub fn suggested_local_size<const D: usize>(
        &self,
        range: impl Into<NdRange<D>>,
    ) -> Result<[usize; D]>
    where
        R: From<NdRange<D>>,
    {
        self.parts().0.suggested_local_size(range)
    }
}

/// Asks the driver if there are values for the arguments; otherwise it calculates the size.
fn suggested<'a, const D: usize>(
    kernel: &Kernel,
    range: impl Into<NdRange<D>>,
    values: Option<impl Iterator<Item = Argument<'a>>>,
) -> Result<[usize; D]> {
    let range = range.into().into();
    let local = suggested_extent(kernel, &range, values)?;
    let mut sizes = local.driver_order().iter().rev();
    Ok([(); D].map(|()| sizes.next().copied().unwrap_or(1)))
}

fn suggested_extent<'a>(
    kernel: &Kernel,
    range: &AnyRange,
    values: Option<impl Iterator<Item = Argument<'a>>>,
) -> Result<Extent> {
    let queue = kernel.queue();
    let limits = kernel.limits();
    let chosen = work_group::choose(range, limits, queue.device());
    if let Some(local) = chosen.map_err(|problem| Error::launch(kernel.name(), problem))? {
        return Ok(local);
    }
    let failed = |failure| {
        let action = format!("asking for a work-group size of kernel {}", kernel.name());
        Error::driver(failure, action, queue.device())
    };
    let global = range.global_extent();
    let told = match values {
        Some(values) => {
            let raw = kernel.raw();
            raw.suggested_local(queue.raw(), &mut { values }, global.driver_order())
                .map_err(failed)?
        }
        None => None,
    };
    if let Some(sizes) = told {
        let local = Extent::from_driver(sizes, global.dimensions());
        // A size that no launch would take is not a suggestion.
        let range = AnyRange::new(global).local(local);
        if work_group::choose(&range, limits, queue.device()).is_ok() {
            return Ok(local);
        }
    }
    let multiple = kernel.raw().preferred_multiple().map_err(failed)?;
    let units = queue.device().compute_units();
    Ok(worked_out(global, limits, multiple, units as usize))
}

/// Returns the largest work-group that fits.
fn worked_out(global: Extent, limits: &Limits, multiple: usize, units: usize) -> Extent {
    let multiple = multiple.max(1);
    let share = (global.items() / units.max(1)).max(multiple);
    let mut left = limits.max_items.min(share).max(1);
    let declared = limits.max_declared.unwrap_or([usize::MAX; 3]);
    let mut sizes = [1; 3];
    for (dimension, global) in global.driver_order().iter().enumerate() {
        let most = left
            .min(limits.max_sizes[dimension])
            .min(declared[dimension]);
        // Neighbours in x run side by side.
        let multiple = if dimension == 0 { multiple } else { 1 };
        sizes[dimension] = divisor(*global, most, multiple)
            .or_else(|| divisor(*global, most, 1))
            .unwrap_or(1);
        left = (left / sizes[dimension]).max(1);
    }
    Extent::from_driver(sizes, global.dimensions())
}

/// Returns the largest divisor of `of` that is `most` at most and a multiple of `multiple`.
fn divisor(of: usize, most: usize, multiple: usize) -> Option<usize> {
    let highest = most.min(of) / multiple;
    let mut sizes = (1..=highest).rev().map(|factor| factor * multiple);
    sizes.find(|size| of.is_multiple_of(*size))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        dimensions: None,
        max_range: usize::MAX,
        required: None,
        max_declared: None,
        max_items: 256,
        max_sizes: [256, 128, 64],
    };

    fn of(global: impl Into<Extent>, units: usize) -> Vec<usize> {
        worked_out(global.into(), &LIMITS, 16, units).sycl_order()
    }

    #[test]
    fn largest_dividing_multiple_is_suggested() {
        assert_eq!(of(1024, 2), [256]);
        assert_eq!(of(480, 1), [240]);
        assert_eq!(of(96, 1), [96]);
        // None of its divisors is a multiple of 16.
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
        let sizes = worked_out([64, 64].into(), &limits, 16, 1);
        assert_eq!(sizes.sycl_order(), [4, 8]);
    }

    #[test]
    fn no_compute_unit_is_left_without_a_group() {
        assert_eq!(of(1024, 16), [64]);
        // But not for less than the number that runs side by side.
        assert_eq!(of(1024, 1024), [16]);
    }
}
