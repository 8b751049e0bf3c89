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
//! # Without code
//!
//! Cargo.toml can say what to compile, and then build.rs is `syclbin_build::Build::from_manifest().compile()`:
//!
//! ```toml
//! [package.metadata.syclbin.saxpy]
//! sources = ["kernels/saxpy.cpp"]
//! ```
//!
//! [`Build::from_manifest`] has all keys.
//!
//! # Headers
//!
//! `<syclbin/kernel.hpp>` has what a kernel needs of SYCL, and compiles in a sixth of the time of
//! `<sycl/sycl.hpp>`:
//!
//! ```cpp
//! #include <syclbin/kernel.hpp>
//!
//! SYCLBIN_KERNEL(1)
//! void saxpy(float a, const float *x, float *y, unsigned n) {
//!   size_t i = syclbin::get_nd_item<1>().get_global_linear_id();
//!   if (i < n) y[i] = a * x[i] + y[i];
//! }
//! ```
//!
//! It names the headers that have the rest: `<syclbin/math.hpp>`, `<syclbin/vector.hpp>`,
//! `<syclbin/atomic.hpp>`, `<syclbin/group.hpp>`, `<syclbin/local_memory.hpp>`,
//! `<syclbin/constants.hpp>`, `<syclbin/printf.hpp>`. They are passed to every compiler, behind the
//! folders of [`Build::include`].
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
//! # Without a compiler
//!
//! Keep the compiled file beside its sources, under version control, and name it:
//!
//! ```no_run
//! # fn main() {
//! syclbin_build::Build::new()
//!     .source("kernels/saxpy.cpp")
//!     .prebuilt("kernels/saxpy.syclbin")
//!     .compile("saxpy");
//! # }
//! ```
//!
//! Where a compiler is found, the sources are compiled as ever; where there is none, the kept file is
//! taken. `cargo syclbin build --commit` writes it, and `cargo syclbin build --check` ends with 1 when it
//! is stale, which needs no compiler. It has a record of the SHA-256 of its sources and of their headers
//! as far as they belong to the package (they lie in its folder, or an include folder was named from
//! there), and of the arguments, so times do not count. A build that has to take a stale file says so
//! in a warning.
//!
//! On docs.rs (`DOCS_RS` is set) nothing is compiled: the kept file is taken if there is one. If not, an
//! empty file makes `include_syclbin!` write a module without kernels; items about kernels are passed
//! over, and as rustdoc does not look into functions, calls of kernels do no harm there.
//!
//! # Out of scope
//!
//! Linking device code of several sources, targets other than SPIR-V, and a cache over builds.
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
pub mod headers;
#[doc(hidden)]
pub mod listing;
#[doc(hidden)]
pub mod manifest;
#[doc(hidden)]
pub mod orders;
mod prebuilt;
mod precompiled;
#[doc(hidden)]
pub mod search;
mod sources;

pub use build::Build;
pub use error::{Ended, Error, Result};
pub use manifest::Manifest;
