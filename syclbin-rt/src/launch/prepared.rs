// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prepared launches, which are checked once and launched repeatedly.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::backend::{
    AnyRange, Argument, Arguments, Failure, KernelObject, MemoryUse, Values, WaitList,
};
use crate::error::Result;
use crate::launch::invocation::Invocation;
use crate::launch::kernel::Kernel;
use crate::launch::{Checked, Launch, Unchecked};
use crate::queue::event::Event;

/// A kernel with arguments and a range that were checked in advance, to be launched repeatedly. Created by
/// [`Launch::prepare`].
///
/// A prepared launch keeps the memory of its arguments alive, so buffers may be dropped. Other launches and copies may
/// also use the buffers; the kernel uses the content that they have when it runs. For instance, a simulation can
/// alternate between two prepared launches with swapped buffers:
///
/// ```no_run
/// # use syclbin_rt::{Arg, Buffer, Kernel, Launch, Result};
/// # fn steps(kernel: &Kernel, a: &mut Buffer<f32>, b: &mut Buffer<f32>) -> Result<()> {
/// # fn step<'a>(
/// #     kernel: &'a Kernel, from: &'a Buffer<f32>, to: &'a mut Buffer<f32>,
/// # ) -> Launch<'a, 2> {
/// #     kernel.launch([Arg::read(from), Arg::write(to)])
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
/// Several threads may use a prepared launch at the same time. They do not wait for each other, unless about 1,024
/// commands are in the queue.
#[must_use = "nothing runs until `launch` is called"]
pub struct Prepared<R = AnyRange, T = Unchecked> {
    fixed: BoundKernel,
    of: PhantomData<fn(R, T)>,
}

/// A prepared launch with a contract, which was checked when the launch was prepared. Created by
/// [`SafeLaunch::prepare`](crate::SafeLaunch::prepare). The contract then holds for every launch, because it depends
/// only on the arguments and the range, and [`Prepared::change`] checks it again.
pub type SafePrepared<R = AnyRange> = Prepared<R, Checked>;

impl<const N: usize, R: Into<AnyRange>, T> Launch<'_, N, R, T> {
    /// Checks the launch over `range`, including its contract, and sets all arguments, so that the kernel can be
    /// launched repeatedly. Later launches skip the checks: [`Prepared::launch`] costs a single driver call.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Launch::launch`], and in two more cases:
    ///
    /// - The launch has events to wait for ([`Launch::after`]). Pass events to each launch instead
    ///   ([`Prepared::launch_after`]).
    /// - The launch has no contract, and the file does not contain the types of all parameters, for example because
    ///   the file contains only native code. This function is safe, so its caller does not guarantee the types.
    ///   [`Launch::record`] accepts such kernels.
    pub fn prepare(self, range: impl Into<R>) -> Result<Prepared<R, T>> {
        let call = self.call()?;
        check_types(&call)?;
        let fixed = BoundKernel::new(&call, range.into().into())?;
        let of = PhantomData;
        Ok(Prepared { fixed, of })
    }
}

/// Rejects kernels for which setting the arguments could be unsound. Without a contract, `prepare` is safe and only
/// the later launch is `unsafe`, so wrong argument types must be caught here.
fn check_types(call: &Invocation<'_>) -> Result<()> {
    // Reports a wrong number of arguments first.
    call.check()?;
    if call.contract.is_some() || call.kernel.types_are_known() {
        return Ok(());
    }
    Err(call.kernel.refused(
        "the file does not contain the types of all parameters, so a wrong argument could crash the driver; launch \
         the kernel without `prepare`, record it with `Launch::record`, or give it a contract",
    ))
}

impl<R: Into<AnyRange>, T> Prepared<R, T> {
    /// Replaces the arguments and the range with those of `launch`, which must launch the same kernel. Repeats all
    /// checks, including the contract.
    ///
    /// ```no_run
    /// # use syclbin_rt::{Arg, Buffer, Kernel, Launch, Result};
    /// # fn growing(kernel: &Kernel, y: &mut Buffer<f32>) -> Result<()> {
    /// # fn scale<'a>(kernel: &'a Kernel, by: f32, y: &'a mut Buffer<f32>) -> Launch<'a, 2> {
    /// #     kernel.launch([Arg::scalar(by), Arg::write(y)])
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
    /// Fails for the same reasons as [`Launch::prepare`], or if `launch` launches another kernel. On failure, the
    /// prepared launch is unchanged, unless the driver rejected an argument or another thread mapped its memory
    /// meanwhile. In these cases, it must be changed again before it can be launched.
    pub fn change<const N: usize>(
        &mut self,
        launch: Launch<'_, N, R, T>,
        range: impl Into<R>,
    ) -> Result<()> {
        let call = launch.call()?;
        check_types(&call)?;
        self.fixed.change(&call, range.into().into())
    }
}

impl<R> Prepared<R> {
    /// Enqueues the kernel on its module's queue, and returns without waiting for it, as [`Launch::launch`] does.
    ///
    /// # Errors
    ///
    /// Fails if the driver rejects the request, or if the last [change](Prepared::change) left the launch incomplete.
    ///
    /// # Safety
    ///
    /// The requirements of [`Launch::launch`] apply.
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    pub unsafe fn launch(&self) -> Result<Event> {
        // SAFETY: the caller upholds the same requirements.
        unsafe { self.fixed.launch(&[]) }
    }

    /// Launches the kernel as [`Prepared::launch`] does, but only after all of `events` have finished. See
    /// [`Launch::after`].
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Prepared::launch`], or if an event belongs to another device.
    ///
    /// # Safety
    ///
    /// The requirements of [`Launch::launch`] apply.
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    pub unsafe fn launch_after(&self, events: &[&Event]) -> Result<Event> {
        // SAFETY: the caller upholds the same requirements.
        unsafe { self.fixed.launch(events) }
    }
}

impl<R> Prepared<R, Checked> {
    /// Enqueues the kernel on its module's queue, and returns without waiting for it, as
    /// [`SafeLaunch::launch`](crate::SafeLaunch::launch) does.
    ///
    /// # Errors
    ///
    /// Fails if the driver rejects the request, or if the last [change](Prepared::change) left the launch incomplete.
    pub fn launch(&self) -> Result<Event> {
        self.launch_after(&[])
    }

    /// Launches the kernel as [`SafePrepared::launch`] does, but only after all of `events` have finished. See
    /// [`Launch::after`].
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`SafePrepared::launch`], or if an event belongs to another device.
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    pub fn launch_after(&self, events: &[&Event]) -> Result<Event> {
        // SAFETY: the contract held for the arguments and the range, which have not changed since.
        unsafe { self.fixed.launch(events) }
    }
}

impl<R, T> fmt::Debug for Prepared<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BoundKernel { kernel, range, .. } = &self.fixed;
        write!(f, "Prepared({kernel:?} over {})", range.global)
    }
}

/// A separate kernel object with its arguments, and the guards that keep the memory of these arguments alive.
pub(crate) struct BoundKernel {
    pub(crate) kernel: Kernel,
    pub(crate) object: KernelObject,
    kept: Vec<Option<Box<dyn Send + Sync>>>,
    pub(crate) range: AnyRange,
    /// Whether all arguments are set and none is mapped.
    complete: bool,
}

impl BoundKernel {
    /// Binds `call` over `range`, if the call is valid and its contract holds.
    pub(crate) fn new(call: &Invocation<'_>, range: AnyRange) -> Result<Self> {
        let (kernel, range) = (call.kernel, checked(call, range)?);
        let object = kernel.raw().object();
        let mut fixed = Self {
            kernel: kernel.clone(),
            object: object.map_err(|failure| kernel.failed("preparing", failure))?,
            kept: kernel.checked().parameters.iter().map(|_| None).collect(),
            range,
            complete: false,
        };
        fixed.set(call)?;
        Ok(fixed)
    }

    /// Switches to `call` over `range`, if the call is valid, launches the same kernel, and satisfies its contract.
    ///
    /// # Errors
    ///
    /// On failure, the bound kernel is unchanged, unless the driver rejected an argument or another thread mapped its
    /// memory meanwhile. In these cases, it is incomplete.
    fn change(&mut self, call: &Invocation<'_>, range: AnyRange) -> Result<()> {
        let (kernel, range) = (call.kernel, checked(call, range)?);
        if !kernel.is(&self.kernel) {
            return Err(kernel.refused(format_args!(
                "this launch was prepared for a different kernel ({}), or for the same kernel of another module or \
                 queue; prepare a new launch for this kernel",
                self.kernel.name()
            )));
        }
        self.set(call)?;
        self.range = range;
        Ok(())
    }

    #[allow(unsafe_code, reason = "argument kinds are checked or guaranteed")]
    fn set(&mut self, call: &Invocation<'_>) -> Result<()> {
        self.complete = false;
        // SAFETY: the kind of each argument is checked if the code contains the parameter types. Otherwise, the caller
        // of an unsafe function or the author of the contract guarantees it.
        unsafe { call.give(self) }?;
        // Checks again that no argument is mapped: a view may have begun before its memory counted as prepared.
        call.check()?;
        self.complete = true;
        Ok(())
    }

    /// Enqueues the kernel after all of `events`.
    ///
    /// # Safety
    ///
    /// The requirements of [`Launch::launch`] apply.
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    unsafe fn launch(&self, events: &[&Event]) -> Result<Event> {
        let (kernel, raw_queue) = (&self.kernel, &self.kernel.checked().raw_queue);
        if !self.complete {
            return Err(kernel.refused(
                "the last change of this prepared launch failed; change it again before you launch it",
            ));
        }
        let list;
        let after = if events.is_empty() {
            WaitList::NOTHING
        } else {
            list = kernel.queue().wait_list(events, None)?;
            &list
        };
        // SAFETY: the events belong to this context, and the arguments are set, checked and kept alive; the caller
        // guarantees the rest.
        let launched = unsafe { self.object.enqueue(raw_queue, &self.range, after) };
        let event = launched.map_err(|failure| kernel.failed("launching", failure))?;
        // As with other launches, a failed flush does not fail the launch.
        let _ = raw_queue.flush();
        Ok(Event::of_kernel(kernel.command(), event))
    }
}

impl<'a> Arguments<'a> for BoundKernel {
    #[allow(unsafe_code, reason = "the trait's function is unsafe")]
    unsafe fn set(&mut self, position: usize, value: Argument<'a>) -> Result<(), Failure> {
        // SAFETY: the caller upholds the same requirements.
        unsafe { self.object.set(position, value) }?;
        self.kept[position] = kept(value);
        Ok(())
    }
}

/// Checks everything that a launch checks. Returns the range with its work-group size.
fn checked(call: &Invocation<'_>, mut range: AnyRange) -> Result<AnyRange> {
    call.check()?;
    call.divide(&mut range)?;
    let fits = call.kernel.raw().check_range(&range);
    fits.map_err(|failure| call.kernel.failed("launching", failure))?;
    if call.after.is_empty() {
        return Ok(range);
    }
    Err(call.kernel.refused(
        "`after` does not work for a prepared launch or a recording; pass the events to wait for at each launch \
         (`launch_after`, `replay_after`)",
    ))
}

/// Returns a guard that keeps the argument's memory, sampler or image alive. A guard for memory also counts as a use of
/// that memory. Other arguments need no guard.
fn kept(value: Argument<'_>) -> Option<Box<dyn Send + Sync>> {
    match value {
        Argument::Memory(region, written) => {
            Some(Box::new(MemoryUse::new(&region.memory, written)))
        }
        Argument::Sampler(sampler) => Some(Box::new(Arc::clone(sampler))),
        Argument::Image(image, _) => Some(Box::new(Arc::clone(image))),
        Argument::Bytes(_) | Argument::Local(_) | Argument::Pointer(_) | Argument::Null => None,
    }
}
