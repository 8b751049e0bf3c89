// SPDX-License-Identifier: MIT OR Apache-2.0
//! The headers `<syclbin/...>`, which declare the part of SYCL that kernels need, and compile faster than
//! `<sycl/sycl.hpp>`.
//!
//! They are part of this crate's source, and every build adds them to its compiler's search path.
//! `cargo syclbin toolchain install` installs the same headers next to `syclbin-clang`. Builds also add the headers of
//! oneDPL and oneMKL, if they are installed.

use std::borrow::Cow;
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
#[must_use]
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

/// A placeholder for the include directory, valid in every checkout.
const PLACE: &str = "<syclbin-build>";

/// Returns the path in a form that does not depend on the location of this crate.
pub(crate) fn portable(path: &Path) -> Cow<'_, Path> {
    match path.strip_prefix(folder()) {
        Ok(rest) => Cow::Owned(Path::new(PLACE).join(rest)),
        Err(_) => Cow::Borrowed(path),
    }
}

/// Returns the local path for the result of [`portable`].
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
