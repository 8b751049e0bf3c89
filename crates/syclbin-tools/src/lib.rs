// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations on SYCLBIN files, for compilers and tools. Programs that only run kernels do not need this crate.
//!
//! - [`verify`]: reports the errors and inconsistencies in a file,
//! - `extract`: extracts device images from objects, executables, archives and bundles,
//! - `native`: reads the register, spill and memory usage of each kernel from native Intel and NVIDIA code.
//!
//! The last two require the feature `extract`.
//!
//! Like [`syclbin`], this crate works on byte slices, without files or drivers.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(feature = "extract")]
mod archive;
#[cfg(feature = "extract")]
pub mod extract;
mod link;
#[cfg(feature = "extract")]
pub mod native;
mod rename;
pub mod verify;

/// Internal to this project. Any release may change it.
#[doc(hidden)]
pub mod __private {
    use alloc::format;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    use syclbin::__private::{listed, mangled};
    use syclbin::AbstractModule;
    use syclbin::property::set;

    pub use syclbin::__private::mangled::declared as spelled;

    pub use crate::rename::rename_kernels;

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
            kernels => format!("kernels {}", listed(kernels)),
        }
    }

    /// Returns the symbols that a module exports.
    pub fn exports<'m>(module: &'m AbstractModule<'_>) -> impl Iterator<Item = &'m str> {
        members(module, set::EXPORTED_SYMBOLS)
    }

    /// Returns the symbols that a module imports, as far as its metadata lists them.
    pub fn imports<'m>(module: &'m AbstractModule<'_>) -> impl Iterator<Item = &'m str> {
        members(module, set::IMPORTED_SYMBOLS)
    }

    /// Returns the names in a property set, except those with the value 0.
    fn members<'m>(module: &'m AbstractModule<'_>, set: &str) -> impl Iterator<Item = &'m str> {
        let all = module.metadata.entries(set);
        let members = all.filter(|(_, value)| value.as_u32() != Some(0));
        members.map(|(symbol, _)| symbol)
    }

    /// The directory of this crate. Cached results depend on this code, so `syclbin-build` includes a hash of
    /// the directory in its cache keys.
    pub const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

    /// Links SPIR-V ahead of time.
    pub mod link {
        pub use crate::link::{
            LinkError, Object, link, link_modules, linked_metadata, store_ptx_as_native,
        };
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::__private::{described, exports, imports, qualified, spelled};
    use syclbin::AbstractModule;
    use syclbin::property::set;

    #[test]
    fn symbols_are_spelled_as_in_cpp() {
        assert_eq!(spelled("_Z5shapef"), "shape(float)");
        assert_eq!(qualified("_Z5shapef"), "shape");
        assert_eq!(spelled("__sycl_kernel_saxpy"), "saxpy");
        assert_eq!(spelled("plain"), "plain");
        assert_eq!(spelled("_ZTSZ4hostvEUlvE0_"), "host()");
    }

    #[test]
    fn modules_are_described_by_their_kernels() {
        let mut module = AbstractModule::default();
        assert_eq!(described(&module), "a module without kernels");
        module.add_kernel_name("__sycl_kernel_saxpy");
        assert_eq!(described(&module), "kernel saxpy");
        module.add_kernel_name("_Z5shapef");
        assert_eq!(described(&module), "kernels saxpy, shape(float)");
    }

    #[test]
    fn symbols_with_value_0_are_not_listed() {
        let mut module = AbstractModule::default();
        for (set, symbol, value) in [
            (set::EXPORTED_SYMBOLS, "a", 1u32),
            (set::EXPORTED_SYMBOLS, "b", 0),
            (set::IMPORTED_SYMBOLS, "c", 0),
            (set::IMPORTED_SYMBOLS, "d", 2),
        ] {
            module.metadata.insert(set, symbol, value);
        }
        assert_eq!(exports(&module).collect::<Vec<_>>(), ["a"]);
        assert_eq!(imports(&module).collect::<Vec<_>>(), ["d"]);
    }
}
