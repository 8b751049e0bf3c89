//! The headers `<syclbin/...>`: what kernels need of SYCL, in pieces that compile fast.
//!
//! They lie in this crate's own folder, where every build passes them to its compiler, and
//! `cargo syclbin toolchain install` puts the same beside `syclbin-clang`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

macro_rules! header {
    ($name:literal) => {
        (
            concat!("syclbin/", $name, ".hpp"),
            include_str!(concat!("../include/syclbin/", $name, ".hpp")),
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

#[cfg(test)]
mod tests {
    use super::*;

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
