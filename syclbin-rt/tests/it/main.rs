//! Devices, memory and kernels, as programs use them.
//!
//! The test files are read when a test runs: from the directory `SYCLBIN_TESTFILES`, or from `tests/files`
//! of this repository. Nothing else of the repository is needed, so this program also tests a machine
//! that has only the program and those files.

mod ahead_of_time;
#[path = "../common/answer.rs"]
mod answer;
mod bad_input;
mod cache;
#[path = "../common/mod.rs"]
mod common;
mod constants;
mod cuda;
mod device;
mod events;
mod exit;
mod globals;
mod launch;
mod lesser;
mod link;
mod memory;
mod module;
mod parameters;
mod partition;
mod prepared;
mod queue;
mod safe_launch;
mod save;
mod starvation;
mod stubs;
mod suggest;
mod transfers;
