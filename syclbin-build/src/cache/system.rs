//! The system: what its texts, which are only looked through, mean for those that use them.
//!
//! Too much is taken rather than too little: a word in a comment of a macro counts, and so does a
//! function of the same name elsewhere. All that it costs is a compile after a change of a comment.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::text::{self, TIMES, Text};

/// What is the line of the caller where it stands in a default argument. `__LINE__` is its own line.
/// `code_location` is none of them: it is for the host, and nearly all that SYCL has there takes one.
const OF_CALLER: [&str; 4] = [
    "__builtin_LINE",
    "__builtin_COLUMN",
    "__builtin_source_location",
    "source_location",
];

/// What matters of the texts of the system.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct System {
    /// Macros that are made of a line, and functions that take one nobody writes.
    pub(crate) words: BTreeSet<String>,
    /// Lines matter whatever is used: a member of a class is the line at which one is made.
    pub(crate) needs_lines: bool,
    /// Whether the time of the compile is in one.
    pub(crate) has_time: bool,
}

impl System {
    pub(crate) fn read(paths: &[PathBuf]) -> Self {
        let texts = paths
            .iter()
            .filter_map(|path| syclbin_toolchain::file::read(path).ok());
        let texts: Vec<String> = texts
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect();
        Self::of(&texts)
    }

    fn of(texts: &[String]) -> Self {
        let mut system = Self {
            // The library searches faster than we read.
            has_time: texts.iter().any(|text| {
                TIMES.iter().any(|sign| text.contains(sign)) && Text::read(text.as_bytes()).has_time
            }),
            ..Self::default()
        };
        let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for text in texts {
            for (name, body) in definitions(text) {
                // It is a keyword, of which some headers make another.
                if text::is_static_assert(name) {
                    continue;
                }
                for word in words(body) {
                    users.entry(word).or_default().push(name);
                }
            }
        }
        let is_of_lines = users.keys().filter(|word| text::is_of_lines(word));
        let line_macros = closure(&users, is_of_lines.copied().collect());
        let mut of_caller = closure(&users, OF_CALLER.to_vec());
        of_caller.extend(OF_CALLER.map(str::to_owned));
        // One that calls another in a default argument is one itself.
        let mut to_find = of_caller.clone();
        while !to_find.is_empty() {
            let mut found = BTreeSet::new();
            let has_one = |text: &&String| to_find.iter().any(|word| text.contains(word));
            for text in texts.iter().filter(has_one) {
                system.needs_lines |= defaults(&text::folded(text), &to_find, &mut found);
            }
            let new = found.difference(&of_caller).cloned();
            let new: BTreeSet<String> = new.collect();
            to_find = new.iter().map(|name| format!("{name}(")).collect();
            of_caller.extend(new);
        }
        system.words = line_macros;
        system.words.extend(of_caller);
        system
    }
}

/// The macros that are made of these words, directly or by others.
fn closure<'t>(users: &BTreeMap<&str, Vec<&'t str>>, mut words: Vec<&'t str>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    while let Some(word) = words.pop() {
        for user in users.get(word).into_iter().flatten() {
            if all.insert((*user).to_owned()) {
                words.push(user);
            }
        }
    }
    all
}

/// The macros that a text defines, each with its parameters and its own text.
fn definitions(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    // The library finds a byte far faster than a word.
    for (at, hash) in text.match_indices('#') {
        let directive = text[at + hash.len()..].trim_start_matches([' ', '\t']);
        let Some(after) = directive.strip_prefix("define") else {
            continue;
        };
        if !after.starts_with([' ', '\t']) {
            continue;
        }
        let mut end = 0;
        for line in after.split_inclusive('\n') {
            end += line.len();
            if !line.trim_end().ends_with('\\') {
                break;
            }
        }
        let whole = after[..end].trim_start();
        let name = whole.find(|c: char| !is_word(c)).unwrap_or(whole.len());
        found.push(whole.split_at(name));
    }
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_word(c))
        .filter(|word| word.starts_with(|c: char| !c.is_ascii_digit()))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// Adds the functions that have one of `words` in a default argument; whether one is the default of
/// something that has no name here, such as a member.
fn defaults(code: &str, words: &BTreeSet<String>, functions: &mut BTreeSet<String>) -> bool {
    let mut has_other = false;
    for word in words {
        for (at, _) in code.match_indices(word.as_str()) {
            let before = &code[..at];
            let after = &code[at + word.len()..];
            let line = before.rsplit('\n').next().unwrap_or(before);
            let is_call = word.ends_with('(');
            let is_part = before.ends_with(is_word) || (!is_call && after.starts_with(is_word));
            if is_part || line.starts_with('#') || before.ends_with("code_location::") {
                continue;
            }
            // `int line{__builtin_LINE()};`, and no declaration that comes first in its class.
            let opener = before.trim_end_matches("std::").trim_end();
            has_other |= opener.ends_with('{') && !after.trim_start().starts_with(is_word);
            has_other |= default(before, functions);
        }
    }
    // A class can be made without its name.
    let is_class = |name: &String| {
        let keywords = ["class ", "struct "].iter();
        let mut declarations = keywords.map(|keyword| format!("{keyword}{name}"));
        declarations.any(|declaration| code.contains(&declaration))
    };
    has_other || functions.iter().any(is_class)
}

/// Walks back from a word to the begin of its statement, through the brackets that it is in; whether it
/// is the default of something else.
fn default(before: &str, functions: &mut BTreeSet<String>) -> bool {
    const STATEMENTS: [&str; 4] = ["for", "if", "switch", "while"];
    let (mut closed, mut has_default, mut has_function) = (0, false, false);
    let mut start = 0;
    for (at, c) in before.char_indices().rev() {
        match c {
            ';' | '{' | '}' => {
                start = at + 1;
                break;
            }
            '=' => has_default = true,
            ')' => closed += 1,
            '(' if closed > 0 => closed -= 1,
            '(' if has_default => {
                let function = before[..at].trim_end();
                let start = function.trim_end_matches(is_word).len();
                let name = &function[start..];
                has_function |= !name.is_empty();
                if !name.is_empty() && !STATEMENTS.contains(&name) {
                    functions.insert(name.to_owned());
                }
            }
            _ => {}
        }
    }
    let is_type = before[start..].trim_start().starts_with("using ");
    has_default && !has_function && !is_type
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(texts: &[&str]) -> System {
        System::of(&texts.iter().copied().map(String::from).collect::<Vec<_>>())
    }

    fn has(text: &str, word: &str) -> bool {
        system(&[text]).words.contains(word)
    }

    #[test]
    fn macros_that_are_made_of_a_line_by_others_are_found_in_whatever_text() {
        let of = system(&[
            "# define LOG() f(WHERE_)\n#define OTHER 1\n",
            "#define static_assert _Static_assert\n#define _Static_assert(x) f(assert)\n",
            "#define WHERE_ \\\n  __LINE__\n",
            "#\tdefine CHECK(x) assert(x)\n#define STATIC static_assert(1)\n#define ASKED CHECK(1)\n",
        ]);
        for word in ["LOG", "WHERE_", "CHECK", "ASKED"] {
            assert!(of.words.contains(word), "{word}");
        }
        for word in ["OTHER", "STATIC", "f", "static_assert", "_Static_assert"] {
            assert!(!of.words.contains(word), "{word}");
        }
        assert!(!of.needs_lines && !of.has_time);
    }

    #[test]
    fn functions_that_take_the_line_of_their_caller_are_found() {
        for text in [
            "int at(int l = __builtin_LINE());",
            "int at(int a, int l = __builtin_LINE()) { return l; }",
            "struct S { int at(g<(1 > 2)> x, std::source_location l =\n std::source_location::current()); };",
            "#define HERE __builtin_LINE()\nint at (int l = f(HERE));",
            "int inner(int l = __builtin_COLUMN()); int at(int l = inner());",
        ] {
            assert!(has(text, "at"), "{text}");
            assert!(!system(&[text]).needs_lines, "{text}");
        }
        for text in [
            "int at(int l = __LINE__);",
            "int at(source_location l);",
            "int f(int l = __builtin_LINE()); int at(int a = 1);",
            "// int at(int l = __builtin_LINE());",
            "int current(int l = __builtin_LINE()); int at(code_location l = code_location::current());",
            "int current(int l = __builtin_LINE()); int at(int l = current);",
        ] {
            assert!(!has(text, "at"), "{text}");
        }
    }

    #[test]
    fn a_member_that_is_the_line_of_its_maker_makes_all_lines_matter() {
        for text in [
            "struct S { int l = __builtin_LINE(); };",
            "struct S { int l{__builtin_LINE()}; };",
            "struct S { S(int l = __builtin_LINE()); };",
            "struct S { int operator()(int l = __builtin_LINE()); };",
            "struct S { std::source_location l{std::source_location::current()}; };",
            "int at(const char *a = \")\", int l = __builtin_LINE());",
        ] {
            assert!(system(&[text]).needs_lines, "{text}");
        }
        for text in [
            "int f() { return __builtin_LINE(); }",
            "struct S { std::source_location where; int a = 1; };",
            "struct S { using T = decltype(__builtin_source_location()); };",
            "#if __has_builtin(__builtin_source_location)\n# define A 1\n#endif\n",
        ] {
            assert!(!system(&[text]).needs_lines, "{text}");
        }
    }

    #[test]
    fn the_time_of_the_compile_counts_where_it_is_code() {
        assert!(system(&["", "#define NOW __TIME__\n"]).has_time);
        assert!(!system(&["// not __TIME__\n"]).has_time);
    }
}
