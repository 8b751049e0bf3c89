// SPDX-License-Identifier: MIT OR Apache-2.0
//! The headers `<syclbin/...>`, installed beside the compiler like `syclbin-clang`. They come from this program,
//! not from a wheel, and are updated with it.

use std::path::Path;

use syclbin_build::headers::ALL;

use super::manifest::Manifest;
use super::staging::Staging;
use crate::error::Result;

/// The include directory, relative to the compiler's directory.
const FOLDER: &str = "include";

/// Returns whether a path in a manifest names one of these headers.
pub(super) fn is_one(path: &str) -> bool {
    path.strip_prefix("include/")
        .is_some_and(|path| path.starts_with("syclbin/"))
}

/// Returns whether the compiler's directory holds exactly these headers, and the manifest records no others.
pub(super) fn fit(folder: &Path, manifest: &Manifest) -> bool {
    let recorded = manifest.files.iter().filter(|entry| is_one(&entry.path));
    let same = ALL.iter().all(|(path, text)| {
        let path = format!("{FOLDER}/{path}");
        manifest.recorded(&path) == u64::try_from(text.len()).ok()
            && std::fs::read(folder.join(path)).is_ok_and(|old| old == text.as_bytes())
    });
    same && recorded.count() == ALL.len()
}

/// Writes the headers into the compiler's directory, each by a rename, and records them in its manifest.
pub(super) fn write(folder: &Path, manifest: &mut Manifest, staging: &Staging) -> Result<()> {
    staging.create_folder(&folder.join(FOLDER).join("syclbin"))?;
    manifest.files.retain(|entry| !is_one(&entry.path));
    for (path, text) in ALL {
        let path = format!("{FOLDER}/{path}");
        let target = folder.join(&path);
        syclbin_build::file::replace(&target, text.as_bytes())
            .map_err(|cause| staging.failed(&target, cause))?;
        manifest.record(&path, text.len() as u64);
    }
    Ok(())
}
