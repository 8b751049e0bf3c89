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
//! compiler changed; [see below](crate#rebuilds-and-the-cache).
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
//! So a compiler that you named comes first; next the installed one, which is the same on every machine
//! and stays when a system is updated; finally, any compiler on `PATH`. `cargo syclbin doctor` shows which
//! compiler a build takes, which candidates it ignores, and why.
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
//! # Several sources
//!
//! [`Build::source`] may be called again: all sources become one file. They are compiled at once, with no
//! more processes than Cargo's jobserver has tokens for (outside of Cargo: `NUM_JOBS`, else the number of
//! cores). What is wrong with any of them is told in one go, and what a header has to say once.
//!
//! One source may define a function that another uses: both its declaration and its definition are
//! `SYCL_EXTERNAL` then. The file says that it is an object, as somebody has to link it; without such
//! functions it is to be executed as it is. `syclbin-rt` links when it loads the file. What no source
//! defines is an error, unless [`Build::link_at_load`] says that it comes from another file.
//!
//! # Targets
//!
//! By default, a file has SPIR-V for every device of OpenCL and, where component `nvidia` is installed beside
//! `syclbin-clang`, PTX for every NVIDIA GPU. A source that cannot be compiled to PTX has none, with a warning.
//! [`Build::targets`], `targets` in Cargo.toml or, for all builds that name none, the variable `SYCLBIN_TARGETS`
//! name other targets, such as native code, which loads without a compile on the device it is for. Name them
//! where a file must be the same whichever machine compiles it, such as one that is committed.
//!
//! PTX is compiled by a process of its own, at the same time as SPIR-V. It makes a build about twice as expensive:
//! one small kernel took 1.7 s of processor time instead of 0.65 s with `<syclbin/kernel.hpp>`, and 9.4 s instead
//! of 5.2 s with `<sycl/sycl.hpp>` (x86-64, November 2026). Cached kernels cost nothing.
//!
//! A compiler that runs for 600 seconds is stopped, or for those that `SYCLBIN_COMPILE_SECONDS` names.
//! Errors have colours when `CARGO_TERM_COLOR` is `always`: Cargo captures what a build script says, so
//! no terminal can be asked.
//!
//! # Rebuilds and the cache
//!
//! Cargo runs the build script again when a source, a header, the compiler or a relevant variable changed. The
//! script then compiles the sources that are not in the cache. The cache is the directory `kernels` beside the
//! installed toolchain (`SYCLBIN_HOME`, else `syclbin` in the user's cache directory). All profiles, target
//! directories and workspaces share it.
//!
//! | variable | |
//! |---|---|
//! | `SYCLBIN_CACHE=off` | always compile |
//! | `SYCLBIN_CACHE=/a/directory` | use another directory; the path is absolute |
//! | `SYCLBIN_CACHE_SIZE=500M` | the size limit (`1G` by default); the least recently used results are removed first |
//!
//! A cached result is used if all of these are as they were:
//!
//! - every file that was read: sources, headers and embedded files, byte by byte. A changed comment compiles
//!   again, a touched file does not;
//! - the files that do not exist, but that the compiler would prefer to one that it read, or that `__has_include`
//!   or `__has_embed` asked for;
//! - the arguments, with paths as you gave them. Two checkouts share what they compile, unless an argument is an
//!   absolute path or begins with `-g`;
//! - the variables that compilers read (`CPATH`, `SYCLBIN_PTX_INLINE` and others);
//! - the compiler: its path, its version, the size and times of its files and of the `.cfg` files beside it, and
//!   the versions of GCC on the machine;
//! - the version and code of this crate.
//!
//! The compiler's warnings are cached too, and repeated. Some sources are compiled each time:
//!
//! - a source or header contains `__DATE__`, `__TIME__` or `__TIMESTAMP__`, even in a comment, or
//!   `__has_include` of a macro;
//! - an argument names a file that is not a header, or another program: `more.bc`, `@file`, plugins, modules,
//!   profiles, targets other than `spir64` and `nvptx64-nvidia-cuda`;
//! - `CCC_OVERRIDE_OPTIONS`, `__INTEL_PRE_CFLAGS` or `__INTEL_POST_CFLAGS` is set;
//! - a file changed or appeared while the compiler ran, or in the 10 ms before;
//! - the compile failed.
//!
//! Each result is verified by a hash when it is read, and a damaged one is compiled again. A cache that others
//! can write to is not used, with a warning. A cache that cannot be read or written, or that another process
//! locks for more than a moment, fails no build.
//!
//! What an earlier run of the script built and this one does not is taken away once this one has built
//! something: `include_syclbin!` of a name that is gone is an error, not the kernels of yesterday. So one
//! process builds all files of an `OUT_DIR`.
//!
//! # Out of scope
//!
//! Linking device code to one module, and code for AMD's GPUs.
#![forbid(unsafe_code)]
// The example is a whole build.rs.
#![allow(clippy::needless_doctest_main)]
// A build script speaks to Cargo on its standard output.
#![allow(clippy::print_stdout)]

mod action;
mod build;
#[doc(hidden)]
pub mod cache;
mod cargo;
mod compile;
mod compiler;
mod error;
#[doc(hidden)]
pub mod file;
#[doc(hidden)]
pub mod manifest;
mod out_dir;
mod prebuilt;
mod process;
mod request;
#[doc(hidden)]
pub mod search;

pub use build::Build;
#[doc(hidden)]
pub use compiler::{default_targets, depfile, headers};
pub use error::{Error, Result, Undefined};
pub use manifest::Manifest;
#[doc(hidden)]
pub use out_dir::listing;
#[doc(hidden)]
pub use prebuilt::orders;
pub use process::Ended;
