// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs SYCL kernels from Rust programs, on GPUs and CPUs, through OpenCL and CUDA.
//!
//! You write kernels in C++ files beside your Rust code. `cargo build` compiles these files into a single SYCLBIN
//! file. [`include_syclbin!`] embeds that file and generates a typed Rust function for each kernel. To run your
//! program, users need only a driver.
//!
//! # A program
//!
//! The kernel, in `kernels/saxpy.cpp`:
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
//! The build script compiles it. `syclbin-build` is a build dependency:
//!
//! ```ignore
//! fn main() {
//!     syclbin_build::Build::new()
//!         .source("kernels/saxpy.cpp")
//!         .compile("saxpy");
//! }
//! ```
//!
//! The program runs it. `syclbin-rt` is a dependency:
//!
//! ```no_run
//! # /*
//! syclbin_rt::include_syclbin! {
//!     mod kernels = "saxpy";
//!     // SAFETY: work-item i reads x[i] and y[i] and writes y[i], for i < n.
//!     unsafe extern "SYCL" {
//!         safe fn saxpy where x.len() >= n, y.len() >= n;
//!     }
//! }
//! # */
//! # syclbin_rt::include_syclbin! {
//! #     mod kernels = "../tests/files/vector_ops.object.syclbin";
//! #     unsafe extern "SYCL" {
//! #         safe fn saxpy where arg1.len() >= arg3, arg2.len() >= arg3, range.dimensions() == 1;
//! #     }
//! # }
//!
//! fn main() -> syclbin_rt::Result<()> {
//!     let queue = kernels::Module::best_device()?.queue()?;
//!     let kernels = kernels::Module::load(&queue)?;
//!
//!     let x = queue.upload(&vec![1.0f32; 1000])?;
//!     let mut y = queue.upload(&vec![2.0f32; 1000])?;
//!     kernels.saxpy(2.0, &x, &mut y, 1000).launch(1000)?;
//!
//!     println!("{}: y[0] = {}", queue.device(), queue.download(&y)?[0]);
//!     Ok(())
//! }
//! ```
//!
//! The line that starts with `safe fn` is a contract. Its author guarantees that the kernel stays within the lengths in
//! the contract, and each launch checks that the buffers are long enough. Without a contract,
//! [`launch`](Launch::launch) is `unsafe`.
//!
//! # Devices
//!
//! This crate does not link a driver. It looks for drivers when a program first requests a device, through
//! `best_device` of the generated module, [`Device::best`] or [`Device::all`]. If no device is found, the error lists
//! every place that was searched. `cargo syclbin toolchain install` installs a driver that runs kernels on the CPU.
//!
//! # Memory
//!
//! Pass a [`DeviceSlice`] for each pointer parameter of a kernel. A [`Buffer`] dereferences to a [`DeviceSlice`], as a
//! `Vec` dereferences to a slice. So do [`DeviceArray`], [`HostArray`] and [`SharedArray`], which live in unified
//! shared memory.
//!
//! ```no_run
//! # fn main() -> syclbin_rt::Result<()> {
//! # let queue = syclbin_rt::Device::best()?.queue()?;
//! let x = queue.upload(&[1.0f32; 1024])?;
//! let mut y = queue.zeroed::<f32>(1024)?;
//! queue.fill(&mut y.slice_mut(..512)?, 2.0)?;
//! queue.copy(&x.slice(512..)?, &mut y.slice_mut(512..)?)?;
//! queue.map_mut(&mut y)?[3] = 4.0; // maps y into host memory
//! let result: Vec<f32> = queue.download(&y)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Launches
//!
//! A launch needs one size for each dimension of the kernel: a number of work-items, or an array such as `[rows,
//! columns]`. [`NdRange`] also sets the work-group size. Each launch is checked before it reaches the driver, and
//! errors name the kernel and the argument. Use [`Prepared`] or [`Recording`] to repeat launches at a lower cost.
//!
//! ```no_run
//! # syclbin_rt::include_syclbin! {
//! #     mod kernels = "../tests/files/vector_ops.object.syclbin";
//! #     unsafe extern "SYCL" {
//! #         safe fn saxpy where arg1.len() >= arg3, arg2.len() >= arg3, range.dimensions() == 1;
//! #     }
//! # }
//! # fn main() -> syclbin_rt::Result<()> {
//! # let queue = kernels::Module::best_device()?.queue()?;
//! # let kernels = kernels::Module::load(&queue)?;
//! # let x = queue.zeroed(1024)?;
//! # let mut y = queue.zeroed(1024)?;
//! use syclbin_rt::NdRange;
//!
//! kernels.saxpy(2.0, &x, &mut y, 1024).launch(NdRange::new(1024).local(64))?;
//! let prepared = kernels.saxpy(2.0, &x, &mut y, 1024).prepare(1024)?;
//! for _ in 0..100 {
//!     prepared.launch()?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! To launch kernels whose names are known only at run time, use [`Module`], [`Kernel`] and [`Arg`].
//!
//! # Events
//!
//! A queue runs its commands in order, and a launch returns before its kernel has finished. You can wait for the
//! [`Event`] of a command, poll it, or `.await` it. A [`Transfer`] owns host memory until its copy has finished.
//!
//! ```no_run
//! # async fn pipeline() -> syclbin_rt::Result<()> {
//! # let device = syclbin_rt::Device::best()?;
//! let (first, second) = (device.queue()?, device.queue()?);
//! let mut x = first.zeroed::<f32>(1024)?;
//! let filled = first.fill(&mut x, 1.0)?;
//! let result = second.after(&[&filled]).download_later(&x)?;
//! assert_eq!(result.await?, [1.0; 1024]);
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! An [`Error`] explains what failed, why, and what to do. Match on [`Error::kind`] to handle specific errors:
//!
//! ```no_run
//! # fn main() -> syclbin_rt::Result<()> {
//! use syclbin_rt::{Device, ErrorKind};
//!
//! let device = match Device::best() {
//!     Err(error) if error.kind() == ErrorKind::NoDevice => {
//!         eprintln!("{error}; computing in Rust");
//!         return Ok(());
//!     }
//!     device => device?,
//! };
//! # drop(device);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `cuda` (default): supports NVIDIA GPUs. Their driver is loaded at run time.
//! - `dlpack`: shares tensors with other libraries without copying them; see the module `dlpack`.
//! - `half`: supports `f16` and `bf16` from the crate `half`, for kernels with `sycl::half` and `bfloat16`
//!   parameters.
//! - `log`: logs through the crate `log`. Level warn reports compiler warnings from drivers, unusable cache entries,
//!   and better devices that were skipped. Level info reports the chosen device and the code that was
//!   compiled. Level debug reports the places that were searched, the images that were chosen or skipped, and programs
//!   that were reused. Launches and copies log nothing.
//! - `macros` (default): [`include_syclbin!`].
//! - `ndarray`: uploads arrays and views of the crate `ndarray`, and downloads into arrays.
//! - `tracing`: reports launches, copies, waits and compilations to the crate `tracing`; see [`trace`].
//!
//! # Environment variables
//!
//! - `SYCLBIN_DEVICE` selects the device; [`Device::select`] documents its grammar.
//! - `OPENCL_DYLIB_PATH` lists OpenCL libraries, separated by `;`. They are searched after NVIDIA's driver and before
//!   the system's OpenCL loader; [`Device::all`] documents the order.
//! - `SYCLBIN_HOME` is the directory where `cargo syclbin toolchain install` installs the CPU driver. If it is not set,
//!   a program searches the default directory and then, except on Windows, the directory it was built with.
//! - `SYCLBIN_CACHE` is an absolute path: code that drivers compile is cached in its subdirectory `programs`. `off`
//!   disables the cache. By default, `programs` is in the toolchain's home directory.
//! - `SYCLBIN_GUARD` makes a launch fail if its kernel accesses memory beyond the end (`end`) or before the start
//!   (`start`) of a buffer, or if its results depend on the order of its work-groups (`races`). It requires Linux and
//!   Intel's CPU device, and makes each launch wait for its kernel.
//! - `SYCLBIN_TRACE` writes a timeline of all commands, and `SYCLBIN_STATS` prints a table of their times; see
//!   [`trace`].
//!
//! # Out of scope
//!
//! This version does not support images on CUDA, SYCL streams, or devices without an OpenCL or CUDA driver.

mod backend;
mod device;
#[cfg(feature = "dlpack")]
pub mod dlpack;
mod error;

mod launch;
mod load;
mod log;
mod memory;
mod module;
pub mod native;
mod program_cache;
mod queue;
pub mod trace;

#[cfg(feature = "macros")]
pub use syclbin_macros::include_syclbin;

#[cfg(feature = "half")]
pub use half;

pub use syclbin::architecture::Architecture;
pub use syclbin::{Aspect, State};

pub use backend::event::Profile;
pub use backend::facts::{Affinity, DeviceKind, Partition};
pub use backend::kernel::KernelAttributes;
pub use backend::queue::{Priority, QueueOptions};
pub use backend::range::{AnyRange, Extent, NdRange, Range};
pub use backend::slice::DeviceSlice;
pub use backend::{Addressing, DevicePointer, Filtering, Mapped, MappedMut};
pub use bytemuck::{self, NoUninit, Pod};
pub use device::Device;
pub use error::{Error, ErrorKind, FailedAssert, Result};
pub use launch::accessor::AccessorRange;
pub use launch::arg::{Arg, LocalMemory, Scalar};
pub use launch::kernel::Kernel;
pub use launch::prepared::{Prepared, SafePrepared};
pub use launch::recording::{Recorder, Recording};
pub use launch::{Launch, SafeLaunch};
pub use memory::buffer::{Buffer, DeviceArray, HostArray, SharedArray};
pub use memory::copy::After;
pub use memory::image::{Image, Sampler};
pub use memory::slice::{SliceMut, SliceRef};
pub use memory::transfer::{Transfer, TransferFuture};
pub use module::Module;
pub use module::builder::{Embedded, ModuleBuilder};
pub use module::global::Global;
pub use module::loaded::ImageChoice;
pub use module::stub::{KernelInfo, Padding, ParameterInfo, ParameterKind};
pub use module::watched_file::WatchedFile;
pub use queue::Queue;
pub use queue::event::{Event, EventFuture};

/// Pixel formats of an [`Image`].
pub mod format {
    pub use crate::memory::image::format::{
        Channel, Format, R, Rg, Rgba, Snorm8, Snorm16, Unorm8, Unorm16,
    };
}

/// Items for generated code and for the compiler driver. They may change in any version.
#[doc(hidden)]
pub mod __private {
    pub use crate::device::DeviceChoice;
    pub use crate::launch::contract::{Broken, LaunchView};
    pub use crate::module::ahead_of_time::{build_native, native_cpu};
    pub use crate::module::in_parallel;
    pub use crate::module::stub::{StubKernel, size_of_field};
    pub use include_bytes_aligned::include_bytes_aligned;
    pub use std::path::Path;
}

// Shared with `tests/`, so that all tests choose a device in the same way.
#[cfg(test)]
extern crate self as syclbin_rt;
#[cfg(test)]
#[allow(dead_code, reason = "the tests in `tests/` use the rest")]
#[path = "../tests/common/mod.rs"]
mod common;
