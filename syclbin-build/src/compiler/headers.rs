// SPDX-License-Identifier: MIT OR Apache-2.0
//! The headers `<syclbin/...>`: the part of SYCL that kernels need, in pieces that compile fast.
//!
//! They are in this crate's own directory, and every build passes them to its compiler.
//! `cargo syclbin toolchain install` installs the same headers beside `syclbin-clang`.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

macro_rules! header {
    ($name:literal) => {
        (
            concat!("syclbin/", $name, ".hpp"),
            include_str!(concat!("../../include/syclbin/", $name, ".hpp")),
        )
    };
}

/// Each header: its path below an include directory, and its text.
pub const ALL: [(&str, &str); 8] = [
    header!("atomic"),
    header!("constants"),
    header!("group"),
    header!("kernel"),
    header!("local_memory"),
    header!("math"),
    header!("printf"),
    header!("vector"),
];

/// The header that records failed asserts. Compilers include it before each source.
pub const ASSERT: &str = include_str!("../../include/syclbin_assert.hpp");

/// Returns the arguments that include [`ASSERT`] before a source, for a compiler that does not do so by itself.
pub(crate) fn assert_arguments() -> [OsString; 2] {
    ["-include".into(), "syclbin_assert.hpp".into()]
}

/// Returns the include directory, which is a part of this crate's source.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// Returns the arguments that add the headers to the search path, after all directories of the user. They are
/// system headers, so the compiler emits no warnings about them.
pub(crate) fn arguments() -> [OsString; 2] {
    ["-isystem".into(), folder().into()]
}

/// A placeholder for our include directory, which other checkouts can read.
const PLACE: &str = "<syclbin-build>";

/// Returns a path that does not depend on the directory of this crate.
pub(crate) fn portable(path: &Path) -> Cow<'_, Path> {
    match path.strip_prefix(folder()) {
        Ok(rest) => Cow::Owned(Path::new(PLACE).join(rest)),
        Err(_) => Cow::Borrowed(path),
    }
}

/// Returns the local path for a path that may be [`portable`].
pub(crate) fn local(path: PathBuf) -> PathBuf {
    match path.strip_prefix(PLACE) {
        Ok(rest) => folder().join(rest),
        Err(_) => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_headers_have_a_portable_name() {
        let here = folder().join("syclbin/kernel.hpp");
        let name = portable(&here).into_owned();
        assert_eq!(name, Path::new("<syclbin-build>/syclbin/kernel.hpp"));
        assert_eq!(local(name), here);
        assert_eq!(local(portable(&folder()).into_owned()), folder());
        for other in ["kernels/a.hpp", "/usr/include/syclbin/kernel.hpp", "-O2"] {
            assert_eq!(portable(Path::new(other)), Path::new(other));
            assert_eq!(local(other.into()), Path::new(other));
        }
    }

    #[test]
    fn list_of_headers_is_complete() {
        let mut found: Vec<String> = std::fs::read_dir(folder().join("syclbin"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|name| format!("syclbin/{name}"))
            .collect();
        found.sort();
        assert_eq!(found, ALL.map(|(path, _)| path.to_owned()));
    }

    #[test]
    fn headers_have_include_guard_and_sycl_fallback() {
        for (path, text) in ALL {
            assert!(text.contains("\n#pragma once\n"), "{path}");
            assert!(text.contains("\n#include <sycl/sycl.hpp>\n"), "{path}");
        }
    }

    #[test]
    fn the_first_header_names_all_others() {
        let (_, kernel) = ALL[3];
        for (path, _) in ALL {
            assert!(kernel.contains(&format!("<{path}>")), "{path}");
        }
    }
}
