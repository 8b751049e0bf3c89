// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expands response files (`@FILE`) like clang.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Result, own};

/// The maximum nesting depth, which no sensible command line reaches.
const MAX_DEPTH: usize = 32;

/// Returns all arguments, with each response file replaced by its arguments. Relative paths are resolved against the
/// current directory, even inside a response file.
pub(crate) fn expand(arguments: impl IntoIterator<Item = OsString>) -> Result<Vec<String>> {
    let mut expanded = Vec::new();
    let mut open = Vec::new();
    let mut inputs_only = false;
    for argument in arguments {
        let argument = argument.into_string().or_else(|argument| {
            let shown = argument.display();
            own(format!(
                "argument '{shown}' is not UTF-8, which the compiler library requires"
            ))
        })?;
        add(argument, &mut open, &mut inputs_only, &mut expanded)?;
    }
    Ok(expanded)
}

fn add(
    argument: String,
    open: &mut Vec<PathBuf>,
    inputs_only: &mut bool,
    expanded: &mut Vec<String>,
) -> Result<()> {
    *inputs_only |= argument == "--"; // only file names follow
    let Some(name) = argument.strip_prefix('@').filter(|_| !*inputs_only) else {
        expanded.push(argument);
        return Ok(());
    };
    let file = Path::new(name);
    let bytes = syclbin_toolchain::file::read(file)
        .or_else(|error| own(format!("cannot read response file '{name}': {error}")))?;
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    if open.contains(&real) {
        return own(format!(
            "response file '{name}' includes itself, directly or through another file; remove the circular reference"
        ));
    }
    if open.len() == MAX_DEPTH {
        return own(format!(
            "response file '{name}' is nested too deeply (limit: {MAX_DEPTH}); put the arguments into one file"
        ));
    }
    let text = String::from_utf8(bytes).or_else(|_| {
        own(format!(
            "response file '{name}' is not UTF-8; save it as UTF-8"
        ))
    })?;
    open.push(real);
    for word in words(text.trim_start_matches('\u{feff}')) {
        add(word, open, inputs_only, expanded)?;
    }
    open.pop();
    Ok(())
}

/// Splits text at whitespace. Inside quotes (`"` or `'`) or after a backslash, whitespace is part of a word. A
/// backslash escapes the next character, even inside quotes.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => {
                let escaped = characters.next().unwrap_or('\\');
                word.get_or_insert_default().push(escaped);
            }
            c if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            c if quote.is_none() && c.is_ascii_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    #[test]
    fn words_are_quoted_as_in_clang() {
        let text = "-I inc\t\"a b\" 'c \"d\"' e\\ f g\\\\h \"i\\\"j\" -DX=\"1 2\"3 '' \\n\r\nk\n";
        let expected = [
            "-I", "inc", "a b", "c \"d\"", "e f", "g\\h", "i\"j", "-DX=1 23", "", "n", "k",
        ];
        assert_eq!(words(text), expected);
        assert_eq!(words(" \n"), [""; 0]);
        assert_eq!(words("open \"to the end"), ["open", "to the end"]);
        assert_eq!(words("end\\"), ["end\\"]);
    }

    fn said(arguments: &[String]) -> String {
        match expand(arguments.iter().map(OsString::from)) {
            Err(Failure::Own(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nested_response_files_are_expanded_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("outer"), format!("-O2 @{} -g", path("inner"))).unwrap();
        std::fs::write(path("inner"), "\u{feff}-DX 'a b.cpp'").unwrap();
        let arguments = ["-c".into(), format!("@{}", path("outer")), "-v".into()];
        let expanded = expand(arguments.map(OsString::from)).unwrap();
        assert_eq!(expanded, ["-c", "-O2", "-DX", "a b.cpp", "-g", "-v"]);
        let twice = [format!("@{}", path("inner")), format!("@{}", path("inner"))];
        assert_eq!(expand(twice.map(OsString::from)).unwrap().len(), 4);
        let inputs = ["--", "@outer"].map(OsString::from);
        assert_eq!(expand(inputs).unwrap(), ["--", "@outer"]);
    }

    #[test]
    fn unreadable_and_circular_response_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let none = format!("@{}", path("none"));
        let expected = format!("cannot read response file '{}'", path("none"));
        assert!(said(&[none]).starts_with(&expected));
        std::fs::write(path("a"), format!("@{}", path("b"))).unwrap();
        std::fs::write(path("b"), format!("@{}", path("a"))).unwrap();
        let circle = said(&[format!("@{}", path("a"))]);
        assert!(circle.contains("includes itself"), "{circle}");
        std::fs::write(path("latin"), b"-D\xe4").unwrap();
        assert!(said(&[format!("@{}", path("latin"))]).contains("not UTF-8"));
        let many: Vec<_> = (0..=MAX_DEPTH).map(|n| path(&n.to_string())).collect();
        for (file, next) in many.iter().zip(&many[1..]) {
            std::fs::write(file, format!("@{next}")).unwrap();
        }
        std::fs::write(&many[MAX_DEPTH], "-O2").unwrap();
        assert!(said(&[format!("@{}", many[0])]).contains("32"));
    }
}
