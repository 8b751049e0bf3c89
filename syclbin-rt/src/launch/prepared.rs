// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prepared launches: checked once, launched often, and updated only where they change.

use std::fmt;
use std::marker::PhantomData;

use crate::backend::WaitList;
use crate::error::launch_problem::LaunchProblem;
use crate::error::{Error, Result};
use crate::launch::Launch;
use crate::launch::bound_kernel::BoundKernel;
use crate::launch::invocation::validation::check;
use crate::launch::invocation::{Contract, Invocation};
use crate::launch::range::AnyRange;
use crate::launch::safe_launch::SafeLaunch;
use crate::queue::event::Event;

/// A kernel whose arguments and range are checked and set, to be launched repeatedly. Made by
/// [`Launch::prepare`].
///
/// A prepared launch keeps the memory of its arguments alive, so buffers may be dropped. Other launches and
/// copies may use the buffers. The kernel sees their content at the time it runs. Two prepared launches that
/// swap their buffers make the steps of a simulation:
///
/// ```no_run
/// # use syclbin_rt::{Arg, Buffer, Kernel, Launch, Result};
/// # fn steps(kernel: &Result<Kernel>, a: &mut Buffer<f32>, b: &mut Buffer<f32>) -> Result<()> {
/// # fn step<'a>(
/// #     kernel: &'a Result<Kernel>, from: &'a Buffer<f32>, to: &'a mut Buffer<f32>,
/// # ) -> Launch<'a, 2> {
/// #     Launch::new(kernel, &["from", "to"], [Arg::read(from), Arg::write(to)])
/// # }
/// let there = step(kernel, a, b).prepare(1024)?;
/// let back = step(kernel, b, a).prepare(1024)?;
/// for _ in 0..1000 {
///     // SAFETY: both buffers have 1024 elements.
///     unsafe {
///         there.launch()?;
///         back.launch()?;
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// Threads may launch a prepared launch at the same time. They do not wait, unless about 1,024 commands are in
/// the queue.
#[must_use = "nothing runs before `launch`"]
pub struct Prepared<const N: usize, R = AnyRange> {
    fixed: BoundKernel,
    range: PhantomData<fn(R)>,
}

/// A prepared launch with a contract, which held when the launch was prepared. Made by [`SafeLaunch::prepare`].
#[must_use = "nothing runs before `launch`"]
pub struct SafePrepared<const N: usize, R = AnyRange> {
    prepared: Prepared<N, R>,
}

impl<const N: usize, R: Into<AnyRange>> Launch<'_, N, R> {
    /// Checks the launch over `range` and sets all arguments, to launch it often. These checks are not
    /// repeated: a [`Prepared::launch`] costs one call of the driver.
    ///
    /// # Errors
    ///
    /// As for [`Launch::launch`], and in two more cases:
    ///
    /// - The launch has events to wait for ([`Launch::after`]). Pass events to each launch instead
    ///   ([`Prepared::launch_after`]).
    /// - The file does not contain the types of all parameters, as a file with only native code does not. No
    ///   caller guarantees them before [`Prepared::launch`]. [`Launch::record`] and [`SafeLaunch::prepare`]
    ///   take such kernels.
    pub fn prepare(self, range: impl Into<R>) -> Result<Prepared<N, R>> {
        check_types(&self.call()?)?;
        Prepared::new(&self, &range.into().into(), None)
    }
}

impl<const N: usize, R: Into<AnyRange>> SafeLaunch<'_, N, R> {
    /// Prepares the launch as [`Launch::prepare`] does, if the contract holds. It then holds for every launch,
    /// because a contract depends only on the arguments and the range, which stay.
    ///
    /// # Errors
    ///
    /// As for [`Launch::prepare`] and [`SafeLaunch::launch`].
    pub fn prepare(self, range: impl Into<R>) -> Result<SafePrepared<N, R>> {
        let (launch, contract) = self.parts();
        let prepared = Prepared::new(launch, &range.into().into(), Some(contract))?;
        Ok(SafePrepared { prepared })
    }
}

/// Arguments are set here and launched by `unsafe` functions later, so setting them must be sound by itself.
fn check_types(call: &Invocation<'_>) -> Result<()> {
    // A wrong number of arguments has its own error.
    let checked = check(call).and_then(|()| {
        if call.types_are_known() {
            Ok(())
        } else {
            Err(LaunchProblem::UnknownTypes)
        }
    });
    checked.map_err(|problem| Error::launch(call.kernel.name(), problem))
}

impl<const N: usize, R: Into<AnyRange>> Prepared<N, R> {
    fn new(
        launch: &Launch<'_, N, R>,
        range: &AnyRange,
        contract: Option<Contract>,
    ) -> Result<Self> {
        Ok(Self {
            fixed: BoundKernel::new(&launch.call()?, range, contract)?,
            range: PhantomData,
        })
    }

    /// Enqueues the kernel in the queue of its module, and returns without waiting for it, as
    /// [`Launch::launch`] does.
    ///
    /// # Errors
    ///
    /// When the driver refuses, and when it refused an argument of the last [change](Prepared::change).
    ///
    /// # Safety
    ///
    /// As for [`Launch::launch`].
    #[allow(unsafe_code, reason = "as of `Launch::launch`")]
    pub unsafe fn launch(&self) -> Result<Event> {
        // SAFETY: the duties are the same.
        unsafe { self.launch_after(&[]) }
    }

    /// Launches the kernel as [`Prepared::launch`] does, but only after all of `events` have finished. See
    /// [`Launch::after`].
    ///
    /// # Errors
    ///
    /// As for [`Prepared::launch`], and when an event is of another device.
    ///
    /// # Safety
    ///
    /// As for [`Launch::launch`].
    #[allow(unsafe_code, reason = "as of `Launch::launch`")]
    pub unsafe fn launch_after(&self, events: &[&Event]) -> Result<Event> {
        let BoundKernel {
            kernel,
            object,
            grid,
            ..
        } = &self.fixed;
        self.fixed.check_complete()?;
        let (queue, raw_queue) = (kernel.queue(), kernel.raw_queue());
        let list;
        let after = if events.is_empty() {
            WaitList::NOTHING
        } else {
            list = queue.wait_list(events)?;
            &list
        };
        // SAFETY: the events are of this context, and the arguments
        // are set, checked and kept; the rest is what the caller vouches for.
        let launched = unsafe { object.enqueue(raw_queue, grid, after) };
        let event = launched.map_err(|failure| {
            let action = format!("launching kernel {}", kernel.name());
            Error::driver(failure, action, queue.device())
        })?;
        // As for other launches, a failed flush is not a failure of the launch.
        let _ = raw_queue.flush();
        Ok(Event::of_kernel(kernel, event))
    }

    /// Changes this to `launch` over `range`: the same kernel with other arguments. All checks are repeated,
    /// and only the arguments that differ are set.
    ///
    /// ```no_run
    /// # use syclbin_rt::{Arg, Buffer, Kernel, Launch, Result};
    /// # fn growing(kernel: &Result<Kernel>, y: &mut Buffer<f32>) -> Result<()> {
    /// # fn scale<'a>(kernel: &'a Result<Kernel>, by: f32, y: &'a mut Buffer<f32>) -> Launch<'a, 2> {
    /// #     Launch::new(kernel, &["by", "y"], [Arg::scalar(by), Arg::write(y)])
    /// # }
    /// let mut prepared = scale(kernel, 1.0, y).prepare(1024)?;
    /// for by in [1.5, 2.0, 2.5] {
    ///     prepared.change(scale(kernel, by, y), 1024)?;
    ///     // SAFETY: the buffer has 1024 elements.
    ///     unsafe { prepared.launch()? };
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Launch::prepare`], and when `launch` is of another kernel. The prepared launch is then
    /// unchanged, unless the driver refused an argument. In that case it must be changed again before it can be
    /// launched.
    pub fn change(&mut self, launch: Launch<'_, N, R>, range: impl Into<R>) -> Result<()> {
        let range = range.into().into();
        let call = launch.call()?;
        check_types(&call)?;
        self.fixed.change(&call, &range, None)
    }
}

impl<const N: usize, R: Into<AnyRange>> SafePrepared<N, R> {
    /// Enqueues the kernel in the queue of its module, and returns without waiting for it, as
    /// [`SafeLaunch::launch`] does.
    ///
    /// # Errors
    ///
    /// As for [`Prepared::launch`].
    pub fn launch(&self) -> Result<Event> {
        self.launch_after(&[])
    }

    /// Launches the kernel as [`SafePrepared::launch`] does, but only after all of `events` have finished. See
    /// [`SafeLaunch::after`].
    ///
    /// # Errors
    ///
    /// As for [`Prepared::launch_after`].
    #[allow(
        unsafe_code,
        reason = "launching is unsafe; the author of the contract guarantees it"
    )]
    pub fn launch_after(&self, events: &[&Event]) -> Result<Event> {
        // SAFETY: the contract held of the arguments and the range, which are the same since.
        unsafe { self.prepared.launch_after(events) }
    }

    /// Changes this to `launch` over `range`, if its contract holds, as [`Prepared::change`] does.
    ///
    /// # Errors
    ///
    /// As for [`Prepared::change`] and [`SafeLaunch::launch`].
    pub fn change(&mut self, launch: SafeLaunch<'_, N, R>, range: impl Into<R>) -> Result<()> {
        let (launch, contract) = launch.parts();
        let range = range.into().into();
        let call = launch.call()?;
        self.prepared.fixed.change(&call, &range, Some(contract))
    }
}

impl<const N: usize, R> fmt::Debug for Prepared<N, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BoundKernel { kernel, grid, .. } = &self.fixed;
        write!(f, "Prepared({kernel:?} over {:?})", grid.sycl_order())
    }
}

impl<const N: usize, R> fmt::Debug for SafePrepared<N, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.prepared.fmt(f)
    }
}
