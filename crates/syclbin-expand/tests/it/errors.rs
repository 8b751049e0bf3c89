// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares the macro's errors for each program of `tests/ui`, with line and column, without running the compiler. This
//! takes a second; rustc takes a minute.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proc_macro2::{Literal, Span, TokenStream, TokenTree};

use crate::files;

#[test]
fn errors_are_those_of_the_compiler() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("errors");
    fs::create_dir_all(&folder).unwrap();
    files::write_all(&folder);
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let (mut found_in, mut differing) = (0, String::new());
    for entry in fs::read_dir(programs).unwrap() {
        let program = entry.unwrap().path();
        if program
            .extension()
            .is_none_or(|extension| extension != "rs")
        {
            continue;
        }
        let found = errors_of(&program, &folder);
        let expected = in_stderr(&program.with_extension("stderr"));
        found_in += usize::from(!found.is_empty());
        if found != expected {
            let name = program.file_name().unwrap().display();
            differing += &format!("{name}: {found:#?} instead of {expected:#?}\n");
        }
    }
    assert!(differing.is_empty(), "{differing}");
    assert!(found_in >= 60, "only {found_in} programs have errors");
}

/// Returns whether the expected output at `path` contains errors that rustc itself reports.
pub(crate) fn has_errors_of_rustc(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    lines.any(|line| line.starts_with("error[") || is_lint(line))
}

/// Returns whether a line is an error from one of rustc's lints.
fn is_lint(line: &str) -> bool {
    line.starts_with("error: unused ") || line.starts_with("error: usage of ")
}

/// Returns the errors of all `include_syclbin!` calls in a program. The embedded files lie beside it.
fn errors_of(program: &Path, folder: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(program).unwrap();
    let tokens: TokenStream = text.parse().unwrap();
    let mut errors = BTreeSet::new();
    for (_, input) in after(tokens, "include_syclbin") {
        let code = syclbin_expand::include(in_folder(input, folder));
        for (at, error) in after(code, "compile_error") {
            let message = syn::parse2::<syn::LitStr>(error).unwrap().value();
            let message = message.replace(&format!("{}/", folder.display()), "");
            let start = at.start();
            errors.insert(format!("{}:{}: {message}", start.line, start.column + 1));
        }
    }
    errors
}

/// Returns the position and input of each call of the macro `name`.
fn after(tokens: TokenStream, name: &str) -> Vec<(Span, TokenStream)> {
    let mut found = Vec::new();
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let before = tokens[..index]
            .iter()
            .rev()
            .take(2)
            .map(ToString::to_string);
        if before.eq(["!", name].map(str::to_owned)) {
            found.push((tokens[index - 2].span(), group.stream()));
        } else {
            found.extend(after(group.stream(), name));
        }
    }
    found
}

/// Makes the file path in `input` absolute.
fn in_folder(input: TokenStream, folder: &Path) -> TokenStream {
    let path = |token: TokenTree| match syn::parse2::<syn::LitStr>(token.clone().into()) {
        Ok(text) if text.value().ends_with(".syclbin") => {
            let mut literal = Literal::string(&folder.join(text.value()).display().to_string());
            literal.set_span(token.span());
            literal.into()
        }
        _ => token,
    };
    input.into_iter().map(path).collect()
}

/// Returns the macro's errors in rustc's output.
fn in_stderr(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut errors = BTreeSet::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(message) = line.strip_prefix("error: ") else {
            continue;
        };
        if is_lint(line) {
            continue;
        }
        let mut message = message.to_owned();
        let place = lines.by_ref().find_map(|line| {
            let place = line.trim_start().strip_prefix("--> ");
            if place.is_none() {
                message += "\n";
                message += line.trim_start();
            }
            place
        });
        // PATH:LINE:COLUMN
        let place = place.and_then(|place| place.split_once(':')).unwrap().1;
        errors.insert(format!("{place}: {message}"));
    }
    errors
}
