// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futures of events: the result of `.await` on an event, for any executor.

use std::borrow::Borrow;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytemuck::Pod;

use crate::backend::event::Completion;
use crate::error::Result;
use crate::queue::event::Event;
use crate::queue::transfer::Transfer;

/// The end of a command, made by `.await` or [`IntoFuture::into_future`] of an [`Event`] or of `&Event`.
///
/// The future works on any executor and keeps no thread busy. The driver reports the end of the command, and a
/// thread of this crate then wakes the task. One thread wakes all tasks of the process. While a waker blocks
/// for more than 10 ms, which a good waker does not, another thread wakes the rest.
///
/// The command runs whether the future is polled or not. Dropping the future does not end the command.
#[must_use = "the command runs without it; to wait, `.await` it"]
pub struct EventFuture<E: Borrow<Event> = Event> {
    event: E,
    end: Option<Completion>,
}

impl<E: Borrow<Event> + Unpin> Future for EventFuture<E> {
    /// Returns an error as [`Event::wait`] does.
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.event.borrow().poll(&mut this.end, context.waker())
    }
}

impl IntoFuture for Event {
    type Output = Result<()>;
    type IntoFuture = EventFuture;

    fn into_future(self) -> EventFuture {
        let end = None;
        EventFuture { event: self, end }
    }
}

impl<'a> IntoFuture for &'a Event {
    type Output = Result<()>;
    type IntoFuture = EventFuture<&'a Event>;

    fn into_future(self) -> EventFuture<&'a Event> {
        let end = None;
        EventFuture { event: self, end }
    }
}

/// The end of a copy, made by `.await` or [`IntoFuture::into_future`] of a [`Transfer`]. Like a transfer, it
/// waits if it is dropped before the copy has ended.
#[must_use = "dropping it waits for the copy; `.await` it instead"]
pub struct TransferFuture<T: Pod> {
    /// `None` when the transfer has been given back.
    transfer: Option<Transfer<T>>,
    end: Option<Completion>,
}

// The elements lie elsewhere, and nothing in here is pinned.
impl<T: Pod> Unpin for TransferFuture<T> {}

impl<T: Pod> Future for TransferFuture<T> {
    /// Returns the elements, or an error as [`Transfer::wait`] does.
    type Output = Result<Vec<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // If it is polled once too often, which no executor does, it never ends.
        let Some(transfer) = &this.transfer else {
            return Poll::Pending;
        };
        let ended = transfer.event().poll(&mut this.end, context.waker());
        match (ended, this.transfer.take()) {
            // The copy has ended, so neither of these blocks. Some drivers report a failure only here.
            (Poll::Ready(Err(error)), Some(transfer)) => {
                drop(transfer);
                Poll::Ready(Err(error))
            }
            (Poll::Ready(Ok(())), Some(transfer)) => Poll::Ready(transfer.wait()),
            (_, transfer) => {
                this.transfer = transfer;
                Poll::Pending
            }
        }
    }
}

impl<T: Pod> IntoFuture for Transfer<T> {
    type Output = Result<Vec<T>>;
    type IntoFuture = TransferFuture<T>;

    fn into_future(self) -> TransferFuture<T> {
        TransferFuture {
            transfer: Some(self),
            end: None,
        }
    }
}

impl<E: Borrow<Event>> fmt::Debug for EventFuture<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventFuture({})", self.event.borrow().what())
    }
}

impl<T: Pod> fmt::Debug for TransferFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TransferFuture")
            .field(&self.transfer)
            .finish()
    }
}
