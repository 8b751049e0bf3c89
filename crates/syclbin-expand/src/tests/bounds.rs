// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bounds: which conditions bound the length of a buffer from below, and what they require of numbers.

use super::contracts::{code, errors, recorded};

const KERNEL: &str = "void k(float *y, float *x, int n, unsigned int m, long s)";

/// Returns whether `conditions` bound `y`; conditions on `x` do not matter.
#[track_caller]
fn is_bound(conditions: &str) -> bool {
    let file = recorded(&[KERNEL], &[]);
    let errors = errors(&format!("safe fn k where {conditions};"), &file);
    let about_y = errors.iter().filter(|error| error.contains("`y`"));
    let about_x = errors.iter().filter(|error| error.contains("`x`"));
    assert_eq!(
        about_y.clone().count() + about_x.count(),
        errors.len(),
        "{errors:?}"
    );
    about_y.count() == 0
}

#[test]
fn a_lower_bound_of_a_length_counts() {
    for bound in [
        "y.len() >= n",
        "n <= y.len()",
        "y.len() > n",
        "n < y.len()",
        "y.len() == n",
        "y.len() >= 4",
        "y.len() > 0",
        "y.len() != 0",
        "y.len() - n >= 0",
        "0 <= y.len() - n",
        "2 * y.len() >= n",
        "y.len() / 2 * 2 >= n + 0 * range[0]",
        "y.len() / m >= range[0]",
        "y.len() * m >= n",
        "y.len() >= n - 1",
        "y.len() >= range.items() - m",
        "y.len() + 1 >= range[0] * (n + 2)",
        "2 * y.len() - y.len() >= n",
        "y.len() == x.len(), x.len() >= n",
        "x.len() >= y.len(), y.len() >= x.len(), x.len() > 7",
        "y.len() >= m % 8",
        "0 != y.len()",
        "2 * y.len() != 0",
        "m * y.len() >= n",
        "y.len() * x.len() >= n",
        "y.len() * m >= x.len() * m, x.len() > 7",
        "y.len() + (m - 9) * range[0] >= 0",
        "y.len() + range[0] * (m - 9) >= 0",
        "y.len() + (m - 9) / range[0] >= 0",
        "y.len() + range[0] / (m - 9) >= 0",
        "y.len() + (m - 9) % range[0] >= 0",
        "y.len() * n >= m, n >= 0",
        "y.len() * s >= n, 2 * s >= -1",
        "y.len() >= 9 / 2",
        "y.len() >= 9 % 5",
        "y.len() >= 9 / 0",
    ] {
        assert!(is_bound(bound), "{bound}");
    }
}

#[test]
fn what_is_always_true_is_no_bound() {
    for other in [
        "y.len() >= 0",
        "0 * y.len() >= 0",
        "y.len() >= y.len()",
        "y.len() == y.len()",
        "y.len() + 1 >= 1",
        "y.len() + 1 > 0",
        "y.len() - y.len() >= 0",
        "y.len() - y.len() >= n - 5",
        "y.len() >= -1",
        "y.len() >= -n",
        "y.len() > 3 - 5",
        "y.len() + n >= 0",
        "y.len() >= 0 * n",
        "y.len() / 2 >= 0",
        "y.len() * m >= 0",
        "y.len() * n >= n * y.len()",
        "2 * y.len() >= y.len()",
        "y.len() + range[0] >= 0",
        "(y.len()) * (n - n) >= 0",
        "y.len() + range[0] * m >= 0",
        "y.len() + range[0] / m >= 0",
        "y.len() + range[0] % (m - 9) >= 0",
        "y.len() >= 2 / 4",
        "y.len() >= 4 % 2",
    ] {
        assert!(!is_bound(other), "{other}");
    }
}

#[test]
fn a_condition_of_another_kind_is_no_bound() {
    for other in [
        "y.len() <= n",
        "n > y.len()",
        "y.len() != n",
        "y.len() % 4 == 0",
        "y.len() % n >= 0",
        "n - y.len() >= 0",
        "n / y.len() >= 1",
        "y.len() - y.len() / 2 >= n",
        "y.len() * y.len() >= y.len()",
        "y.len() * s >= n, s >= -4",
        "y.len() * s >= n, s >= -1",
        "y.len() != 3",
        "(n - y.len()) * m >= 1",
        "(n - y.len()) / m >= 1",
        "y.len() * (m - 5) >= n",
        "y.len() / (m - 5) >= n",
        "m / y.len() >= 1",
        "m % y.len() >= 1",
    ] {
        assert!(!is_bound(other), "{other}");
    }
}

#[test]
fn lengths_that_bound_each_other_are_unbound() {
    assert!(!is_bound("y.len() == x.len()"));
    assert!(!is_bound("y.len() >= x.len(), x.len() >= y.len() + 0 * n"));
    assert!(!is_bound("y.len() >= x.len(), x.len() <= n"));
}

#[test]
fn the_error_says_what_a_bound_is() {
    let file = recorded(&["void k(float *y, int n)"], &[]);
    assert_eq!(
        errors("safe fn k where y.len() <= n;", &file),
        [
            "nothing bounds `y`: no condition says how long it is at least; add one such as \
          `y.len() >= range.items()`"
        ]
    );
    assert_eq!(
        errors("safe fn k where n >= 0;", &file),
        ["nothing bounds `y`: add a condition such as `y.len() >= range.items()`"]
    );
}

/// Returns the implied conditions on numbers.
#[track_caller]
fn implied(conditions: &str) -> Vec<String> {
    let file = recorded(&[KERNEL], &[]);
    let code = code(
        &format!("safe fn k where {conditions}, x.len() >= 1, y.len() >= 1;"),
        &file,
    );
    let texts = code.split("text:\"").skip(1);
    let texts = texts.map(|rest| rest.split('"').next().unwrap().to_owned());
    let written: String = conditions.split_whitespace().collect();
    let written: Vec<&str> = written.split(',').collect();
    let fixed = ["x.len()>=1", "y.len()>=1", "range.dimensions()==1"];
    texts
        .filter(|text| !written.contains(&text.as_str()) && !fixed.contains(&text.as_str()))
        .collect()
}

#[test]
fn signed_number_beside_length_is_not_negative() {
    for conditions in [
        "y.len() >= n",
        "n <= y.len()",
        "y.len() == n",
        "y.len() >= 2 * n",
        "y.len() >= n * m",
        "y.len() / n >= m",
        "y.len() >= n % 8",
        "y.len() + n >= 9",
        "y.len() >= 100, n <= 100",
        "y.len() >= m, n < m",
    ] {
        assert_eq!(implied(conditions), ["n>=0"], "{conditions}");
    }
    assert_eq!(implied("y.len() >= n * s"), ["n>=0", "s>=0"]);
    assert_eq!(implied("y.len() >= n, y.len() > n"), ["n>=0"]);
}

#[test]
fn a_difference_beside_a_length_is_not_negative() {
    assert_eq!(implied("y.len() >= n - 1"), ["n>=0", "n-1>=0"]);
    assert_eq!(implied("y.len() >= m - 1"), ["m-1>=0"]);
    assert_eq!(implied("y.len() >= range[0] - m"), ["range[0]-m>=0"]);
    assert_eq!(implied("y.len() >= 8 - 4"), [""; 0]);
    assert_eq!(implied("y.len() >= m - 1, m - 1 >= -1"), [""; 0]);
    assert_eq!(implied("y.len() >= (m - 1), -8 < m - 1"), [""; 0]);
    assert_eq!(implied("n != 3, y.len() >= m - 1"), ["m-1>=0"]);
    assert_eq!(implied("y.len() - m >= n"), ["n>=0"]);
    assert_eq!(implied("y.len() - m >= -4"), [""; 0]);
    assert_eq!(implied("y.len() >= 1, n * s >= 4"), ["n>=0", "s>=0"]);
}

#[test]
fn contract_bounds_replace_implied_bounds() {
    for conditions in [
        "y.len() >= n, n >= -8",
        "y.len() >= n, -8 <= n",
        "y.len() >= n, n > -1000000",
        "y.len() >= n, n + 1 >= 0",
        "y.len() >= n, n >= i32::MIN",
        "y.len() >= n, n >= 1",
        "y.len() >= 1, n == -3",
        "y.len() >= m",
        "y.len() >= 1, n != 0",
        "y.len() >= 1, n >= m",
    ] {
        assert_eq!(implied(conditions), [""; 0], "{conditions}");
    }
    assert_eq!(implied("y.len() >= n, n != 7"), ["n>=0"]);
    assert_eq!(implied("y.len() >= n, n >= m"), ["n>=0"]);
}

#[test]
fn limits_of_integers_are_numbers() {
    let file = recorded(&["void k(long n)"], &[]);
    let code = code("safe fn k where n >= i64::MIN, n < u8::MAX;", &file);
    assert!(code.contains("-9223372036854775808i128"), "{code}");
    assert!(code.contains("255i128"), "{code}");
    let errors = errors("safe fn k where n >= i64::BITS;", &file);
    assert!(errors[0].starts_with("a contract knows"), "{errors:?}");
}
