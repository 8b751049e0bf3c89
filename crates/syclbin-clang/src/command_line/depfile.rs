// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates depfiles: rules that tell make and Ninja which files a compilation read.

use std::path::{Path, PathBuf};

use syclbin_build::depfile;

use crate::library::BUILT_IN_DIRECTORY;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Depfile {
    pub(crate) path: PathBuf,
    /// Whether the command line specifies the path.
    pub(crate) explicit: bool,
    /// The targets, as they appear in the rule.
    pub(crate) targets: String,
    /// The option that selects the files to list: `-MD` for all, or `-MMD` for all but system headers.
    pub(crate) option: &'static str,
    /// Whether to add an empty rule for each header: `-MP`.
    pub(crate) phony: bool,
}

impl Depfile {
    /// Returns the contents of the depfile. `read` lists the files read for each source, starting with the source.
    pub(crate) fn text(&self, read: &[Vec<PathBuf>]) -> String {
        let mut all: Vec<&Path> = Vec::new();
        for path in read.iter().flatten() {
            if !all.contains(&path.as_path()) {
                all.push(path);
            }
        }
        // `rule` would escape `self.targets` a second time, so it gets an empty target.
        let rule = depfile::rule(Path::new(""), all.iter().copied());
        let mut text = format!("{}{rule}", self.targets);
        if self.phony {
            let sources: Vec<_> = read.iter().filter_map(|files| files.first()).collect();
            all.retain(|path| sources.iter().all(|source| source != path));
            text.extend(all.into_iter().map(|header| depfile::rule(header, [])));
        }
        text
    }
}

/// Returns the files that a rule lists, except the library's built-in headers, which do not exist on disk.
pub(crate) fn files(rule: &str) -> Vec<PathBuf> {
    let mut all = depfile::prerequisites(rule);
    all.retain(|path| !path.starts_with(BUILT_IN_DIRECTORY));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depfile(phony: bool) -> Depfile {
        Depfile {
            path: PathBuf::from("k.d"),
            explicit: true,
            targets: "k.syclbin $(ALL)".into(),
            option: "-MD",
            phony,
        }
    }

    #[test]
    fn headers_inside_the_library_are_no_dependencies() {
        let rule =
            "k.o: k.cpp \\\n  /sycl-jit-toolchain//bin/../include/sycl/sycl.hpp \\\n  /a\\ b.hpp\n";
        let text = depfile(false).text(&[files(rule)]);
        assert_eq!(text, "k.syclbin $(ALL): \\\n  k.cpp \\\n  /a\\ b.hpp\n");
    }

    #[test]
    fn one_rule_lists_each_file_once() {
        let read = [["a.cpp", "h.hpp"], ["b.cpp", "h.hpp"]].map(|names| names.map(PathBuf::from));
        let text = depfile(true).text(&read.map(Vec::from));
        let expected = "k.syclbin $(ALL): \\\n  a.cpp \\\n  h.hpp \\\n  b.cpp\nh.hpp:\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_name_is_quoted_for_make() {
        assert_eq!(depfile::escape(Path::new("a b$c")), "a\\ b$$c");
        assert_eq!(depfile::escape(Path::new("k.syclbin")), "k.syclbin");
    }
}
