//! What `cargo syclbin build` has build scripts do with kept files, and what they answer.
//!
//! A variable names a folder: in there lie the orders, and each [`Build`](crate::Build) that keeps a
//! file leaves a report beside them. The folder is another each time, so Cargo runs the scripts.

use std::io;
use std::path::{Path, PathBuf};
use syclbin_toolchain::store::hex;

use crate::file;

/// The variable that names the folder.
pub const VARIABLE: &str = "SYCLBIN_PREBUILT_ORDERS";

const ORDERS: &str = "orders";
const REPORT: &str = "report-";

/// What is to be done with kept files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Compile, and write them.
    Commit,
    /// Compile nothing, and say which are stale.
    Check,
}

/// Orders for the build scripts of some packages. Those of others are not ours to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    /// What is to be done.
    pub order: Order,
    /// The folders of the packages.
    pub packages: Vec<PathBuf>,
}

/// What became of a kept file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The folder of the package.
    pub package: PathBuf,
    /// The file, from there.
    pub file: PathBuf,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a kept file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was written.
    Written,
    /// It is what its sources say, or was when it was to be written.
    Fresh,
    /// It is not, for this reason.
    Stale(String),
    /// There is no file to be kept.
    NotKept,
}

impl Orders {
    /// Writes the orders to `folder`.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let word = match self.order {
            Order::Commit => "commit",
            Order::Check => "check",
        };
        let packages = self.packages.iter().map(|path| path.to_string_lossy());
        let text: Vec<_> = std::iter::once(word.into()).chain(packages).collect();
        std::fs::write(folder.join(ORDERS), text.join("\0"))
    }

    /// The order for the package in `package`, if there is one.
    pub(crate) fn read(folder: &Path, package: &Path) -> Option<Order> {
        let text = std::fs::read_to_string(folder.join(ORDERS)).ok()?;
        let mut words = text.split('\0');
        let order = match words.next()? {
            "commit" => Order::Commit,
            "check" => Order::Check,
            _ => return None,
        };
        // Links may lead to the one folder in several ways.
        let package = package.canonicalize().ok()?;
        words
            .any(|word| {
                Path::new(word)
                    .canonicalize()
                    .is_ok_and(|path| path == package)
            })
            .then_some(order)
    }
}

impl Report {
    /// Leaves the report in `folder`.
    pub(crate) fn leave(&self, folder: &Path) -> io::Result<()> {
        let (word, reason) = match &self.outcome {
            Outcome::Written => ("written", ""),
            Outcome::Fresh => ("fresh", ""),
            Outcome::Stale(reason) => ("stale", reason.as_str()),
            Outcome::NotKept => ("none", ""),
        };
        let text = [
            self.package.to_string_lossy().as_ref(),
            self.file.to_string_lossy().as_ref(),
            word,
            reason,
        ]
        .join("\0");
        let name = hex(hmac_sha256::Hash::hash(text.as_bytes()));
        file::replace(&folder.join(format!("{REPORT}{name}")), text.as_bytes())
    }

    /// All reports in `folder`, by package and file.
    ///
    /// # Errors
    ///
    /// When one cannot be read.
    pub fn collect(folder: &Path) -> io::Result<Vec<Self>> {
        let mut reports = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with(REPORT) {
                continue;
            }
            let text = std::fs::read_to_string(entry.path())?;
            let words: Vec<&str> = text.split('\0').collect();
            let [package, file, word, reason] = words[..] else {
                continue;
            };
            reports.push(Self {
                package: package.into(),
                file: file.into(),
                outcome: match word {
                    "written" => Outcome::Written,
                    "fresh" => Outcome::Fresh,
                    "none" => Outcome::NotKept,
                    _ => Outcome::Stale(reason.to_owned()),
                },
            });
        }
        reports.sort_by(|a, b| (&a.package, &a.file).cmp(&(&b.package, &b.file)));
        Ok(reports)
    }
}
