// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collects compiler diagnostics, so that each is printed unchanged but only once, and summarizes failures.

use std::collections::BTreeSet;
use std::path::Path;

use syclbin::__private::counted;
use syclbin_toolchain::{Component, INSTALL_COMMAND};

/// Returns whether the compiler should color its errors: if `CARGO_TERM_COLOR` forces colors, or if standard error is a
/// terminal and the environment does not disable colors. Cargo captures a build script's standard error, so only the
/// variable enables colors there. Warnings are never colored, because they pass through Cargo.
pub(crate) fn has_colour() -> bool {
    let wanted = std::env::var_os("CARGO_TERM_COLOR").unwrap_or_default();
    let no = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    wanted == "always" || (terminal && !no && wanted != "never")
}

/// Returns the text without ANSI color sequences: ESC, `[`, digits and semicolons, and a final letter.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        let mut from_letter = after.chars();
        from_letter.next();
        rest = from_letter.as_str();
    }
    plain.push_str(rest);
    plain
}

/// Returns hints for errors that clang's messages do not explain, one line each.
pub(crate) fn hints(diagnostics: &str) -> String {
    let plain = plain(diagnostics);
    let mut hints = BTreeSet::new();
    for line in plain.lines().filter(|line| kind(line) == Some(Kind::Error)) {
        let quoted = line.split('\'').nth(1).unwrap_or_default();
        let is_parameter = line.ends_with("cannot be used as the type of a kernel parameter");
        let hint = if line.ends_with(" file not found") {
            missing_header(quoted)
        } else if is_parameter && quoted.ends_with('&') {
            "a kernel takes or captures a reference to a host variable, which a device cannot read; take or capture \
             it by value, or pass a pointer to device memory"
                .to_owned()
        } else if line.contains("no matching constructor") && quoted.contains("device_global<") {
            "a device_global with an initial value requires C++20; add .flag(\"-std=c++20\")"
                .to_owned()
        } else {
            continue;
        };
        hints.insert(hint);
    }
    hints.iter().map(|hint| format!("\nhint: {hint}")).collect()
}

fn missing_header(name: &str) -> String {
    let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    // The component is available only for x86-64 Linux.
    let has_component = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    let remedy = if has_component && is(&["oneapi/dpl/", "oneapi/mkl", "mkl.h", "mkl_"]) {
        let component = Component::OneapiHeaders.name();
        format!("run `{INSTALL_COMMAND} --component {component}`")
    } else if is(&["dpct/"]) {
        "download the directory clang/runtime/dpct-rt/include from https://github.com/oneapi-src/SYCLomatic, and add \
         it with .include(\"...\")"
            .to_owned()
    } else if !name.contains(['.', '/']) {
        "install g++ if it belongs to the C++ standard library; otherwise, add its directory with .include(\"...\")".to_owned()
    } else {
        "add its directory with .include(\"...\"), or move the kernels to a source that does not include it".to_owned()
    };
    format!("header {name} was not found; {remedy}")
}

/// The diagnostics for several sources, without duplicates.
#[derive(Default)]
pub(crate) struct Diagnostics {
    pub(crate) text: String,
    said: BTreeSet<String>,
    errors: usize,
    warnings: usize,
}

impl Diagnostics {
    pub(crate) fn add(&mut self, said: &str) -> String {
        let mut new = String::new();
        for one in split(said) {
            if !self.said.insert(plain(&one.text[one.place..])) {
                continue;
            }
            match one.kind {
                Some(Kind::Error) => self.errors += 1,
                Some(Kind::Warning) => self.warnings += 1,
                None => {}
            }
            new.push_str(&one.text);
        }
        self.text.push_str(&new);
        new
    }

    /// Returns a summary: "3 errors and 1 warning in 2 of 5 sources: a.cpp, b.cpp"
    pub(crate) fn summary<'p>(&self, of: usize, failed: impl Iterator<Item = &'p Path>) -> String {
        let failed: Vec<_> = failed.map(|path| path.display().to_string()).collect();
        let found = match (self.errors, self.warnings) {
            (0, _) => "failed".to_owned(),
            (errors, 0) => counted(errors, "error"),
            (errors, warnings) => {
                counted(errors, "error") + " and " + &counted(warnings, "warning")
            }
        };
        let (count, failed) = (failed.len(), failed.join(", "));
        format!("{found} in {count} of {}: {failed}", counted(of, "source"))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Error,
    Warning,
}

/// An error or warning, with the lines that belong to it.
#[derive(Default)]
struct One {
    kind: Option<Kind>,
    text: String,
    /// The byte offset of the message in `text`, after the include stack. The stack differs between sources, so it is
    /// ignored when diagnostics are compared.
    place: usize,
}

/// Splits clang's output into diagnostics. Removes clang's own counts ("2 errors generated."), because they include
/// duplicates.
fn split(said: &str) -> Vec<One> {
    let mut all: Vec<One> = Vec::new();
    // Whether the last diagnostic contains only an include stack so far, and its message is still to come.
    let mut waits = false;
    for line in said.split_inclusive('\n') {
        let bare = plain(line);
        let bare = bare.trim_end();
        if is_count(bare) {
            continue;
        }
        let includes = bare.starts_with("In file included from ") || bare.starts_with("In module ");
        let kind = kind(bare);
        if !waits && (includes || kind.is_some() || all.is_empty()) {
            all.push(One::default());
        }
        if let Some(last) = all.last_mut() {
            if waits && !includes && !bare.starts_with("                 from ") {
                last.place = last.text.len();
                waits = false;
            } else {
                waits |= includes;
            }
            last.kind = kind.or(last.kind);
            last.text.push_str(line);
        }
    }
    if let Some(last) = all.last_mut()
        && !last.text.ends_with('\n')
    {
        last.text.push('\n');
    }
    all
}

/// Returns the kind of diagnostic that starts on a line: `a.cpp:3:7: error: ...`, `clang++: warning: ...`.
fn kind(line: &str) -> Option<Kind> {
    // Clang indents the source line that it prints below a diagnostic.
    if line.starts_with(' ') {
        return None;
    }
    // With a space before the line, a word at its start is found like any other.
    let line = format!(" {line}");
    let kinds = [(" error: ", Kind::Error), (" warning: ", Kind::Warning)].into_iter();
    let found = kinds.filter_map(|(word, kind)| Some((line.find(word)?, kind)));
    found.min_by_key(|(at, _)| *at).map(|(_, kind)| kind)
}

/// Returns whether the line is a count, such as "1 warning and 2 errors generated."
fn is_count(line: &str) -> bool {
    line.strip_suffix(" generated.").is_some_and(|counts| {
        let words = ["error", "errors", "warning", "warnings", "and"];
        let is_known = |word: &str| word.parse::<u32>().is_ok() || words.contains(&word);
        counts.split(' ').all(is_known)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_A_HEADER: &str = "h.hpp:1:2: warning: hello\n    1 | #warning hello\n      |  ^\n";

    #[test]
    fn colours_are_taken_off_and_nothing_else() {
        let text = "\u{1b}[1ma.cpp:1:1: \u{1b}[0m\u{1b}[0;1;31merror: \u{1b}[0mno [x] here\u{1b}[K";
        assert_eq!(plain(text), "a.cpp:1:1: error: no [x] here");
        assert_eq!(plain("\u{1b}["), "");
        assert_eq!(plain("a\u{1b}[31\u{e4}b"), "ab");
    }

    #[test]
    fn shared_header_warning_is_shown_once() {
        let from = |name: &str| {
            format!(
                "In file included from {name}:3:\nIn file included from both.hpp:1:\n{OF_A_HEADER}\
                 {name}:9:1: error: expected '}}'\n{name}:3:1: note: to match this\n    3 | {{\n\
                 1 warning and 1 error generated.\n"
            )
        };
        let mut all = Diagnostics::default();
        let first = all.add(&from("a.cpp"));
        assert_eq!(
            first,
            from("a.cpp").replace("1 warning and 1 error generated.\n", "")
        );
        let second = all.add(&from("b.cpp"));
        assert!(second.starts_with("b.cpp:9:1: error"), "{second}");
        assert!(
            second.ends_with("b.cpp:3:1: note: to match this\n    3 | {\n"),
            "{second}"
        );
        assert_eq!(all.add(&from("b.cpp")), "");
        let failed = ["a.cpp", "b.cpp"].map(Path::new);
        assert_eq!(
            all.summary(5, failed.into_iter()),
            "2 errors and 1 warning in 2 of 5 sources: a.cpp, b.cpp"
        );
    }

    #[test]
    fn hints_name_the_remedy_once() {
        let said = "a.cpp:1:10: \u{1b}[31mfatal error: \u{1b}[0m'mpi.h' file not found\n    1 | #include <mpi.h>\n";
        let hint = hints(said);
        assert!(
            hint.starts_with("\nhint: header mpi.h was not found; add"),
            "{hint}"
        );
        let hint = |name: &str| hints(&said.replace("mpi.h", name));
        for header in ["oneapi/dpl/execution", "oneapi/mkl.hpp", "mkl.h"] {
            let remedy = "`cargo syclbin toolchain install --component oneapi-headers`";
            assert!(hint(header).ends_with(remedy), "{header}");
        }
        assert!(hint("cstddef").contains("; install g++"));
        assert!(hint("dpct/dpct.hpp").contains("https://github.com/oneapi-src/SYCLomatic"));
        let reference =
            "a.cpp:4:23: error: 'int *&' cannot be used as the type of a kernel parameter\n";
        let twice = hints(&reference.repeat(2));
        assert_eq!(
            twice
                .matches("hint: a kernel takes or captures a reference")
                .count(),
            1
        );
        assert_eq!(hints(&reference.replace('&', "")), "");
        assert_eq!(hints("a.cpp:1:1: warning: 'mpi.h' file not found\n"), "");
        let global = "a.cpp:3:24: error: no matching constructor for initialization of 'ex::device_global<int>'\n";
        assert!(hints(global).contains("requires C++20"));
        assert_eq!(hints(&global.replace("device_global", "queue")), "");
    }

    #[test]
    fn what_is_no_diagnostic_stays() {
        let mut all = Diagnostics::default();
        let said = "Stack dump:\n0. Program arguments: x\nPLEASE submit";
        assert_eq!(all.add(said), format!("{said}\n"));
        assert_eq!(
            all.summary(2, [Path::new("a.cpp")].into_iter()),
            "failed in 1 of 2 sources: a.cpp"
        );
        // A compiler may crash after a warning.
        all.add("a.cpp:1:1: warning: unused\n");
        assert_eq!(
            all.summary(2, [Path::new("a.cpp")].into_iter()),
            "failed in 1 of 2 sources: a.cpp"
        );
        assert_eq!(all.add("clang++: error: no\n"), "clang++: error: no\n");
        assert_eq!(all.add("3 apples generated.\n"), "3 apples generated.\n");
        let text = "  the source says error: here\n";
        assert!(kind(text).is_none());
    }
}
