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
//! No driver is linked. [`Device::best_for`], [`Device::best`] and [`Device::all`] look for drivers when they
//! are called; where there is none, the [`Error`] lists the places. Some environment variables have a
//! say, all optional: `SYCLBIN_DEVICE` ([`Device::select`] has its grammar) and
//! `OPENCL_DYLIB_PATH` (libraries to try first). `SYCLBIN_HOME` is where
//! `cargo syclbin toolchain install` puts the CPU driver; a program finds the home it was built
//! with again without that variable. What a driver compiles is kept in the home folder for the next
//! run: `SYCLBIN_CACHE` names another folder, or is `off`.
//!
//! The map, in the order in which a program meets it:
//!
//! - [`Device`]: what there is; `select` chooses, by how well a file fits (`fit`), `search` and `places` look
//!   for it, `aspects` tells what it can do, [`Partition`] divides it,
//! - [`Queue`] ([`QueueOptions`]), [`Buffer`], [`DeviceArray`], [`SharedArray`]: memory on a device, used as a
//!   [`DeviceSlice`]; `copy` fills and moves it, `map` lets the host see it,
//! - [`Module`], [`Kernel`], [`Global`]: a file on a device; `load` builds it, `requirements`,
//!   `image` and `native` decide which of its images fit ([`ImageChoice`]), `link` finds what they
//!   import, `programs` and `cache` keep what was built, `save` writes it to a file; [`ModuleBuilder`] adds constants and files,
//! - [`Launch`], [`Arg`], [`NdRange`], [`GlobalRange`]: a kernel at work; `check` and `work_group` check,
//! - [`Prepared`], [`Recording`]: launches that are repeated, over `fixed`,
//! - [`Event`] (`future` has its [`EventFuture`]), [`Profile`], [`Transfer`]: what is under way, and
//!   when it ends,
//! - [`SafeLaunch`]: the same with a contract; `contract` is what generated code is written against,
//! - [`LocalMemory`], [`AccessorRange`], [`Sampler`]: what arguments are made of,
//! - [`Padding`], [`DevicePointer`]: what structs are made of,
//! - `backend`: the only unsafe code, under safe wrappers.
//!
//! With the feature `log` the crate `log` is told, under the target `syclbin_rt`, which device was chosen
//! and what was compiled (level info), which images and places were tried (debug), what drivers warn of,
//! and better devices that a file has no code for (warn). A launch or a copy says nothing.
//!
//! Out of scope in this version: images (pictures), streams, and devices that neither OpenCL nor CUDA
//! reaches.

mod accessor;
mod ahead_of_time;
mod arg;
mod array;
mod aspects;
mod backend;
mod buffer;
mod build_options;
mod builder;
mod cache;
mod call;
mod check;
mod choice;
mod code;
#[doc(hidden)]
pub mod contract;
mod copy;
mod cpu_target;
mod device;
mod driver_settings;
mod error;
mod event;
mod fit;
mod fixed;
mod future;
mod global;
mod image;
mod kernel;
mod kind;
mod launch;
mod link;
mod load;
mod local;
mod log;
mod map;
mod module;
mod native;
#[cfg(feature = "cuda")]
mod native_cuda;
mod number;
mod padding;
mod partition;
mod places;
mod prepared;
mod profile;
mod programs;
mod queue;
mod queue_options;
mod range;
mod recording;
mod requirements;
mod safe_launch;
mod sampler;
mod save;
mod search;
mod select;
mod slice;
mod specialization;
mod suggest;
mod transfer;
mod work_group;

pub use syclbin_macros::include_syclbin;

#[cfg(feature = "half")]
pub use half;

pub use syclbin::Aspect;
pub use syclbin::architecture::Architecture;

#[doc(hidden)]
pub use include_bytes_aligned::include_bytes_aligned;

pub use accessor::AccessorRange;
#[doc(hidden)]
pub use ahead_of_time::{build_native, native_cpu};
pub use arg::{Arg, Scalar};
pub use array::{DeviceArray, HostArray, SharedArray};
pub use backend::slice::DeviceSlice;
pub use backend::{DevicePointer, Mapped, MappedMut};
pub use buffer::Buffer;
pub use builder::{Embedded, ModuleBuilder};
pub use bytemuck::{self, NoUninit, Pod};
pub use choice::ImageChoice;
pub use contract::Broken as BrokenContract;
pub use copy::After;
pub use device::{Device, DeviceChoice, DeviceKind};
pub use error::{Error, ErrorKind, LaunchProblem, Result};
pub use event::Event;
pub use future::{EventFuture, TransferFuture};
pub use global::Global;
pub use kernel::Kernel;
pub use launch::Launch;
pub use local::LocalMemory;
pub use module::Module;
pub use padding::{Padding, size_of_field};
pub use partition::{Affinity, Partition};
pub use prepared::{Prepared, SafePrepared};
pub use profile::Profile;
pub use queue::Queue;
pub use queue_options::QueueOptions;
pub use range::{Extent, GlobalRange, NdRange};
pub use recording::{Recorder, Recording};
pub use safe_launch::SafeLaunch;
pub use sampler::{Addressing, Filtering, Sampler};
pub use slice::{SliceMut, SliceRef};
pub use transfer::Transfer;

// The tests of this crate and those in `tests/` ask for a device in one way.
#[cfg(test)]
extern crate self as syclbin_rt;
#[cfg(test)]
#[allow(dead_code, reason = "the tests in `tests/` use the rest")]
#[path = "../tests/common/mod.rs"]
mod common;
