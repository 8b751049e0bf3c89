//! The headers `<syclbin/...>`: what kernels need of SYCL, in pieces that compile fast.
//!
//! They lie in this crate's own folder, where every build passes them to its compiler, and
//! `cargo syclbin toolchain install` puts the same beside `syclbin-clang`.

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

/// Each header: its path below an include folder, and its text.
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

/// The include folder, which is a part of this crate's source.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// What has a compiler find the headers, behind all folders of the user. As headers of the system,
/// so that no warning is about them.
pub(crate) fn arguments() -> [OsString; 2] {
    ["-isystem".into(), folder().into()]
}

/// Stands for our include folder where another checkout may read it.
const PLACE: &str = "<syclbin-build>";

/// A path as it is wherever this crate lies.
pub(crate) fn portable(path: &Path) -> Cow<'_, Path> {
    match path.strip_prefix(folder()) {
        Ok(rest) => Cow::Owned(Path::new(PLACE).join(rest)),
        Err(_) => Cow::Borrowed(path),
    }
}

/// The path here, of one that may be [`portable`].
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
    fn our_headers_have_a_name_that_is_the_same_wherever_they_lie() {
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
    fn every_header_in_the_folder_is_one_of_all() {
        let mut found: Vec<String> = std::fs::read_dir(folder().join("syclbin"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|name| format!("syclbin/{name}"))
            .collect();
        found.sort();
        assert_eq!(found, ALL.map(|(path, _)| path.to_owned()));
    }

    #[test]
    fn every_header_falls_back_to_the_whole_of_sycl_and_is_read_once() {
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
