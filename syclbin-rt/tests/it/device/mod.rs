// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices: found, chosen, divided, and left as they were found.

mod cuda;
mod discovery;
mod lesser_processor;
mod partition;
