// SPDX-License-Identifier: MIT OR Apache-2.0
//! Encodes lists of paths and arguments. NUL bytes separate the words, because neither paths nor arguments contain NUL.

use std::ffi::{OsStr, OsString};

pub(crate) fn join<'w>(words: impl IntoIterator<Item = &'w OsStr>) -> Vec<u8> {
    let words: Vec<&[u8]> = words.into_iter().map(OsStr::as_encoded_bytes).collect();
    words.join(&0)
}

pub(crate) fn split(bytes: &[u8]) -> impl Iterator<Item = OsString> {
    bytes.split(|byte| *byte == 0).map(word)
}

/// Splits a word at its first `=`. The key must be UTF-8.
pub(crate) fn key_and_value(word: &OsStr) -> Option<(&str, OsString)> {
    let bytes = word.as_encoded_bytes();
    let end = bytes.iter().position(|byte| *byte == b'=')?;
    let (key, value) = (bytes.get(..end)?, bytes.get(end + 1..)?);
    Some((str::from_utf8(key).ok()?, self::word(value)))
}

#[cfg(unix)]
fn word(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn word(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}
