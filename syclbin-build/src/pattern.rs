// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expands source patterns such as `kernels/*.cpp`, and makes Cargo rerun the build script when a file appears.

use std::path::{Path, PathBuf};

use crate::cargo;
use crate::error::{Error, Result};

const WILDCARDS: [char; 3] = ['*', '?', '['];

pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(WILDCARDS)
}

/// Returns the files that a pattern matches, sorted.
///
/// # Errors
///
/// Fails if the pattern is invalid, if it matches no file, or if a directory cannot be read.
pub(crate) fn expand(pattern: &str) -> Result<Vec<PathBuf>> {
    let failed = |problem: String| Error::Pattern {
        pattern: pattern.to_owned(),
        problem,
    };
    let directory = directory(pattern);
    // Cargo would check all files below the directory, including `target`, which every build changes.
    if directory.as_os_str().is_empty() || directory == Path::new(".") {
        return Err(failed(
            "searches the whole package, so Cargo would run the build script each time; move the sources to a \
             directory, as in \"kernels/*.cpp\""
                .to_owned(),
        ));
    }
    if directory.is_dir() {
        cargo::rerun_if_changed(&directory);
    }
    let matches = glob::glob(pattern).map_err(|error| failed(format!("is not valid: {error}")))?;
    let mut files = Vec::new();
    for path in matches {
        let path = path.map_err(|error| failed(format!("cannot be expanded: {error}")))?;
        if !path.is_dir() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(failed(
            "matches no file; it is relative to the directory of Cargo.toml".to_owned(),
        ));
    }
    files.sort();
    Ok(files)
}

/// Returns the directory that a pattern searches: all components before the first wildcard.
pub(crate) fn directory(pattern: &str) -> PathBuf {
    let parts = Path::new(pattern).components();
    let is_plain =
        |part: &std::path::Component<'_>| !is_pattern(&part.as_os_str().to_string_lossy());
    let plain: PathBuf = parts.take_while(is_plain).collect();
    if is_pattern(pattern) {
        plain
    } else {
        plain.parent().map(Path::to_owned).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_ends_before_the_first_wildcard() {
        for (pattern, expected) in [
            ("kernels/*.cpp", "kernels"),
            ("kernels/**/a.cpp", "kernels"),
            ("a/b?/c.cpp", "a"),
            ("/x/y/[ab].cpp", "/x/y"),
            ("*.cpp", ""),
            ("kernels/a.cpp", "kernels"),
        ] {
            assert_eq!(directory(pattern), Path::new(expected), "{pattern}");
        }
    }
}
