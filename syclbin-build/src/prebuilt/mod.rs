// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prebuilt files: compiled files that are committed next to their sources, for builds without a compiler. Each file
//! records its sources, so that a build can detect that the file is stale.

pub mod orders;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use hmac_sha256::Hash as Sha256;
use syclbin::metadata::Sources;
use syclbin::property::set;
use syclbin::{Container, State, Syclbin, Value};
use syclbin_toolchain::file::changed;
use syclbin_tools::verify::Severity;

use crate::error::{Error, Result};
use crate::out_dir::Paths;

/// A prebuilt file that has been read and verified.
pub(crate) struct Prebuilt {
    pub(crate) bytes: Vec<u8>,
    sources: Option<Sources>,
}

impl Prebuilt {
    /// Reads and verifies the file. Returns `None` if it does not exist.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        let damaged = |problem: String| Error::Prebuilt {
            path: path.to_owned(),
            problem,
        };
        let bytes = match syclbin_toolchain::file::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(damaged(format!("cannot be read: {error}"))),
        };
        let mut findings = syclbin_tools::verify::verify(&bytes).into_iter();
        if let Some(fault) = findings.find(|finding| finding.severity == Severity::Error) {
            let (record, reason) = (fault.record, fault.reason);
            return Err(damaged(format!("is damaged: {record}: {reason}")));
        }
        let file = syclbin::read::parse(&bytes);
        let file = file.map_err(|error| damaged(format!("is damaged: {error}")))?;
        let sources = Sources::read(&file.global);
        let sources = sources.map_err(|error| damaged(format!("is damaged: {error}")))?;
        Ok(Some(Self { sources, bytes }))
    }

    /// Returns the reason why the file does not match the current sources and arguments, or `None` if it matches.
    pub(crate) fn stale(&self, root: &Path, arguments: &[String]) -> Option<String> {
        let Some(recorded) = &self.sources else {
            return Some("it does not record its sources".to_owned());
        };
        if recorded.arguments != arguments {
            return Some("the build options or the list of sources changed".to_owned());
        }
        recorded.files.iter().find_map(|(path, expected)| {
            match syclbin_toolchain::file::read(&root.join(path)) {
                Err(_) => Some(format!("{path} cannot be read")),
                Ok(bytes) if hash(&bytes) != *expected => Some(format!("{path} changed")),
                Ok(_) => None,
            }
        })
    }

    /// Returns the existing files that the prebuilt file was compiled from.
    pub(crate) fn files(&self, root: &Path) -> Vec<PathBuf> {
        let files = self.sources.iter().flat_map(|sources| sources.files.keys());
        let files = files.map(|path| root.join(path));
        files.filter(|path| path.exists()).collect()
    }
}

/// Returns the start time of a compile, for [`record`]. Files written before this call have earlier timestamps, and
/// files written after it returns have later ones.
pub(crate) fn begin() -> SystemTime {
    let now = SystemTime::now();
    // Operating systems timestamp files with a clock that lags by up to a tick.
    std::thread::sleep(Duration::from_millis(20));
    now
}

/// Records the sources of `file`, which was compiled after `begun`. `files` are paths from the compiler, absolute or
/// relative to the package directory.
///
/// The files are read after the compiler read them, so a file that changed in between is an error. Otherwise, the
/// record would pair old kernels with new sources.
pub(crate) fn record(
    file: &mut Syclbin<'_>,
    begun: SystemTime,
    paths: &Paths,
    files: &BTreeSet<PathBuf>,
    mut sources: Sources,
) -> Result<()> {
    // This crate's headers do not belong to the package.
    let own = crate::compiler::headers::folder();
    for path in files.iter().filter(|path| !path.starts_with(&own)) {
        let Some(name) = of_package(path, &paths.package, &paths.out_dir) else {
            continue;
        };
        let unreadable = |source| Error::Source {
            path: path.clone(),
            source,
        };
        let bytes = syclbin_toolchain::file::read(path).map_err(unreadable)?;
        // The times are read after the bytes, so that no change in between goes unnoticed.
        let metadata = path.metadata().map_err(unreadable)?;
        let now = SystemTime::now();
        // A time in the future is ignored, because it was set by a user or comes from another clock.
        if changed(&metadata).is_some_and(|time| begun < time && time <= now) {
            return Err(Error::Changed(path.clone()));
        }
        sources.files.insert(name, hash(&bytes));
    }
    sources.write(&mut file.global);
    Ok(())
}

/// Returns the SHA-256 of a text file. Line endings are normalized, because version control may change them.
fn hash(bytes: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if index > 0 {
            hash.update(b"\n");
        }
        hash.update(line.strip_suffix(b"\r").unwrap_or(line));
    }
    hash.finalize()
}

/// Returns the path of a file relative to the package directory, if the file is in that directory or `path` is
/// relative, such as `../shared/k.hpp`. Returns `None` for compiler and system headers, which differ between machines,
/// and for files that a build script wrote.
fn of_package(path: &Path, root: &Path, out_dir: &Path) -> Option<String> {
    let whole = std::path::absolute(root.join(path)).ok()?;
    if whole.starts_with(out_dir) {
        return None;
    }
    let inside = if path.is_relative() {
        path.to_owned()
    } else {
        roots(root).find_map(|root| path.strip_prefix(root).ok().map(Path::to_owned))?
    };
    let mut name: Vec<String> = Vec::new();
    for part in inside.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if name.last().is_some_and(|last| last != "..") => _ = name.pop(),
            other => name.push(other.as_os_str().to_string_lossy().into_owned()),
        }
    }
    Some(name.join("/"))
}

/// Returns both spellings of the package directory: `CARGO_MANIFEST_DIR` may contain symbolic links, but the current
/// directory never does.
fn roots(root: &Path) -> impl Iterator<Item = PathBuf> {
    let spelled = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    [Some(root.to_owned()), spelled].into_iter().flatten()
}

/// Returns an argument in a form that is the same on all machines.
pub(crate) fn argument(argument: &OsStr, root: &Path, out_dir: &Path) -> String {
    let mut text = argument.to_string_lossy().into_owned();
    let roots = roots(root).map(|root| (root, "$CARGO_MANIFEST_DIR"));
    // Replaces OUT_DIR first, because it is usually inside the package directory.
    for (folder, name) in std::iter::once((out_dir.to_owned(), "$OUT_DIR")).chain(roots) {
        text = replaced(&text, &folder.to_string_lossy(), name);
    }
    // A directory outside the package has another path on another machine. Its headers are not recorded either.
    if let Some(outside) = text
        .strip_prefix("-I")
        .map(Path::new)
        .filter(|path| path.is_absolute())
    {
        text = format!(
            "-I.../{}",
            outside.file_name().unwrap_or_default().display()
        );
    }
    // A value in a property set cannot contain line breaks.
    text.replace(['\n', '\r'], " ")
}

/// Replaces a directory with `name` in each path to it or inside it. `/p` matches neither `/p2` nor `/home/p`.
fn replaced(text: &str, folder: &str, name: &str) -> String {
    let folder = folder.trim_end_matches(std::path::is_separator);
    if folder.is_empty() {
        // The root directory would match every path.
        return text.to_owned();
    }
    let ends_path = |c: char| c.is_whitespace() || "=,:;\"'()".contains(c);
    let mut replaced = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(folder) {
        replaced.push_str(before);
        // An option such as `-I` may directly precede a path, so only a separator shows that the match starts within
        // a longer path.
        let word = replaced.rsplit(ends_path).next().unwrap_or_default();
        let begins = !word.contains(std::path::is_separator);
        let ends =
            after.is_empty() || after.starts_with(|c| std::path::is_separator(c) || ends_path(c));
        replaced.push_str(if begins && ends { name } else { folder });
        rest = after;
    }
    replaced + rest
}

/// Returns a file without kernels, for builds that compile nothing. `reason` is recorded in the file.
pub(crate) fn placeholder(reason: &str) -> Result<Vec<u8>> {
    let mut file = Syclbin::new(State::Executable);
    let reason = Value::from(reason);
    file.global.insert(set::PLACEHOLDER, "reason", reason);
    Ok(syclbin::write::to_vec(&file, Container::default())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_files_are_named_relative_to_package() {
        let (root, out) = (Path::new("/home/me/p"), Path::new("/home/me/p/target/out"));
        for (path, name) in [
            ("kernels/a.cpp", Some("kernels/a.cpp")),
            ("./kernels/../include/a.hpp", Some("include/a.hpp")),
            ("../shared/../both/k.hpp", Some("../both/k.hpp")),
            ("../../k.hpp", Some("../../k.hpp")),
            ("/home/me/p/include/b.hpp", Some("include/b.hpp")),
            ("/home/me/p/target/out/made.hpp", None),
            ("target/out/made.hpp", None),
            ("/usr/include/c++/12/cmath", None),
        ] {
            assert_eq!(
                of_package(Path::new(path), root, out).as_deref(),
                name,
                "{path}"
            );
        }
    }

    #[test]
    fn arguments_name_no_folder_of_this_machine() {
        let (root, out) = (Path::new("/home/me/p"), Path::new("/home/me/p/target/out"));
        let argument = |text: &str| argument(OsStr::new(text), root, out);
        assert_eq!(argument("-I/home/me/p/inc"), "-I$CARGO_MANIFEST_DIR/inc");
        assert_eq!(argument("-I/home/me/p/target/out/h"), "-I$OUT_DIR/h");
        assert_eq!(argument("-I/opt/fast/include"), "-I.../include");
        assert_eq!(argument("-DTEXT=a\nb"), "-DTEXT=a b");
        let map = argument("-fdebug-prefix-map=/home/me/p=/home/me/p/a");
        let expected = "-fdebug-prefix-map=$CARGO_MANIFEST_DIR=$CARGO_MANIFEST_DIR/a";
        assert_eq!(map, expected);
        assert_eq!(argument("/home/me/p"), "$CARGO_MANIFEST_DIR");
    }

    #[test]
    fn similar_directory_is_not_the_package() {
        let (root, out) = (Path::new("/home/me/p"), Path::new("/"));
        for text in [
            "-isystem/home/me/project2/inc",
            "-isystem/home/me/p-2",
            "-isystem/home/me/p.old/inc",
            "-isystem/mnt/home/me/p/inc",
            "-DPATHS=/a:/mnt/home/me/p",
        ] {
            assert_eq!(argument(OsStr::new(text), root, out), text);
        }
        let other = argument(OsStr::new("-I/home/me/project2/inc"), root, out);
        assert_eq!(other, "-I.../inc");
        let text = OsStr::new("-DPATHS=/a:/home/me/p");
        let named = "-DPATHS=/a:$CARGO_MANIFEST_DIR";
        assert_eq!(argument(text, root, out), named);
    }

    #[test]
    fn line_ends_do_not_change_the_hash() {
        assert_eq!(hash(b"a\r\nb\r\n"), hash(b"a\nb\n"));
        assert_eq!(hash(b"a\nb\n"), Sha256::hash(b"a\nb\n"));
        let others: [&[u8]; 5] = [b"a\nb", b"a\n\nb\n", b"a\rb\n", b"ab\n", b"a\nb\n\n"];
        for other in others {
            assert_ne!(hash(b"a\nb\n"), hash(other), "{other:?}");
        }
    }
}
