// SPDX-License-Identifier: MIT OR Apache-2.0
//! Detects directories in which a component does not work.

use std::path::{Path, PathBuf};

use crate::{Component, HOME_VARIABLE};

/// The defect of Intel's driver, and the kind of path that avoids it.
const PROBLEM: [&str; 2] = if cfg!(windows) {
    [
        "misreads paths with non-ASCII characters and does not find its libraries",
        "with only ASCII characters",
    ]
} else {
    [
        "cuts off the path at the first whitespace and loads libraries from the wrong directory",
        "without whitespace",
    ]
};

/// A directory in which a component does not work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} does not work in {}: Intel's driver {}; set {HOME_VARIABLE} to a path {}, and install the component there",
    component.name(), path.display(), PROBLEM[0], PROBLEM[1]
)]
pub struct UnsuitableDirectory {
    /// The component that does not work.
    pub component: Component,
    /// The directory. On Linux, symbolic links are resolved.
    pub path: PathBuf,
}

impl Component {
    /// Checks whether this component works in `directory`, which may not exist yet.
    ///
    /// On Linux, Intel's CPU driver (2026.2) looks up its own path in `/proc/self/maps`, but truncates it at the first
    /// whitespace character. It then loads libraries from the parent directory of the truncated path, where other users
    /// may be able to write. A symbolic link does not help, because `/proc/self/maps` contains the resolved path.
    ///
    /// On Windows, the same driver queries its own path in the system code page, but decodes it as UTF-8. Windows
    /// returns the path from which the driver was loaded, so loading it through a link with an ASCII path helps.
    ///
    /// # Errors
    ///
    /// Returns an error if the component does not work there.
    pub fn check_directory(self, directory: &Path) -> Result<(), UnsuitableDirectory> {
        let (path, fits) = if cfg!(windows) {
            (directory.to_owned(), directory.as_os_str().is_ascii())
        } else {
            let path = resolved(directory);
            let bytes = path.as_os_str().as_encoded_bytes();
            // Whitespace according to C's `isspace`.
            let has_white_space = bytes.iter().any(|byte| matches!(byte, b' ' | 9..=13));
            (path, !(cfg!(target_os = "linux") && has_white_space))
        };
        if fits || self != Self::CpuDevice {
            return Ok(());
        }
        let component = self;
        Err(UnsuitableDirectory { component, path })
    }
}

/// Returns the path with symbolic links resolved in the part that exists.
fn resolved(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let (Ok(mut resolved), Ok(rest)) = (existing.canonicalize(), path.strip_prefix(existing))
        {
            resolved.extend(rest);
            return resolved;
        }
    }
    path.to_owned()
}

#[cfg(all(test, windows))]
mod tests {
    use super::*;

    #[test]
    fn non_ascii_paths_are_refused_for_the_driver() {
        let path = Path::new("C:\\Users\\Jörg\\home");
        let error = Component::CpuDevice.check_directory(path).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("a path with only ASCII characters"),
            "{error}"
        );
        assert_eq!(Component::Compiler.check_directory(path), Ok(()));
        let plain = Path::new("C:\\Program Files\\home");
        assert_eq!(Component::CpuDevice.check_directory(plain), Ok(()));
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_refused_for_the_driver() {
        for path in ["/nowhere/a b/home", "/nowhere/tab\t", "/nowhere/\u{b}/x"] {
            let error = Component::CpuDevice.check_directory(Path::new(path));
            let text = error.unwrap_err().to_string();
            assert!(
                text.contains(path) && text.contains(HOME_VARIABLE),
                "{text}"
            );
            assert_eq!(Component::Compiler.check_directory(Path::new(path)), Ok(()));
        }
        for path in ["/nowhere/ümläut", "/nowhere/a\u{a0}b", "/nowhere/a;b\"c"] {
            assert_eq!(
                Component::CpuDevice.check_directory(Path::new(path)),
                Ok(())
            );
        }
    }

    #[test]
    fn links_are_resolved_before_the_check() {
        let parent = tempfile::tempdir().unwrap();
        let check = |path: &Path| Component::CpuDevice.check_directory(path);
        let [spaced, plain] = ["a b", "ab"].map(|name| parent.path().join(name));
        std::fs::create_dir(&spaced).unwrap();
        std::os::unix::fs::symlink(&spaced, &plain).unwrap();
        let error = check(&plain.join("home")).unwrap_err();
        assert_eq!(error.path, spaced.canonicalize().unwrap().join("home"));
        std::fs::remove_dir(&spaced).unwrap();
        std::fs::remove_file(&plain).unwrap();
        std::fs::create_dir(&plain).unwrap();
        std::os::unix::fs::symlink(&plain, &spaced).unwrap();
        assert_eq!(check(&spaced.join("home")), Ok(()));
    }
}
