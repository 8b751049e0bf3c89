// SPDX-License-Identifier: MIT OR Apache-2.0
//! Invocations: pass a kernel with any number of arguments from a launch to the driver.
//!
//! Launch types are generic over the number of arguments; an invocation is not. So its functions are compiled once, in
//! this crate, instead of in each program for each number of arguments.

use std::fmt;

use crate::backend::WaitList;
use crate::backend::failure::Failure;
use crate::backend::kernel::{Argument, Arguments, Values};
use crate::backend::range::Grid;
use crate::backend::slice::Region;
use crate::device::Device;
use crate::error::{Error, Result, join};
use crate::launch::arg::Arg;
use crate::launch::contract::{Broken, LaunchView};
use crate::launch::kernel::Kernel;
use crate::launch::range::AnyRange;
use crate::launch::{parameter_kinds, work_group};
use crate::load::code::Takes;
use crate::queue::event::Event;

/// A kernel with its arguments.
#[derive(Clone, Copy)]
pub(crate) struct Invocation<'l> {
    pub(crate) kernel: &'l Kernel,
    pub(crate) names: &'static [&'static str],
    pub(crate) args: &'l [Arg<'l>],
    pub(crate) after: &'l [&'l Event],
}

/// The conditions on arguments and range beyond the standard checks. They are checked last.
pub(crate) type Contract = fn(&LaunchView<'_>) -> Result<(), Broken>;

impl<'l> Invocation<'l> {
    /// Enqueues the kernel in the queue of its module.
    ///
    /// # Safety
    ///
    /// The requirements of [`Launch::launch`](crate::Launch::launch) apply, where `contract` holds.
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    pub(crate) unsafe fn launch(
        &self,
        range: &AnyRange,
        contract: Option<Contract>,
    ) -> Result<Event> {
        let kernel = self.kernel;
        let grid = self.checked(range, contract)?;
        let list;
        let after = if self.after.is_empty() {
            WaitList::NOTHING
        } else {
            list = kernel.queue().wait_list(self.after, Some(kernel.name()))?;
            &list
        };
        // SAFETY: the list contains only events of the context; the caller guarantees the rest.
        let launched = unsafe {
            kernel
                .raw()
                .launch(&kernel.checked().raw_queue, self, &grid, after)
        };
        match launched {
            Ok(event) => Ok(Event::of_kernel(kernel.command(), event)),
            Err((Some(position), failure)) => Err(self.refused(position, failure)),
            Err((None, failure)) => {
                let action = format!("launching kernel {}", kernel.name());
                Err(Error::driver(failure, action, kernel.queue().device()))
            }
        }
    }

    /// Returns the grid of `range` for the driver, if all checks pass and `contract` holds.
    #[inline]
    pub(crate) fn checked(&self, range: &AnyRange, contract: Option<Contract>) -> Result<Grid> {
        let kernel = self.kernel;
        let refused = |problem: String| Error::launch(kernel.name(), problem);
        check(self)?;
        let device = kernel.queue().device();
        let local = work_group::choose(range, &kernel.checked().limits, device).map_err(refused)?;
        if contract.is_some() && range.offset_extent().is_some() {
            return Err(refused(
                "its contract assumes ids that start at 0, but the range has an offset; declare the kernel without \
                 `safe` to launch it with an offset"
                    .to_owned(),
            ));
        }
        match contract.map(|holds| holds(&LaunchView::new(self.args, range, local))) {
            None | Some(Ok(())) => Ok(range.grid(local)),
            Some(Err(broken)) => Err(refused(broken.describe(self.names))),
        }
    }

    /// Returns whether the code contains the types of all arguments, so that the checks are complete. Otherwise a
    /// driver could interpret the bytes of a number as a handle.
    pub(crate) fn types_are_known(&self) -> bool {
        (0..self.passed().len()).all(|position| {
            let takes = self.kernel.parameter(position);
            takes.is_some_and(Takes::is_known)
        })
    }

    /// Creates the error for a value at `position` that the driver rejects.
    pub(crate) fn refused(&self, position: usize, failure: Failure) -> Error {
        let passed = self.passed();
        let index = passed.get(position).map_or(position, |(index, _)| *index);
        let argument = if index < self.args.len() {
            argument(self.names, index)
        } else {
            format!("argument {index} (specialization constants)")
        };
        let action = format!("setting {argument} of kernel {}", self.kernel.name());
        Error::driver(failure, action, self.kernel.queue().device())
    }

    /// Returns the device arguments in order, each with the index of its argument. The compiler can remove parts of
    /// arguments as well as whole arguments.
    pub(crate) fn passed(&self) -> Vec<(usize, Argument<'l>)> {
        let mut passed = Vec::new();
        let mut number = 0;
        for (index, arg) in self.args.iter().enumerate() {
            for part in 0..arg.lowered() {
                if !self.kernel.is_eliminated(number) {
                    passed.push((index, self.raw(arg, part, passed.len())));
                }
                number += 1;
            }
        }
        passed.extend(self.hidden().map(|value| (self.args.len(), value)));
        passed
    }

    /// Returns device argument `part` of `arg`, for the kernel's parameter at `position`.
    fn raw(&self, arg: &'l Arg<'l>, part: usize, position: usize) -> Argument<'l> {
        match (arg.raw(part), self.kernel.checked().constants.as_ref()) {
            (Argument::Null, Some(constants)) => {
                constants.argument(self.kernel.parameter(position))
            }
            (value, _) => value,
        }
    }

    /// Returns the address of specialization constants, if the kernel expects it after the arguments of the launch.
    fn hidden(&self) -> Option<Argument<'l>> {
        let kernel = self.kernel;
        let constants = kernel
            .checked()
            .constants
            .as_ref()
            .filter(|_| kernel.may_hide_constants())?;
        let number = self.args.iter().map(Arg::lowered).sum();
        let passed = (0..number).filter(|number| !kernel.is_eliminated(*number));
        let position = passed.count();
        if kernel.is_eliminated(number) || position + 1 != kernel.checked().arguments {
            return None;
        }
        let value = constants.argument(kernel.parameter(position));
        let kinds = kernel.checked().kinds.get(position);
        kinds.is_none_or(|kinds| kinds.take(value)).then_some(value)
    }
}

impl Values for Invocation<'_> {
    #[inline(always)]
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    unsafe fn give(&self, object: &mut impl Arguments) -> Result<(), (usize, Failure)> {
        let (mut number, mut position) = (0, 0);
        for arg in self.args {
            // This does not use `passed`, which has to track the part of an argument.
            if let Some(value) = arg.plain() {
                if !self.kernel.is_eliminated(number) {
                    // SAFETY: the caller upholds the same requirements.
                    let set = unsafe { object.set(position, value) };
                    set.map_err(|failure| (position, failure))?;
                    position += 1;
                }
                number += 1;
                continue;
            }
            for part in 0..arg.lowered() {
                if !self.kernel.is_eliminated(number) {
                    // SAFETY: the caller upholds the same requirements.
                    let set = unsafe { object.set_any(position, self.raw(arg, part, position)) };
                    set.map_err(|failure| (position, failure))?;
                    position += 1;
                }
                number += 1;
            }
        }
        if self.kernel.checked().constants.is_some()
            && let Some(value) = self.hidden()
        {
            // SAFETY: the caller upholds the same requirements.
            let set = unsafe { object.set_any(position, value) };
            set.map_err(|failure| (position, failure))?;
        }
        Ok(())
    }
}

/// Checks the number, kinds, sizes and devices of the arguments.
#[inline]
pub(crate) fn check(call: &Invocation<'_>) -> Result<()> {
    let takes = call.kernel.checked().arguments;
    match check_each(call) {
        Ok(passed) if passed == takes => Ok(()),
        Ok(passed) if passed + usize::from(call.hidden().is_some()) == takes => Ok(()),
        // Report a wrong number of arguments first, because the arguments are then out of place. The number may include
        // specialization constants, which are not an argument of the launch.
        checked if call.passed().len() == takes => checked.map(drop),
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

/// Checks the kinds, sizes and devices of the arguments, and returns the number of device arguments. The mask of
/// removed arguments may be longer than the list; only arguments in the list count.
#[inline]
fn check_each(call: &Invocation<'_>) -> Result<usize> {
    let mut seen = Seen {
        number: 0,
        passed: 0,
        local: call.kernel.checked().local_memory,
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
) -> Result<()> {
    let kernel = call.kernel;
    let number = seen.number;
    seen.number += 1;
    if kernel.is_eliminated(number) {
        return Ok(());
    }
    let position = seen.passed;
    seen.passed += 1;
    let kinds = kernel.checked().kinds.get(position);
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
                        "is mapped: the host still holds a view of its memory from Queue::map or Queue::map_mut; drop \
                         the view first (a view of a part maps the whole buffer)"
                    ),
                ));
            }
            if region.memory.is_for(&kernel.checked().raw_queue) {
                return Ok(());
            }
            region.memory.device()
        }
        Argument::Sampler(sampler) => {
            if sampler.is_for(&kernel.checked().raw_queue) {
                return Ok(());
            }
            sampler.device()
        }
        Argument::Image(image, _) => {
            if image.is_for(&kernel.checked().raw_queue) {
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
        format_args!("is on {place}, but the queue is on {queue}"),
    ))
}

/// Checks that the start of a part of a buffer is aligned as the device requires.
fn check_part(call: &Invocation<'_>, index: usize, region: &Region<[()]>) -> Result<()> {
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
                "starts at byte {} of its buffer, but on {} a part must start at a multiple of {alignment} bytes; use \
                 an array with an address, such as a DeviceArray, for other offsets",
                region.offset,
                call.kernel.queue().device()
            ),
        )),
    }
}

/// Returns the amount of work-group memory in use, including `bytes`.
fn check_local(call: &Invocation<'_>, index: usize, bytes: usize, used: u64) -> Result<u64> {
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
            "requests {requested} bytes of work-group memory in addition to {used} bytes that the kernel already \
             uses, but {device} has only {max}"
        ),
    ))
}

/// Creates the error for a problem of argument `index`.
#[cold]
fn of_argument(call: &Invocation<'_>, index: usize, problem: fmt::Arguments<'_>) -> Error {
    let problem = format_args!("{} {problem}", argument(call.names, index));
    Error::launch(call.kernel.name(), problem)
}

#[cold]
fn wrong_count(call: &Invocation<'_>) -> Error {
    let given: usize = call.args.iter().map(Arg::lowered).sum();
    let note = if given == call.args.len() {
        ""
    } else {
        "; each accessor counts as 4"
    };
    let names = match call.names {
        [] => String::new(),
        names => format!(" ({})", join(names)),
    };
    let takes = call.kernel.takes();
    let problem = format_args!("it takes {takes} arguments, {given} were given{names}{note}");
    Error::launch(call.kernel.name(), problem)
}

/// Formats an argument with its name, if known.
pub(crate) fn argument(names: &[&str], index: usize) -> String {
    match names.get(index) {
        Some(name) => format!("argument {index} ({name})"),
        None => format!("argument {index}"),
    }
}
