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

/// Which queues a device can have beside plain ones.
#[derive(Clone, Copy)]
pub(crate) struct QueueAbilities {
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
    ///
    /// A device may run them in order all the same. Intel's CPU device (2026.2) does, as its driver
    /// loses commands when several threads use a queue that is out of order.
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

    /// What of it a device does not have, and what that needs.
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
    fn what_a_device_does_not_have_is_named_and_nothing_else() {
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
