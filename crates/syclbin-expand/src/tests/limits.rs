// SPDX-License-Identifier: MIT OR Apache-2.0
//! Input that is too deep for the stack is rejected with an error at the right place.

use super::*;

/// Returns the errors of `items` for a kernel with the parameter `n`.
fn errors(items: &str) -> Vec<String> {
    let file = file_of(vec![kernel("__sycl_kernel_k", &["n"])]);
    expand(&super::contracts::input(items), &file).1
}

#[track_caller]
fn first_error(input: &str) -> String {
    let error = Input::parse(input.parse().unwrap()).err();
    error.expect("an error").to_string()
}

#[test]
fn a_long_sum_is_refused() {
    let sum = vec!["1"; 20_000].join(" + ");
    for condition in [format!("n >= {sum}"), vec!["n > 0"; 20_000].join(" && ")] {
        let errors = errors(&format!("safe fn k where {condition};"));
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].starts_with("this condition is too long: "));
    }
}

#[test]
fn many_signs_are_refused() {
    let errors = errors(&format!("safe fn k where n > {} 1;", "- ".repeat(20_000)));
    assert!(errors[0].starts_with("this condition is too long: "));
}

#[test]
fn the_longest_condition_is_taken() {
    // A quarter of the stack that rustc gives to macros.
    let small = std::thread::Builder::new().stack_size(2 << 20);
    let checked = small.spawn(|| {
        let sum = vec!["1"; 148].join(" + ");
        assert_eq!(errors(&format!("safe fn k where n >= {sum};")), [""; 0]);
        let signs = "- ".repeat(296);
        assert_eq!(errors(&format!("safe fn k where n >= {signs} 1;")), [""; 0]);
    });
    checked.unwrap().join().unwrap();
}

#[test]
fn deep_parentheses_are_refused_anywhere() {
    let deep = |count| format!("{}1{}", "(".repeat(count), ")".repeat(count));
    let condition = |count| {
        format!(
            "mod k = \"a\"; unsafe extern \"SYCL\" {{ safe fn k where n >= {}; }}",
            deep(count)
        )
    };
    let attribute = format!("#[doc = {}] mod k = \"a\";", deep(5_000));
    let types = format!("mod k = \"a\"; types {{ A => crate::{} }}", deep(5_000));
    for input in [condition(5_000), condition(64), attribute, types] {
        assert_eq!(
            first_error(&input),
            "brackets are nested more than 64 levels deep; simplify this"
        );
    }
    assert!(Input::parse(condition(63).parse().unwrap()).is_ok());
    assert_eq!(
        errors(&format!("safe fn k where n >= {};", deep(63))),
        [""; 0]
    );
}

#[test]
fn a_long_attribute_is_refused() {
    let sum = vec!["1"; 20_000].join(" + ");
    let error = first_error(&format!("#[doc = {sum}] mod k = \"a\";"));
    assert!(error.starts_with("this attribute is too long: "), "{error}");
}
