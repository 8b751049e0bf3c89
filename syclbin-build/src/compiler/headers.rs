// SPDX-License-Identifier: MIT OR Apache-2.0
//! The headers `<syclbin/...>`, which declare the part of SYCL that kernels need, and compile faster than
//! `<sycl/sycl.hpp>`.
//!
//! They are part of this crate's source, and every build adds them to its compiler's search path.
//! `cargo syclbin toolchain install` installs the same headers next to `syclbin-clang`. Builds also add the headers of
//! oneDPL and oneMKL, if they are installed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use syclbin_toolchain::{Component, HOME_VARIABLE, Home};

use crate::cargo;

macro_rules! header {
    ($name:literal) => {
        (
            concat!("syclbin/", $name, ".hpp"),
            include_str!(concat!("../../include/syclbin/", $name, ".hpp")),
        )
    };
}

/// The headers: the path of each, relative to the include directory, and its contents.
pub const ALL: [(&str, &str); 9] = [
    header!("atomic"),
    header!("constants"),
    header!("group"),
    header!("kernel"),
    header!("local_memory"),
    header!("math"),
    header!("printf"),
    header!("reduce"),
    header!("vector"),
];

/// The header that records failed asserts. Every compile includes it before the source.
pub const ASSERT: &str = include_str!("../../include/syclbin_assert.hpp");

/// Returns the include directory, which is part of this crate's source.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// Returns the arguments that add these headers and the component `oneapi-headers` to the search path, after the user's
/// directories. `-isystem` marks them as system headers, so compilers emit no warnings about them.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    let home = Home::locate(cargo::env(HOME_VARIABLE).as_deref()).ok();
    let oneapi = home.and_then(|home| home.newest(Component::OneapiHeaders));
    let folders = [Some(folder()), oneapi.map(|oneapi| oneapi.entry())];
    let folders = folders.into_iter().flatten();
    folders.flat_map(|folder| ["-isystem".into(), folder.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

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
