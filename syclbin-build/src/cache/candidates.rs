// SPDX-License-Identifier: MIT OR Apache-2.0
//! Candidates: every file that an `#include` could resolve to. A cached result is stale if such a file appears or
//! disappears.
//!
//! The compiler's dependency list records neither the names in `#include` directives nor the search directories. So
//! this module splits each path into a directory and a name in every possible way, and looks up every name in every
//! directory.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::files::Files;

/// Returns the existing files that an `#include` could resolve to. Possible names are `names`, and every name that
/// could have led to a file in `read`. Possible directories are `searched`, and all parent directories of the files in
/// `read`.
pub(crate) fn candidates<'n>(
    searched: &[String],
    names: impl Iterator<Item = &'n str>,
    read: &[&Path],
    files: &mut Files,
) -> BTreeSet<PathBuf> {
    let read: Vec<Cow<'_, str>> = read.iter().map(|path| path.to_string_lossy()).collect();
    let mut names: BTreeSet<&str> = names.collect();
    let mut directories: BTreeSet<&str> = searched.iter().map(String::as_str).collect();
    for path in &read {
        directories.insert(path.rsplit_once('/').map_or("", |(directory, _)| directory));
    }
    let known = directories.clone();
    for path in &read {
        let mut is_above = false;
        for (directory, name) in splits(path) {
            if name.starts_with("../") {
                is_above = true;
                // Compilers also use `..` in the paths of their own directories, so such a name counts only if it
                // follows a known directory.
                names.extend(known.contains(directory).then_some(name));
            } else if is_above {
                break;
            } else {
                directories.insert(directory);
                names.insert(name);
            }
        }
    }
    existing(&directories, &names, files)
}

/// Returns every split of `path` into a directory and a name, the shortest name first.
fn splits(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let inside = path.rmatch_indices('/').filter(|(at, _)| *at > 0);
    let whole = (!Path::new(path).has_root()).then_some(("", path));
    inside
        .map(|(at, _)| (&path[..at], &path[at + 1..]))
        .chain(whole)
}

/// Returns every existing file whose path is a directory in `directories` followed by a name in `names`. Lists each
/// directory once, because looking up every name would take thousands of system calls.
fn existing(
    directories: &BTreeSet<&str>,
    names: &BTreeSet<&str>,
    files: &mut Files,
) -> BTreeSet<PathBuf> {
    let mut by_first: HashMap<&OsStr, Vec<&str>> = HashMap::new();
    let mut others = Vec::new();
    for name in names {
        match Path::new(name).components().next() {
            Some(Component::Normal(first)) => by_first.entry(first).or_default().push(name),
            _ => others.push(*name),
        }
    }
    let mut found = BTreeSet::new();
    for directory in directories.iter().map(Path::new) {
        let mut possible = others.clone();
        match files.listing(directory) {
            Some(listing) => {
                let listed = listing
                    .iter()
                    .filter_map(|name| by_first.get(name.as_os_str()));
                possible.extend(listed.flatten());
            }
            None => possible.extend(by_first.values().flatten()),
        }
        let paths = possible.into_iter().map(|name| directory.join(name));
        found.extend(paths.filter(|path| files.exists(path)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_split_of_a_path_counts() {
        let of = |path| splits(path).collect::<Vec<_>>();
        assert_eq!(of("a.hpp"), [("", "a.hpp")]);
        assert_eq!(of("i/a.hpp"), [("i", "a.hpp"), ("", "i/a.hpp")]);
        assert_eq!(of("/u/i/a"), [("/u/i", "a"), ("/u", "i/a")]);
    }

    #[test]
    fn headers_are_found_in_every_folder() {
        let root = tempfile::tempdir().unwrap();
        // The parents of these directories are also searched.
        let at = |name: &str| root.path().join("in/here").join(name);
        for name in [
            "usr/include/sys/a.hpp",
            "usr/include/b.hpp",
            "first/sys/a.hpp",
            "first/asked.hpp",
            "first/other.hpp",
            "kernels/b.hpp",
            "common.hpp",
            "first/common.hpp",
        ] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "").unwrap();
        }
        let read = [
            at("kernels/k.cpp"),
            at("kernels/../common.hpp"),
            at("usr/lib/../include/sys/a.hpp"),
            at("usr/include/b.hpp"),
        ];
        let searched = [at("first").to_str().unwrap().to_owned()];
        let found = candidates(
            &searched,
            ["asked.hpp"].into_iter(),
            &read.each_ref().map(PathBuf::as_path),
            &mut Files::default(),
        );
        let found: BTreeSet<PathBuf> = found
            .into_iter()
            .map(|path| path.canonicalize().unwrap())
            .collect();
        let expected = [
            "usr/include/sys/a.hpp",
            "usr/include/b.hpp",
            "first/sys/a.hpp",
            "first/asked.hpp",
            "kernels/b.hpp",
            "common.hpp",
            "first/common.hpp",
        ];
        assert_eq!(found, expected.map(at).into());
    }
}
