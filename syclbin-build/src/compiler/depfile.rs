// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads and writes depfiles: makefile rules in which a compiler lists the files that it read (`-MD -MF`).
//!
//! Shared with `syclbin-clang`, which removes the compiler library's built-in headers from its depfiles.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Returns the prerequisites of all rules in `text`, in order. Decodes the escapes that clang and gcc write: `\ `,
/// `\#`, `\:` (gcc), `$$`, and a backslash at the end of a line. On Windows, replaces `\` in the paths with `/`.
pub fn prerequisites(text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut in_target = true;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (c, characters.peek().copied()) {
            ('\\', Some('\r' | '\n')) => {
                characters.next_if_eq(&'\r');
                characters.next_if_eq(&'\n');
                finish(&mut word, in_target, &mut found);
            }
            ('\\', Some(escaped @ (' ' | '#' | ':'))) => {
                characters.next();
                word.push(escaped);
            }
            ('$', Some('$')) => {
                characters.next();
                word.push('$');
            }
            ('\n', _) => {
                finish(&mut word, in_target, &mut found);
                in_target = true;
            }
            (' ' | '\t' | '\r', _) => finish(&mut word, in_target, &mut found),
            // A colon ends the targets only before white space or at the end, because `C:\x` is a path.
            (':', None | Some(' ' | '\t' | '\n' | '\r' | '\\')) if in_target => {
                word.clear();
                in_target = false;
            }
            (other, _) => word.push(other),
        }
    }
    finish(&mut word, in_target, &mut found);
    found
}

fn finish(word: &mut String, in_target: bool, found: &mut Vec<PathBuf>) {
    let mut word = std::mem::take(word);
    if cfg!(windows) {
        word = word.replace('\\', "/");
    }
    if !in_target && !word.is_empty() {
        found.push(PathBuf::from(word));
    }
}

/// Returns a rule for `target` with these `prerequisites`, one per line.
pub fn rule<'p>(target: &Path, prerequisites: impl IntoIterator<Item = &'p Path>) -> String {
    let mut text = format!("{}:", escape(target));
    for prerequisite in prerequisites {
        let _ = write!(text, " \\\n  {}", escape(prerequisite));
    }
    text.push('\n');
    text
}

/// Escapes a path for use in a makefile rule.
pub fn escape(path: &Path) -> String {
    let mut text = String::new();
    for c in path.to_string_lossy().chars() {
        match c {
            ' ' | '#' => text.extend(['\\', c]),
            '$' => text.push_str("$$"),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_depfile_of_clang_is_read() {
        let text = "k.o: k.cpp \\\n  /usr/include/c++/12/cmath /a/b.hpp \\\r\n  sp\\ ace/my\\ h.hpp a$$b c\\#d\n";
        let expected = [
            "k.cpp",
            "/usr/include/c++/12/cmath",
            "/a/b.hpp",
            "sp ace/my h.hpp",
            "a$b",
            "c#d",
        ];
        assert_eq!(prerequisites(text), expected.map(PathBuf::from));
    }

    #[test]
    fn several_rules_and_drive_letters_are_read() {
        let text = "a.o b.o: C:\\x\\y.hpp z.hpp\n\nz.hpp:\nc.o:";
        assert_eq!(
            prerequisites(text),
            ["C:\\x\\y.hpp", "z.hpp"].map(PathBuf::from)
        );
        assert!(prerequisites("").is_empty());
    }

    #[test]
    fn a_rule_survives_a_round_trip() {
        let paths = ["a b.cpp", "c$d.hpp", "e#f.hpp", "plain.hpp"].map(PathBuf::from);
        let text = rule(
            Path::new("out file.syclbin"),
            paths.iter().map(PathBuf::as_path),
        );
        assert_eq!(prerequisites(&text), paths);
    }
}
