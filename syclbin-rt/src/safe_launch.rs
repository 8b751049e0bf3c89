//! Safe launches: a launch with a contract, which is checked before the driver sees anything.

use crate::contract::{Broken, Given};
use crate::error::Result;
use crate::event::Event;
use crate::launch::Launch;
use crate::range::NdRange;

/// A kernel and its arguments with a contract, to be launched over a range.
#[derive(Debug)]
#[must_use = "nothing runs before `launch`"]
pub struct SafeLaunch<'a, const N: usize, R = NdRange> {
    launch: Launch<'a, N, R>,
    contract: fn(&Given<'_>) -> Result<(), Broken>,
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
        unsafe { self.launch.launch_if(range.into().into(), self.contract) }
    }
}
