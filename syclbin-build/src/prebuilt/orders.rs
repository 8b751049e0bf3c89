// SPDX-License-Identifier: MIT OR Apache-2.0
//! Passes orders about prebuilt files from `cargo syclbin build` to build scripts, and passes their reports back.
//!
//! An environment variable names a directory with the orders. The build scripts write their reports to this directory.
//! Every `cargo syclbin build` uses a new directory, so that Cargo runs the scripts again.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use syclbin_toolchain::store::hex;

use crate::file::{self, join_words, split_words};

/// The environment variable that names the directory for orders and reports.
pub const VARIABLE: &str = "SYCLBIN_PREBUILT_ORDERS";

const ORDERS: &str = "orders";
const REPORT: &str = "report-";

/// What to do with the prebuilt files of selected packages. Those of other packages must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Compile, and write the prebuilt files.
    Commit,
    /// Compile nothing, and report whether the prebuilt files are stale.
    Check,
}

/// A build script's report about a prebuilt file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The directory of the package.
    pub package: PathBuf,
    /// The prebuilt file, relative to the package directory. Empty for [`Outcome::NoPrebuilt`].
    pub file: PathBuf,
    /// The result of the order.
    pub outcome: Outcome,
}

/// The result of an order for one build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The file was written.
    Written,
    /// The file already matched its sources.
    Fresh,
    /// The file is stale, for this reason.
    Stale(String),
    /// The build does not use a prebuilt file.
    NoPrebuilt,
}

impl Order {
    /// Writes this order, for the packages in the directories `packages`, to a directory.
    ///
    /// # Errors
    ///
    /// Fails if the order cannot be written.
    pub fn write<'p>(
        self,
        folder: &Path,
        packages: impl IntoIterator<Item = &'p Path>,
    ) -> io::Result<()> {
        let word = match self {
            Self::Commit => "commit",
            Self::Check => "check",
        };
        let packages = packages.into_iter().map(Path::as_os_str);
        let all = std::iter::once(OsStr::new(word)).chain(packages);
        std::fs::write(folder.join(ORDERS), join_words(all))
    }

    /// Returns the order for the package in the directory `package`, or `None` if the package is not selected.
    pub(crate) fn read(folder: &Path, package: &Path) -> Option<Self> {
        let bytes = std::fs::read(folder.join(ORDERS)).ok()?;
        let mut words = split_words(&bytes);
        let order = match words.next()?.to_str()? {
            "commit" => Self::Commit,
            "check" => Self::Check,
            _ => return None,
        };
        // Compares canonical paths, because symbolic links may give a directory several paths.
        let package = package.canonicalize().ok()?;
        let is_package = |path: PathBuf| path == package;
        let mut packages = words.map(|word| Path::new(&word).canonicalize());
        let is_selected = packages.any(|path| path.is_ok_and(is_package));
        is_selected.then_some(order)
    }
}

impl Report {
    pub(crate) fn leave(&self, folder: &Path) -> io::Result<()> {
        let (word, reason) = match &self.outcome {
            Outcome::Written => ("written", ""),
            Outcome::Fresh => ("fresh", ""),
            Outcome::Stale(reason) => ("stale", reason.as_str()),
            Outcome::NoPrebuilt => ("none", ""),
        };
        let bytes = join_words([
            self.package.as_os_str(),
            self.file.as_os_str(),
            word.as_ref(),
            reason.as_ref(),
        ]);
        let name = hex(hmac_sha256::Hash::hash(&bytes));
        file::replace(&folder.join(format!("{REPORT}{name}")), &bytes)
    }

    /// Reads all reports in a directory, sorted by package and file.
    ///
    /// # Errors
    ///
    /// Fails if a report cannot be read.
    pub fn collect(folder: &Path) -> io::Result<Vec<Self>> {
        let mut reports = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with(REPORT) {
                continue;
            }
            let bytes = std::fs::read(entry.path())?;
            let words: Vec<OsString> = split_words(&bytes).collect();
            let [package, file, word, reason] = &words[..] else {
                continue;
            };
            reports.push(Self {
                package: package.into(),
                file: file.into(),
                outcome: match word.to_str() {
                    Some("written") => Outcome::Written,
                    Some("fresh") => Outcome::Fresh,
                    Some("none") => Outcome::NoPrebuilt,
                    _ => Outcome::Stale(reason.to_string_lossy().into_owned()),
                },
            });
        }
        reports.sort_by(|a, b| (&a.package, &a.file).cmp(&(&b.package, &b.file)));
        Ok(reports)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn directories_of_any_encoding_have_orders_and_reports() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join(OsStr::from_bytes(b"caf\xe9"));
        std::fs::create_dir(&package).unwrap();
        Order::Check.write(folder.path(), [&*package]).unwrap();
        assert_eq!(Order::read(folder.path(), &package), Some(Order::Check));
        assert_eq!(Order::read(folder.path(), folder.path()), None);
        let report = Report {
            package,
            file: OsStr::from_bytes(b"k\xe9.syclbin").into(),
            outcome: Outcome::Stale("a source changed".into()),
        };
        report.leave(folder.path()).unwrap();
        assert_eq!(Report::collect(folder.path()).unwrap(), [report]);
    }
}
