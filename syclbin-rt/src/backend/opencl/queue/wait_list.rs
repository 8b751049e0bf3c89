// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wait lists: events as enqueueing functions take them, without an allocation where they are few.

use std::marker::PhantomData;

use opencl3::types::{cl_event, cl_uint};

use crate::backend::opencl::queue::event::Event;

/// The number of events that need no allocation.
const FEW: usize = 8;

/// The events that a command waits for. The creator of the list guarantees that all of them are of the queue's
/// context.
pub(crate) struct WaitList<'a> {
    few: [cl_event; FEW],
    /// All of them where they are more; else empty.
    many: Vec<cl_event>,
    count: usize,
    /// The handles are theirs.
    events: PhantomData<&'a Event>,
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
            *place = event.handle;
            list.count += 1;
        }
        if let Some(event) = (list.count == FEW).then(|| events.next()).flatten() {
            list.many = list.few.to_vec();
            list.many.push(event.handle);
            list.many.extend(events.map(|event| event.handle));
            list.count = list.many.len();
        }
        list
    }

    /// Creates the list of these events and `event`.
    pub(in crate::backend::opencl) fn and<'b>(&self, event: &'b Event) -> WaitList<'b>
    where
        'a: 'b,
    {
        let few = &self.few[..self.count.min(FEW)];
        let known = if self.many.is_empty() {
            few
        } else {
            &self.many
        };
        let mut list = WaitList::empty();
        list.many = known.to_vec();
        list.many.push(event.handle);
        list.count = list.many.len();
        list
    }

    /// Creates an empty list.
    #[inline]
    pub(crate) const fn empty() -> Self {
        Self {
            few: [std::ptr::null_mut(); FEW],
            many: Vec::new(),
            count: 0,
            events: PhantomData,
        }
    }

    /// Returns whether there is nothing to wait for.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of events.
    pub(in crate::backend::opencl) fn count(&self) -> cl_uint {
        // No fewer than that many fit into memory.
        cl_uint::try_from(self.count).unwrap_or(cl_uint::MAX)
    }

    /// Returns a pointer to the events, valid for [`WaitList::count`] elements as long as this lives. It is
    /// null for an empty list, as drivers require.
    pub(in crate::backend::opencl) fn pointer(&self) -> *const cl_event {
        match (self.count, self.many.is_empty()) {
            (0, _) => std::ptr::null(),
            (_, true) => self.few.as_ptr(),
            (_, false) => self.many.as_ptr(),
        }
    }
}
