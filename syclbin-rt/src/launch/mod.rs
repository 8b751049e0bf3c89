// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches. Mistakes that the host can detect are reported before the driver receives the kernel.

pub(crate) mod accessor;
pub(crate) mod arg;
pub(crate) mod contract;
pub(crate) mod invocation;
pub(crate) mod kernel;
pub(crate) mod number;
pub(crate) mod parameter_kinds;
pub(crate) mod prepared;
pub(crate) mod recording;
pub(crate) mod work_group;

use std::marker::PhantomData;

use crate::backend::{AnyRange, KernelAttributes};
use crate::error::{Error, Result};
use crate::launch::arg::Arg;
use crate::launch::contract::{Broken, LaunchView};
use crate::launch::invocation::{Contract, Invocation};
use crate::launch::kernel::Kernel;
use crate::queue::event::Event;

/// A kernel and its arguments, to be launched over a range.
///
/// Returned by generated functions, and by [`Kernel::launch`] for kernels whose names are known only at run time.
///
/// `R` is the type of the range. Some other types convert to it:
///
/// | kernel | range | converted from |
/// |---|---|---|
/// | `D` dimensions | [`NdRange<D>`](crate::NdRange) | a number (if `D` is 1) or `[usize; D]` |
/// | `D` dimensions, with a required work-group size | [`Range<D>`](crate::Range) | the same types |
/// | `single_task` | `()` | |
/// | unknown dimensions | [`AnyRange`] | any of these |
#[derive(Debug)]
#[must_use = "nothing runs until `launch` is called"]
pub struct Launch<'a, const N: usize, R = AnyRange, T = Unchecked> {
    kernel: Result<&'a Kernel>,
    /// Parameter names for messages; empty if unknown.
    names: &'static [&'static str],
    args: [Arg<'a>; N],
    after: &'a [&'a Event],
    root_sync: bool,
    /// Present if `T` is [`Checked`].
    contract: Option<Contract>,
    types: PhantomData<fn(R, T)>,
}

/// Marks a launch without a contract: launching is unsafe.
#[derive(Debug)]
pub struct Unchecked;

/// Marks a launch with a contract: launching is safe.
#[derive(Debug)]
pub struct Checked;

impl<'a, const N: usize> Launch<'a, N> {
    /// Creates a launch of `kernel` with `args`, whose `names` appear in messages. Generated code calls this. `kernel`
    /// is a `Result`, because a kernel that the device cannot run is an error only when it is launched.
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
            root_sync: false,
            contract: None,
            types: PhantomData,
        }
    }

    /// Restricts the launch to ranges of type `R`.
    ///
    /// ```no_run
    /// # use syclbin_rt::{Arg, Buffer, Event, Range, Kernel, Result};
    /// # fn coords(kernel: &Kernel, out: &mut Buffer<i32>) -> Result<Event> {
    /// let launch = kernel.launch([Arg::write(out)]).with_range::<Range<3>>();
    /// // SAFETY: `coords` writes one element for each work-item, and `out` is long enough.
    /// unsafe { launch.launch([4, 8, 16]) }
    /// # }
    /// ```
    pub fn with_range<R: Into<AnyRange>>(self) -> Launch<'a, N, R> {
        self.retyped(None)
    }
}

impl<'a, const N: usize, R, T> Launch<'a, N, R, T> {
    fn retyped<S, U>(self, contract: Option<Contract>) -> Launch<'a, N, S, U> {
        Launch {
            kernel: self.kernel,
            names: self.names,
            args: self.args,
            after: self.after,
            root_sync: self.root_sync,
            contract,
            types: PhantomData,
        }
    }

    /// Makes the kernel wait for all of `events`, which may belong to any queue of the device. A later call replaces
    /// the list.
    ///
    /// If the command of one of these events fails, the kernel does not run. The kernel's event should report the
    /// failure, but not every driver does this. Intel's CPU driver (2026.2) reports it only to a future (`event.await`)
    /// that is polled before the kernel would have finished.
    ///
    /// ```no_run
    /// # use syclbin_rt::{Arg, Buffer, Event, Kernel, Result};
    /// # fn coords(kernel: &Kernel, out: &mut Buffer<i32>, uploaded: &Event) -> Result<Event> {
    /// let launch = kernel.launch([Arg::write(out)]);
    /// // SAFETY: `coords` writes one element for each work-item, and `out` is long enough.
    /// unsafe { launch.after(&[uploaded]).launch([4, 8, 16]) }
    /// # }
    /// ```
    pub fn after(mut self, events: &'a [&'a Event]) -> Self {
        self.after = events;
        self
    }

    /// Makes all work-groups run at the same time, so that a kernel can use a barrier across all of them
    /// (`group_barrier(item.ext_oneapi_get_root_group())`). SYCL calls this property `use_root_sync`, and CUDA calls it
    /// a cooperative launch. With DPC++ 2026.2, a launch may execute only one such barrier: a second one can wait forever.
    ///
    /// [`Kernel::max_root_groups`] returns the maximum number of work-groups. If the range sets no work-group size, the
    /// launch uses the [suggested size](Kernel::suggested_local_size).
    ///
    /// Without this property, such a barrier is undefined behavior in SYCL, unless there is only one work-group. On
    /// CUDA, it ends the kernel, and everything in the CUDA context is lost.
    ///
    /// ```no_run
    /// # use syclbin_rt::{Arg, Buffer, Event, Kernel, NdRange, Result};
    /// # fn two_phases(kernel: &Kernel, cells: &mut Buffer<f32>) -> Result<Event> {
    /// let groups = kernel.max_root_groups(256, 0)?;
    /// let launch = kernel.launch([Arg::write(cells)]).root_sync();
    /// // SAFETY: the work-items divide the elements of `cells` among themselves, for any number of work-groups.
    /// unsafe { launch.launch(NdRange::new(groups * 256).local(256)) }
    /// # }
    /// ```
    pub fn root_sync(mut self) -> Self {
        self.root_sync = true;
        self
    }

    /// Returns the kernel.
    ///
    /// # Errors
    ///
    /// Fails if the kernel cannot run on the device.
    pub fn kernel(&self) -> Result<&'a Kernel> {
        self.kernel.clone()
    }

    /// Queries the driver for the attributes of the compiled kernel, as [`Kernel::attributes`] does. The arguments do
    /// not matter.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Launch::kernel`] and [`Kernel::attributes`].
    pub fn attributes(&self) -> Result<KernelAttributes> {
        self.kernel()?.attributes()
    }

    /// Creates the invocation, whose type does not depend on the number of arguments.
    ///
    /// # Errors
    ///
    /// Fails if the kernel is not available.
    pub(crate) fn call(&self) -> Result<Invocation<'_>> {
        Ok(Invocation {
            kernel: self.kernel()?,
            names: self.names,
            args: &self.args,
            after: self.after,
            root_sync: self.root_sync,
            contract: self.contract,
        })
    }
}

impl<const N: usize, R: Into<AnyRange>> Launch<'_, N, R> {
    /// Enqueues the kernel on its module's queue, and returns without waiting for it.
    ///
    /// A queue holds about 1,024 commands, so the call blocks if the host enqueues much faster than the device
    /// computes.
    ///
    /// The kernel starts after all commands enqueued earlier on that queue, unless the queue is
    /// [out of order](crate::QueueOptions::out_of_order). It also waits for the events passed to [`Launch::after`].
    /// With at most eight events, this function allocates no memory before it calls the driver.
    ///
    /// # Errors
    ///
    /// Fails if the kernel cannot run on the device, or if the driver rejects the request. Also fails if the arguments
    /// or the range are invalid, or if a buffer or an event belongs to another device.
    ///
    /// # Safety
    ///
    /// Rust cannot check the kernel's code. The caller must guarantee that
    ///
    /// - each argument matches the type of the kernel's parameter (see the table of [`Arg`]), including the layout of
    ///   elements and structs;
    /// - pointers are aligned as their C++ types require. This is not automatic: a part of an array may start at any
    ///   byte, and a buffer has only the driver's default alignment, even if its C++ type uses `alignas`;
    /// - pointers, including those inside values, buffers and device globals, point to memory on this device that lives
    ///   until the kernel has finished. A [`DeviceArray`](crate::DeviceArray) guarantees this on every queue of its
    ///   device;
    /// - an [`AnyRange`] has as many dimensions as the kernel. This is checked only if the file records the
    ///   number, and never for a `single_task`;
    /// - work-group memory and accessors are large enough for the kernel;
    /// - with these arguments and this range, the kernel stays inside the buffers;
    /// - the format of each image matches the component type that the kernel reads or writes. The kernel stays inside
    ///   the images, unless its sampler clamps or repeats coordinates;
    /// - buffers passed with [`Arg::read`] are only read;
    /// - the work-items do not race with each other;
    /// - while the kernel runs, no command on another queue uses a buffer that this kernel writes, or writes a buffer
    ///   that it reads. On an out-of-order queue, this includes commands on the same queue.
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    pub unsafe fn launch(self, range: impl Into<R>) -> Result<Event> {
        // SAFETY: the caller upholds the same requirements.
        unsafe { self.call()?.launch(range.into().into()) }
    }
}

/// A launch of a kernel with a contract. If the contract does not hold, the launch fails without calling the driver.
///
/// Returned by generated stubs for kernels with a contract in [`include_syclbin!`](crate::include_syclbin). Launching
/// it is safe, so the caller need not guarantee anything. The requirements of [`Launch::launch`] are met as follows:
///
/// | requirement | met by |
/// |---|---|
/// | the arguments match the parameter types | the stub's types; number, kinds and sizes are also checked at launch |
/// | buffers are on this device and live until the kernel has finished | checked at launch; kept alive by the driver |
/// | the range has as many dimensions as the kernel | the range's type |
/// | an argument that is written is not passed twice | the borrow checker: the stub takes `&mut` |
/// | addresses are aligned as in C++ | alignment conditions, where a part might be misaligned (`alignas`, `void *`) |
/// | accessors end inside their buffers, and there is enough work-group memory | checked at launch |
/// | the kernel was compiled for the range, the work-group size and all work-item ids | checked at launch |
/// | launches that use the same buffer do not race | an in-order queue; for several queues or an out-of-order queue, the author of the contract |
/// | the kernel stays inside buffers and work-group memory | the contract and its author |
/// | all other requirements | the author of the contract |
///
/// # What the author of a contract guarantees
///
/// By writing `unsafe extern "SYCL"`, the author guarantees that every launch that the contract allows has defined
/// behavior in C++ and SYCL. The kernel stays inside its memory and never divides by zero. Either all work-items of a
/// group reach a barrier, or none does. Callers choose everything else, so the guarantee must cover
///
/// - every argument value that the contract allows;
/// - any content of buffers and device globals, even if another launch or work-item writes them while the kernel runs.
///   A race may leave any values in a buffer, but must not cause accesses outside it. So a kernel that reads an index
///   from a buffer must read it only once, and check the value before using it;
/// - the code for every target in the file. The types come from the SPIR-V, so code for another target, such as
///   that in `#ifdef __NVPTX__`, must not use other element types or more work-group memory, or write through other
///   pointers;
/// - every value of a specialization constant;
/// - every possible definition of imported functions, since callers choose the linked files;
/// - every range with the kernel's number of dimensions. If the file does not record that number, the contract states
///   it;
/// - every work-group size that the kernel and the device allow, including sizes that the driver chooses. A contract
///   cannot check these sizes. So a kernel whose use of work-group memory depends on the size must fix it in C++
///   (`work_group_size`).
///
/// No contract can make these kernels safe:
///
/// - kernels that follow a pointer from a value, a buffer or a device global, since a
///   [`DevicePointer`](crate::DevicePointer) can hold any address;
/// - kernels with a barrier across all work-groups, since a contract cannot require [`Launch::root_sync`];
/// - kernels that read a `bool` from a buffer, a device global, a union, or a part of a value that the file does not
///   describe, since Rust code may store a byte other than 0 or 1 there (every other `bool` in a value is checked);
/// - kernels that write through a pointer to `const`.
pub type SafeLaunch<'a, const N: usize, R = AnyRange> = Launch<'a, N, R, Checked>;

impl<'a, const N: usize, R> SafeLaunch<'a, N, R> {
    /// Creates a launch that is safe whenever `contract` holds. For generated code only.
    ///
    /// # Safety
    ///
    /// Whenever `contract` returns `Ok`, the requirements of [`Launch::launch`] are met.
    #[doc(hidden)]
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    pub unsafe fn with_contract(
        launch: Launch<'a, N, R>,
        contract: fn(&LaunchView<'_>) -> Result<(), Broken>,
    ) -> Self {
        launch.retyped(Some(contract))
    }
}

impl<const N: usize, R: Into<AnyRange>> SafeLaunch<'_, N, R> {
    /// Enqueues the kernel on its module's queue if the contract holds, and returns without waiting for it. Works like
    /// [`Launch::launch`], but is safe.
    ///
    /// # Errors
    ///
    /// Fails if the contract does not hold. Also fails for the same reasons as [`Launch::launch`].
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    pub fn launch(self, range: impl Into<R>) -> Result<Event> {
        // SAFETY: the caller of `with_contract` guarantees that the requirements are met whenever the contract holds.
        unsafe { self.call()?.launch(range.into().into()) }
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

    /// Returns a queue in a separate context, as if it belonged to another device.
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
        // SAFETY: the launch is rejected before the driver receives the kernel.
        let launched = unsafe { Launch::new(&kernel, &["a", "x", "y", "n"], args).launch(1) };
        let device = queue.device();
        assert_eq!(
            launched.unwrap_err().to_string(),
            format!(
                "kernel saxpy: argument 1 (x) belongs to a different context than the queue, on the same device {device}"
            )
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
        let start = "the buffer belongs to a different context ";
        assert!(message.starts_with(start), "{message}");
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
        // SAFETY: the kernel writes two elements, and `out` has two.
        let event = unsafe { iota(&there, &mut out).launch(1)? };
        let mut out = queue.upload(&[7.0f32; 2])?;
        // SAFETY: the launch is rejected before the driver receives the kernel.
        let launched = unsafe { iota(&here, &mut out).after(&[&event]).launch(1) };
        let device = queue.device();
        assert_eq!(
            launched.unwrap_err().to_string(),
            format!(
                "kernel fill::iota: cannot wait for event 0 (running kernel fill::iota): it belongs to a different context than the queue, on the same device {device}"
            )
        );
        assert_eq!(queue.download(&out)?, [7.0; 2]);
        event.wait()
    }
}
