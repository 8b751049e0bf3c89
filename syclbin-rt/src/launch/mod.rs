// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches: every mistake visible on the host becomes an error before the driver sees the kernel.
#![allow(
    unsafe_code,
    reason = "what a kernel does is beyond every check; the duty is the caller's, or the author's of a contract"
)]

pub(crate) mod accessor;
pub(crate) mod arg;
pub(crate) mod contract;
pub(crate) mod invocation;
pub(crate) mod kernel;
pub(crate) mod number;
pub(crate) mod parameter_kinds;
pub(crate) mod prepared;
pub(crate) mod range;
pub(crate) mod recording;
pub(crate) mod sampler;
pub(crate) mod work_group;

use std::marker::PhantomData;

use crate::backend::kernel::KernelAttributes;
use crate::error::{Error, Result};
use crate::launch::arg::Arg;
use crate::launch::contract::{Broken, LaunchView};
use crate::launch::invocation::{Contract, Invocation};
use crate::launch::kernel::Kernel;
use crate::launch::range::AnyRange;
use crate::queue::event::Event;

/// A kernel and its arguments, to be launched over a range.
///
/// Generated functions return it, and [`Kernel::launch`] for kernels whose names are known only at run time.
///
/// `R` is the type of its range:
///
/// | kernel | range |
/// |---|---|
/// | of `D` dimensions | [`NdRange<D>`](crate::NdRange), from a number (`D` is 1) or `[usize; D]` |
/// | of `D` dimensions, compiled for one work-group size | [`Range<D>`](crate::Range), from the same |
/// | `single_task` | `()` |
/// | of unknown dimensions | [`AnyRange`], from any of these |
#[derive(Debug)]
#[must_use = "nothing runs before `launch`"]
pub struct Launch<'a, const N: usize, R = AnyRange> {
    kernel: Result<&'a Kernel>,
    /// For messages; empty if they are not known.
    names: &'static [&'static str],
    args: [Arg<'a>; N],
    after: &'a [&'a Event],
    range: PhantomData<fn(R)>,
}

impl<'a, const N: usize> Launch<'a, N> {
    /// Creates a launch of `kernel` with `args`. Messages use the `names` of the arguments. For generated code, where a
    /// kernel that does not fit the device only fails when it is launched.
    #[doc(hidden)]
    pub fn new(
        kernel: &'a Result<Kernel>,
        names: &'static [&'static str; N],
        args: [Arg<'a>; N],
    ) -> Self {
        Self::of(kernel.as_ref().map_err(Error::clone), names, args)
    }

    pub(crate) fn of(
        kernel: Result<&'a Kernel>,
        names: &'static [&'static str],
        args: [Arg<'a>; N],
    ) -> Self {
        Self {
            kernel,
            names,
            args,
            after: &[],
            range: PhantomData,
        }
    }

    /// Returns the same launch, restricted to ranges of type `R`.
    ///
    /// ```no_run
    /// # use syclbin_rt::{Arg, Buffer, Event, Range, Kernel, Result};
    /// # fn coords(kernel: &Kernel, out: &mut Buffer<i32>) -> Result<Event> {
    /// let launch = kernel.launch([Arg::write(out)]).with_range::<Range<3>>();
    /// // SAFETY: `coords` writes an element for each work-item.
    /// unsafe { launch.launch([4, 8, 16]) }
    /// # }
    /// ```
    pub fn with_range<R: Into<AnyRange>>(self) -> Launch<'a, N, R> {
        Launch {
            kernel: self.kernel,
            names: self.names,
            args: self.args,
            after: self.after,
            range: PhantomData,
        }
    }
}

impl<'a, const N: usize, R: Into<AnyRange>> Launch<'a, N, R> {
    /// Delays the launch until all of `events` have finished. Their commands may be in any queue of the device.
    /// The list replaces an earlier one.
    ///
    /// If one of their commands fails, the kernel does not run. The kernel's own event should report this, but
    /// not all drivers do so. On Intel's CPU device (2026.2) only a future, `event.await`, reports it, and only
    /// if it is polled before the kernel would have ended.
    ///
    /// ```no_run
    /// # use syclbin_rt::{Arg, Buffer, Event, Kernel, Result};
    /// # fn coords(kernel: &Kernel, out: &mut Buffer<i32>, uploaded: &Event) -> Result<Event> {
    /// let launch = kernel.launch([Arg::write(out)]);
    /// // SAFETY: `coords` writes an element for each work-item.
    /// unsafe { launch.after(&[uploaded]).launch([4, 8, 16]) }
    /// # }
    /// ```
    pub fn after(self, events: &'a [&'a Event]) -> Self {
        Self {
            after: events,
            ..self
        }
    }

    /// Enqueues the kernel in the queue of its module, and returns without waiting for it.
    ///
    /// A queue holds about 1,024 commands, so a thread that launches faster than the device computes sometimes
    /// waits.
    ///
    /// The kernel starts after every command that was put into that queue before, unless the queue is
    /// [out of order](crate::QueueOptions::out_of_order). It also starts after the events that
    /// [`Launch::after`] names. With at most eight events, the path to the driver does not allocate.
    ///
    /// # Errors
    ///
    /// When the kernel does not fit the device, and when the driver refuses. Also when the number of arguments,
    /// the device of a buffer or an event, or the range is invalid.
    ///
    /// # Safety
    ///
    /// Rust cannot check the kernel's code. The caller guarantees that
    ///
    /// - each argument has the type of the kernel's parameter ([`Arg`] has a table of them), with
    ///   elements and structs laid out like those the kernel sees;
    /// - pointers are aligned as their types in C++. A part of an array may begin at any byte, and a buffer
    ///   of a type with `alignas` has the alignment that its driver gives to all memory;
    /// - pointers, also those inside values, buffers and device globals, are of memory on this device that
    ///   lives until the kernel has finished. A [`DeviceArray`](crate::DeviceArray) guarantees this on every
    ///   queue of its device;
    /// - a range of [`AnyRange`] has the dimensions of the kernel;
    /// - work-group memory and accessors reach as far as the kernel does;
    /// - the kernel stays inside the buffers, with these arguments, over this range;
    /// - images have a format with the components that the kernel reads or writes, and a kernel without a sampler
    ///   that clamps or repeats stays inside the images;
    /// - buffers passed with [`Arg::read`] are only read;
    /// - the work-items do not race with each other;
    /// - while the kernel runs, nothing on another queue uses a buffer that this kernel writes, nor writes one
    ///   that it reads. This also holds for commands on this queue if it is out of order.
    pub unsafe fn launch(self, range: impl Into<R>) -> Result<Event> {
        // SAFETY: the duties are the same.
        unsafe { self.call()?.launch(&range.into().into(), None) }
    }

    /// Returns the kernel.
    ///
    /// # Errors
    ///
    /// When the kernel does not fit the device.
    pub fn kernel(&self) -> Result<&'a Kernel> {
        self.kernel.clone()
    }

    /// Asks the driver about the compiled kernel, as [`Kernel::attributes`] does. The arguments do not matter.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Launch::kernel`] and [`Kernel::attributes`].
    pub fn attributes(&self) -> Result<KernelAttributes> {
        self.kernel()?.attributes()
    }

    /// Creates the invocation, which has the same type for every number of arguments.
    ///
    /// # Errors
    ///
    /// When the kernel is missing.
    pub(crate) fn call(&self) -> Result<Invocation<'_>> {
        Ok(Invocation {
            kernel: self.kernel()?,
            names: self.names,
            args: &self.args,
            after: self.after,
        })
    }
}

/// A launch of a kernel with a contract. If the contract does not hold, the launch is an error and does not
/// reach the driver.
///
/// Generated stubs return it for a kernel with a contract in [`include_syclbin!`](crate::include_syclbin).
/// Launching is then a safe function, so others than its caller meet all duties of [`Launch::launch`]:
///
/// | duty | met by |
/// |---|---|
/// | the arguments have the types of the parameters | the stub, whose types are those of the file; number, kinds and sizes are checked at launch |
/// | buffers are on this device and live until the kernel has finished | checked at launch; the driver keeps them |
/// | the range has the dimensions of the kernel | its type |
/// | no argument that is written is passed a second time | the borrow checker: the stub takes `&mut` |
/// | addresses are aligned as the types in C++ | the contract has conditions where a part may not be: `alignas` and `void *` |
/// | accessors end inside their buffers, and there is as much work-group memory as is asked for | checked at launch |
/// | range and work-groups are ones that the kernel was compiled for, and no id is larger than it counts | checked at launch |
/// | launches that use the same buffer do not race | an in-order queue; for several queues or an out-of-order queue, the author |
/// | the kernel stays inside buffers and work-group memory | the contract, and its author |
/// | all other duties | the author of the contract |
///
/// # What the author of a contract guarantees
///
/// By writing `unsafe extern "SYCL"`, the author guarantees that every launch which the contract allows is defined
/// behaviour of C++ and SYCL. The kernel stays inside its memory and never divides by zero. All work-items of a
/// group get to a barrier, or none of them does. Callers choose the rest, possibly the worst values, so the
/// guarantee covers
///
/// - every value of an argument that the contract does not bound;
/// - whatever the buffers and device globals hold, also if another launch or another work-item writes
///   them while the kernel runs. A race may leave any numbers in a buffer, but not lead out of it. A
///   kernel reads an index from a buffer once, and then checks what it has read;
/// - every value of a specialization constant;
/// - every definition of the functions that the kernel imports, since callers choose the files that
///   are linked to it;
/// - every range of as many dimensions as the kernel has. Where the file does not record that number, the
///   contract states it;
/// - every size of work-groups that the kernel and the device allow, also those the driver chooses. A contract
///   sees none of these sizes. So a kernel whose work-group memory depends on the size must fix it in C++
///   (`work_group_size`).
///
/// Some kernels have no sufficient contract:
///
/// - kernels that follow a pointer from a value, a buffer or a device global, since a
///   [`DevicePointer`](crate::DevicePointer) is any number;
/// - kernels that read a `bool` from a buffer or a device global. Rust has a byte there that may be neither 0
///   nor 1 (a `bool` in a value is checked);
/// - kernels that write through a pointer to `const`.
#[derive(Debug)]
#[must_use = "nothing runs before `launch`"]
pub struct SafeLaunch<'a, const N: usize, R = AnyRange> {
    launch: Launch<'a, N, R>,
    contract: Contract,
}

impl<'a, const N: usize, R: Into<AnyRange>> SafeLaunch<'a, N, R> {
    /// Creates a launch that is safe wherever `contract` holds. For generated code only.
    ///
    /// # Safety
    ///
    /// Whenever `contract` is `Ok`, the duties of [`Launch::launch`] are met.
    #[doc(hidden)]
    pub unsafe fn new(
        launch: Launch<'a, N, R>,
        contract: fn(&LaunchView<'_>) -> Result<(), Broken>,
    ) -> Self {
        Self { launch, contract }
    }

    /// Delays the launch until all of `events` have finished, as [`Launch::after`] does.
    pub fn after(self, events: &'a [&'a Event]) -> Self {
        Self {
            launch: self.launch.after(events),
            ..self
        }
    }

    /// Enqueues the kernel in the queue of its module if the contract holds, and returns without waiting for
    /// it. It works as [`Launch::launch`] does, but is safe.
    ///
    /// # Errors
    ///
    /// When the contract does not hold; and as for
    /// [`Launch::launch`].
    pub fn launch(self, range: impl Into<R>) -> Result<Event> {
        // SAFETY: `new` was told that the duties are met where the contract holds.
        unsafe {
            let call = self.launch.call()?;
            call.launch(&range.into().into(), Some(self.contract))
        }
    }

    /// Returns the kernel, as [`Launch::kernel`] does.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Launch::kernel`].
    pub fn kernel(&self) -> Result<&'a Kernel> {
        self.launch.kernel()
    }

    /// Asks the driver about the compiled kernel, as [`Launch::attributes`] does.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Launch::attributes`].
    pub fn attributes(&self) -> Result<KernelAttributes> {
        self.launch.attributes()
    }

    /// Returns the launch and its contract.
    pub(crate) fn parts(&self) -> (&Launch<'a, N, R>, Contract) {
        (&self.launch, self.contract)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::queue::QueueOptions;
    use crate::common;
    use crate::device::Device;
    use crate::memory::buffer::Buffer;
    use crate::queue::Queue;

    /// A public queue shares the context of its device; this one stands for another device.
    fn foreign_queue(device: &Device) -> Queue {
        let context = device.driver_device().separate_context().unwrap();
        Queue::in_context(device, context, QueueOptions::new()).unwrap()
    }

    #[test]
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    fn buffer_of_another_context_is_refused() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let kernel = common::kernel(&queue, "vector_ops.object.syclbin", "saxpy");
        let foreign = foreign_queue(queue.device()).upload(&[1.0f32])?;
        let mut y = queue.upload(&[1.0f32])?;
        let args = [
            Arg::scalar(1.0f32),
            Arg::read(&foreign),
            Arg::write(&mut y),
            Arg::scalar(1u32),
        ];
        // SAFETY: refused before the driver sees it.
        let launched = unsafe { Launch::new(&kernel, &["a", "x", "y", "n"], args).launch(1) };
        let device = queue.device();
        assert_eq!(
            launched.unwrap_err().to_string(),
            format!("kernel saxpy: argument 1 (x) is on {device}, queue is on {device}")
        );
        assert_eq!(queue.download(&y)?, [1.0]);
        Ok(())
    }

    #[test]
    fn a_copy_from_another_context_is_refused() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let foreign = foreign_queue(queue.device()).upload(&[1.0f32])?;
        let message = queue.download(&foreign).unwrap_err().to_string();
        assert!(message.starts_with("the buffer is on "), "{message}");
        Ok(())
    }

    #[test]
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    fn event_of_another_context_is_refused() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        fn iota<'a>(kernel: &'a Result<Kernel>, out: &'a mut Buffer<f32>) -> Launch<'a, 3> {
            let args = [Arg::scalar(0.0f32), Arg::write(out), Arg::scalar(2i32)];
            Launch::new(kernel, &["start", "out", "count"], args)
        }
        let symbol = "_ZN18__sycl_kernel_fill4iotaEfPfi";
        let file = "vector_ops.object.syclbin";
        let foreign = foreign_queue(queue.device());
        let there = common::kernel(&foreign, file, symbol);
        let here = common::kernel(&queue, file, symbol);
        let mut out = foreign.zeroed::<f32>(2)?;
        // SAFETY: two elements are written, here and below.
        let event = unsafe { iota(&there, &mut out).launch(1)? };
        let mut out = queue.upload(&[7.0f32; 2])?;
        // SAFETY: refused before the driver sees it.
        let launched = unsafe { iota(&here, &mut out).after(&[&event]).launch(1) };
        let device = queue.device();
        assert_eq!(
            launched.unwrap_err().to_string(),
            format!(
                "kernel fill::iota: event 0 to wait for (running kernel fill::iota) is on {device}, \
                 queue is on {device}"
            )
        );
        assert_eq!(queue.download(&out)?, [7.0; 2]);
        event.wait()
    }
}
