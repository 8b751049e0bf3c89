// SPDX-License-Identifier: MIT OR Apache-2.0
//! Provides headers that the compiler library lacks: the installed headers `<syclbin/...>`, and headers that are
//! embedded in this program.

use std::path::Path;

/// The virtual path of the header that sources for native code include first. The library receives its content together
/// with the source.
pub(crate) const BFLOAT16_PATH: &str = "/sycl-jit-toolchain/syclbin-clang/bfloat16.hpp";
/// The content of that header: conversions for `bfloat16`.
pub(crate) const BFLOAT16: &str = include_str!("bfloat16.hpp");

/// The virtual path of the header that all sources include first. The library receives its content together with the
/// source.
pub(crate) const ASSERT_PATH: &str = "/sycl-jit-toolchain/syclbin-clang/assert.hpp";
/// The content of that header: handling of failed asserts.
pub(crate) use syclbin_build::headers::ASSERT;

/// Returns the arguments that include [`ASSERT`] before a source.
pub(crate) fn assert_arguments() -> [String; 4] {
    // `-Xclang` passes `-include` to the frontend, because the driver cannot find the library's in-memory files.
    ["-Xclang", "-include", "-Xclang", ASSERT_PATH].map(str::to_owned)
}

/// Returns the arguments that add the installed headers after all of the user's directories, or none if the headers are
/// not installed. `-isystem` marks them as system headers, so that clang does not warn about them.
pub(crate) fn arguments(library: &Path) -> Vec<String> {
    let root = library.parent().and_then(Path::parent);
    let folder = root.map(|root| root.join("include"));
    match folder.as_deref().and_then(Path::to_str) {
        Some(folder) if Path::new(folder).is_dir() => vec!["-isystem".into(), folder.into()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_directory_beside_library_is_used() {
        let root = tempfile::tempdir().unwrap();
        let library = root.path().join("lib/libsycl-jit.so");
        assert!(arguments(&library).is_empty());
        let include = root.path().join("include");
        std::fs::create_dir(&include).unwrap();
        let expected = ["-isystem", include.to_str().unwrap()];
        assert_eq!(arguments(&library), expected);
    }
}
