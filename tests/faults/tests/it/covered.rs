// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether the library has all functions that the runtime uses.

use std::collections::BTreeSet;

use crate::sources;

#[test]
fn every_named_driver_function_can_be_failed() {
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
fn names_in_comments_are_not_found() {
    let code =
        "// clInComment\nclFlush: clFlush_fn, type T = <clMemFreeINTEL_t as E>; c\"clFinish\"";
    let expected = ["clFinish", "clFlush", "clMemFreeINTEL"].map(str::to_owned);
    assert_eq!(sources::named(code), expected.into());
}
