//! Profiles: when a command was queued, started and ended.

use std::time::Duration;

use crate::backend::times::Times;

/// When a command was where, told by [`Event::profile`](crate::Event::profile): times on the clock of
/// its device, which begins anywhere. Differences count, also between commands of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// When it was put into its queue.
    pub queued: Duration,
    /// When the driver handed it to the device.
    pub submitted: Duration,
    /// When it began.
    pub started: Duration,
    /// When it ended.
    pub ended: Duration,
}

impl Profile {
    pub(crate) fn new(times: &Times) -> Self {
        Self {
            // Of some commands, such as barriers, a driver notes nothing here.
            queued: Duration::from_nanos(match times.queued {
                0 => times.submitted,
                queued => queued,
            }),
            submitted: Duration::from_nanos(times.submitted),
            started: Duration::from_nanos(times.started),
            ended: Duration::from_nanos(times.ended),
        }
    }

    /// How long it ran on the device.
    #[must_use]
    pub fn execution(&self) -> Duration {
        self.ended.saturating_sub(self.started)
    }
}
