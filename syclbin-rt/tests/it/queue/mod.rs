// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues: commands, what waits for them, and how they end.

mod between;
mod copies;
pub(crate) mod events;
mod exit;
mod starvation;
mod trace;
mod transfers;
