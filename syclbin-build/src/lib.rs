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
//! A program that takes clang's command line and has `-fsyclbin`: a DPC++ `clang++` or `icpx` (2025.2
//! or newer), or the `syclbin-clang` that `cargo syclbin toolchain install` installs. The first of
//! these that has it:
//!
//! 1. [`Build::compiler`], then the variable `SYCLBIN_CLANG`. Each forces one: if that one does not
//!    do, the build fails.
//! 2. What crate `cc` takes for C++: `CXX_<target>` (also with underscores), `HOST_CXX`, or
//!    `TARGET_CXX` when cross-compiling, then `CXX`; when cross-compiling also those of the host, as
//!    kernels are for a device and any compiler does. A wrapper may come first (`ccache icpx`). Other
//!    than in `cc`, one that does not do (`g++`, LLVM's own `clang++`) is passed over, and `CXXFLAGS` is
//!    not read: its flags are meant for the processor.
//! 3. `icpx`, `clang++` in `CMPLR_ROOT` and in `ONEAPI_ROOT`, which `setvars.sh` sets.
//! 4. The installed one, in the user's cache folder or `SYCLBIN_HOME`.
//! 5. Any `icpx`, then any `clang++`, in `PATH`, and last in `/opt/intel/oneapi`.
//!
//! So a compiler that somebody named comes first; next the installed one, which is the same on every
//! machine and stays when a system is updated; what merely lies around comes last. `cargo syclbin
//! doctor` shows which one a build takes, and what was passed over and why.
//!
//! A candidate is asked for its version and for `-fsyclbin` once; its answer is kept in `OUT_DIR` until
//! its size or time changes. It has 30 seconds for each question, or `SYCLBIN_PROBE_SECONDS`.
//!
//! The compiler runs as a process, so its crash is an error message. A build script never downloads
//! anything.
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
#[doc(hidden)]
pub mod search;

pub use build::Build;
pub use error::{Ended, Error, Result};
