//! Safe launches: a launch with a contract, which is checked before the driver sees anything.

use crate::contract::Given;
use crate::contract::broken::Broken;
use crate::error::Result;
use crate::launch::Launch;
use crate::launch::invocation::Contract;
use crate::launch::range::NdRange;
use crate::queue::event::Event;

/// A kernel and its arguments with a contract, to be launched over a range. Where the contract does
/// not hold, the launch is an error and the driver sees nothing of it.
///
/// Generated stubs return it for a kernel that [`include_syclbin!`](crate::include_syclbin) has a
/// contract for. Launching is then a safe function, so all duties of [`Launch::launch`] are met by
/// others than its caller:
///
/// | duty | met by |
/// |---|---|
/// | the arguments have the types of the parameters | the stub, whose types are those of the file; number, kinds and sizes are checked at launch |
/// | buffers are on this device and live until the kernel has finished | checked at launch; the driver keeps them |
/// | no argument that is written is another one too | the borrow checker: the stub takes `&mut` |
/// | addresses are aligned as the types in C++ | the contract has conditions where a part may not be: `alignas` and `void *` |
/// | accessors end inside of their buffers, and there is as much work-group memory as is asked for | checked at launch |
/// | range and work-groups are ones that the kernel was compiled for, and no id is larger than it counts | checked at launch |
/// | launches that use the same buffer do not race | the queue, if it is in order; of several queues or one out of order, the author |
/// | the kernel stays inside of buffers and work-group memory | the contract, and its author |
/// | all else | the author of the contract |
///
/// # What the author of a contract vouches for
///
/// By writing `safe`: that every launch which the contract lets through is defined behaviour of C++
/// and SYCL. It stays inside of its memory, divides nothing by zero, and all work-items of a group
/// get to a barrier or none. Callers decide about the rest, and may choose the worst, so that goes
/// for
///
/// - every value of an argument that the contract does not bound;
/// - whatever the buffers and device globals hold, also if another launch or another work-item writes
///   them while the kernel runs. A race may leave any numbers in a buffer, but not lead out of it: a
///   kernel reads an index from a buffer once, and then checks what it has read;
/// - every value of a specialization constant;
/// - every definition of the functions that the kernel imports, since callers choose the files that
///   are linked to it;
/// - every range of one to three dimensions. It may have more or fewer of them than the kernel was
///   written for: the last dimension of the kernel is the last one of the range;
/// - every size of work-groups that the kernel and the device allow, also those the driver chooses.
///   A contract sees none of them, so a kernel whose work-group memory depends on the size is to
///   fix it in C++ (`work_group_size`).
///
/// Some kernels have no contract that is enough: those that follow a pointer which they find in a
/// value, a buffer or a device global, since a [`DevicePointer`](crate::DevicePointer) is any number;
/// those that read a `bool` from a buffer or a device global, where Rust has a byte that may be
/// neither 0 nor 1 (those in values are checked); and those that write through a pointer to `const`.
#[derive(Debug)]
#[must_use = "nothing runs before `launch`"]
pub struct SafeLaunch<'a, const N: usize, R = NdRange> {
    launch: Launch<'a, N, R>,
    contract: Contract,
}

impl<'a, const N: usize, R: Into<NdRange>> SafeLaunch<'a, N, R> {
    /// For generated code: `launch`, which is safe wherever `contract` holds.
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
        contract: fn(&Given<'_>) -> Result<(), Broken>,
    ) -> Self {
        Self { launch, contract }
    }

    /// The same launch, to start only when all of `events` have finished, as of [`Launch::after`].
    pub fn after(self, events: &'a [&'a Event]) -> Self {
        Self {
            launch: self.launch.after(events),
            ..self
        }
    }

    /// Puts the kernel into the queue of its module if the contract holds, and returns without
    /// waiting for it. As of [`Launch::launch`], but safe.
    ///
    /// # Errors
    ///
    /// [`LaunchProblem::Contract`](crate::LaunchProblem::Contract) when the contract does not hold;
    /// and as of [`Launch::launch`].
    #[allow(
        unsafe_code,
        reason = "launching is unsafe; whoever made this vouches for it"
    )]
    pub fn launch(self, range: impl Into<R>) -> Result<Event> {
        // SAFETY: `new` was told that the duties are met where the contract holds.
        unsafe {
            let call = self.launch.call()?;
            call.launch(&range.into().into(), Some(self.contract))
        }
    }

    /// The launch, and its contract.
    pub(crate) fn parts(&self) -> (&Launch<'a, N, R>, Contract) {
        (&self.launch, self.contract)
    }
}
