// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formats the documentation of the generated items as doc comments.

use proc_macro2::TokenStream;
use quote::quote;

/// Returns `text` as doc comments, one for each line.
pub(crate) fn comment(text: &str) -> TokenStream {
    let lines = text.lines().map(|line| match line {
        "" => String::new(),
        line => format!(" {line}"),
    });
    quote!(#(#[doc = #lines])*)
}

/// Joins non-empty paragraphs. Wraps prose, but keeps the line breaks of code and lists.
pub(crate) fn paragraphs(parts: impl IntoIterator<Item = String>) -> TokenStream {
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let parts: Vec<String> = parts.map(|part| wrapped(&part)).collect();
    comment(&parts.join("\n\n"))
}

/// Wraps `text`, unless it has line breaks, so that lines of generated code are about a hundred columns wide.
fn wrapped(text: &str) -> String {
    const COLUMNS: usize = 88;
    if text.contains('\n') {
        return text.to_owned();
    }
    let (mut lines, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 {
            let breaks = column + 1 + length > COLUMNS;
            lines.push(if breaks { '\n' } else { ' ' });
            column = if breaks { 0 } else { column + 1 };
        }
        lines.push_str(word);
        column += length;
    }
    lines
}

pub(crate) fn cpp(code: &str) -> String {
    format!("```cpp\n{code}\n```")
}

/// Returns a list such as `` `a`, `b` and `c` ``.
pub(crate) fn list(names: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{}`", n.as_ref())).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_after_88_columns() {
        let words = |lengths: &[usize]| {
            let words = lengths.iter().map(|length| "x".repeat(*length));
            words.collect::<Vec<String>>().join(" ")
        };
        for (lengths, expected) in [
            (&[100][..], &[100][..]),
            (&[43, 44], &[88]),
            (&[43, 45], &[43, 45]),
            (&[20, 20, 20, 25], &[88]),
            (&[20, 20, 20, 26], &[62, 26]),
            (&[43, 45, 42], &[43, 88]),
            (&[43, 45, 43], &[43, 45, 43]),
            (&[88, 1, 86], &[88, 88]),
        ] {
            let found: Vec<usize> = wrapped(&words(lengths)).lines().map(str::len).collect();
            assert_eq!(found, expected, "{lengths:?}");
        }
        assert_eq!(wrapped("a b"), "a b");
    }

    #[test]
    fn lists_end_with_and() {
        assert_eq!(list(&[""; 0]), "");
        assert_eq!(list(&["a"]), "`a`");
        assert_eq!(list(&["a", "b"]), "`a` and `b`");
        assert_eq!(list(&["a", "b", "c"]), "`a`, `b` and `c`");
    }

    #[test]
    fn code_and_lists_keep_their_lines() {
        let long = "x ".repeat(60);
        let code = cpp(&long);
        let text = paragraphs([code.clone(), String::new(), "a".into()]);
        assert_eq!(
            text.to_string(),
            comment(&format!("{code}\n\na")).to_string()
        );
    }
}
