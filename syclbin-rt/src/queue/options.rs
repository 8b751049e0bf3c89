// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queue options: the order in which a queue runs its commands, and whether it records their times.

/// Options for a queue that [`Device::queue_with`](crate::Device::queue_with) makes. By default, the queue is
/// in order and does not profile.
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

/// The kinds of queues that a device supports beside plain ones.
#[derive(Clone, Copy)]
pub(crate) struct QueueAbilities {
    pub(crate) out_of_order: bool,
    pub(crate) profiling: bool,
}

impl QueueOptions {
    /// Creates options for an in-order queue without profiling.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets launches and asynchronous copies run at the same time or in any order.
    ///
    /// So each command names the events that it follows ([`Launch::after`](crate::Launch::after)), or
    /// [`Queue::barrier`](crate::Queue::barrier) stands between the commands.
    ///
    /// A command that waits for its own end, such as [`Queue::read`](crate::Queue::read), still follows all
    /// commands that were enqueued before it.
    ///
    /// A device may still run commands in order. Intel's CPU device (2026.2) does, because its driver loses
    /// commands when several threads use an out-of-order queue.
    pub fn out_of_order(self) -> Self {
        Self {
            out_of_order: true,
            ..self
        }
    }

    /// Records when commands were queued, started and ended, for [`Event::profile`](crate::Event::profile).
    /// That may cost some time.
    pub fn profiling(self) -> Self {
        Self {
            profiling: true,
            ..self
        }
    }

    /// Returns the option that the device does not support, and what that option needs.
    pub(crate) fn beyond(self, device: QueueAbilities) -> Option<(&'static str, &'static str)> {
        if self.out_of_order && !device.out_of_order {
            return Some((
                "queues out of order",
                "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE",
            ));
        }
        let lacks = self.profiling && !device.profiling;
        lacks.then_some(("queues with profiling", "CL_QUEUE_PROFILING_ENABLE"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_unsupported_queue_option_is_named() {
        let device = |out_of_order, profiling| QueueAbilities {
            out_of_order,
            profiling,
        };
        let plain = QueueOptions::new();
        let both = plain.out_of_order().profiling();
        assert_eq!(plain.beyond(device(false, false)), None);
        assert_eq!(both.beyond(device(true, true)), None);
        assert_eq!(
            both.beyond(device(false, true)),
            Some((
                "queues out of order",
                "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE"
            ))
        );
        assert_eq!(
            both.beyond(device(true, false)),
            Some(("queues with profiling", "CL_QUEUE_PROFILING_ENABLE"))
        );
    }
}
