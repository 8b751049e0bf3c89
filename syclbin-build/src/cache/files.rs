// SPDX-License-Identifier: MIT OR Apache-2.0
//! A snapshot of files for the cache: the hash of each file, and the file names that it tests with `__has_include`.
//! Each file is read only once.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use hmac_sha256::Hash as Sha256;
use syclbin_toolchain::file::{TICK, changed, stamp_of};
use syclbin_toolchain::store::hex;

/// A file that a result depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) path: PathBuf,
    /// SHA-256 of all bytes, in hexadecimal.
    pub(crate) hash: String,
    /// The [stamp](syclbin_toolchain::file::stamp) of the file when it had this hash. While the stamp is unchanged, the
    /// file need not be read again.
    pub(crate) stamp: String,
}

#[derive(Default)]
pub(crate) struct Files {
    contents: HashMap<PathBuf, Option<Contents>>,
    states: HashMap<PathBuf, Option<State>>,
    listings: HashMap<PathBuf, Option<Rc<BTreeSet<OsString>>>>,
}

#[derive(Clone)]
struct State {
    stamp: String,
    changed: SystemTime,
}

impl Files {
    pub(crate) fn contents(&mut self, path: &Path) -> Option<&Contents> {
        let read = || Some(Contents::read(&syclbin_toolchain::file::read(path).ok()?));
        let contents = self.contents.entry(path.to_owned()).or_insert_with(read);
        contents.as_ref()
    }

    pub(crate) fn exists(&mut self, path: &Path) -> bool {
        self.state(path).is_some()
    }

    /// Returns the names in a directory, or `None` if it exists but cannot be listed.
    pub(crate) fn listing(&mut self, folder: &Path) -> Option<Rc<BTreeSet<OsString>>> {
        let list = || {
            // An empty path, which `Path::parent` returns for `a.cpp`, means the current directory.
            let is_current = folder.as_os_str().is_empty();
            let names = match std::fs::read_dir(if is_current { Path::new(".") } else { folder }) {
                Ok(entries) => entries.flatten().map(|entry| entry.file_name()).collect(),
                Err(_) if !folder.exists() => BTreeSet::new(),
                Err(_) => return None,
            };
            Some(Rc::new(names))
        };
        let listing = self.listings.entry(folder.to_owned());
        listing.or_insert_with(list).clone()
    }

    /// Returns whether every file still contains the recorded bytes.
    pub(crate) fn hold(&mut self, all: &[Dependency]) -> bool {
        all.iter().all(|read| {
            let state = self.state(&read.path);
            state.is_some_and(|state| state.stamp == read.stamp)
                || (self.contents(&read.path)).is_some_and(|contents| contents.hash == read.hash)
        })
    }

    pub(crate) fn read(&mut self, path: PathBuf) -> Option<Dependency> {
        Some(Dependency {
            hash: self.contents(&path)?.hash.clone(),
            stamp: self.state(&path)?.stamp.clone(),
            path,
        })
    }

    /// Returns whether the file's last change precedes `moment` by more than a clock tick. If the file changed later, a
    /// compiler that started at `moment` may have read either version.
    pub(crate) fn is_older(&mut self, path: &Path, moment: SystemTime) -> bool {
        self.state(path)
            .is_some_and(|state| state.changed + TICK < moment)
    }

    fn state(&mut self, path: &Path) -> Option<&State> {
        let look = || {
            let metadata = path.metadata().ok()?;
            // If the path is a symbolic link, the link's own change time counts too, because the link may now point to
            // a different file.
            let link = path.symlink_metadata().ok()?;
            Some(State {
                stamp: stamp_of(&metadata)?,
                changed: changed(&metadata)?.max(changed(&link)?),
            })
        };
        let state = self.states.entry(path.to_owned()).or_insert_with(look);
        state.as_ref()
    }
}

/// Macros that expand to the date or time of the compilation, or to the file's modification time.
const TIMES: [&str; 3] = ["__DATE__", "__TIME__", "__TIMESTAMP__"];

/// The operators that test whether a file exists.
const QUESTIONS: [&str; 2] = ["__has_include", "__has_embed"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contents {
    /// SHA-256 of all bytes, in hexadecimal.
    pub(crate) hash: String,
    /// The result of [`asked`].
    pub(crate) asked: Option<BTreeSet<String>>,
}

impl Contents {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        Self {
            hash: hex(Sha256::hash(bytes)),
            asked: asked(&String::from_utf8_lossy(bytes)),
        }
    }
}

/// Returns the names of files whose existence `text` tests. Returns `None` if the text depends on the time, or tests
/// for a file whose name cannot be determined.
///
/// Comments are searched too: a false match only costs a compile, but a missed match would let the cache return an
/// outdated result.
pub fn asked(text: &str) -> Option<BTreeSet<String>> {
    // A backslash at the end of a line joins it with the next line, even within a word.
    let text = text.replace("\\\n", "").replace("\\\r\n", "");
    if TIMES.iter().any(|time| has_word(&text, time)) {
        return None;
    }
    let mut names = BTreeSet::new();
    for question in QUESTIONS {
        for (at, _) in text.match_indices(question) {
            let after = &text[at + question.len()..];
            let after = after.strip_prefix("_next").unwrap_or(after);
            let after = after.trim_start_matches([' ', '\t']);
            if text[..at].trim_end().ends_with("define") {
                continue;
            }
            if let Some(argument) = after.strip_prefix('(') {
                names.insert(quoted(argument.trim_start())?.to_owned());
            } else if after.starts_with('/') {
                // This may be a comment before the argument, which this parser does not support.
                return None;
            }
        }
    }
    Some(names)
}

/// Returns the name at the start of `text`: `<name>` or `"name"`.
fn quoted(text: &str) -> Option<&str> {
    let close = match text.as_bytes().first()? {
        b'<' => '>',
        b'"' => '"',
        _ => return None,
    };
    text[1..].split_once(close).map(|(name, _)| name)
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn asks(text: &str, expected: &[&str]) {
        let names = asked(text).map(|names| names.into_iter().collect::<Vec<_>>());
        let expected = expected.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(names, Some(expected), "{text}");
    }

    #[test]
    fn the_time_is_found_as_a_word() {
        for text in [
            "s = __DATE__;",
            "__TIME__",
            "f(__TIMESTAMP__)",
            "// __TIME__",
            "__TI\\\nME__",
            "__TI\\\r\nME__",
        ] {
            assert_eq!(asked(text), None, "{text}");
        }
        for text in ["__TIME_T_TYPE", "MY__TIME__", "__TIME__2", "time"] {
            asks(text, &[]);
        }
    }

    #[test]
    fn questions_name_their_files() {
        asks("#if __has_include(<a b.hpp>)", &["a b.hpp"]);
        asks("#if __has_include_next ( \"a//b.hpp\" )", &["a//b.hpp"]);
        asks(
            "#if defined(X) && \\\n __has_embed(\"t.bin\" limit(3)) || __has_include(<x>)",
            &["t.bin", "x"],
        );
        asks("#if __has_in\\\nclude(<a>)", &["a"]);
        asks("#if __has_include ( <a> )", &["a"]);
        asks("#ifdef __has_include\n#endif /* __has_include_next */", &[]);
        asks("#  define __has_include(x) 0", &[]);
    }

    #[test]
    fn questions_without_a_plain_name_are_refused() {
        for text in [
            "#if __has_include(NAME)",
            "#define HAS(x) __has_include(x)",
            "#if __has_include /* a */ (<b>)",
            "#if __has_include(/* a */ <b>)",
            "#if __has_include(<a",
            "__has_include(",
        ] {
            assert_eq!(asked(text), None, "{text}");
        }
    }

    #[test]
    fn file_is_older_by_more_than_a_tick() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "").unwrap();
        let changed = changed(&path.metadata().unwrap()).unwrap();
        let mut files = Files::default();
        for (moment, is_older) in [
            (changed - TICK / 2, false),
            (changed, false),
            (changed + TICK / 2, false),
            (changed + TICK * 2, true),
        ] {
            assert_eq!(files.is_older(&path, moment), is_older);
        }
        assert!(!files.is_older(&folder.path().join("none"), changed + TICK * 2));
    }

    #[test]
    fn missing_directory_is_empty_but_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "").unwrap();
        let mut files = Files::default();
        let names = files.listing(folder.path()).unwrap();
        assert_eq!(*names, [OsString::from("a")].into());
        assert!(
            files
                .listing(&folder.path().join("none"))
                .unwrap()
                .is_empty()
        );
        assert_eq!(files.listing(&path), None);
    }

    #[test]
    fn any_bytes_can_be_read() {
        let text = Contents::read(b"\xff__has_include(<\xe4\x00>)");
        assert_eq!(text.asked.map(|names| names.len()), Some(1));
        assert_ne!(text.hash, Contents::read(b"").hash);
    }
}
