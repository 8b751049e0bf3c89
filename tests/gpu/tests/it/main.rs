//! Packs of fake steps: shell scripts, some of which print what a Rust test executable prints. The
//! device is made up, too, so nothing here needs a driver.

mod pack;
mod programs;
mod suites;
