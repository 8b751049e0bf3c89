// SPDX-License-Identifier: MIT OR Apache-2.0
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
//! The build script writes `OUT_DIR/syclbin/saxpy.syclbin`, which `include_syclbin!` from `syclbin-rt` finds by name.
//! The script recompiles kernels when a source, a header, an argument or the compiler changes; [see
//! below](crate#rebuilds-and-the-cache).
//!
//! # Builds described in Cargo.toml
//!
//! Cargo.toml can list the sources. build.rs then only calls `syclbin_build::Build::from_manifest().compile()`:
//!
//! ```toml
//! [package.metadata.syclbin.saxpy]
//! sources = ["kernels/saxpy.cpp"]
//! ```
//!
//! [`Build::from_manifest`] documents all keys.
//!
//! # Headers
//!
//! `<syclbin/kernel.hpp>` declares the part of SYCL that most kernels need. It compiles six times as fast as
//! `<sycl/sycl.hpp>`:
//!
//! ```cpp
//! #include <syclbin/kernel.hpp>
//!
//! SYCLBIN_KERNEL(1)
//! void saxpy(float a, const float *x, float *y, unsigned n) {
//!   size_t i = syclbin::get_nd_item<1>().get_global_id(0);
//!   if (i < n) y[i] = a * x[i] + y[i];
//! }
//! ```
//!
//! Other headers declare more of SYCL: `<syclbin/math.hpp>`, `<syclbin/vector.hpp>`, `<syclbin/atomic.hpp>`,
//! `<syclbin/group.hpp>`, `<syclbin/reduce.hpp>`, `<syclbin/local_memory.hpp>`, `<syclbin/constants.hpp>`,
//! `<syclbin/printf.hpp>`. A build adds their directory to the compiler's search path, after the directories of
//! [`Build::include`].
//!
//! # The compiler
//!
//! A SYCL compiler is a program that accepts clang's command line and supports `-fsyclbin`. Examples are a DPC++
//! `clang++` or `icpx` (2025.2 or newer), Ubuntu's `dpclang++`, and the `syclbin-clang` that
//! `cargo syclbin toolchain install` installs. A build uses the first of these that supports `-fsyclbin`:
//!
//! 1. [`Build::compiler`], then the variable `SYCLBIN_CLANG`. Either forces a compiler: if it is unusable,
//!    the build fails.
//! 2. The C++ compiler that the crate `cc` would use: `CXX_<target>` (also with underscores), `HOST_CXX`, or
//!    `TARGET_CXX` when cross-compiling, then `CXX`. When cross-compiling, the host's variables are read too: kernels
//!    run on a device, so the host's compiler can build them as well. A wrapper may precede the compiler
//!    (`ccache icpx`). Unlike in `cc`, an unusable compiler (`g++`, LLVM's own `clang++`) is skipped. `CXXFLAGS` is
//!    ignored, because its flags are for the host processor.
//! 3. `icpx`, `dpclang++`, `clang++` in the directories that `CMPLR_ROOT` and `ONEAPI_ROOT` name. `setvars.sh` sets
//!    these variables.
//! 4. The installed `syclbin-clang`, in the user's cache directory or `SYCLBIN_HOME`.
//! 5. Any `icpx`, then any `dpclang++`, then any `clang++`, on `PATH`, and finally in `/opt/intel/oneapi`.
//!
//! So a compiler that you name comes first. The installed compiler comes next, because it is the same on every machine
//! and system updates do not change it. `cargo syclbin doctor` shows which compiler a build uses, which candidates it
//! skips, and why.
//!
//! A build probes one candidate after another for its version and for `-fsyclbin`, until one is usable. A probe times
//! out after 30 seconds, or after the time in `SYCLBIN_PROBE_SECONDS`.
//!
//! The compiler runs as a separate process, so a crash becomes an error message. A build script never downloads
//! anything.
//!
//! # Without a compiler
//!
//! To support machines without a compiler, commit the compiled file next to its sources, and pass its path to the
//! build:
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
//! If there is a compiler, the build compiles the sources as usual. Otherwise, it uses the prebuilt file.
//! `cargo syclbin build --commit` writes this file. `cargo syclbin build --check` fails if the file is stale, and needs
//! no compiler. The file records the arguments and the SHA-256 of its sources and their headers, so modification times
//! do not matter. Only the package's own headers are recorded: those in the package directory, or in an include
//! directory whose path is relative to the package directory. A build that uses a stale file emits a warning.
//!
//! On docs.rs (`DOCS_RS` is set), a build compiles nothing and uses the prebuilt file, if there is one. Otherwise, it
//! writes an empty file, from which `include_syclbin!` generates a module without kernels. The macro then ignores items
//! that name kernels. Rustdoc does not check function bodies, so kernel calls cause no errors there.
//!
//! # Several sources
//!
//! To compile several sources into one file, call [`Build::source`] for each, or [`Build::sources`] with a pattern. The
//! compilers run in parallel, limited by the tokens of Cargo's jobserver (outside of Cargo, by `NUM_JOBS` or else the
//! number of cores). A build reports the errors of all sources together, and each message about a header only once.
//!
//! One source may define a function that another uses. Mark both its declaration and its definition `SYCL_EXTERNAL`.
//! The file's state is then `object`, because its modules still have to be linked, which `syclbin-rt` does when it
//! loads the file. Without such functions, the state is `executable`. A function that no source defines is an error,
//! unless [`Build::link_at_load`] declares that it comes from another file.
//!
//! Sources may be whole programs, each with a `main`. If two sources contain kernels with the same name, or lambdas in
//! functions with the same name, the names of their stubs begin with the source name: `heat.main` and `nbody.main` for
//! `heat.cpp` and `nbody.cpp`. If the file names are also equal, the directory is added: `first_heat.main`. Kernels in
//! native code cannot be renamed, so if the file contains native code, kernels with the same symbol are left out.
//!
//! If no stub can be generated for a kernel, the generated module omits the kernel. The build prints a warning with the
//! number of omitted kernels, and `cargo syclbin list` shows the reason for each.
//!
//! # Targets
//!
//! By default, a file contains SPIR-V for every OpenCL device. If the component `nvidia` is installed for
//! `syclbin-clang`, it also contains PTX for every NVIDIA GPU. If a source cannot be compiled to PTX, the build emits a
//! warning and omits PTX for that source. To choose other targets, use [`Build::targets`], `targets` in Cargo.toml, or
//! the variable `SYCLBIN_TARGETS` for all builds that specify none. Targets can include native code, which a device
//! loads without further compilation. If every machine must build the same file, for example because it is committed,
//! name the targets explicitly.
//!
//! A separate process compiles PTX, at the same time as SPIR-V. PTX roughly doubles the cost of a build: one small
//! kernel took 1.7 s of processor time instead of 0.65 s with `<syclbin/kernel.hpp>`, and 9.4 s instead of 5.2 s with
//! `<sycl/sycl.hpp>` (x86-64, November 2026). Cached kernels cost nothing.
//!
//! A compile times out after 600 seconds, or after the time in `SYCLBIN_COMPILE_SECONDS`. Errors are colored if
//! `CARGO_TERM_COLOR` is `always`. Cargo captures the output of a build script, so the script cannot detect the
//! terminal.
//!
//! # Rebuilds and the cache
//!
//! Cargo runs the build script again when a source, a header, the compiler or a relevant variable changes. The script
//! then compiles the sources that are not in the cache. If a file appears that `__has_include` looked for, touch a
//! source: Cargo does not know about missing files. The cache is the directory `kernels` next to the installed toolchain
//! (`SYCLBIN_HOME`, else `syclbin` in the user's cache directory). All profiles, target directories and workspaces share
//! it.
//!
//! | variable | |
//! |---|---|
//! | `SYCLBIN_CACHE=off` | always compile |
//! | `SYCLBIN_CACHE=/a/directory` | use the directory `kernels` in this directory (an absolute path) |
//! | `SYCLBIN_CACHE_SIZE=500M` | the size limit (`1G` by default); the least recently used results are removed first |
//!
//! A cached result is used if all of these are unchanged:
//!
//! - every file that was read: sources, headers and embedded files, byte by byte. Editing a comment triggers a
//!   recompile, but touching a file does not;
//! - the absence of certain files: those that would shadow a file that was read, and those that `__has_include` or
//!   `__has_embed` looked for;
//! - the arguments, with paths as you wrote them. Two checkouts of a project share results if both use the same copy of
//!   this crate and no argument is an absolute path or begins with `-g`;
//! - the variables that compilers read (`CPATH` and others);
//! - the compiler: its path, its version, the size and times of its files and of the `.cfg` files next to it, and
//!   the versions of GCC on the machine;
//! - the version, path and code of this crate.
//!
//! The compiler's warnings are cached too, and printed again. A source is never cached in these cases:
//!
//! - a source or header contains `__DATE__`, `__TIME__` or `__TIMESTAMP__`, even in a comment, or `__has_include` with
//!   a macro as its argument;
//! - an argument makes the compiler read a file that is not a header (`more.bc`, `@file`, plugins, modules, profiles),
//!   or run another program (targets other than `spir64` and, with `syclbin-clang`, `nvptx64-nvidia-cuda`);
//! - `CCC_OVERRIDE_OPTIONS`, `__INTEL_PRE_CFLAGS` or `__INTEL_POST_CFLAGS` is set;
//! - a file changed or appeared while the compiler ran, or in the 10 ms before;
//! - the compile failed.
//!
//! Each result is verified with a hash when it is read, and the source of a damaged result is recompiled. A cache that
//! other users can write to is ignored, with a warning. A cache that cannot be read or written, or that another process
//! keeps locked, does not fail the build.
//!
//! If the script no longer builds a file, `include_syclbin!` reports an error for its name instead of embedding
//! outdated kernels. This works only if a single process builds all files in `OUT_DIR`.
//!
//! # Recompiling while a program runs
//!
//! `cargo syclbin watch` recompiles kernels each time a source or header is saved, and replaces the file from the last
//! build. A program can do the same with [`Build::watch`], and load the new kernels with the generated module's
//! `load_file`.
//!
//! # Out of scope
//!
//! Native code for AMD GPUs, which run SPIR-V through Mesa's rusticl.
#![forbid(unsafe_code)]
// The example is a complete build.rs.
#![allow(clippy::needless_doctest_main)]
// A build script communicates with Cargo on standard output.
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
#[doc(hidden)]
pub mod process;
mod request;
#[doc(hidden)]
pub mod search;
mod watch;

pub use build::Build;
#[doc(hidden)]
pub use compiler::{default_targets, depfile, headers};
pub use error::{Error, Result, Undefined};
pub use manifest::Manifest;
#[doc(hidden)]
pub use out_dir::listing;
#[doc(hidden)]
pub use prebuilt::orders;
pub use watch::{Recompiled, Watch};
