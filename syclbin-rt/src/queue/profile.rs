// SPDX-License-Identifier: MIT OR Apache-2.0
//! Profiles: when a command was queued, started and ended.

use std::time::Duration;

use crate::backend::event::Times;

/// The times of a command, returned by [`Event::profile`](crate::Event::profile).
///
/// They are on the clock of the device, which starts at an arbitrary time. Only differences are meaningful,
/// also between commands of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The time when the command was put into its queue.
    pub queued: Duration,
    /// The time when the driver handed the command to the device.
    pub submitted: Duration,
    /// The time when the command began.
    pub started: Duration,
    /// The time when the command ended.
    pub ended: Duration,
}

impl Profile {
    pub(crate) fn new(times: &Times) -> Self {
        Self {
            // For some commands, such as barriers, a driver records nothing here.
            queued: Duration::from_nanos(match times.queued {
                0 => times.submitted,
                queued => queued,
            }),
            submitted: Duration::from_nanos(times.submitted),
            started: Duration::from_nanos(times.started),
            ended: Duration::from_nanos(times.ended),
        }
    }

    /// Returns how long the command ran on the device.
    #[must_use]
    pub fn execution(&self) -> Duration {
        self.ended.saturating_sub(self.started)
    }
}
