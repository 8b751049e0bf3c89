//! Packs of fake steps: shell scripts, some of which print what a Rust test executable prints. The
//! device is made up, too, so nothing here needs a driver.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what is missing fails the test"
)]

mod pack;
mod programs;
mod suites;
