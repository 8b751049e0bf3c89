// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decimal numbers that consist only of digits. `FromStr` would also accept a sign.

use core::str::FromStr;

/// Returns whether `text` consists of one or more digits.
pub(crate) fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses a number. Returns `None` if `text` contains anything but digits, or if the number is too large.
pub(crate) fn decimal<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| is_decimal(text))
}
