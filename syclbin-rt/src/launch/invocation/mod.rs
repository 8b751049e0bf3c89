// SPDX-License-Identifier: MIT OR Apache-2.0
//! Invocations: a kernel with any number of arguments, on its way from a launch to the driver.
//!
//! The types of launches contain the number of arguments. All launches use the functions here, so that these
//! functions are compiled once in this crate, and not in each program for each number.

pub(crate) mod validation;

use crate::backend::WaitList;
use crate::backend::failure::Failure;
use crate::backend::kernel::{Argument, Arguments, Values};
use crate::contract::LaunchView;
use crate::contract::broken::Broken;
use crate::error::launch_problem::LaunchProblem;
use crate::error::{Error, Result};
use crate::launch::arg::Arg;
use crate::launch::invocation::validation::check;
use crate::launch::parameter_kinds::Takes;
use crate::launch::range::{AnyRange, Grid};
use crate::launch::work_group;
use crate::module::kernel::Kernel;
use crate::queue::barrier::FLUSHING;
use crate::queue::event::{Event, Unwaitable};

/// A kernel with its arguments.
#[derive(Clone, Copy)]
pub(crate) struct Invocation<'l> {
    pub(crate) kernel: &'l Kernel,
    pub(crate) names: &'static [&'static str],
    pub(crate) args: &'l [Arg<'l>],
    pub(crate) after: &'l [&'l Event],
}

/// The conditions on arguments and range beyond the standard checks. They are checked last, after all other
/// checks.
pub(crate) type Contract = fn(&LaunchView<'_>) -> Result<(), Broken>;

impl<'l> Invocation<'l> {
    /// Enqueues the kernel in the queue of its module.
    ///
    /// # Safety
    ///
    /// As for [`Launch::launch`](crate::Launch::launch), where `contract` holds.
    #[allow(unsafe_code, reason = "as of `Launch::launch`")]
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
            list = self.wait_list()?;
            &list
        };
        // SAFETY: `wait_list` gives only events of the context; the rest is what the caller vouches for.
        let launched = unsafe { kernel.raw().launch(kernel.raw_queue(), self, &grid, after) };
        match launched {
            Ok(event) => Ok(Event::of_kernel(kernel, event)),
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
        let refused = |problem| Error::launch(kernel.name(), problem);
        check(self).map_err(refused)?;
        let device = kernel.queue().device();
        let local = work_group::choose(range, kernel.limits(), device).map_err(refused)?;
        if contract.is_some() && range.offset_extent().is_some() {
            return Err(refused(LaunchProblem::SafeOffset));
        }
        match contract.map(|holds| holds(&LaunchView::new(self.args, range))) {
            None | Some(Ok(())) => Ok(range.grid(local)),
            Some(Err(broken)) => Err(refused(LaunchProblem::contract(broken, self.names))),
        }
    }

    /// Returns whether the code contains the types of all arguments, so that the checks suffice for a driver.
    /// Otherwise a driver could take the bytes of a number for a handle.
    pub(crate) fn types_are_known(&self) -> bool {
        (0..self.passed().count()).all(|position| {
            let takes = self.kernel.parameter(position);
            takes.is_some_and(Takes::is_known)
        })
    }

    /// Creates the error of a driver that refuses the value at `position`.
    pub(crate) fn refused(&self, position: usize, failure: Failure) -> Error {
        let index = self.passed().nth(position).map(|(index, _)| index);
        let index = index.unwrap_or(position);
        let name = (self.names.get(index)).unwrap_or(&"specialization constants");
        let kernel_name = self.kernel.name();
        let action = format!("setting argument {index} ({name}) of kernel {kernel_name}");
        Error::driver(failure, action, self.kernel.queue().device())
    }

    /// Returns the events that the kernel waits for, for the driver.
    fn wait_list(&self) -> Result<WaitList<'l>> {
        let kernel = self.kernel;
        let queue = kernel.queue();
        Event::wait_list(self.after, queue).map_err(|unwaitable| match unwaitable {
            Unwaitable::Foreign(index) => {
                let event = self.after[index];
                let problem = LaunchProblem::EventDevice {
                    index,
                    event: event.what().to_string(),
                    device: event.queue().device().to_string(),
                    queue: queue.device().to_string(),
                };
                Error::launch(kernel.name(), problem)
            }
            Unwaitable::Failed(index, failure) => self.after[index].failed(failure),
            Unwaitable::Driver(failure) => Error::driver(failure, FLUSHING, queue.device()),
        })
    }

    /// Returns the values for the device, in its order, each with the index of its argument.
    pub(crate) fn passed(&self) -> Passed<'l> {
        Passed {
            call: *self,
            index: 0,
            part: 0,
            number: 0,
            position: 0,
        }
    }

    /// Returns device argument `part` of `arg`, which the kernel takes at `position`.
    fn raw(&self, arg: &'l Arg<'l>, part: usize, position: usize) -> Argument<'l> {
        match (arg.raw(part), self.kernel.constants()) {
            (Argument::Null, Some(constants)) => {
                constants.argument(self.kernel.parameter(position))
            }
            (value, _) => value,
        }
    }

    /// Returns the address of specialization constants, if the kernel takes it after the arguments of the launch.
    fn hidden(&self) -> Option<Argument<'l>> {
        let kernel = self.kernel;
        let constants = kernel.constants().filter(|_| kernel.may_hide_constants())?;
        let number = self.args.iter().map(Arg::lowered).sum();
        let passed = (0..number).filter(|number| !kernel.is_eliminated(*number));
        let position = passed.count();
        if kernel.is_eliminated(number) || position + 1 != kernel.arguments() {
            return None;
        }
        let value = constants.argument(kernel.parameter(position));
        let kinds = kernel.kinds().get(position);
        kinds.is_none_or(|kinds| kinds.take(value)).then_some(value)
    }
}

impl Values for Invocation<'_> {
    #[allow(unsafe_code, reason = "as of `Arguments::set`")]
    #[inline(always)]
    unsafe fn give(&self, object: &mut impl Arguments) -> Result<(), (usize, Failure)> {
        let (mut number, mut position) = (0, 0);
        for arg in self.args {
            // This does not use `passed`, which has to track the part of an argument.
            if let Some(value) = arg.plain() {
                if !self.kernel.is_eliminated(number) {
                    // SAFETY: as the caller says.
                    let set = unsafe { object.set(position, value) };
                    set.map_err(|failure| (position, failure))?;
                    position += 1;
                }
                number += 1;
                continue;
            }
            for part in 0..arg.lowered() {
                if !self.kernel.is_eliminated(number) {
                    // SAFETY: as the caller says.
                    let set = unsafe { object.set_any(position, self.raw(arg, part, position)) };
                    set.map_err(|failure| (position, failure))?;
                    position += 1;
                }
                number += 1;
            }
        }
        if self.kernel.constants().is_some()
            && let Some(value) = self.hidden()
        {
            // SAFETY: as the caller says.
            let set = unsafe { object.set_any(position, value) };
            set.map_err(|failure| (position, failure))?;
        }
        Ok(())
    }
}

/// The values for the device. The compiler removes parts of arguments as well as whole arguments.
pub(crate) struct Passed<'l> {
    call: Invocation<'l>,
    /// The next argument, and its next part. One past the last argument is the hidden argument.
    index: usize,
    part: usize,
    /// The next device argument, with and without removed arguments.
    number: usize,
    position: usize,
}

impl<'l> Iterator for Passed<'l> {
    type Item = (usize, Argument<'l>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (index, part, number) = (self.index, self.part, self.number);
            let Some(arg) = self.call.args.get(index) else {
                self.index = usize::MAX;
                let hidden = (index != usize::MAX).then(|| self.call.hidden());
                return hidden.flatten().map(|value| (index, value));
            };
            self.number += 1;
            self.part += 1;
            if self.part == arg.lowered() {
                self.index += 1;
                self.part = 0;
            }
            if !self.call.kernel.is_eliminated(number) {
                let position = self.position;
                self.position += 1;
                return Some((index, self.call.raw(arg, part, position)));
            }
        }
    }
}
