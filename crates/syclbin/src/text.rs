// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formats lists and counts for messages, and parses decimal numbers. A list shows at most ten items, because a file
//! may contain thousands.

use crate::prelude::*;
use core::fmt::{Display, Write as _};
use core::str::FromStr;

const SHOWN: usize = 10;

/// Formats items on one line: `a, b and 3,690 more`.
pub fn listed(items: impl IntoIterator<Item: Display>) -> String {
    joined(items.into_iter().map(|item| (item, 1)), ", ", " and ")
}

/// Formats one item per line, and indents all lines but the first.
pub fn lines(items: impl IntoIterator<Item: Display>) -> String {
    joined(items.into_iter().map(|item| (item, 1)), "\n  ", "\n  and ")
}

/// Formats ascending numbers as ranges: `0-3, 7 and 3,690 more`.
pub fn ranges(numbers: impl IntoIterator<Item = usize>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let ranges = ranges.into_iter().map(|(first, last)| {
        let text = if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        };
        (text, last - first + 1)
    });
    joined(ranges, ", ", " and ")
}

/// Joins the first ten items, and appends the count of the remaining ones. Each item is paired with the number that it
/// adds to this count, because a range stands for several numbers.
fn joined(
    mut items: impl Iterator<Item = (impl Display, usize)>,
    separator: &str,
    before_count: &str,
) -> String {
    let mut text = String::new();
    for (index, (item, _)) in items.by_ref().take(SHOWN).enumerate() {
        let separator = if index == 0 { "" } else { separator };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}{item}");
    }
    let more: usize = items.map(|(_, count)| count).sum();
    if more > 0 {
        let _ = write!(text, "{before_count}{} more", grouped(more));
    }
    text
}

fn grouped(number: usize) -> String {
    match (number / 1_000, number % 1_000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{},{rest:03}", grouped(thousands)),
    }
}

/// Formats a count and its noun, such as `1 byte`, `2 bytes` or `2 properties`.
pub fn counted<N: Display + From<u8> + PartialEq>(count: N, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if count == N::from(1) => format!("1 {noun}"),
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {noun}s"),
    }
}

/// Returns whether `text` consists of one or more digits.
pub(crate) fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses an unsigned decimal number. Unlike `FromStr`, accepts no sign. Returns `None` if `text` contains anything but
/// digits, or if the number is too large.
pub(crate) fn decimal<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| is_decimal(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_end_with_a_count() {
        assert_eq!(listed([""; 0]), "");
        assert_eq!(listed(1..=10), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10");
        assert_eq!(
            listed(1..=3_700),
            "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3,690 more"
        );
        assert_eq!(lines(0..2), "0\n  1");
        assert!(lines(0..1_001_010).ends_with("\n  9\n  and 1,001,000 more"));
    }

    #[test]
    fn consecutive_numbers_become_ranges() {
        assert_eq!(ranges([]), "");
        assert_eq!(ranges([3]), "3");
        assert_eq!(ranges((0..4).chain([7, 9, 10])), "0-3, 7, 9-10");
        let pairs = (0..3_000).filter(|number| number % 3 > 0);
        let text = ranges(pairs);
        assert!(
            text.starts_with("1-2, 4-5, ") && text.ends_with(", 28-29 and 1,980 more"),
            "{text}"
        );
        assert_eq!(
            ranges([usize::MAX - 1, usize::MAX, 0]),
            format!("{}-{}, 0", usize::MAX - 1, usize::MAX)
        );
    }
}
