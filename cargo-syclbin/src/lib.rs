//! The inside of `cargo syclbin`: what the program does once its arguments are parsed.
//!
//! This library exists so that the program can be tested with small made-up wheels; it promises no
//! stable interface. Users run the program:
//!
//! ```text
//! cargo syclbin toolchain install     the SYCL compiler and an OpenCL device for the CPU
//! cargo syclbin doctor                what this machine can compile and run, and what is missing
//! ```
//!
//! | module | noun |
//! |---|---|
//! | [`toolchain`] | what is installed: pins, wheels, the manifest, install, list, remove |
//! | [`doctor`] | what the machine has: facts, and the report over them |
//! | [`programs`] | other programs: where they are, and what they answer |
//! | [`ui`] | what the user sees while something takes long |
//! | [`error`] | what can go wrong, each with its way out |
//!
//! The second program of this crate, `syclbin-clang`, is a compiler driver and shares no code with
//! this one: it runs in a process of its own, beside the compiler library.
#![forbid(unsafe_code)]

pub mod doctor;
pub mod error;
pub mod programs;
pub mod toolchain;
pub mod ui;
