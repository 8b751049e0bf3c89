// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running kernels: threads of a block take turns at barriers, blocks come one after another, or in turns.

mod access;
mod block;
mod grid;
mod thread;
mod view;
mod warp;

pub(crate) use block::Stop;
pub(crate) use grid::{Launch, launch};
pub(crate) use thread::MOST_LOCAL;
pub(crate) use view::{Range, View};

/// Why a kernel ended early. The context of it is then lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An address outside of everything.
    Address,
    /// An address that is no multiple of what is read or written.
    Alignment,
    /// `trap`, a call of nothing, threads that wait for nobody.
    Failed,
    Assertion,
    /// Too many calls inside of each other.
    Stack,
}
