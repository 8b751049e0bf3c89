// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a module needs from elsewhere.

use alloc::string::String;
use alloc::vec::Vec;

use super::Module;
use crate::error::Error;

/// Returns the symbols that the module `bytes` needs from elsewhere. A driver that gets a module with such a
/// symbol may end the process, so a launcher asks first.
///
/// # Errors
///
/// When `bytes` are not SPIR-V.
pub fn unresolved_imports(bytes: &[u8]) -> Result<Vec<String>, Error> {
    let module = Module::parse(bytes)?;
    Ok(module.imports().map(String::from).collect())
}

/// What an unresolved import asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Import {
    /// The value of a specialization constant, which the compiler left unlowered.
    SpecializationConstant,
    /// A function of DPC++'s device library, such as the one that reports a failed `assert`.
    DeviceLibrary,
    /// A function or variable of another source.
    Symbol,
}

impl Import {
    /// Returns what `symbol` asks for.
    #[must_use]
    pub fn of(symbol: &str) -> Self {
        const CONSTANT_READS: [&str; 2] = [
            "__sycl_getScalar2020SpecConstantValue",
            "__sycl_getComposite2020SpecConstantValue",
        ];
        if CONSTANT_READS.iter().any(|read| symbol.contains(read)) {
            Self::SpecializationConstant
        } else if symbol.contains("__devicelib_") {
            Self::DeviceLibrary
        } else {
            Self::Symbol
        }
    }
}

/// The function of DPC++'s device library that a failed `assert` calls. Drivers with the OpenCL
/// extension `cl_intel_devicelib_assert` have it themselves: it prints, and ends the process.
pub const ASSERT_FAIL: &str = "__devicelib_assert_fail";

/// Returns whether `target` is a triple of 64-bit SPIR-V, or empty, because files from elsewhere may not say.
/// An image without an architecture is filed as SPIR-V whatever it is, and its triple gives it away.
#[must_use]
pub fn is_target(target: &str) -> bool {
    let architecture = target.split('-').next().unwrap_or_default();
    architecture.is_empty() || architecture == "spir64" || architecture.starts_with("spirv64")
}
