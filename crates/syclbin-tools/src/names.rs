// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formats the names of symbols and modules for messages.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use syclbin::__private::mangled;
pub use syclbin::__private::mangled::declared as spelled;
use syclbin::AbstractModule;

/// Returns the qualified C++ name of a symbol, or the symbol itself if it cannot be demangled.
#[must_use]
pub fn qualified(symbol: &str) -> String {
    mangled::parse(symbol).map_or_else(|| symbol.to_string(), |name| name.qualified())
}

/// Describes a module by its kernels.
#[must_use]
pub fn described(module: &AbstractModule<'_>) -> String {
    let kernels: Vec<_> = module.kernel_names().map(spelled).collect();
    match kernels.as_slice() {
        [] => "a module without kernels".to_string(),
        [kernel] => format!("kernel {kernel}"),
        kernels => format!("kernels {}", kernels.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_spelled_as_in_cpp() {
        assert_eq!(spelled("_Z5shapef"), "shape(float)");
        assert_eq!(qualified("_Z5shapef"), "shape");
        assert_eq!(spelled("__sycl_kernel_saxpy"), "saxpy");
        assert_eq!(spelled("plain"), "plain");
        assert_eq!(spelled("_ZTSZ4hostvEUlvE0_"), "host()");
    }
}
