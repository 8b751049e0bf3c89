//! A simulated CUDA driver, for tests where no GPU is.
#![allow(
    unsafe_code,
    clippy::cast_possible_truncation,
    reason = "it takes the place of a C library for 64-bit systems, and interprets code that has pointers and registers"
)]

pub mod api;
mod call;
mod code;
mod device;
mod ptx;
mod run;
mod settings;

pub use settings::{BINARIES_VARIABLE, VARIABLE};
