// SPDX-License-Identifier: MIT OR Apache-2.0
//! Safe launches: a launch with a contract, which is checked before the driver sees anything.

use crate::error::Result;
use crate::launch::Launch;
use crate::launch::contract::Broken;
use crate::launch::contract::LaunchView;
use crate::launch::invocation::Contract;
use crate::launch::range::AnyRange;
use crate::module::kernel::Kernel;
use crate::module::kernel_attributes::KernelAttributes;
use crate::queue::event::Event;

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
/// By writing `unsafe extern "SYCL"`, the author guarantees that every launch which the contract allows is defined behaviour of
/// C++ and SYCL. The kernel stays inside its memory and never divides by zero. All work-items of a group get to
/// a barrier, or none of them does. Callers choose the rest, possibly the worst values, so the guarantee covers
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
    #[allow(
        unsafe_code,
        reason = "that a contract is enough is beyond every check; the duty is the caller's"
    )]
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
    #[allow(
        unsafe_code,
        reason = "launching is unsafe; the caller who made this guarantees it"
    )]
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
    /// As for [`Launch::kernel`].
    pub fn kernel(&self) -> Result<&'a Kernel> {
        self.launch.kernel()
    }

    /// Asks the driver about the compiled kernel, as [`Launch::attributes`] does.
    ///
    /// # Errors
    ///
    /// As for [`Launch::attributes`].
    pub fn attributes(&self) -> Result<KernelAttributes> {
        self.launch.attributes()
    }

    /// Returns the launch and its contract.
    pub(crate) fn parts(&self) -> (&Launch<'a, N, R>, Contract) {
        (&self.launch, self.contract)
    }
}
