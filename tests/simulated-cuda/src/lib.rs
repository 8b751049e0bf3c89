// SPDX-License-Identifier: MIT OR Apache-2.0
//! A simulated CUDA driver: the functions of `libcuda.so`, and devices that interpret PTX.
//!
//! It is for tests of programs where no GPU is, and is never shipped. What passes on it has called
//! the driver in the order and with the arguments that NVIDIA documents, and its kernels compute
//! what PTX says. It says nothing about NVIDIA's driver, its compiler or its speed.
//!
//! `with-simulated-cuda COMMAND` runs a program whose `libcuda.so` this is; [`VARIABLE`] says what
//! the devices are like and which calls fail, [`BINARIES_VARIABLE`] which texts run in place of
//! binaries. It is stricter than a driver where programs are wrong: handles and addresses are never
//! used again soon, device memory cannot be touched by the host, new memory holds garbage, and
//! copies take place as late as the API allows.
//!
//! Not simulated: textures, surfaces, arrays, pools other than the default one, clusters, tensor cores, `printf` and a
//! heap for kernels. One kernel runs at a time. Its blocks run one after another, so a block that waits for another one
//! waits forever, except in a cooperative launch, whose blocks take turns. Threads of a block that wait for each other
//! fail the launch. The stream of each thread is the null stream. Threads of a warp do not run in step, and meet
//! only where an instruction has them meet. Directed roundings of results that underflow may be one
//! unit off. Fat binaries are read uncompressed.
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
