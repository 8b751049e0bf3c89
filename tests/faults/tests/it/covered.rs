//! Whether the library has all functions that the runtime uses.

use std::collections::BTreeSet;

use crate::sources;

#[test]
fn every_function_that_the_runtime_names_can_be_failed() {
    let covered: BTreeSet<&str> = faults::names().collect();
    for name in sources::named_by_the_runtime() {
        assert!(
            covered.contains(&*name),
            "the library lacks {name}: add a line to standard.rs or extensions.rs, and a step of \
             `exercise` that calls it"
        );
    }
}

#[test]
fn names_are_found_in_code_and_not_in_comments() {
    let code =
        "// clInComment\nclFlush: clFlush_fn, type T = <clMemFreeINTEL_t as E>; c\"clFinish\"";
    let expected = ["clFinish", "clFlush", "clMemFreeINTEL"].map(str::to_owned);
    assert_eq!(sources::named(code), expected.into());
}
