// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps that are test executables: one bad test hides no other.

use gpu_report::plan::Kind::Tests;
use gpu_report::report::Outcome::{Crashed, Failed, Hung, Passed, Skipped};

use crate::pack::Pack;

/// A test executable whose run of all tests prints `whole`, and that does `alone` for `$1`.
fn suite(tests: &[&str], whole: &str, alone: &str) -> String {
    let listing: String = tests
        .iter()
        .map(|test| format!("{test}: test\\n"))
        .collect();
    format!(
        "case \"$*\" in\n*--list*) printf '{listing}';;\n*--exact*) {alone};;\n*) {whole};;\nesac"
    )
}

#[test]
fn results_and_skips_are_read() {
    let whole = "echo 'test a ... ok'; echo 'skipped b: no fp64' >&2; echo 'test b ... ok'
        echo 'test c ... FAILED'; echo 'test d ... ignored, slow'
        printf 'failures:\\n\\n---- c stdout ----\\n1 is not 2\\n\\nfailures:\\n    c\\n'; exit 101";
    let script = suite(&["a", "b", "c", "d"], whole, "exit 9");
    let outcome = Pack::new().step("tests", Tests, &script).run();
    assert_eq!(outcome.test("tests", "a").outcome, Passed);
    let skipped = outcome.test("tests", "b");
    assert_eq!(
        (skipped.outcome, skipped.reason.as_deref()),
        (Skipped, Some("no fp64"))
    );
    let failed = outcome.test("tests", "c");
    assert_eq!(
        (failed.outcome, failed.output.as_deref()),
        (Failed, Some("1 is not 2"))
    );
    assert_eq!(outcome.test("tests", "d").reason.as_deref(), Some("slow"));
    let step = outcome.step("tests");
    assert_eq!((step.outcome, &step.reason), (Failed, &None));
    let counts = outcome.report.tests;
    assert_eq!((counts.passed, counts.skipped, counts.failed), (1, 2, 1));
    assert!(
        outcome.page.contains("| b | skipped: no fp64 |"),
        "{}",
        outcome.page
    );
}

#[test]
fn the_test_that_crashes_is_named() {
    let whole = "echo 'test a ... ok'; kill -SEGV $$";
    let alone = "case $1 in\nb) kill -SEGV $$;;\nc) echo 'skipped main: no fp16' >&2;;\nesac";
    let script = suite(&["a", "b", "c", "d"], whole, alone);
    let outcome = Pack::new()
        .step("tests", Tests, &script)
        .step(
            "others",
            Tests,
            &suite(&["a"], "echo 'test a ... ok'", "exit 9"),
        )
        .run();
    let outcomes = ["a", "b", "c", "d"].map(|name| outcome.test("tests", name).outcome);
    assert_eq!(outcomes, [Passed, Crashed, Skipped, Passed]);
    let step = outcome.step("tests");
    assert_eq!(step.outcome, Crashed);
    let reason = step.reason.as_deref().unwrap();
    assert!(
        reason.contains("signal 11") && reason.contains("3 without a result"),
        "{reason}"
    );
    assert_eq!(outcome.step("others").outcome, Passed);
}

#[test]
fn failures_without_a_reason_run_again() {
    let whole = "echo 'test a ... FAILED'; echo 'test b ... FAILED'; kill -SEGV $$";
    let alone = "case $1 in\na) exit 101;;\nesac";
    let script = suite(&["a", "b"], whole, alone);
    let outcome = Pack::new().step("tests", Tests, &script).run();
    let outcomes = ["a", "b"].map(|name| outcome.test("tests", name).outcome);
    assert_eq!(outcomes, [Failed, Passed]);
    assert_eq!(outcome.step("tests").outcome, Crashed);
}

#[test]
fn the_test_that_hangs_is_named() {
    let whole = "echo 'test a ... ok'; echo 'test c ... ok'; sleep 1000";
    let script = suite(&["a", "b", "c"], whole, "sleep 1000");
    let outcome = Pack::new()
        .step_with("tests", Tests, &script, |step| step.seconds = 2)
        .run();
    let outcomes = ["a", "b", "c"].map(|name| outcome.test("tests", name).outcome);
    assert_eq!(outcomes, [Passed, Hung, Passed]);
    assert_eq!(outcome.step("tests").outcome, Hung);
}

#[test]
fn a_crash_that_no_test_repeats_is_kept() {
    let script = suite(&["a", "b"], "echo 'test a ... ok'; kill -ABRT $$", "exit 0");
    let outcome = Pack::new().step("tests", Tests, &script).run();
    assert_eq!(outcome.test("tests", "b").outcome, Passed);
    assert_eq!(outcome.step("tests").outcome, Crashed);
    assert!(!outcome.report.passed);
}

#[test]
fn a_crash_that_does_not_repeat_is_reported() {
    let once = "[ -e crashed ] || { touch crashed; kill -SEGV $$; }; echo 'test a ... ok'";
    let outcome = Pack::new()
        .repeat_crashes()
        .step("once", Tests, &suite(&["a"], once, "exit 9"))
        .step("always", Tests, &suite(&["a"], "kill -SEGV $$", "exit 0"))
        .run();
    let [once, always] = ["once", "always"].map(|name| outcome.step(name));
    assert_eq!((once.outcome, always.outcome), (Passed, Crashed));
    let reason = once.reason.as_deref().unwrap();
    assert!(
        reason.starts_with("ran again") && reason.contains("signal 11"),
        "{reason}"
    );
}

#[test]
fn an_executable_without_tests_fails() {
    let outcome = Pack::new()
        .step("empty", Tests, &suite(&[], "exit 0", "exit 0"))
        .step("crashes", Tests, "kill -SEGV $$")
        .run();
    assert_eq!(outcome.step("empty").outcome, Failed);
    assert_eq!(outcome.step("crashes").outcome, Crashed);
}

#[test]
fn findings_of_a_tool_fail_the_step() {
    let script = suite(
        &["a"],
        "echo 'test a ... ok'; echo '1 error'; exit 86",
        "exit 9",
    );
    let outcome = Pack::new()
        .step_with("tests", Tests, &script, |step| {
            step.under = vec!["env".to_owned()];
        })
        .run();
    let step = outcome.step("tests");
    assert_eq!((step.outcome, step.tests[0].outcome), (Failed, Passed));
    assert!(step.output.as_deref().unwrap().contains("1 error"));
}
