//! Runs the kernels of SYCLBIN files on GPUs and CPUs, through OpenCL and CUDA.
//!
//! ```no_run
//! use syclbin_rt::{Arg, Device, Launch, Module, Result};
//!
//! fn main() -> Result<()> {
//!     let file = std::fs::read("saxpy.syclbin").expect("the file");
//!     let queue = Device::best_for(&file)?.queue()?;
//!     // SAFETY: a compiler made the file.
//!     let module = unsafe { Module::load(&queue, &file)? };
//!     let saxpy = module.kernel("saxpy");
//!
//!     let x = queue.upload(&vec![1.0f32; 1 << 20])?;
//!     let mut y = queue.upload(&vec![2.0f32; 1 << 20])?;
//!     let args = [
//!         Arg::scalar(2.0f32),
//!         Arg::read(&x),
//!         Arg::write(&mut y),
//!         Arg::scalar(1u32 << 20),
//!     ];
//!     // SAFETY: the types are those of the kernel, and both buffers hold `n` elements.
//!     unsafe { Launch::new(&saxpy, &["a", "x", "y", "n"], args).launch(1 << 20)? };
//!     assert_eq!(queue.download(&y)?[0], 4.0);
//!     Ok(())
//! }
//! ```
//!
//! This crate does not link a driver. [`Device::best_for`], [`Device::best`] and [`Device::all`] look for
//! drivers when they are called. Where there is none, the [`Error`] lists the places that were tried.
//!
//! Some optional environment variables change what the crate does:
//!
//! - `SYCLBIN_DEVICE` selects the device; [`Device::select`] has its grammar.
//! - `OPENCL_DYLIB_PATH` lists libraries to try first.
//! - `SYCLBIN_HOME` is the directory where `cargo syclbin toolchain install` puts the CPU driver. Without the
//!   variable, a program finds the home it was built with.
//! - `SYCLBIN_CACHE` names another directory for the code that drivers compile, or is `off`. By default, that
//!   code is cached in the home directory for the next run.
//!
//! The modules, in the order in which a program meets them:
//!
//! - `device`: finds [`Device`]s and chooses among them; [`Partition`] divides them,
//! - `queue`: [`Queue`] and its [`QueueOptions`]; [`Event`], [`EventFuture`] and [`Profile`] of a command; copies, and
//!   a [`Transfer`] that owns the memory of the host,
//! - `memory`: [`Buffer`], [`DeviceArray`], [`SharedArray`], used as a [`DeviceSlice`]; [`Mapped`] is the host's view;
//!   [`Padding`] and [`DevicePointer`] are parts of structs,
//! - `module`: [`Module`], [`Kernel`] and [`Global`]; [`ModuleBuilder`] adds constants and files,
//! - `load`: selects the images of a file that fit ([`ImageChoice`]), links and builds them; `program_cache` keeps what
//!   was built,
//! - `launch`: [`Launch`] with [`Arg`]s over an [`NdRange`] or a [`GlobalRange`]; [`Prepared`] and [`Recording`] repeat
//!   launches; [`SafeLaunch`] has a contract,
//! - `contract`: the interface that generated code is written against,
//! - `backend`: the only unsafe code, under safe wrappers.
//!
//! With the feature `log`, this crate writes to the crate `log` under the target `syclbin_rt`:
//!
//! - info: the device that was chosen and the code that was compiled,
//! - debug: the images and places that were tried, and the warnings of drivers,
//! - warn: better devices that a file has no code for.
//!
//! A launch or a copy logs nothing.
//!
//! Out of scope in this version: images (pictures), streams, and devices that neither OpenCL nor CUDA
//! reaches.

mod backend;
mod contract;
mod device;
mod error;
mod launch;
mod load;
mod log;
mod memory;
mod module;
mod program_cache;
mod queue;

pub use syclbin_macros::include_syclbin;

#[cfg(feature = "half")]
pub use half;

pub use syclbin::Aspect;
pub use syclbin::architecture::Architecture;

pub use backend::slice::DeviceSlice;
pub use backend::{DevicePointer, Mapped, MappedMut};
pub use bytemuck::{self, NoUninit, Pod};
pub use contract::Broken as BrokenContract;
pub use device::facts::DeviceKind;
pub use device::partition::{Affinity, Partition};
pub use device::{Device, DeviceChoice};
pub use error::launch_problem::LaunchProblem;
pub use error::{Error, ErrorKind, Result};
pub use launch::Launch;
pub use launch::accessor::AccessorRange;
pub use launch::arg::{Arg, Scalar};
pub use launch::local_memory::LocalMemory;
pub use launch::prepared::{Prepared, SafePrepared};
pub use launch::range::{Extent, GlobalRange, NdRange};
pub use launch::recording::Recording;
pub use launch::recording::recorder::Recorder;
pub use launch::safe_launch::SafeLaunch;
pub use launch::sampler::Sampler;
pub use launch::sampler::modes::{Addressing, Filtering};
pub use load::image_choice::ImageChoice;
pub use memory::array::{DeviceArray, HostArray, SharedArray};
pub use memory::buffer::Buffer;
pub use memory::padding::Padding;
pub use memory::slice::{SliceMut, SliceRef};
pub use module::Module;
pub use module::builder::{Embedded, ModuleBuilder};
pub use module::global::Global;
pub use module::kernel::Kernel;
pub use queue::Queue;
pub use queue::copy::After;
pub use queue::event::Event;
pub use queue::future::{EventFuture, TransferFuture};
pub use queue::options::QueueOptions;
pub use queue::profile::Profile;
pub use queue::transfer::Transfer;

/// Items for generated code and for the compiler driver. They may change in any version.
#[doc(hidden)]
pub mod __private {
    pub use crate::contract::{Broken, Condition, LaunchView, Number, Relation};
    pub use crate::load::ahead_of_time::{build_native, native_cpu};
    pub use crate::memory::padding::size_of_field;
    pub use include_bytes_aligned::include_bytes_aligned;
}

// The tests of this crate and those in `tests/` ask for a device in one way.
#[cfg(test)]
extern crate self as syclbin_rt;
#[cfg(test)]
#[allow(dead_code, reason = "the tests in `tests/` use the rest")]
#[path = "../tests/common/mod.rs"]
mod common;
