// SPDX-License-Identifier: MIT OR Apache-2.0
//! The toolchain commands, tried on small made-up wheels: offline, and fast.

mod cli;
mod fetch;
mod install;
mod interrupted;
mod refused;
mod unwritable;
mod world;
