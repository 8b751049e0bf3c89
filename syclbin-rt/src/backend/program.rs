// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs: code that a driver has built for a device.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::CString;
use std::sync::{Arc, Weak};

use crate::backend::{Facts, Kernel, Result, Slot};
use crate::log;

/// Code of a module, and its settings for the build.
pub(crate) struct Source<'s> {
    pub(crate) code: Cow<'s, [u8]>,
    /// For PTX and code made from it: values of specialization constants that are not their defaults, by the
    /// names of the variables that hold them. SPIR-V has the values as its defaults.
    pub(crate) constants: Vec<(String, Vec<u8>)>,
    pub(crate) options: BuildOptions,
}

/// Options of `clBuildProgram` and its two halves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuildOptions {
    /// For `clBuildProgram` and `clCompileProgram`.
    pub(crate) compile: String,
    /// For `clLinkProgram`: the options that affect native code, which some drivers make at that time.
    pub(crate) link: String,
}

/// A built program. A clone is the same program.
pub(crate) type Program = Arc<dyn DriverProgram>;

/// A program as long as another owner holds it.
pub(crate) type WeakProgram = Weak<dyn DriverProgram>;

/// A program of a driver.
pub(crate) trait DriverProgram: Any + Send + Sync {
    /// Finds the kernel called `symbol`. The positions of its parameters are given where they are known.
    fn kernel(self: Arc<Self>, symbol: CString, slots: Option<Vec<Slot>>) -> Result<Kernel>;

    /// Returns the native code that the driver has made.
    fn binary(&self) -> Result<Vec<u8>>;

    /// Returns the symbols of its kernels.
    fn kernel_names(&self) -> Result<Vec<String>>;
}

/// Logs the warnings of a driver's compiler. Most drivers say something in any case.
pub(crate) fn log_warnings(facts: &Facts, text: impl FnOnce() -> String) {
    if !log::hears_warnings() {
        return;
    }
    let text = text();
    if text.to_ascii_lowercase().contains("warning") {
        log::warn(format_args!(
            "the driver of {} reported a warning:\n{text}",
            facts.name
        ));
    }
}
