//! The toolchain commands, tried on small made-up wheels: offline, and fast.
// Clippy exempts only functions marked as tests; the helpers here are of tests too.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cli;
mod fetch;
mod install;
mod interrupted;
mod refused;
mod unwritable;
mod world;
