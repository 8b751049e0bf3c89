//! The inside of `cargo syclbin`: what the program does once its arguments are parsed.
//!
//! This library exists so that the program can be tested with small made-up wheels; it promises no
//! stable interface. Users run the program:
//!
//! ```text
//! cargo syclbin toolchain install     the SYCL compiler and an OpenCL device for the CPU
//! cargo syclbin doctor                what this machine can compile and run, and what is missing
//! cargo syclbin build --commit        compiled files that are kept beside their sources, written or checked
//! cargo syclbin inspect FILE          what a SYCLBIN file holds
//! cargo syclbin verify FILE...        what is wrong with it
//! cargo syclbin convert FILE -o OUT   the same in another container
//! cargo syclbin expand FILE           the Rust code that include_syclbin! makes of it
//! cargo syclbin extract FILE          device code out of objects, executables, archives and bundles
//! ```
//!
//! | module | noun |
//! |---|---|
//! | [`toolchain`] | what is installed: pins, wheels, the manifest, install, list, remove |
//! | [`doctor`] | what the machine has: facts, and the report over them |
//! | [`inspect`] | a report over a file: for people as text, for programs as JSON |
//! | [`verify`], [`convert`], [`expand`], [`extract`] | the other commands about files |
//! | [`build`] | files that are kept beside their sources, by the build scripts of a workspace |
//! | [`workspace`] | the packages of a workspace, as Cargo tells them |
//! | [`input`] | a file that a command is asked about |
//! | [`programs`] | other programs: where they are, and what they answer |
//! | [`ui`] | what the user sees while something takes long |
//! | [`error`] | what can go wrong, each with its way out |
//!
//! The second program of this package, the compiler driver `syclbin-clang`, is the crate of that name. It shares no code
//! with this one, and runs in a process of its own beside the compiler library.
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
pub mod programs;
pub mod toolchain;
pub mod ui;
pub mod verify;
pub mod workspace;
