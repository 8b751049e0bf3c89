//! Queue options: how a queue orders its commands, and what it notes of them.

/// How [`Device::queue_with`](crate::Device::queue_with) makes a queue: in order and without
/// profiling, if nothing else is said.
///
/// ```no_run
/// use syclbin_rt::{Device, QueueOptions};
///
/// let queue = Device::best()?.queue_with(QueueOptions::new().out_of_order().profiling())?;
/// # Ok::<(), syclbin_rt::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "nothing is made before `Device::queue_with`"]
pub struct QueueOptions {
    pub(crate) out_of_order: bool,
    pub(crate) profiling: bool,
}

impl QueueOptions {
    /// In order, without profiling.
    pub fn new() -> Self {
        Self::default()
    }

    /// Launches and asynchronous copies may run at the same time or in any order, so each names the
    /// events that it follows ([`Launch::after`](crate::Launch::after)), or
    /// [`Queue::barrier`](crate::Queue::barrier) stands between them.
    ///
    /// What waits for its end, such as [`Queue::read`](crate::Queue::read), still comes after
    /// everything that was put into the queue before.
    pub fn out_of_order(self) -> Self {
        Self {
            out_of_order: true,
            ..self
        }
    }

    /// The device notes when commands were queued, started and ended, for
    /// [`Event::profile`](crate::Event::profile). That may cost some time.
    pub fn profiling(self) -> Self {
        Self {
            profiling: true,
            ..self
        }
    }
}
