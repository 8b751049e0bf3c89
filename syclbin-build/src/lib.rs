//! Compiles SYCL C++ kernels to SYCLBIN from a build script.
//!
//! ```no_run
//! // build.rs
//! fn main() {
//!     syclbin_build::Build::new()
//!         .source("kernels/saxpy.cpp")
//!         .compile("saxpy");
//! }
//! ```
//!
//! The file lies in `OUT_DIR/syclbin/saxpy.syclbin`, where `include_syclbin!` of crate `syclbin-rt`
//! finds it by its name. Kernels are compiled again when a source, a header, an argument or the
//! compiler changed.
//!
//! # The compiler
//!
//! 1. `SYCLBIN_CLANG`, if it is set: a DPC++ `clang++` or `icpx` that has `-fsyclbin`,
//! 2. the one that `cargo syclbin toolchain install` put into the user's cache (or `SYCLBIN_HOME`).
//!
//! It runs as a process, so its crash is an error message. A build script never downloads anything.
//!
//! # Out of scope
//!
//! Linking device code of several sources, targets other than SPIR-V, a cache over builds, and
//! building without a compiler.
#![forbid(unsafe_code)]
// The example is a whole build.rs.
#![allow(clippy::needless_doctest_main)]
// A build script speaks to Cargo on its standard output.
#![allow(clippy::print_stdout)]

mod build;
mod cargo;
mod compiler;
#[doc(hidden)]
pub mod depfile;
mod error;
#[doc(hidden)]
pub mod file;

pub use build::Build;
pub use error::{Ended, Error, Result};
