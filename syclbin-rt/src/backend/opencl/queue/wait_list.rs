//! Wait lists: events as enqueueing functions take them, without an allocation where they are few.

use std::marker::PhantomData;

use opencl3::types::{cl_event, cl_uint};

use crate::backend::opencl::queue::event::Event;

/// How many events need no allocation.
const FEW: usize = 8;

/// What a command waits for. All of it is of one context, that of the queue: whoever makes the list
/// sees to that.
pub(crate) struct WaitList<'a> {
    few: [cl_event; FEW],
    /// All of them where they are more; else empty.
    many: Vec<cl_event>,
    count: usize,
    /// The handles are theirs.
    events: PhantomData<&'a Event>,
}

impl WaitList<'static> {
    /// A list of nothing, for launches: one that is made by each costs more than it looks.
    pub(crate) const NOTHING: &Self = &Self::empty();
}

impl<'a> WaitList<'a> {
    /// The list of `events`, which may be empty.
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

    /// A list of nothing.
    #[inline]
    pub(crate) const fn empty() -> Self {
        Self {
            few: [std::ptr::null_mut(); FEW],
            many: Vec::new(),
            count: 0,
            events: PhantomData,
        }
    }

    /// Whether there is nothing to wait for.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many there are.
    pub(in crate::backend::opencl) fn count(&self) -> cl_uint {
        // No fewer than that many fit into memory.
        cl_uint::try_from(self.count).unwrap_or(cl_uint::MAX)
    }

    /// Where they begin, good for as many as [`WaitList::count`] says as long as this lives. Null
    /// where there are none, as drivers want it.
    pub(in crate::backend::opencl) fn pointer(&self) -> *const cl_event {
        match self.count {
            0 => std::ptr::null(),
            1..=FEW => self.few.as_ptr(),
            _ => self.many.as_ptr(),
        }
    }
}
