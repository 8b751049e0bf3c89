// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables that say what is supported stay true: each file and each test that they name exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names of all functions in the sources of the repository.
fn functions(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            functions(&path, found);
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).unwrap();
            let starts = text.match_indices("fn ").map(|(at, _)| &text[at + 3..]);
            let names = starts.map(|rest| rest.split(['(', '<']).next().unwrap());
            found.extend(names.map(str::to_owned));
        }
    }
}

/// The texts between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The rows of the tables in `text` whose head ends with the columns `last`.
fn rows<'t>(text: &'t str, last: &str) -> Vec<Vec<&'t str>> {
    let mut inside = false;
    let mut rows = Vec::new();
    for line in text.lines() {
        let cells = line.trim().trim_matches('|').split(" | ");
        let cells: Vec<&str> = cells.map(str::trim).collect();
        if !line.starts_with('|') {
            inside = false;
        } else if cells.last() == Some(&last) {
            inside = true;
        } else if inside && !line.starts_with("|---") {
            rows.push(cells);
        }
    }
    rows
}

#[test]
fn specification_tables_name_files_and_tests() {
    let root = root();
    let mut known = BTreeSet::new();
    functions(&root, &mut known);
    let table = fs::read_to_string(root.join("crates/syclbin/SPECIFICATION.md")).unwrap();
    let rows = rows(&table, "test");
    assert!(rows.len() >= 60, "{} rows", rows.len());
    for row in rows {
        let [what, files, tests] = row[..] else {
            unreachable!("{row:?} has not three columns")
        };
        let gap = files.starts_with("not supported");
        assert!(gap || !quoted(files).is_empty(), "{what}: no file");
        for file in quoted(files).into_iter().filter(|_| !gap) {
            let bases = ["", "crates/syclbin/src"];
            let exists = bases.iter().any(|base| root.join(base).join(file).exists());
            assert!(exists, "{what}: {file} is missing");
        }
        assert!(!quoted(tests).is_empty(), "{what}: no test");
        for test in quoted(tests) {
            assert!(known.contains(test), "{what}: no test is called {test}");
        }
    }
}

#[test]
fn book_names_tests_of_versions() {
    let root = root();
    let mut known = BTreeSet::new();
    functions(&root, &mut known);
    let book = fs::read_to_string(root.join("book/src/files.md")).unwrap();
    let rows = rows(&book, "tests");
    assert!(rows.len() >= 12, "{} rows", rows.len());
    for row in rows {
        for test in quoted(row.last().unwrap()) {
            assert!(known.contains(test), "no test is called {test}");
        }
    }
}
