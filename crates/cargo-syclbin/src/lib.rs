// SPDX-License-Identifier: MIT OR Apache-2.0
//! The implementation of `cargo syclbin`, after the arguments are parsed.
//!
//! This library exists so that tests can run the program with small artificial wheels. Its interface is not stable.
//! Users run the program:
//! ```text
//! cargo syclbin toolchain install     the SYCL compiler and a CPU device; NVIDIA's tools if there is an NVIDIA GPU
//! cargo syclbin doctor                what this machine can compile and run, and what is missing
//! cargo syclbin doctor FILE           what a driver says of the kernels of a file
//! cargo syclbin new NAME              a program with a kernel
//! cargo syclbin init                  a kernel in the crate of this directory
//! cargo syclbin build --commit        compiled files that are kept beside their sources, written or checked
//! cargo syclbin watch                 compiles kernels again each time they are saved
//! cargo syclbin inspect FILE          what a SYCLBIN file holds
//! cargo syclbin verify FILE...        what is wrong with it
//! cargo syclbin convert FILE -o OUT   the same in another container
//! cargo syclbin stubs FILE            the signatures and structs of that code, one line each
//! cargo syclbin expand FILE           the Rust code that include_syclbin! makes of it
//! cargo syclbin extract FILE          device code out of objects, executables, archives and bundles
//! cargo syclbin pack --image=... -o OUT   the reverse: an OffloadBinary, SYCLBIN or an object with device code
//! ```
//!
//! | module | noun |
//! |---|---|
//! | [`toolchain`] | installed components: pins, wheels, the manifest, install, list, remove |
//! | [`doctor`] | the machine: facts, and the report on them; a driver's answers about a file |
//! | [`inspect`] | a report on a file: text for people, JSON for programs |
//! | [`verify`], [`convert`], [`expand`], [`extract`] | the other commands about files |
//! | [`build`] | compiled files stored beside their sources, written by the build scripts of a workspace |
//! | [`watch`] | the files of build scripts, compiled again whenever a source or header is saved |
//! | [`project`] | the files of a new program, or of kernels in a crate that exists |
//! | [`workspace`] | the packages of a workspace, as reported by Cargo |
//! | [`input`] | an input file of a command |
//! | [`ui`] | output for the user |
//! | [`error`] | errors, each with a remedy |
//!
//! The second program of this package, the compiler driver `syclbin-clang`, is in the crate of that name. It shares
//! no code with this crate, and runs in a process of its own beside the compiler library.
#![forbid(unsafe_code)]

pub mod build;
pub mod convert;
pub mod doctor;
pub mod error;
pub mod expand;
pub mod extract;
pub mod input;
pub mod inspect;
pub mod list;
pub mod pack;
pub mod project;
pub mod toolchain;
pub mod ui;
pub mod verify;
pub mod watch;
pub mod workspace;
