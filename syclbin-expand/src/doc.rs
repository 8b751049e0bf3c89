//! Documentation of generated items.

use proc_macro2::TokenStream;
use quote::quote;

/// Documentation as people write it, a comment for each line.
pub(crate) fn comment(text: &str) -> TokenStream {
    let lines = text.lines().map(|line| match line {
        "" => String::new(),
        line => format!(" {line}"),
    });
    quote!(#(#[doc = #lines])*)
}

/// Several paragraphs, those that are empty left out. Prose is wrapped; what has lines of its own,
/// such as code and lists, is not.
pub(crate) fn paragraphs(parts: impl IntoIterator<Item = String>) -> TokenStream {
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let parts: Vec<String> = parts
        .map(|part| match part.contains('\n') {
            true => part,
            false => wrapped(&part),
        })
        .collect();
    comment(&parts.join("\n\n"))
}

/// `text` in lines of some hundred columns, as they stand in the code.
fn wrapped(text: &str) -> String {
    const COLUMNS: usize = 88;
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

/// `code` of C++, as a block.
pub(crate) fn cpp(code: &str) -> String {
    format!("```cpp\n{code}\n```")
}

/// `` `a`, `b` and `c` ``.
pub(crate) fn list(names: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{}`", n.as_ref())).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
