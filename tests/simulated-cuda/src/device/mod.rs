// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver behind its functions: contexts, streams, events, modules, graphs and memory.

pub(crate) mod capture;
pub(crate) mod context;
pub(crate) mod event;
mod fat;
pub(crate) mod graph;
pub(crate) mod image;
mod image_bytes;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod stream;
pub(crate) mod table;
pub(crate) mod work;
