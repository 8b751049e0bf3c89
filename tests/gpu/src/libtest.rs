// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses the output of a test executable: names of tests, results, and reasons for skips.
//!
//! Tests run in threads, so output of drivers and kernels is mixed with the lines of the harness. A result counts
//! only if it names a listed test. A test without a result runs again, alone.

use std::collections::{BTreeMap, BTreeSet};

/// The verdict of the harness on a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ok,
    Failed,
    /// With the reason, if the source gives one.
    Ignored(Option<String>),
}

pub(crate) fn list(stdout: &str) -> BTreeSet<String> {
    let names = stdout
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    names.map(str::to_owned).collect()
}

/// Returns the printed results of `tests`.
pub(crate) fn results(stdout: &str, tests: &BTreeSet<String>) -> BTreeMap<String, Verdict> {
    let mut results = BTreeMap::new();
    for line in stdout.lines() {
        // Output of a kernel may lack a line break, so a result may start anywhere in a line.
        let starts = line
            .match_indices("test ")
            .map(|(index, word)| index + word.len());
        for rest in starts.map(|start| &line[start..]) {
            if let Some((name, verdict)) = result(rest)
                && tests.contains(name)
            {
                results.insert(name.to_owned(), verdict);
            }
        }
    }
    results
}

/// Parses `NAME ... ok`, the rest of a line after `test`.
fn result(text: &str) -> Option<(&str, Verdict)> {
    let (name, verdict) = text.split_once(" ... ")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let verdict = if verdict.starts_with("ok") {
        Verdict::Ok
    } else if verdict.starts_with("FAILED") {
        Verdict::Failed
    } else {
        let reason = verdict.strip_prefix("ignored")?;
        Verdict::Ignored(reason.strip_prefix(", ").map(str::to_owned))
    };
    Some((name, verdict))
}

/// Returns the output of failed tests by name, from the blocks that begin with `---- NAME stdout ----`.
pub(crate) fn failures(stdout: &str) -> BTreeMap<String, String> {
    let mut failures = BTreeMap::<String, String>::new();
    let mut current = None;
    for line in stdout.lines() {
        let title = line.strip_prefix("---- ");
        if let Some(name) = title.and_then(|title| title.strip_suffix(" stdout ----")) {
            current = Some(name.to_owned());
        } else if line == "failures:" || line.starts_with("test result: ") {
            current = None;
        } else if let Some(name) = &current {
            let text = failures.entry(name.clone()).or_default();
            text.push_str(line);
            text.push('\n');
        }
    }
    failures
}

/// Returns the reasons for skips by test name, from the lines `skipped NAME: REASON` on standard error. A test on the
/// main thread is called `main`.
pub(crate) fn skips(stderr: &str) -> BTreeMap<String, String> {
    let mut skips = BTreeMap::<String, String>::new();
    for line in stderr.lines() {
        let Some(start) = line.find("skipped ") else {
            continue;
        };
        let rest = &line[start + "skipped ".len()..];
        if let Some((name, reason)) = rest.split_once(": ")
            && !name.contains(char::is_whitespace)
        {
            let reasons = skips.entry(name.to_owned()).or_default();
            if !reasons.is_empty() {
                reasons.push_str("; ");
            }
            reasons.push_str(reason.trim_end());
        }
    }
    skips
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "
running 6 tests
test launch::runs ... ok
0 from a kernel test launch::fails ... FAILED
test launch::panics - should panic ... ok
test slow ... ignored, takes an hour
test launch::unknown ... ok
test mixed ... 17
ok

failures:

---- launch::fails stdout ----
thread 'launch::fails' panicked at src/lib.rs:1:1:
1 is not 2

failures:
    launch::fails

test result: FAILED. 3 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out
";

    fn tests() -> BTreeSet<String> {
        list(
            "launch::runs: test\nlaunch::fails: test\nlaunch::panics: test\nslow: test\nmixed: test\n\n5 tests, 1 benchmark\n",
        )
    }

    #[test]
    fn listed_tests_have_results() {
        assert_eq!(tests().len(), 5);
        let results = results(PRINTED, &tests());
        let result = |name: &str| results.get(name);
        assert_eq!(result("launch::runs"), Some(&Verdict::Ok));
        assert_eq!(result("launch::fails"), Some(&Verdict::Failed));
        assert_eq!(result("launch::panics"), Some(&Verdict::Ok));
        let reason = Some("takes an hour".to_owned());
        assert_eq!(result("slow"), Some(&Verdict::Ignored(reason)));
        assert_eq!(result("launch::unknown"), None, "it is not listed");
        assert_eq!(result("mixed"), None, "it has to run again");
    }

    #[test]
    fn failed_tests_have_output() {
        let failures = failures(PRINTED);
        assert_eq!(failures.len(), 1);
        assert!(failures["launch::fails"].contains("1 is not 2"));
    }

    #[test]
    fn skipped_tests_have_reasons() {
        let skips = skips(
            "skipped queue::profiles: no device: none\n\
             warning: a driver speaks skipped launch::runs: no fp64\n\
             skipped launch::runs: no fp16\n\
             skipped: unnamed\nskipped some words: no test\n",
        );
        assert_eq!(skips.len(), 2);
        assert_eq!(skips["queue::profiles"], "no device: none");
        assert_eq!(skips["launch::runs"], "no fp64; no fp16");
    }
}
