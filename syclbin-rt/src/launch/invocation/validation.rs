// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of a launch's arguments, before the driver sees any of them.

use crate::backend::kernel::Argument;
use crate::backend::slice::Region;
use crate::device::Device;
use crate::error::launch_problem::LaunchProblem;
use crate::launch::arg::Arg;
use crate::launch::invocation::Invocation;
use crate::launch::parameter_kinds;
use crate::module::kernel::Kernel;

/// Checks the number, kinds, sizes and devices of the arguments.
#[inline]
pub(crate) fn check(call: &Invocation<'_>) -> Result<(), LaunchProblem> {
    let takes = call.kernel.arguments();
    match check_each(call) {
        Ok(passed) if passed == takes => Ok(()),
        // If the number of arguments is wrong, an argument seems wrong only because another argument belongs
        // there. The number may include specialization constants, which are no argument of the launch.
        checked if call.passed().count() == takes => checked.map(drop),
        _ => Err(LaunchProblem::ArgumentCount {
            takes: call.kernel.takes(),
            given: call.args.iter().map(Arg::lowered).sum(),
            names: call.names,
        }),
    }
}

/// The progress of a check.
struct Seen {
    /// The device arguments so far, including removed arguments.
    number: usize,
    /// The device arguments so far, without removed arguments.
    passed: usize,
    /// The work-group memory so far, in bytes.
    local: u64,
}

/// Checks the kinds, sizes and devices of the arguments, and returns the number of arguments that the device
/// gets. The mask of removed arguments may be longer than the list; only the arguments in the list count.
#[inline]
fn check_each(call: &Invocation<'_>) -> Result<usize, LaunchProblem> {
    let mut seen = Seen {
        number: 0,
        passed: 0,
        local: call.kernel.local_memory(),
    };
    for (index, arg) in call.args.iter().enumerate() {
        if let Some(value) = arg.plain() {
            check_value(call, index, value, &mut seen)?;
            continue;
        }
        if let Some((range, elements)) = arg.accessor_range() {
            range
                .check(elements)
                .map_err(|problem| LaunchProblem::Accessor {
                    index,
                    name: call.names[index],
                    problem,
                })?;
        }
        for part in 0..arg.lowered() {
            check_value(call, index, arg.raw(part), &mut seen)?;
        }
    }
    Ok(seen.passed)
}

/// Checks the device value of argument `index`, or of a part of it.
// Not inlined, as compilers choose by default, this function costs 10 ns for ten arguments.
#[inline(always)]
fn check_value(
    call: &Invocation<'_>,
    index: usize,
    value: Argument<'_>,
    seen: &mut Seen,
) -> Result<(), LaunchProblem> {
    let kernel = call.kernel;
    let number = seen.number;
    seen.number += 1;
    if kernel.is_eliminated(number) {
        return Ok(());
    }
    let position = seen.passed;
    seen.passed += 1;
    let kinds = kernel.kinds().get(position);
    if kinds.is_some_and(|kinds| !kinds.take(value)) {
        let takes = kernel.parameter(position);
        return Err(parameter_kinds::problem(
            index,
            call.names[index],
            value,
            takes,
        ));
    }
    let lies_on = match value {
        Argument::Bytes(_) | Argument::Pointer(_) | Argument::Null => return Ok(()),
        Argument::Memory(region, written) => {
            if region.offset != 0 {
                check_part(call, index, region)?;
            }
            if region.memory.is_mapped(written) {
                let name = call.names[index];
                return Err(LaunchProblem::Mapped { index, name });
            }
            if region.memory.is_for(kernel.raw_queue()) {
                return Ok(());
            }
            region.memory.device()
        }
        Argument::Sampler(sampler) => {
            if sampler.is_for(kernel.raw_queue()) {
                return Ok(());
            }
            sampler.device()
        }
        Argument::Image(image, _) => {
            if image.is_for(kernel.raw_queue()) {
                return Ok(());
            }
            image.device()
        }
        Argument::Local(bytes) => {
            seen.local = check_local(kernel, index, call.names[index], bytes, seen.local)?;
            return Ok(());
        }
    };
    Err(LaunchProblem::ArgumentDevice {
        index,
        name: call.names[index],
        buffer: Device::new(lies_on).to_string(),
        queue: kernel.queue().device().to_string(),
    })
}

/// Checks that a part of a buffer begins where the device allows.
fn check_part(
    call: &Invocation<'_>,
    index: usize,
    region: &Region<[()]>,
) -> Result<(), LaunchProblem> {
    // A part without elements is not used.
    if region.bytes() == 0 {
        return Ok(());
    }
    let alignment = region.memory.part_alignment();
    match alignment.filter(|alignment| !region.offset.is_multiple_of(*alignment)) {
        None => Ok(()),
        Some(alignment) => Err(LaunchProblem::Misaligned {
            index,
            name: call.names[index],
            offset: region.offset,
            alignment,
            device: call.kernel.queue().device().to_string(),
        }),
    }
}

/// Returns the amount of work-group memory in use, including `bytes`.
fn check_local(
    kernel: &Kernel,
    index: usize,
    name: &'static str,
    bytes: usize,
    used: u64,
) -> Result<u64, LaunchProblem> {
    let device = kernel.queue().device();
    let max = device.local_memory_bytes();
    let requested = bytes as u64;
    let total = used.saturating_add(requested);
    if total <= max {
        return Ok(total);
    }
    Err(LaunchProblem::LocalMemory {
        index,
        name,
        requested,
        used,
        max,
        device: device.to_string(),
    })
}
