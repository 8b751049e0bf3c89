//! `cargo syclbin doctor`: what this machine has, and what it would take to compile and run kernels.
//!
//! [`Facts`] are gathered from the machine; the [`Report`] over them asks it nothing more, so that
//! every machine can be made up in a test.

mod devices;
mod facts;
mod report;
mod trial;

pub use devices::{Device, Devices};
pub use facts::{Compiler, Compilers, Cpp, CpuDevice, Facts, Taken, Tool};
pub use report::{Item, Mark, Report, Section};
pub use trial::{Compiled, KERNEL, Ran, VALUE};
