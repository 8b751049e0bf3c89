// SPDX-License-Identifier: MIT OR Apache-2.0
//! `prose`: counts awkward English that a program can detect, and keeps the counts from growing.
//!
//! It reads comments of Rust sources and paragraphs of Markdown files, without code and tables. `cargo xtask prose`
//! fails if a count exceeds its limit in `xtask/prose.txt`. With `--write`, it records lower limits.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::files;
use crate::steps::Result;

/// The maximum number of words in the name of a test.
const LONGEST_NAME: usize = 8;
const PHRASES: [&str; 7] = [
    " is none of ",
    "nobody",
    "whoever",
    "folder",
    "if not told otherwise",
    "passed over",
    " sees to it",
];

type Counts = BTreeMap<&'static str, usize>;

/// Counts in all files, compares with the allowed counts, and prints both. `--files` lists the files.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let allowed_path = files::root().join("xtask/prose.txt");
    let mut total = Counts::new();
    for path in files()? {
        let text = files::read(&path)?;
        let found = if path.extension().is_some_and(|name| name == "md") {
            of_markdown(&text)
        } else {
            of_rust(&text)
        };
        if arguments.iter().any(|argument| argument == "--files") && !found.is_empty() {
            let name = path.strip_prefix(files::root()).unwrap_or(&path);
            eprintln!("{:>5}  {}", found.values().sum::<usize>(), name.display());
        }
        for (kind, count) in found {
            *total.entry(kind).or_default() += count;
        }
    }
    if arguments.iter().any(|argument| argument == "--write") {
        let lines: String = total
            .iter()
            .map(|(kind, count)| format!("{count} {kind}\n"))
            .collect();
        return files::write(&allowed_path, &lines);
    }
    compare(&total, &files::read(&allowed_path)?)
}

/// Prints each count beside the allowed count, and fails if a count is larger.
fn compare(total: &Counts, allowed: &str) -> Result<()> {
    let allowed: BTreeMap<&str, usize> = allowed
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(count, kind)| Some((kind, count.parse().ok()?)))
        .collect();
    let mut grown = Vec::new();
    for (kind, count) in total {
        let limit = allowed.get(kind).copied().unwrap_or(0);
        eprintln!("{count:>6} of {limit:>6}  {kind}");
        if *count > limit {
            grown.push(format!("{kind}: {count} instead of {limit}"));
        }
    }
    if grown.is_empty() {
        return Ok(());
    }
    Err(format!(
        "prose got harder to read: {}; `cargo xtask prose --files` lists the files",
        grown.join(", ")
    ))
}

/// Returns the Rust and Markdown files of the repository, except generated files and test data.
fn files() -> Result<Vec<PathBuf>> {
    files::listed(&["*.rs", "*.md", ":!**/snapshots/**", ":!THIRD-PARTY.md"])
}

fn of_markdown(text: &str) -> Counts {
    let mut counts = Counts::new();
    let mut is_code = false;
    let mut paragraph = String::new();
    for line in text.lines().chain([""]) {
        let line = line.trim();
        if line.starts_with("```") {
            is_code = !is_code;
        }
        let starts_anew = ["- ", "#", "|", "> ", "```"]
            .iter()
            .any(|start| line.starts_with(start));
        if line.is_empty() || starts_anew {
            add_paragraph(&mut counts, &std::mem::take(&mut paragraph));
        }
        if !is_code && !line.starts_with("```") && !line.starts_with('|') {
            paragraph.push_str(line);
            paragraph.push(' ');
        }
    }
    counts
}

fn of_rust(text: &str) -> Counts {
    let mut counts = Counts::new();
    // The comment above the current line.
    let mut comment = String::new();
    let mut is_test = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("// SPDX-") {
            continue;
        }
        if let Some(words) = line.strip_prefix("//") {
            comment.push_str(words.trim_start_matches(['/', '!']));
            comment.push('\n');
            continue;
        }
        if line.starts_with("#[test]") {
            is_test = true;
        }
        if line.starts_with("#[") {
            continue;
        }
        if let Some(name) = function(line) {
            let first = comment.split_whitespace().next().unwrap_or("s");
            if line.starts_with("pub fn") && !first.ends_with('s') {
                add(
                    &mut counts,
                    "documentation of a public function that starts without a verb",
                    1,
                );
            }
            if is_test && name.split('_').count() > LONGEST_NAME {
                add(&mut counts, "names of tests that are too long", 1);
            }
            is_test = false;
        }
        if !comment.is_empty() {
            for (kind, count) in of_markdown(&std::mem::take(&mut comment)) {
                add(&mut counts, kind, count);
            }
        }
    }
    counts
}

/// Returns the name of the function that a line declares.
fn function(line: &str) -> Option<&str> {
    let rest = line.split_once("fn ").filter(|(before, _)| {
        let mut words = before.split_whitespace();
        words.all(|word| {
            matches!(word, "pub" | "const" | "unsafe" | "async") || word.starts_with("pub(")
        })
    });
    let name = rest?.1.split(['(', '<']).next()?;
    Some(name.trim())
}

fn add_paragraph(counts: &mut Counts, paragraph: &str) {
    let lower = paragraph.to_lowercase();
    let phrases: usize = PHRASES
        .iter()
        .map(|phrase| lower.matches(phrase).count())
        .sum();
    add(counts, "phrases that plain English avoids", phrases);
}

fn add(counts: &mut Counts, kind: &'static str, count: usize) {
    if count > 0 {
        *counts.entry(kind).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_tables_are_not_read() {
        assert_eq!(of_markdown("a folder").values().sum::<usize>(), 1);
        assert!(of_markdown("```\na folder\n```\n| a folder |\n").is_empty());
    }

    #[test]
    fn phrases_are_found_in_comments_only() {
        let counts = of_rust("/// Opens a folder.\npub fn open() { let folder = 1; }\n");
        assert_eq!(counts.values().sum::<usize>(), 1);
    }

    #[test]
    fn public_functions_start_with_a_verb() {
        let count = |text| of_rust(text).values().sum::<usize>();
        assert_eq!(count("/// The size.\npub fn size() {}\n"), 1);
        assert_eq!(
            count("/// Returns the size.\n#[must_use]\npub fn size() {}\n"),
            0
        );
        assert_eq!(count("#[test]\nfn a_b_c_d_e_f_g_h_i() {}\n"), 1);
    }

    #[test]
    fn a_larger_count_is_an_error() {
        let counts = Counts::from([("phrases", 3)]);
        assert!(compare(&counts, "3 phrases\n").is_ok());
        assert!(
            compare(&counts, "2 phrases\n")
                .unwrap_err()
                .contains("3 instead of 2")
        );
    }
}
