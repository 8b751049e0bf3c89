// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps that are programs: each end of one is told from the others, and the next ones run.

use std::time::{Duration, Instant};

use gpu_report::plan::Kind::{Benchmark, Information, Program};
use gpu_report::plan::Step;
use gpu_report::report::Outcome::{Crashed, Failed, Hung, NotRun, Passed, Skipped};
use serde_json::json;

use crate::pack::Pack;

#[test]
fn bad_ends_are_told_apart() {
    let outcome = Pack::new()
        .step("fails", Program, "echo one; echo two >&2; exit 3")
        .step("aborts", Program, "kill -ABRT $$")
        .step_with("sleeps", Program, "echo begun; sleep 1000", |step| {
            step.seconds = 1;
        })
        .step("passes", Program, "exit 0")
        .run();
    let report = &outcome.report;
    assert!(report.complete && !report.passed);
    let fails = outcome.step("fails");
    assert_eq!(fails.outcome, Failed);
    assert_eq!(fails.output.as_deref(), Some("one\ntwo"));
    assert!(
        outcome.page.contains("it ended with exit status 3"),
        "{}",
        outcome.page
    );
    assert_eq!(outcome.step("aborts").outcome, Crashed);
    assert!(outcome.page.contains("signal 6"), "{}", outcome.page);
    let sleeps = outcome.step("sleeps");
    assert_eq!(
        (sleeps.outcome, sleeps.output.as_deref()),
        (Hung, Some("begun"))
    );
    assert_eq!(outcome.step("passes").outcome, Passed);
}

#[test]
fn descendants_of_a_hung_step_are_killed() {
    let start = Instant::now();
    // The child holds the pipes.
    let outcome = Pack::new()
        .step_with("parent", Program, "sleep 1000 & sleep 1000", |step| {
            step.seconds = 1;
        })
        .step("orphan", Program, "sleep 1000 & exit 0")
        .run();
    assert_eq!(outcome.step("parent").outcome, Hung);
    assert_eq!(outcome.step("orphan").outcome, Passed);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn skipped_programs_do_not_fail_a_run() {
    let outcome = Pack::new()
        .step("skips", Program, "echo 'skipped: no memory' >&2")
        .step_with("tool", Program, "exit 1", |step| {
            step.under = vec!["no-such-sanitizer".to_owned()];
        })
        .run();
    assert!(outcome.report.passed);
    let skips = outcome.step("skips");
    assert_eq!(
        (skips.outcome, skips.reason.as_deref()),
        (Skipped, Some("no memory"))
    );
    let reason = outcome.step("tool").reason.as_deref();
    assert_eq!(reason, Some("no-such-sanitizer is not installed"));
}

#[test]
fn expected_output_is_required() {
    let outcome = Pack::new()
        .step_with("right", Program, "echo all right", |step| {
            step.expects = Some("all right".to_owned());
        })
        .step_with("wrong", Program, "echo all wrong", |step| {
            step.expects = Some("all right".to_owned());
        })
        .run();
    assert_eq!(outcome.step("right").outcome, Passed);
    assert_eq!(outcome.step("wrong").outcome, Failed);
}

#[test]
fn a_known_lack_skips_a_program() {
    const LACKS: &str =
        "echo 'error: arrays require memory (usm), which this does not support' >&2; exit 1";
    let outcome = Pack::new()
        .step_with("lacks", Program, LACKS, |step| {
            step.needs = Some("usm".to_owned());
        })
        .step_with("lacks other", Program, LACKS, |step| {
            step.needs = Some("fp16".to_owned());
        })
        .step("lacks unexpectedly", Program, LACKS)
        .run();
    let lacks = outcome.step("lacks");
    assert_eq!(lacks.outcome, Skipped);
    assert!(
        lacks
            .reason
            .as_deref()
            .is_some_and(|reason| reason.contains("(usm)"))
    );
    assert_eq!(outcome.step("lacks other").outcome, Failed);
    assert_eq!(outcome.step("lacks unexpectedly").outcome, Failed);
}

#[test]
fn figures_of_benchmarks_are_reported() {
    let figures = r#"{"rows": [{"benchmark": "saxpy", "value": 2.5}]}"#;
    let outcome = Pack::new()
        .step_with(
            "measures",
            Benchmark,
            &format!("echo '{figures}' > \"$1\""),
            |step| {
                step.arguments = vec!["{figures}".to_owned()];
            },
        )
        .step("declines", Benchmark, "echo nothing to measure")
        .run();
    let rows = json!({"rows": [{"benchmark": "saxpy", "value": 2.5}]});
    assert_eq!(outcome.step("measures").figures, Some(rows));
    assert!(
        outcome.page.contains("| saxpy | 2.500 |"),
        "{}",
        outcome.page
    );
    let declines = outcome.step("declines");
    assert_eq!(declines.outcome, Skipped);
    assert_eq!(declines.reason.as_deref(), Some("nothing to measure"));
}

#[test]
fn failed_benchmarks_keep_their_figures() {
    let figures =
        r#"{"rows": [{"benchmark": "saxpy", "value": 2.5}], "failures": ["nbody: 1 is not 2"]}"#;
    let write = |text: &str, status: u32| format!("echo '{text}' > \"$1\"; exit {status}");
    let names_file = |step: &mut Step| step.arguments = vec!["{figures}".to_owned()];
    let outcome = Pack::new()
        .step_with("fails", Benchmark, &write(figures, 1), names_file)
        .step_with("garbles", Benchmark, &write("{", 0), names_file)
        .step("exits", Benchmark, "exit 1")
        .run();
    let fails = outcome.step("fails");
    assert_eq!(fails.outcome, Failed);
    assert!(fails.figures.is_some());
    assert!(outcome.page.contains("| saxpy | 2.500 |"));
    assert!(outcome.page.contains("Failed: nbody: 1 is not 2"));
    let garbles = outcome.step("garbles");
    assert_eq!((garbles.outcome, &garbles.figures), (Failed, &None));
    let reason = garbles.reason.as_deref().unwrap();
    assert!(reason.starts_with("cannot read its figures: "), "{reason}");
    let exits = outcome.step("exits");
    assert_eq!((exits.outcome, &exits.figures), (Failed, &None));
}

#[test]
fn processes_write_into_the_work_directory() {
    let script = "test -d \"$HOME\" && test -d \"$TMPDIR\" && test -d \"$SYCLBIN_CACHE\" && \
                  test \"$SYCLBIN_DEVICE\" = cuda:gpu:0 && pwd && echo \"$HOME\"";
    let outcome = Pack::new().step("looks", Program, script).run();
    let looks = outcome.step("looks");
    assert_eq!(looks.outcome, Passed, "{looks:?}");
    let output = looks.output.as_deref().unwrap();
    let (work, home) = output.split_once('\n').unwrap();
    assert_eq!(home, format!("{work}/home"));
}

#[test]
fn without_a_device_only_information_is_gathered() {
    let outcome = Pack::new()
        .describer("echo no driver >&2; exit 2")
        .step("doctor", Information, "echo no compiler; exit 1")
        .step("tests", Program, "exit 0")
        .run();
    assert!(!outcome.report.passed && outcome.report.device.is_none());
    let device = outcome.step("device");
    assert_eq!(
        (device.outcome, device.output.as_deref()),
        (Failed, Some("no driver"))
    );
    assert_eq!(outcome.step("doctor").outcome, Passed);
    assert_eq!(outcome.step("tests").outcome, NotRun);
}

#[test]
fn simulated_devices_are_named_as_such() {
    let device = "printf '{\"name\": \"Simulated CUDA device\", \"simulated\": true, \"selector\": \"cuda:gpu:0\",\
                  \"reason\": \"\", \"kind\": \"gpu\", \"backend\": \"cuda\", \"platform\": \"\", \"driver\": \"\",\
                  \"kernel_module\": null, \"library\": \"\", \"architecture\": null, \"compute_units\": 1,\
                  \"memory_bytes\": 1}'";
    let outcome = Pack::new()
        .describer(device)
        .step_with("sanitizer", Program, "exit 1", |step| step.cuda_only = true)
        .step_with("benchmark", Program, "test \"$1\" = small", |step| {
            step.less = vec!["small".to_owned()];
        })
        .run();
    assert!(outcome.report.passed, "{:#?}", outcome.report);
    assert!(outcome.page.contains("**SIMULATED**"), "{}", outcome.page);
    assert_eq!(outcome.step("sanitizer").outcome, Skipped);
}

#[test]
fn chosen_steps_run_with_given_variables() {
    let outcome = Pack::new()
        .step("first one", Program, "test \"$COLOUR\" = red")
        .step("second", Program, "exit 1")
        .only("first")
        .set("COLOUR", "red")
        .run();
    assert!(outcome.report.passed, "{:#?}", outcome.report);
    assert_eq!(outcome.report.steps.len(), 1);
}

#[test]
fn unknown_steps_cannot_be_chosen() {
    let pack = Pack::new().step("first", Program, "exit 0");
    let error = pack.only("first").only("second").try_run().unwrap_err();
    assert_eq!(
        error.to_string(),
        "no step has a name that begins with `second`; the pack contains: first"
    );
}

#[test]
fn steps_after_the_time_limit_do_not_run() {
    let outcome = Pack::new()
        .limit(Duration::from_millis(1500))
        .step("sleeps", Program, "sleep 1000")
        .step("comes late", Program, "exit 0")
        .run();
    assert_eq!(outcome.step("sleeps").outcome, Hung);
    assert_eq!(outcome.step("comes late").outcome, NotRun);
    assert!(!outcome.report.passed);
}
