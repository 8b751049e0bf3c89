// SPDX-License-Identifier: MIT OR Apache-2.0
//! The commands of `cargo syclbin`, without the command-line parser.
//!
//! This library exists so that tests can run the program with small artificial wheels. Its interface is not stable.
//! Users run the program:
//! ```text
//! cargo syclbin toolchain install     installs the SYCL compiler and a CPU device; NVIDIA's tools if there is an NVIDIA GPU
//! cargo syclbin doctor                reports what this machine can compile and run, and what is missing
//! cargo syclbin doctor FILE           reports how a driver handles the kernels of a file
//! cargo syclbin new NAME              creates a program with a kernel
//! cargo syclbin init                  adds a kernel to the crate in this directory
//! cargo syclbin build --commit        writes the compiled files that are stored beside their sources
//! cargo syclbin build --check         reports which of those files are stale
//! cargo syclbin list                  lists every SYCLBIN file that a workspace builds
//! cargo syclbin watch                 recompiles kernels each time a source or header is saved
//! cargo syclbin inspect FILE          shows the contents of a SYCLBIN file
//! cargo syclbin verify FILE...        reports the errors in SYCLBIN files
//! cargo syclbin convert FILE -o OUT   rewrites a file in another container
//! cargo syclbin stubs FILE            prints the generated signatures and structs, one per line
//! cargo syclbin guard COMMAND         runs a command so that out-of-bounds accesses or races of kernels are errors
//! cargo syclbin expand FILE           prints the Rust code that include_syclbin! generates
//! cargo syclbin extract FILE          extracts device code from objects, executables, archives and bundles
//! cargo syclbin pack --image=... -o OUT   packs images into an OffloadBinary, a SYCLBIN file or an object
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`toolchain`] | installed components: pins, wheels, the manifest, install, list, remove |
//! | [`doctor`] | the report on this machine, and the report on how a driver handles a file |
//! | [`inspect`] | a report on a file, as text or JSON |
//! | [`verify`], [`convert`], [`expand`], [`extract`], [`pack`] | the other commands for files |
//! | [`build`] | compiled files stored beside their sources, written by a workspace's build scripts |
//! | [`list`] | the SYCLBIN files that a workspace builds |
//! | [`watch`] | the files that build scripts compile, recompiled each time a source or header is saved |
//! | [`guard`] | a command, run so that out-of-bounds accesses or races of kernels are errors |
//! | [`project`] | the files of a new program, or of kernels in an existing crate |
//! | [`workspace`] | the packages of a workspace, as reported by Cargo |
//! | [`input`] | the input file of a command |
//! | [`ui`] | output for the user |
//! | [`error`] | errors, each with a remedy |
//!
//! This package also installs the compiler driver `syclbin-clang`, which the crate of that name implements. The driver
//! shares no code with this crate. It runs in a separate process, and loads the compiler library there.
#![forbid(unsafe_code)]

pub mod build;
pub mod convert;
pub mod doctor;
pub mod error;
pub mod expand;
pub mod extract;
pub mod guard;
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
