// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barriers: how commands of a queue wait for events, of this queue or of others.

use crate::backend::WaitList;
use crate::error::{Error, ErrorKind, Result};
use crate::queue::Queue;
use crate::queue::event::{Event, Unwaitable};

/// The action of a barrier, for messages.
const BARRIER: &str = "waiting at a barrier";
/// The action on the queue of an event to wait for, for messages.
pub(crate) const FLUSHING: &str = "flushing the queue of an event";

impl Queue {
    /// Enqueues a barrier and returns its event.
    ///
    /// Commands that are put into this queue later wait for `events` and for every command that was put into it
    /// before. So two queues can wait for each other:
    ///
    /// ```no_run
    /// # use syclbin_rt::{Event, Queue, Result};
    /// # fn main() -> Result<()> {
    /// # let queue = syclbin_rt::Device::best()?.queue()?;
    /// let copies = queue.device().queue()?;
    /// let done = queue.barrier(&[])?;
    /// copies.barrier(&[&done])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When an event is of another device, or the driver refuses.
    pub fn barrier(&self, events: &[&Event]) -> Result<Event> {
        let list = self.wait_list(events)?;
        let raw = self.raw().barrier(&list);
        let raw = raw.map_err(|failure| Error::driver(failure, BARRIER, self.device()))?;
        Ok(Event::of_action(self, BARRIER, raw))
    }

    /// Turns `events` into the wait list of a command of this queue.
    pub(crate) fn wait_list<'a>(&self, events: &'a [&'a Event]) -> Result<WaitList<'a>> {
        Event::wait_list(events, self).map_err(|unwaitable| match unwaitable {
            Unwaitable::Foreign(index) => ErrorKind::EventDevice {
                index,
                event: events[index].what().to_string(),
                device: events[index].queue().device().to_string(),
                queue: self.device().to_string(),
            }
            .into(),
            Unwaitable::Failed(index, failure) => events[index].failed(failure),
            Unwaitable::Driver(failure) => Error::driver(failure, FLUSHING, self.device()),
        })
    }
}
