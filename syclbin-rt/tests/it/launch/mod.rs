// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches: arguments reach the kernel, and mistakes are errors.

mod bad_input;
mod capture;
mod guard;
mod parameters;
mod prepared;
mod results;
mod root_sync;
mod safe_launch;
mod stubs;
mod suggest;
