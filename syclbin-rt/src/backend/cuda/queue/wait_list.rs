// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wait lists: events that a command waits for, without an allocation where they are few.

use crate::backend::cuda::context::stream::Stream;
use crate::backend::cuda::queue::event::Event;
use crate::backend::failure::Failure;

/// The number of events that need no allocation.
const FEW: usize = 8;

/// The events that a command waits for. The creator of the list guarantees that all of them are of the queue's
/// context.
pub(crate) struct WaitList<'a> {
    few: [Option<&'a Event>; FEW],
    /// Those that are more.
    many: Vec<&'a Event>,
}

impl WaitList<'static> {
    /// An empty list, for launches. Making such a list at each launch is surprisingly expensive.
    pub(crate) const NOTHING: &Self = &Self::empty();
}

impl<'a> WaitList<'a> {
    /// Creates the list of `events`, which may be empty.
    pub(crate) fn new(mut events: impl Iterator<Item = &'a Event>) -> Self {
        let mut list = Self::empty();
        for (place, event) in list.few.iter_mut().zip(events.by_ref()) {
            *place = Some(event);
        }
        list.many = events.collect();
        list
    }

    /// Creates an empty list.
    #[inline]
    pub(crate) const fn empty() -> Self {
        Self {
            few: [None; FEW],
            many: Vec::new(),
        }
    }

    /// Returns whether there is nothing to wait for.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.few[0].is_none()
    }

    /// Makes later commands of `stream` wait for the whole list.
    pub(in crate::backend::cuda) fn hold_back(&self, stream: &Stream) -> Result<(), Failure> {
        for event in self.few.iter().flatten().chain(&self.many) {
            // What is in the same stream comes before in any case.
            if !std::ptr::eq(std::sync::Arc::as_ptr(event.stream()), stream)
                && let Some(mark) = event.mark()?
            {
                // SAFETY: the stream is alive, and of the context of the event.
                unsafe { mark.hold_back(stream.handle) }?;
            }
        }
        Ok(())
    }
}
