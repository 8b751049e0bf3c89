// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CUDA kernel that several threads can launch, because one lock covers setting the arguments and enqueueing.
//!
//! This module also divides ranges into work-groups (blocks) of equal size, because a CUDA launch specifies the
//! number of blocks.

use std::ffi::{CStr, CString, c_int};
use std::sync::{Arc, Mutex, PoisonError};

use super::CUfunction_attribute as Attribute;
use super::*;

pub(crate) struct Kernel {
    object: Mutex<KernelObject>,
    program: Arc<Program>,
    handles: Handles,
    parameters: Vec<Slot>,
}

impl Kernel {
    /// Finds the kernel `symbol`. Limits work-group sizes to the maximum that the file declares, because the device
    /// code does not contain this maximum.
    pub(crate) fn new(program: Arc<Program>, symbol: &CStr, declared: Declared) -> Result<Self> {
        let context = &program.context;
        let plain = find(&program, symbol)?;
        let name = [symbol.to_bytes(), OFFSET_VARIANT.as_bytes()].concat();
        // Neither part contains a NUL byte.
        let offset_variant = match find(&program, &CString::new(name).unwrap_or_default()) {
            Err(failure) if failure.code() == Some(Code::Cuda(NOT_FOUND)) => None,
            found => Some(found?).filter(|found| is_offset_variant(context, plain, *found)),
        };
        let parameters = agreed(reported_parameters(context, plain), declared.slots)?;
        let number = |attribute| attribute_of(context, plain, attribute);
        let facts = &context.device.facts;
        let handles = Handles {
            plain: Raw(plain),
            offset_variant: offset_variant.map(Raw),
            bounds: Bounds {
                groups: context.device.max_grid,
                items: std::array::from_fn(|dimension| {
                    facts.max_work_item_sizes[dimension].min(declared.max_sizes[dimension])
                }),
                all_items: number(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?
                    .min(declared.max_items),
            },
            fixed_local: number(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        };
        let object = KernelObject::new(&program, handles, parameters.clone());
        Ok(Self {
            object: Mutex::new(object),
            program,
            handles,
            parameters,
        })
    }

    /// Sets all arguments and enqueues the kernel, to start when all commands in `after` have finished.
    ///
    /// # Safety
    ///
    /// The requirements of [`Kernel::launch`](crate::backend::kernel::Kernel::launch) apply.
    pub(crate) unsafe fn launch<'v, V: Values<'v>>(
        &self,
        queue: &AnyQueue,
        values: &V,
        grid: &AnyRange,
        after: &WaitList<'_>,
    ) -> Result<AnyEvent, V::Error> {
        let _guard = CallGuard::new();
        let mut object = self.object.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller guarantees this.
        unsafe { values.give(&mut *object) }?;
        // SAFETY: the caller guarantees this.
        let launched = unsafe { object.enqueue(queue, grid, after) };
        launched.map_err(|failure| values.not_launched(failure))
    }
}

impl DriverKernel for Kernel {
    fn native(&self) -> KernelHandle {
        KernelHandle::Cuda {
            function: self.handles.plain.0.cast(),
            module: self.program.handle.0.cast(),
        }
    }

    fn object(&self) -> Result<AnyKernelObject> {
        let parameters = self.parameters.clone();
        Ok(KernelObject::new(&self.program, self.handles, parameters).into())
    }

    fn bounds(&self) -> KernelBounds {
        KernelBounds {
            arguments: self.parameters.len(),
            // Recorded in the SYCLBIN metadata, not in the device code.
            required_local: None,
            max_local: self.handles.bounds.all_items,
            keeps_declared: true,
            local_memory: self.handles.fixed_local as u64,
        }
    }

    fn preferred_multiple(&self) -> Result<usize> {
        Ok(WARP)
    }

    fn max_root_groups(&self, items: usize, local_bytes: usize) -> Result<usize> {
        let context = &self.program.context;
        // Must precede the lock, as in `Queue::check_asserts`.
        let _guard = CallGuard::new();
        let object = self.object.lock().unwrap_or_else(PoisonError::into_inner);
        // Otherwise, the driver would report 0 for sizes of work-group memory that need the opt-in.
        object.opt_in_to_max_local()?;
        let (mut groups, function) = (0, self.handles.plain.0);
        let items = c_int::try_from(items).unwrap_or(c_int::MAX);
        // SAFETY: the kernel is alive; the call writes one value through a valid pointer.
        unsafe {
            call!(context => cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut groups, function, items, local_bytes
            ))
        }?;
        let groups = usize::try_from(groups).unwrap_or_default();
        Ok((groups * context.device.cooperative_units).max(1))
    }

    fn check_range(&self, range: &AnyRange) -> Result<()> {
        self.handles.divide(range).map(drop)
    }

    fn attributes(&self) -> Result<KernelAttributes> {
        let number =
            |attribute| attribute_of(&self.program.context, self.handles.plain.0, attribute);
        let private = number(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?;
        let registers = number(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
        Ok(KernelAttributes {
            max_work_group_size: self.bounds().max_local,
            preferred_work_group_size_multiple: WARP,
            local_memory_bytes: self.bounds().local_memory,
            private_memory_bytes: Some(private as u64),
            spill_memory_bytes: None,
            registers: u32::try_from(registers).ok(),
            max_sub_group_size: Some(WARP),
            required_sub_group_size: None,
        })
    }
}

fn find(program: &Program, symbol: &CStr) -> Result<CUfunction> {
    let mut function = std::ptr::null_mut();
    // SAFETY: the module is loaded, and the name is NUL-terminated; the call writes one handle through a valid pointer.
    unsafe {
        let (found, name) = (&raw mut function, symbol.as_ptr());
        call!(program.context => cuModuleGetFunction(found, program.handle.0, name))
    }?;
    Ok(function)
}

fn attribute_of(context: &Context, function: CUfunction, attribute: Attribute) -> Result<usize> {
    let mut value: c_int = 0;
    // SAFETY: the kernel is alive; the call writes one value through a valid pointer.
    unsafe { call!(context => cuFuncGetAttribute(&raw mut value, attribute, function)) }?;
    usize::try_from(value).map_err(|_| invalid("cuFuncGetAttribute"))
}

/// The maximum total size of a kernel's parameters, in bytes (PTX ISA, "Kernel function parameters").
const MAX_PARAMETER_BYTES: usize = 32_764;

/// Returns the parameters that the driver reports. Their sizes must match those in the PTX, if known. If the driver
/// does not report parameters, returns those in the PTX.
fn agreed(reported: Result<Vec<Slot>>, known: Option<Vec<Slot>>) -> Result<Vec<Slot>> {
    let refused = invalid("cuFuncGetParamInfo");
    let sizes = |slots: &[Slot]| -> Vec<usize> { slots.iter().map(|slot| slot.size).collect() };
    match (reported, known) {
        (Ok(reported), Some(known)) if sizes(&reported) != sizes(&known) => Err(refused),
        (Ok(reported), _) => Ok(reported),
        (Err(failure), Some(known)) if is_unsupported(failure) => {
            let mut ends = known.iter().map(|slot| slot.offset.checked_add(slot.size));
            let fit = ends.all(|end| end.is_some_and(|end| end <= MAX_PARAMETER_BYTES));
            fit.then_some(known).ok_or(refused)
        }
        (Err(failure), _) => Err(failure),
    }
}

/// Returns whether `offset_variant` takes the parameters of `plain`, followed by an offset. If the driver does not
/// report parameters, assumes that no unrelated kernel has the variant's name.
fn is_offset_variant(context: &Context, plain: CUfunction, offset_variant: CUfunction) -> bool {
    let parameters = |function| reported_parameters(context, function);
    match (parameters(plain), parameters(offset_variant)) {
        (Ok(plain), Ok(offset_variant)) => offset_variant
            .split_last()
            .is_some_and(|(last, rest)| last.size == 12 && rest == plain),
        (Err(failure), _) => is_unsupported(failure),
        _ => false,
    }
}

/// Returns whether the failure means that the driver does not report parameters.
fn is_unsupported(failure: Failure) -> bool {
    matches!(failure, Failure::Missing { .. }) || failure.code() == Some(Code::Cuda(NOT_SUPPORTED))
}

/// Queries a kernel's parameters from the driver. Drivers before CUDA 12.4 do not report them.
fn reported_parameters(context: &Context, function: CUfunction) -> Result<Vec<Slot>> {
    let mut parameters = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the kernel is alive; the call writes two values through valid pointers.
        let got = unsafe {
            call!(context, "a CUDA 12.4 driver" => cuFuncGetParamInfo(
                function, parameters.len(), &raw mut offset, &raw mut size
            ))
        };
        match got {
            Ok(()) => parameters.push(Slot { offset, size }),
            // The index is past the last parameter.
            Err(failure) if failure.code() == Some(Code::Cuda(INVALID_VALUE)) => {
                return Ok(parameters);
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// The work-group size that is tried first: enough warps to hide memory latency, but few enough that registers suffice.
const TARGET: usize = 256;

/// The limits of a launch. Sizes are in the driver's order: x first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The maximum number of work-groups in each dimension.
    pub(crate) groups: [usize; 3],
    /// The maximum number of work-items in each dimension of a work-group.
    pub(crate) items: [usize; 3],
    /// The maximum number of work-items in a work-group.
    pub(crate) all_items: usize,
}

/// The grid of a launch in the driver's form, x first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) groups: [u32; 3],
    pub(crate) items: [u32; 3],
}

/// Divides `global` into work-groups of size `local`, or of a suitable size if `local` is `None`. Returns `None` if
/// that is impossible.
#[inline]
pub(crate) fn blocks(
    global: [usize; 3],
    local: Option<[usize; 3]>,
    bounds: &Bounds,
) -> Option<Blocks> {
    let local = local.or_else(|| local_size(global, bounds))?;
    let mut blocks = Blocks {
        groups: [1; 3],
        items: [1; 3],
    };
    let mut all = 1usize;
    for dimension in 0..3 {
        let (size, items) = (global[dimension], local[dimension]);
        if (size, items) == (1, 1) {
            continue; // avoids a division, which takes a tenth of the launch time
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

/// Returns a suitable work-group size for `global`: whole warps along x where the range allows this, and no more
/// groups than a launch allows. Returns `None` if there is no such size.
pub(crate) fn local_size(global: [usize; 3], bounds: &Bounds) -> Option<[usize; 3]> {
    let [x, y, z] = global;
    let most = bounds.items;
    let target = TARGET.min(bounds.all_items);
    // Fast path for the most common ranges.
    if y == 1
        && z == 1
        && x.is_multiple_of(TARGET)
        && TARGET <= target.min(most[0])
        && x / TARGET <= bounds.groups[0]
    {
        return Some([TARGET, 1, 1]);
    }
    // The smallest size in this dimension that keeps the number of groups within the limit.
    let least = |dimension: usize| {
        let size: usize = global[dimension];
        let fewest = size.div_ceil(bounds.groups[dimension].max(1)).max(1);
        (fewest..=most[dimension].min(size)).find(|items| size.is_multiple_of(*items))
    };
    let least = [least(0)?, least(1)?, least(2)?];
    // If the target is impossible, larger work-groups are acceptable.
    let mut sizes = [target, bounds.all_items].into_iter();
    sizes.find_map(|items| largest_divisors(global, least, most, items, WARP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_in_ptx_count_where_drivers_report_none() {
        let slots = |size| vec![Slot { offset: 0, size }];
        let failed = |code| Failure::cuda("cuFuncGetParamInfo", code);
        let [invalid, unsupported] = [INVALID_VALUE, NOT_SUPPORTED].map(failed);
        let agreed = |reported, size| agreed(reported, Some(slots(size)));
        assert_eq!(
            agreed(Err(unsupported), MAX_PARAMETER_BYTES),
            Ok(slots(MAX_PARAMETER_BYTES))
        );
        assert_eq!(
            agreed(Err(unsupported), MAX_PARAMETER_BYTES + 1),
            Err(invalid)
        );
        assert_eq!(agreed(Err(invalid), 4), Err(invalid));
        assert_eq!(agreed(Ok(slots(4)), 4), Ok(slots(4)));
        assert_eq!(agreed(Ok(slots(4)), 8), Err(invalid));
    }
}

#[cfg(test)]
mod blocks_tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        groups: [0x7FFF_FFFF, 65_535, 65_535],
        items: [1024, 1024, 64],
        all_items: 1024,
    };

    fn padded(sizes: &[usize]) -> [usize; 3] {
        std::array::from_fn(|dimension| sizes.get(dimension).copied().unwrap_or(1))
    }

    fn items(global: &[usize]) -> Option<[u32; 3]> {
        blocks(padded(global), None, &BOUNDS).map(|blocks| blocks.items)
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
        // y and z are limited to 65535 groups.
        assert_eq!(items(&[1, 1 << 20]), Some([1, 256, 1]));
        for global in [
            [512, 1 << 20, 1],
            [3, 131_070, 70_000],
            [1, 65_536 * 4, 65_536],
            [256, 1, 131_070],
            // With 256 work-items, there would be one group too many.
            [1 << 39, 1, 1],
        ] {
            let blocks = blocks(global, None, &BOUNDS).unwrap();
            let all = blocks.groups.into_iter().zip(blocks.items).zip(global);
            for (((groups, items), size), most) in all.zip(BOUNDS.groups) {
                assert_eq!(groups as usize * items as usize, size);
                assert!(groups as usize <= most, "{blocks:?}");
            }
            assert!(blocks.items.iter().product::<u32>() <= 1024, "{blocks:?}");
        }
        // A prime has no usable divisor.
        assert_eq!(items(&[1, 65_537]), None);
        // Even the largest work-groups would be too many.
        assert_eq!(items(&[1 << 60]), None);
    }

    #[test]
    fn fewest_groups_still_hold_whole_warps() {
        let bounds = Bounds {
            groups: [11, 1, 1],
            ..BOUNDS
        };
        let blocks = blocks([352, 1, 1], None, &bounds).unwrap();
        // Work-groups of 176 work-items would end with half a warp.
        assert_eq!((blocks.groups, blocks.items), ([11, 1, 1], [32, 1, 1]));
    }

    #[test]
    fn explicit_size_is_kept_or_refused() {
        let with = |global: &[usize], local: &[usize]| {
            blocks(padded(global), Some(padded(local)), &BOUNDS)
        };
        let taken = with(&[64, 48], &[8, 16]).unwrap();
        assert_eq!((taken.groups, taken.items), ([8, 3, 1], [8, 16, 1]));
        let largest = with(&[1024, 65_535], &[1024, 1]).unwrap();
        assert_eq!(largest.groups, [1, 65_535, 1]);
        assert_eq!(with(&[64], &[48]), None);
        assert_eq!(with(&[64], &[0]), None);
        assert_eq!(with(&[0], &[1]), None);
        assert_eq!(with(&[4096], &[2048]), None);
        assert_eq!(with(&[64, 64, 64], &[1, 1, 128]), None);
        assert_eq!(with(&[1, 70_000], &[1, 1]), None);
    }

    #[test]
    fn kernel_limit_bounds_the_work_group_size() {
        let bounds = Bounds {
            all_items: 64,
            ..BOUNDS
        };
        let items = |global: &[usize]| blocks(padded(global), None, &bounds).unwrap().items;
        assert_eq!(items(&[1 << 20]), [64, 1, 1]);
        assert_eq!(items(&[512, 512]), [64, 1, 1]);
        assert_eq!(items(&[16, 512]), [16, 4, 1]);
    }
}
