//! Calls: a kernel with any number of arguments, on its way from a launch to the driver.
//!
//! Launches know the number of their arguments, and all of them go through the functions here. So
//! these are a part of this crate, and not of each program once more for each number.

pub(crate) mod validation;

use crate::backend::argument::{Argument, Arguments, Values};
use crate::backend::dispatch::event::WaitList;
use crate::backend::failure::Failure;
use crate::contract::Given;
use crate::contract::broken::Broken;
use crate::error::launch_problem::LaunchProblem;
use crate::error::{Error, Result};
use crate::launch::arg::Arg;
use crate::launch::invocation::validation::check;
use crate::launch::parameter_kinds::Takes;
use crate::launch::range::{Grid, NdRange};
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

/// What has to hold of arguments and range beside what is always checked. It is asked last, of what
/// was checked.
pub(crate) type Contract = fn(&Given<'_>) -> Result<(), Broken>;

impl<'l> Invocation<'l> {
    /// Puts the kernel into the queue of its module.
    ///
    /// # Safety
    ///
    /// As of [`Launch::launch`](crate::Launch::launch), where `contract` holds.
    #[allow(unsafe_code, reason = "as of `Launch::launch`")]
    pub(crate) unsafe fn launch(
        &self,
        range: &NdRange,
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

    /// What the kernel is launched over for `range`, if all that can be checked is right and `contract`
    /// holds.
    #[inline]
    pub(crate) fn checked(&self, range: &NdRange, contract: Option<Contract>) -> Result<Grid> {
        let kernel = self.kernel;
        let refused = |problem| Error::launch(kernel.name(), problem);
        check(self).map_err(refused)?;
        let device = kernel.queue().device();
        let local = work_group::choose(range, kernel.limits(), device).map_err(refused)?;
        if contract.is_some() && range.offset_extent().is_some() {
            return Err(refused(LaunchProblem::SafeOffset));
        }
        match contract.map(|holds| holds(&Given::new(self.args, range))) {
            None | Some(Ok(())) => Ok(range.grid(local)),
            Some(Err(broken)) => Err(refused(LaunchProblem::contract(broken, self.names))),
        }
    }

    /// Whether the code tells the types of all arguments, so that what was checked of them is enough for
    /// a driver: it takes the bytes of a number for a handle where the kernel takes one.
    pub(crate) fn types_are_known(&self) -> bool {
        (0..self.passed().count()).all(|position| {
            let takes = self.kernel.parameter(position);
            takes.is_some_and(Takes::is_known)
        })
    }

    /// The error of a driver that refuses what it gets at `position`.
    pub(crate) fn refused(&self, position: usize, failure: Failure) -> Error {
        let index = self.passed().nth(position).map(|(index, _)| index);
        let (index, name) = index.map_or((position, "?"), |index| (index, self.names[index]));
        let kernel_name = self.kernel.name();
        let action = format!("setting argument {index} ({name}) of kernel {kernel_name}");
        Error::driver(failure, action, self.kernel.queue().device())
    }

    /// What the kernel waits for, for the driver.
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
            Unwaitable::Driver(failure) => Error::driver(failure, FLUSHING, queue.device()),
        })
    }

    /// What the device gets, in its order: the index of the argument it comes from, and the value.
    pub(crate) fn passed(&self) -> Passed<'l> {
        Passed {
            kernel: self.kernel,
            args: self.args,
            index: 0,
            part: 0,
            number: 0,
        }
    }
}

impl Values for Invocation<'_> {
    #[allow(unsafe_code, reason = "as of `Arguments::set`")]
    #[inline(always)]
    unsafe fn give(&self, object: &mut impl Arguments) -> Result<(), (usize, Failure)> {
        let (mut number, mut position) = (0, 0);
        for arg in self.args {
            // Not by `passed`, which has to remember in which part of an argument it is.
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
                    let set = unsafe { object.set_any(position, arg.raw(part)) };
                    set.map_err(|failure| (position, failure))?;
                    position += 1;
                }
                number += 1;
            }
        }
        Ok(())
    }
}

/// What the device gets of arguments. The compiler removes parts of arguments as well as whole ones.
pub(crate) struct Passed<'l> {
    kernel: &'l Kernel,
    args: &'l [Arg<'l>],
    /// Which argument is next, and which part of it.
    index: usize,
    part: usize,
    /// Which argument of the device is next, those counted that were removed.
    number: usize,
}

impl<'l> Iterator for Passed<'l> {
    type Item = (usize, Argument<'l>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (index, part, number) = (self.index, self.part, self.number);
            let arg = self.args.get(index)?;
            self.number += 1;
            self.part += 1;
            if self.part == arg.lowered() {
                self.index += 1;
                self.part = 0;
            }
            if !self.kernel.is_eliminated(number) {
                return Some((index, arg.raw(part)));
            }
        }
    }
}
