// SPDX-License-Identifier: MIT OR Apache-2.0
//! Passes a kernel and any number of arguments to the driver.
//!
//! Launch types are generic over the number of arguments, but [`Invocation`] is not. So its functions are compiled
//! only once, in this crate, rather than in each program for each number of arguments.

use std::fmt;

use crate::backend::guard::StrayAccess;
use crate::backend::{
    self, AnyRange, Argument, Arguments, Failure, KernelObject, Region, Rejection, Values, WaitList,
};
use crate::device::Device;
use crate::error::{Error, MAPPED, Result, counted, join};
use crate::launch::arg::Arg;
use crate::launch::contract::{Broken, LaunchView};
use crate::launch::kernel::Kernel;
use crate::launch::{parameter_kinds, work_group};
use crate::queue::event::Event;

#[derive(Clone, Copy)]
pub(crate) struct Invocation<'l> {
    pub(crate) kernel: &'l Kernel,
    pub(crate) names: &'static [&'static str],
    pub(crate) args: &'l [Arg<'l>],
    pub(crate) after: &'l [&'l Event],
    pub(crate) root_sync: bool,
    /// If this is `None`, launching is unsafe.
    pub(crate) contract: Option<Contract>,
}

/// A function that checks a contract's conditions, in addition to the standard checks of a launch.
pub(crate) type Contract = fn(&LaunchView<'_>) -> Result<(), Broken>;

impl<'l> Invocation<'l> {
    /// Enqueues the kernel on its module's queue.
    ///
    /// # Safety
    ///
    /// The requirements of [`Launch::launch`](crate::Launch::launch) apply whenever the contract holds.
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    pub(crate) unsafe fn launch(&self, mut range: AnyRange) -> Result<Event> {
        let kernel = self.kernel;
        self.divide(&mut range)?;
        let list;
        let after = if self.after.is_empty() {
            WaitList::NOTHING
        } else {
            list = kernel.queue().wait_list(self.after, Some(kernel.name()))?;
            &list
        };
        let queue = &kernel.checked().raw_queue;
        // SAFETY: the list contains only events from the queue's context; the caller guarantees the rest.
        let event = unsafe { kernel.raw().launch(queue, self, &range, after) }?;
        Ok(Event::of_kernel(kernel.command(), event))
    }

    /// Checks `range`, and sets its work-group size unless the driver chooses it. Then checks the contract. Must be
    /// called before the kernel is locked, because the contract's conditions are user code.
    #[inline]
    pub(crate) fn divide(&self, range: &mut AnyRange) -> Result<()> {
        let Self { kernel, names, .. } = *self;
        let device = kernel.queue().device();
        work_group::choose(range, &kernel.checked().limits, device)
            .map_err(|problem| kernel.refused(problem))?;
        if self.root_sync {
            kernel.synchronize(range, self.check()?)?;
        }
        let Some(holds) = self.contract else {
            return Ok(());
        };
        if range.offset.is_some() {
            return Err(kernel.refused(
                "its contract assumes ids that start at 0, but the range has an offset; declare the kernel without \
                 `safe` to launch it with an offset",
            ));
        }
        holds(&LaunchView::new(self.args, range))
            .map_err(|broken| kernel.refused(broken.describe(names)))
    }

    /// Checks the number, kinds, sizes and devices of the arguments. Returns the total size of the work-group memory
    /// among them, in bytes.
    #[allow(unsafe_code, reason = "nothing is launched")]
    pub(crate) fn check(&self) -> Result<usize> {
        let mut check = CheckOnly(&self.kernel.checked().raw_queue, 0);
        // SAFETY: the values are only compared.
        unsafe { self.give(&mut check) }.map(|()| check.1)
    }

    /// Creates a kernel object with these arguments. The object borrows their memory.
    #[allow(unsafe_code, reason = "nothing is launched")]
    pub(crate) fn object(&self) -> Result<KernelObject> {
        let object = self.kernel.raw().object();
        let mut object = object.map_err(|failure| self.kernel.failed("preparing", failure))?;
        // SAFETY: nothing is launched, and the caller checks the kinds of arguments.
        unsafe { self.give(&mut object) }?;
        Ok(object)
    }

    /// Passes an argument that may consist of several device arguments.
    ///
    /// # Safety
    ///
    /// The requirements of [`Invocation::give`](Values::give) apply.
    #[inline(never)]
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    unsafe fn pass_parts(
        &self,
        index: usize,
        arg: &'l Arg<'l>,
        progress: &mut Progress,
        to: &mut impl Arguments<'l>,
    ) -> Result<()> {
        if let Some((range, elements)) = arg.accessor_range() {
            let checked = range.check(elements);
            checked.map_err(|problem| self.of_argument(index, problem))?;
        }
        // SAFETY: the caller upholds the same requirements.
        (0..arg.lowered())
            .try_for_each(|part| unsafe { self.pass_value(index, arg.raw(part), progress, to) })
    }

    /// Passes a device argument: argument `index`, or a part of it.
    ///
    /// # Safety
    ///
    /// The requirements of [`Invocation::give`](Values::give) apply.
    // Without the attribute, the compiler does not inline this function, which costs 10 ns for ten arguments.
    #[inline(always)]
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    unsafe fn pass_value(
        &self,
        index: usize,
        mut value: Argument<'l>,
        progress: &mut Progress,
        to: &mut impl Arguments<'l>,
    ) -> Result<()> {
        let checked = self.kernel.checked();
        let number = progress.number;
        progress.number += 1;
        if self.kernel.is_eliminated(number) {
            return Ok(());
        }
        let position = progress.passed;
        progress.passed += 1;
        let Some(ty) = checked.parameters.get(position).copied() else {
            return Err(self.wrong_count());
        };
        if !parameter_kinds::accepts(ty, value) {
            return Err(self.of_argument(index, parameter_kinds::problem(value, ty)));
        }
        match value {
            Argument::Memory(region, written) => {
                if region.offset != 0 {
                    self.check_part(index, region)?;
                }
                if region.memory.mapped.some(written) {
                    return Err(self.of_argument(index, MAPPED));
                }
            }
            Argument::Local(bytes) => {
                progress.local = self.check_local(index, bytes, progress.local)?;
            }
            Argument::Null => {
                if let Some(constants) = &checked.constants {
                    value = constants.argument(ty);
                }
            }
            _ => {}
        }
        // SAFETY: the kind is checked if the code contains the type; the caller guarantees the rest.
        let set = unsafe { to.set(position, value) };
        set.map_err(|failure| self.refused(index, value, failure))
    }

    /// Passes the address of the specialization constants, if the kernel expects it after the launch's arguments.
    ///
    /// # Safety
    ///
    /// The requirements of [`Invocation::give`](Values::give) apply.
    #[cold]
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    unsafe fn pass_hidden(&self, progress: &Progress, to: &mut impl Arguments<'l>) -> Result<()> {
        let (kernel, position) = (self.kernel, progress.passed);
        let rest = kernel.checked().parameters.get(position..);
        if let (Some(constants), Some([ty])) = (kernel.constants_behind(progress.number), rest) {
            let value = constants.argument(*ty);
            if parameter_kinds::accepts(*ty, value) {
                // SAFETY: the kind is checked; the caller guarantees the rest.
                let set = unsafe { to.set(position, value) };
                return set.map_err(|failure| self.refused(self.args.len(), value, failure));
            }
        }
        Err(self.wrong_count())
    }

    /// Creates the error for a value of argument `index` that the driver or the backend rejected.
    #[cold]
    fn refused(&self, index: usize, value: Argument<'_>, failure: Failure) -> Error {
        let queue = self.kernel.queue().device();
        if failure == Failure::FOREIGN
            && let Some(place) = value.device()
        {
            let elsewhere = self.kernel.queue().elsewhere(&Device::new(place));
            return self.of_argument(index, elsewhere);
        }
        let argument = if index < self.args.len() {
            argument(self.names, index)
        } else {
            format!("argument {index} (specialization constants)")
        };
        let action = format!("setting {argument} of kernel {}", self.kernel.name());
        Error::driver(failure, action, queue)
    }

    /// Creates the error for a kernel that accessed memory outside its buffers. The message names the nearest argument.
    #[cold]
    fn strayed(&self, access: &StrayAccess) -> Error {
        let parts =
            self.args.iter().enumerate().flat_map(|(index, arg)| {
                (0..arg.lowered()).map(move |part| (index, arg.raw(part)))
            });
        let buffer = Some(access.buffer.start as u64);
        let found = parts.filter_map(|(index, value)| match value {
            Argument::Memory(region, _) if region.memory.known_address() == buffer => {
                let byte = access.byte - region.offset.cast_signed();
                let past = byte - region.bytes().cast_signed();
                let element = region.element_bytes;
                Some((past.max(-byte), index, byte, region.bytes(), element))
            }
            _ => None,
        });
        let Some((_, index, byte, size, element)) = found.min() else {
            return self.kernel.refused(access);
        };
        let (verb, argument) = (access.verb(), argument(self.names, index));
        if access.depends_on_order() {
            let element = byte.unsigned_abs() / element.max(1);
            return (self.kernel).refused(format_args!("{verb} element {element} of {argument}"));
        }
        self.kernel.refused(format_args!(
            "{verb} byte {byte} of {argument}, which is {size} bytes long"
        ))
    }

    /// Returns the error to report for a mismatched argument: `error`, or a wrong number of arguments if that probably
    /// caused the mismatch.
    #[cold]
    fn misplaced(&self, error: Error) -> Error {
        let number = self.args.iter().map(Arg::lowered).sum();
        let passed = (0..number).filter(|number| !self.kernel.is_eliminated(*number));
        let hidden = self.kernel.constants_behind(number).map_or(0, |_| 1);
        let takes = self.kernel.checked().parameters.len();
        match takes.checked_sub(passed.count()) {
            Some(more) if more <= hidden => error,
            _ => self.wrong_count(),
        }
    }

    /// Checks that a part of a buffer starts at an offset that is aligned as the device requires.
    fn check_part(&self, index: usize, region: &Region<[()]>) -> Result<()> {
        // An empty part is never accessed.
        if region.bytes() == 0 {
            return Ok(());
        }
        let alignment = region.memory.part_alignment();
        let Some(alignment) = alignment.filter(|bytes| !region.offset.is_multiple_of(*bytes))
        else {
            return Ok(());
        };
        let problem = format_args!(
            "starts at byte {} of its buffer, but on {} a part must start at a multiple of {alignment} bytes; copy \
             the part to its own buffer, or use a DeviceArray where the device supports one",
            region.offset,
            self.kernel.queue().device()
        );
        Err(self.of_argument(index, problem))
    }

    /// Checks the work-group memory of an argument, and returns the total so far, including `bytes`.
    fn check_local(&self, index: usize, bytes: usize, used: u64) -> Result<u64> {
        let device = self.kernel.queue().device();
        let max = device.local_memory_bytes();
        let requested = bytes as u64;
        let total = used.saturating_add(requested);
        if total <= max {
            return Ok(total);
        }
        let problem = format_args!(
            "requests {requested} bytes of work-group memory in addition to {used} bytes that the kernel already \
             uses, but {device} has only {max}"
        );
        Err(self.of_argument(index, problem))
    }

    #[cold]
    fn of_argument(&self, index: usize, problem: impl fmt::Display) -> Error {
        let problem = format_args!("{} {problem}", argument(self.names, index));
        self.kernel.refused(problem)
    }

    #[cold]
    fn wrong_count(&self) -> Error {
        let given: usize = self.args.iter().map(Arg::lowered).sum();
        let note = if given == self.args.len() {
            ""
        } else {
            "; each accessor counts as 4"
        };
        let names = match self.names {
            [] => String::new(),
            names => format!(" ({})", join(names)),
        };
        let takes = counted(self.kernel.takes(), "argument");
        let problem = format_args!("expected {takes}, found {given}{names}{note}");
        self.kernel.refused(problem)
    }
}

impl<'l> Values<'l> for Invocation<'l> {
    type Error = Error;

    /// Checks each argument and passes it to `to`, except for arguments and parts that the compiler removed. Checks the
    /// number of arguments last.
    ///
    /// # Safety
    ///
    /// Where the code does not contain the parameter types, the arguments must match the kernel's parameters.
    #[inline(always)]
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    unsafe fn give(&self, to: &mut impl Arguments<'l>) -> Result<()> {
        let mut progress = Progress {
            number: 0,
            passed: 0,
            local: self.kernel.checked().local_memory,
        };
        for (index, arg) in self.args.iter().enumerate() {
            // SAFETY: the caller upholds the same requirements.
            let passed = unsafe {
                match arg.plain() {
                    Some(value) => self.pass_value(index, value, &mut progress, to),
                    None => self.pass_parts(index, arg, &mut progress, to),
                }
            };
            passed.map_err(|error| self.misplaced(error))?;
        }
        if progress.passed == self.kernel.checked().parameters.len() {
            return Ok(());
        }
        // SAFETY: the caller upholds the same requirements.
        unsafe { self.pass_hidden(&progress, to) }
    }

    #[cold]
    fn not_launched(&self, failure: Failure) -> Error {
        match failure {
            Failure::Rejected(Rejection::Strayed(access)) => {
                // The kernel ran, so an assert may have failed too.
                self.kernel.command().note_launch();
                self.strayed(access)
            }
            _ => self.kernel.failed("launching", failure),
        }
    }
}

struct Progress {
    /// The number of device arguments so far, including removed arguments.
    number: usize,
    /// The number of device arguments so far, excluding removed arguments.
    passed: usize,
    /// The work-group memory so far, in bytes.
    local: u64,
}

/// Checks that values belong to the queue's context, without setting any arguments. Adds up work-group memory.
struct CheckOnly<'k>(&'k backend::Queue, usize);

impl<'a> Arguments<'a> for CheckOnly<'_> {
    #[allow(unsafe_code, reason = "the trait's function is unsafe")]
    unsafe fn set(&mut self, _position: usize, value: Argument<'a>) -> Result<(), Failure> {
        if let Argument::Local(bytes) = value {
            self.1 += bytes; // alignment may require more, but drivers round sizes up anyway
        }
        let fits = match value {
            Argument::Memory(region, _) => self.0.is_in(region.memory.context()),
            Argument::Sampler(sampler) => self.0.is_in(&*sampler.context),
            Argument::Image(image, _) => self.0.is_in(&*image.context),
            _ => true,
        };
        fits.then_some(()).ok_or(Failure::FOREIGN)
    }
}

pub(crate) fn argument(names: &[&str], index: usize) -> String {
    match names.get(index) {
        Some(name) => format!("argument {index} ({name})"),
        None => format!("argument {index}"),
    }
}

#[cfg(test)]
#[path = "invocation_tests.rs"]
mod tests;
