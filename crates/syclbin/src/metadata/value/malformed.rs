// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error of every view: a known property with a meaningless value.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

use crate::property::Value;

/// A property this crate knows, with a value that fits no reading of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("set `{set}`, key `{key}`: expected {expected}, found {found}")]
#[non_exhaustive]
pub struct Malformed {
    /// The set.
    pub set: String,
    /// The key.
    pub key: String,
    /// The values that a reader accepts.
    pub expected: Cow<'static, str>,
    /// The value in the file.
    pub found: String,
}

impl Malformed {
    pub(in crate::metadata) fn new(
        set: &str,
        key: &str,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
    ) -> Self {
        Self {
            set: set.into(),
            key: key.into(),
            expected: expected.into(),
            found: found.into(),
        }
    }
}

/// A value as errors say it.
pub(in crate::metadata) fn describe(value: &Value) -> String {
    match value {
        Value::U32(number) => format!("the number {number}"),
        Value::Bytes { bits, data } if whole(*bits, data) => {
            let mut text = format!("{} bytes", data.len());
            // A few are worth seeing; many would drown the message.
            if (1..=12).contains(&data.len()) {
                text.push(':');
                for byte in data {
                    let _ = write!(text, " {byte:02x}");
                }
            }
            text
        }
        Value::Bytes { bits, .. } => format!("{bits} bits"),
        Value::Other { ty, .. } => format!("a value of type {ty}"),
    }
}

/// Returns whether a byte array consists of whole bytes.
pub(in crate::metadata) fn whole(bits: u64, data: &[u8]) -> bool {
    (data.len() as u64).checked_mul(8) == Some(bits)
}
