// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks of a launch's arguments, before the driver sees any of them.

use std::fmt;

use crate::backend::argument::Argument;
use crate::backend::slice::Region;
use crate::device::Device;
use crate::error::join;
use crate::launch::arg::Arg;
use crate::launch::invocation::Invocation;
use crate::launch::parameter_kinds;

/// Checks the number, kinds, sizes and devices of the arguments.
#[inline]
pub(crate) fn check(call: &Invocation<'_>) -> Result<(), String> {
    let takes = call.kernel.arguments();
    match check_each(call) {
        Ok(passed) if passed == takes => Ok(()),
        // If the number of arguments is wrong, an argument seems wrong only because another argument belongs
        // there. The number may include specialization constants, which are no argument of the launch.
        checked if call.passed().count() == takes => checked.map(drop),
        _ => Err(wrong_count(call)),
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
fn check_each(call: &Invocation<'_>) -> Result<usize, String> {
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
                .map_err(|problem| of_argument(call, index, format_args!("{problem}")))?;
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
) -> Result<(), String> {
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
        let problem = parameter_kinds::problem(value, takes);
        return Err(of_argument(call, index, format_args!("{problem}")));
    }
    let lies_on = match value {
        Argument::Bytes(_) | Argument::Pointer(_) | Argument::Null => return Ok(()),
        Argument::Memory(region, written) => {
            if region.offset != 0 {
                check_part(call, index, region)?;
            }
            if region.memory.is_mapped(written) {
                return Err(of_argument(
                    call,
                    index,
                    format_args!(
                        "is mapped: the host has a view of its memory, made by Queue::map or Queue::map_mut, that was \
                         not dropped; a view of a part counts for all of a buffer"
                    ),
                ));
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
            seen.local = check_local(call, index, bytes, seen.local)?;
            return Ok(());
        }
    };
    let (place, queue) = (Device::new(lies_on), kernel.queue().device());
    Err(of_argument(
        call,
        index,
        format_args!("is on {place}, queue is on {queue}"),
    ))
}

/// Checks that a part of a buffer begins where the device allows.
fn check_part(call: &Invocation<'_>, index: usize, region: &Region<[()]>) -> Result<(), String> {
    // A part without elements is not used.
    if region.bytes() == 0 {
        return Ok(());
    }
    let alignment = region.memory.part_alignment();
    match alignment.filter(|alignment| !region.offset.is_multiple_of(*alignment)) {
        None => Ok(()),
        Some(alignment) => Err(of_argument(
            call,
            index,
            format_args!(
                "begins at byte {} of its buffer; on {} a part begins at a multiple of {alignment} bytes, or is one of an \
                 array with addresses, such as a DeviceArray",
                region.offset,
                call.kernel.queue().device()
            ),
        )),
    }
}

/// Returns the amount of work-group memory in use, including `bytes`.
fn check_local(
    call: &Invocation<'_>,
    index: usize,
    bytes: usize,
    used: u64,
) -> Result<u64, String> {
    let device = call.kernel.queue().device();
    let max = device.local_memory_bytes();
    let requested = bytes as u64;
    let total = used.saturating_add(requested);
    if total <= max {
        return Ok(total);
    }
    Err(of_argument(
        call,
        index,
        format_args!(
            "asks for {requested} bytes of work-group memory, and the kernel uses {used} bytes besides; {device} has {max}"
        ),
    ))
}

/// Describes a problem of argument `index`.
#[cold]
fn of_argument(call: &Invocation<'_>, index: usize, problem: fmt::Arguments<'_>) -> String {
    format!("argument {index} ({}) {problem}", call.names[index])
}

#[cold]
fn wrong_count(call: &Invocation<'_>) -> String {
    let given: usize = call.args.iter().map(Arg::lowered).sum();
    let note = if given == call.names.len() {
        ""
    } else {
        "; each accessor counts as 4"
    };
    format!(
        "it takes {} arguments, {given} were given ({}){note}",
        call.kernel.takes(),
        join(call.names)
    )
}
